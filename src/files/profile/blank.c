/* Has SQLite create the tables in memory, and keeps the pages (blank.h). The header says that changes are in a log (WAL),
 * as it does while a profile is written. */
#include "profile/blank.h"

#include <pthread.h>
#include <sqlite3.h>
#include "base/strbuf.h"
#include "profile/profile.h"
#include "profile/schema.h"

enum { OFFSET_VERSIONS = 18, VERSION_WAL = 2 }; /* www.sqlite.org/fileformat.html */

static pthread_mutex_t blank_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char *blank_image;
static size_t blank_bytes;

static int blank_create_tables(sqlite3 *database)
{
    struct strbuf sql = STRBUF_INIT;
    strbuf_addf(&sql, "PRAGMA page_size=%d; PRAGMA application_id=%d; BEGIN;", SCHEMA_PAGE_BYTES,
                SCHEMA_APPLICATION_ID);
    schema_create(&sql);
    strbuf_addf(&sql, "PRAGMA user_version=%d; COMMIT;", PROFILE_FORMAT_VERSION);
    int result = sqlite3_exec(database, sql.data, NULL, NULL, NULL);
    strbuf_release(&sql);
    return result;
}

static void blank_make(void)
{
    sqlite3 *database = NULL;
    sqlite3_int64 bytes = 0;
    int result =
        sqlite3_open_v2(":memory:", &database,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (result == SQLITE_OK && blank_create_tables(database) == SQLITE_OK)
        blank_image = sqlite3_serialize(database, "main", &bytes, 0);
    sqlite3_close(database);
    if (!blank_image)
        return;
    blank_bytes = (size_t)bytes;
    blank_image[OFFSET_VERSIONS] = blank_image[OFFSET_VERSIONS + 1] = VERSION_WAL;
}

const void *blank_profile(size_t *bytes)
{
    pthread_mutex_lock(&blank_lock);
    if (!blank_image)
        blank_make(); /* again, where there was no memory for it before */
    *bytes = blank_bytes;
    pthread_mutex_unlock(&blank_lock);
    return blank_image;
}
