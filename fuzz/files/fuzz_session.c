/* Any bytes as a session file: it is refused, or its rows are listed and each opens as a profile or
 * is refused with a sentence. So that bytes that are changed are read beyond their hash, the bytes
 * behind the first are also taken as the rows of a log. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sqlite3.h>
#include <unistd.h>
#include "base/error.h"
#include "base/strbuf.h"
#include "fuzz.h"
#include "profile/log_replay.h"
#include "profile/profile.h"
#include "session/session_file.h"

enum { OPENED_AT_MOST = 8 };

static volatile unsigned seen; /* so that what was read is not left out */

static unsigned check_rows(const struct session *session)
{
    unsigned sum = 0;
    for (size_t i = 0; i < session->count; i++) {
        const struct session_entry *entry = &session->entries[i];
        must(entry->row.program && entry->row.command);
        must(entry->row.end >= 0 && entry->row.end < SESSION_ENDS);
        for (size_t k = 0; k < entry->bytes; k++)
            sum += ((const unsigned char *)entry->body)[k]; /* may be read, all of it */
    }
    return sum;
}

static void open_rows(const struct session *session, const char *path)
{
    for (size_t i = 0; i < session->count && i < OPENED_AT_MOST; i++) {
        struct strbuf operand = STRBUF_INIT;
        struct profile *profile;
        strbuf_addf(&operand, "%s@%d", path, (int)session->entries[i].row.pid);
        if (profile_read(&profile, operand.data) == 0)
            profile_free(profile);
        else
            must(*error_text());
        strbuf_release(&operand);
    }
}

static void as_a_file(const uint8_t *data, size_t size)
{
    char path[64];
    struct session *session;
    int fd = memfd_create("session", 0);
    must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (session_list(&session, path) == 0) {
        for (size_t i = 0; i < session->count; i++)
            must(session_load(session, i) == 0 || *error_text());
        session_free(session);
    }
    if (session_read(&session, path) == 0) {
        seen += check_rows(session);
        open_rows(session, path);
        session_free(session);
    } else {
        must(*error_text());
    }
    close(fd);
}

/* A layout up to the first NUL, or ours; then the log. */
static void as_a_log(const uint8_t *data, size_t size)
{
    struct strbuf own = STRBUF_INIT;
    sqlite3 *database;
    bool damaged = false;
    const uint8_t *end = memchr(data, 0, size);
    size_t layout = end ? (size_t)(end - data) : 0, at = end ? layout + 1 : 0;
    if (layout)
        strbuf_add(&own, data, layout);
    else
        log_replay_layout(&own);
    if (log_replay(&database, own.data, own.length, data + at, size - at, &damaged) == 0)
        sqlite3_close(database);
    strbuf_release(&own);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(size ? size : 1); /* its own block, so that sanitizers see its ends */
    if (size)
        memcpy(bytes, data, size);
    as_a_file(bytes, size);
    as_a_log(bytes, size);
    free(bytes);
    return 0;
}
