/* The empty profile that we write is the one that SQLite makes of the schema. */
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/strbuf.h"
#include "profile/profile.h"
#include "profile/schema.h"
#include "profile/schema_image.h"

static int add_row(void *context, int columns, char **values, char **names)
{
    (void)names;
    for (int i = 0; i < columns; i++)
        strbuf_addf(context, "%s|", values[i] ? values[i] : "-");
    strbuf_add_char(context, '\n');
    return 0;
}

/* What the statement gives on both databases. */
static void check_same(sqlite3 *ours, sqlite3 *theirs, const char *sql)
{
    struct strbuf got = STRBUF_INIT, expected = STRBUF_INIT;
    assert_int_equal(sqlite3_exec(theirs, sql, add_row, &expected, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(ours, sql, add_row, &got, NULL), SQLITE_OK);
    assert_true(expected.length > 0);
    assert_string_equal(got.data, expected.data);
    strbuf_release(&got);
    strbuf_release(&expected);
}

static sqlite3 *made_by_sqlite(void)
{
    sqlite3 *database;
    struct strbuf sql = STRBUF_INIT;
    strbuf_addf(&sql, "PRAGMA page_size=%d; PRAGMA application_id=%d; PRAGMA user_version=%d;",
                SCHEMA_PAGE_BYTES, SCHEMA_APPLICATION_ID, PROFILE_FORMAT_VERSION);
    schema_create(&sql);
    assert_int_equal(sqlite3_open(":memory:", &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, sql.data, NULL, NULL, NULL), SQLITE_OK);
    strbuf_release(&sql);
    return database;
}

static void it_is_what_sqlite_makes(void **state)
{
    (void)state;
    static const char *const questions[] = {
        "SELECT type,name,tbl_name,sql FROM sqlite_schema ORDER BY rowid",
        "SELECT block,number,name FROM block_column",
        "SELECT block,number,name FROM block_column WHERE block='site_block' AND number=3",
        "PRAGMA page_size",
        "PRAGMA application_id",
        "PRAGMA user_version",
        "PRAGMA encoding",
        "PRAGMA integrity_check",
        "PRAGMA page_count",
        "PRAGMA freelist_count"};
    sqlite3 *ours, *theirs = made_by_sqlite();
    assert_int_equal(schema_image_open(&ours), 0);
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        check_same(ours, theirs, questions[i]);
    sqlite3_close(ours);
    sqlite3_close(theirs);
}

/* Every table takes rows and gives them back, and the database is sound then. */
static void it_can_be_written(void **state)
{
    (void)state;
    sqlite3 *ours, *theirs = made_by_sqlite();
    assert_int_equal(schema_image_open(&ours), 0);
    for (int i = 0; i < 2; i++) {
        sqlite3 *database = i ? theirs : ours;
        struct strbuf sql = STRBUF_INIT;
        assert_int_equal(
            sqlite3_exec(database,
                         "SELECT 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                         " WHERE i < 2000) INSERT OR REPLACE INTO ' || m.name || ' SELECT ' ||"
                         " (SELECT group_concat('i') FROM pragma_table_info(m.name))"
                         " || ' FROM n;' FROM sqlite_schema AS m WHERE type='table'",
                         add_row, &sql, NULL),
            SQLITE_OK);
        for (char *at = sql.data; (at = strchr(at, '|'));)
            *at = ' ';
        if (sqlite3_exec(database, sql.data, NULL, NULL, NULL) != SQLITE_OK)
            fail_msg("%s", sqlite3_errmsg(database));
        strbuf_release(&sql);
    }
    check_same(ours, theirs, "PRAGMA integrity_check");
    check_same(ours, theirs, "SELECT count(*),max(path) FROM source");
    check_same(ours, theirs, "SELECT count(*),sum(path) FROM source WHERE path='77'");
    check_same(ours, theirs, "SELECT count(*),max(key) FROM meta");
    sqlite3_close(ours);
    sqlite3_close(theirs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_what_sqlite_makes),
        cmocka_unit_test(it_can_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
