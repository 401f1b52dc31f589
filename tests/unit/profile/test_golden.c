/* Files written by any version stay readable for ever, and the queries in doc/FORMAT-profile.md
 * run. */
#include <errno.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>
#include "sample.h"
#include "scratch.h"
#include "check.h"

static void check_file(const char *path)
{
    struct profile *profile;
    if (profile_read(&profile, path)) {
        print_error("%s\n", profile_error());
        fail();
    }
    check_sample(profile);
    profile_free(profile);
}

static const char *const golden[] = {
    GOLDEN_DIR "/profile-v1.tmk",       GOLDEN_DIR "/profile-v1.plain.tmk",
    GOLDEN_DIR "/profile-v2.tmk",       GOLDEN_DIR "/profile-v2.plain.tmk",
    GOLDEN_DIR "/profile-v2.unpacked.db",
};

static void golden_files_read_as_they_were_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++)
        check_file(golden[i]);
}

static void golden_files_unpack(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        bool in_rows = i == 1 || i == 4; /* already */
        int expected = in_rows ? -EINVAL : 0;
        assert_int_equal(profile_unpack(golden[i], scratch("rows.db")), expected);
        if (in_rows)
            continue;
        check_file(scratch("rows.db"));
        assert_int_equal(unlink(scratch("rows.db")), 0);
    }
}

static int count_row(void *context, int columns, char **values, char **names)
{
    (void)columns, (void)values, (void)names;
    ++*(int *)context;
    return 0;
}

static void check_query(sqlite3 *database, const char *sql)
{
    char *message = NULL;
    int rows = 0;
    if (sqlite3_exec(database, sql, count_row, &rows, &message) != SQLITE_OK || !rows) {
        print_error("%s\n%s\n", sql, message ? message : "gives no rows");
        fail();
    }
}

/* Every ```sql block of the document. */
static void documented_queries_run(void **state)
{
    (void)state;
    sqlite3 *database;
    char line[1000], sql[8000];
    int queries = 0;
    bool inside = false;
    FILE *document = fopen(DOC_DIR "/FORMAT-profile.md", "r");
    assert_non_null(document);
    assert_int_equal(profile_unpack(GOLDEN_DIR "/profile-v2.tmk", scratch("golden.db")), 0);
    assert_int_equal(sqlite3_open(scratch("golden.db"), &database), SQLITE_OK);
    while (fgets(line, sizeof line, document)) {
        if (!inside && !strcmp(line, "```sql\n")) {
            inside = true;
            *sql = 0;
        } else if (inside && !strcmp(line, "```\n")) {
            inside = false;
            queries++;
            check_query(database, sql);
        } else if (inside) {
            strncat(sql, line, sizeof sql - strlen(sql) - 1);
        }
    }
    assert_true(queries >= 5);
    sqlite3_close(database);
    fclose(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_files_read_as_they_were_written),
        cmocka_unit_test(golden_files_unpack),
        cmocka_unit_test(documented_queries_run),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
