/* Rows that became pages without SQLite are those that SQLite's statements make of the same values.
 * Values are drawn: keys that rise and that come again, texts and blobs of many pages. */
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
#include "profile/row_image.h"
#include "profile/schema_image.h"

enum { LONG_BYTES = 70000, COLUMNS_MAX = 96 };

static char long_text[LONG_BYTES];

/* What SQLite says of a statement's table. */
struct shape {
    size_t count;
    char types[COLUMNS_MAX]; /* of the values, by the first letter of the column's type */
    bool keys[COLUMNS_MAX];
};

static int text_of_row(sqlite3_stmt *statement, struct strbuf *out)
{
    int result = sqlite3_step(statement);
    for (int i = 0; result == SQLITE_ROW && i < sqlite3_column_count(statement); i++)
        strbuf_addf(out, "%s|", (const char *)sqlite3_column_text(statement, i));
    return result;
}

/* All rows that the question has, each value with its type. */
static void ask(sqlite3 *database, const char *sql, struct strbuf *out)
{
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(database));
    int result;
    while ((result = text_of_row(statement, out)) == SQLITE_ROW)
        strbuf_add_char(out, '\n');
    if (result != SQLITE_DONE)
        fail_msg("%s: %s", sql, sqlite3_errmsg(database));
    sqlite3_finalize(statement);
}

static void check_same(sqlite3 *ours, sqlite3 *theirs, const char *sql)
{
    struct strbuf got = STRBUF_INIT, expected = STRBUF_INIT;
    ask(ours, sql, &got);
    ask(theirs, sql, &expected);
    if (strcmp(got.data, expected.data) != 0)
        fail_msg("%s: %.400s\nis not\n%.400s", sql, got.data, expected.data);
    strbuf_release(&got);
    strbuf_release(&expected);
}

static struct shape shape_of(sqlite3 *database, const struct statement_shape *statement)
{
    struct shape shape = {0};
    struct strbuf sql = STRBUF_INIT, rows = STRBUF_INIT;
    strbuf_addf(&sql,
                "SELECT name,CASE type WHEN '' THEN 'any' ELSE type END,pk"
                " FROM pragma_table_info('%s')",
                statement->table);
    if (statement->columns)
        strbuf_addf(&sql,
                    " WHERE instr(',%s,',','||name||',') ORDER BY instr(',%s,',','||name||',')",
                    statement->columns, statement->columns);
    ask(database, sql.data, &rows);
    for (const char *at = rows.data; *at; at = strchr(at, '\n') + 1) {
        const char *type = strchr(at, '|') + 1, *key = strchr(type, '|') + 1;
        shape.types[shape.count] = *type;
        shape.keys[shape.count++] = *key != '0';
    }
    strbuf_release(&sql);
    strbuf_release(&rows);
    return shape;
}

/* ---- Values -------------------------------------------------------------------------------- */

static int64_t some_number(unsigned *seed)
{
    uint64_t bits =
        (uint64_t)rand_r(seed) << 42 ^ (uint64_t)rand_r(seed) << 21 ^ (uint64_t)rand_r(seed);
    int64_t number = (int64_t)(bits >> rand_r(seed) % 64);
    return rand_r(seed) % 3 ? number : -number;
}

static void add_text(struct values *values, enum value_type type, unsigned *seed)
{
    static const size_t most[] = {1, 40, 200, 5000, LONG_BYTES};
    size_t bytes = (size_t)rand_r(seed) % most[rand_r(seed) % (rand_r(seed) % 8 ? 3 : 5)];
    size_t from = (size_t)rand_r(seed) % (LONG_BYTES - bytes);
    values_add(values, (struct value){type, bytes, {.data = long_text + from}});
}

static void add_value(struct values *values, char type, unsigned *seed)
{
    if (rand_r(seed) % 5 == 0)
        values_null(values);
    else if (type == 'R')
        values_real(values, (double)some_number(seed) / (rand_r(seed) % 2 ? 3 : 1));
    else if (type == 'T' || (type == 'a' && rand_r(seed) % 2))
        add_text(values, VALUE_TEXT, seed);
    else if (type == 'B')
        add_text(values, VALUE_BLOB, seed);
    else
        values_number(values, some_number(seed));
}

/* A part of a key: mostly higher than before, or one of few. */
static void add_key(struct values *values, char type, size_t row, unsigned *seed)
{
    if (type == 'T')
        add_text(values, VALUE_TEXT, seed);
    else
        values_number(values, rand_r(seed) % 4 ? (int64_t)row : (int64_t)(rand_r(seed) % 50));
}

static void draw(struct values *values, const struct shape *shape, size_t row, unsigned *seed)
{
    values_begin(values);
    for (size_t i = 0; i < shape->count; i++)
        if (shape->keys[i])
            add_key(values, shape->types[i], i ? (size_t)rand_r(seed) % 3 : row, seed);
        else
            add_value(values, shape->types[i], seed);
}

/* ---- Both ways ----------------------------------------------------------------------------- */

static void put_by_sqlite(sqlite3 *database, const struct statement_shape *shape,
                          const struct values *values)
{
    struct strbuf sql = STRBUF_INIT;
    sqlite3_stmt *statement;
    statement_sql(&sql, shape);
    assert_int_equal(sqlite3_prepare_v2(database, sql.data, -1, &statement, NULL), SQLITE_OK);
    values_bind(values, statement);
    if (sqlite3_step(statement) != SQLITE_DONE)
        fail_msg("%s: %s", sql.data, sqlite3_errmsg(database));
    sqlite3_finalize(statement);
    strbuf_release(&sql);
}

static void put(struct row_image *image, sqlite3 *theirs, enum statement which, size_t rows,
                unsigned *seed)
{
    struct statement_shape statement = statement_of(which);
    struct shape shape = shape_of(theirs, &statement);
    struct values values;
    for (size_t row = 0; row < rows; row++) {
        if (statement.drops) {
            values_begin(&values);
            for (size_t i = 0; i < statement.count; i++)
                values_number(&values, rand_r(seed) % 50);
        } else {
            draw(&values, &shape, row, seed);
        }
        row_image_put(image, which, &values);
        put_by_sqlite(theirs, &statement, &values);
    }
}

static sqlite3 *opened(struct strbuf *plain)
{
    sqlite3 *database;
    assert_int_equal(sqlite3_open(":memory:", &database), SQLITE_OK);
    assert_int_equal(sqlite3_deserialize(database, "main", (unsigned char *)plain->data,
                                         (sqlite3_int64)plain->length, (sqlite3_int64)plain->length,
                                         SQLITE_DESERIALIZE_READONLY),
                     SQLITE_OK);
    return database;
}

static void check_table(sqlite3 *ours, sqlite3 *theirs, const char *table)
{
    struct strbuf sql = STRBUF_INIT, columns = STRBUF_INIT;
    strbuf_addf(&sql,
                "SELECT (SELECT CASE WHEN sql LIKE '%%WITHOUT ROWID' THEN '' ELSE 'rowid,' END"
                " FROM sqlite_schema WHERE name='%s') ||"
                " group_concat('quote('||name||'),typeof('||name||')')"
                " FROM pragma_table_info('%s')",
                table, table);
    ask(theirs, sql.data, &columns);
    strbuf_truncate(&columns, columns.length - 2);
    strbuf_reset(&sql);
    strbuf_addf(&sql, "SELECT %s FROM %s", columns.data, table);
    check_same(ours, theirs, sql.data);
    strbuf_release(&sql);
    strbuf_release(&columns);
}

static void check_all(struct row_image *image, sqlite3 *theirs)
{
    struct strbuf plain = STRBUF_INIT;
    row_image_write(image, &plain);
    sqlite3 *ours = opened(&plain);
    check_same(ours, theirs, "PRAGMA integrity_check");
    check_same(ours, theirs, "SELECT count(*) FROM source WHERE path > 'f' AND path < 'fz'");
    for (int which = 0; which < STATEMENT_COUNT; which++)
        if (!statement_of(which).drops)
            check_table(ours, theirs, statement_of(which).table);
    sqlite3_close(ours);
    strbuf_release(&plain);
}

static void its_rows_are_those_of_the_statements(void **state)
{
    (void)state;
    for (unsigned turn = 0; turn < 6; turn++) {
        unsigned seed = turn + 1;
        size_t most = turn == 0 ? 300 : 2u << turn;
        sqlite3 *theirs;
        struct row_image *image = row_image_new();
        assert_non_null(image);
        assert_int_equal(schema_image_open(&theirs), 0);
        for (int i = 0; i < 2 * STATEMENT_COUNT; i++) { /* each, and then any */
            enum statement which =
                (enum statement)(i < STATEMENT_COUNT ? i : rand_r(&seed) % STATEMENT_COUNT);
            put(image, theirs, which,
                statement_of(which).drops ? i >= STATEMENT_COUNT : (size_t)rand_r(&seed) % most,
                &seed);
        }
        check_all(image, theirs);
        for (int which = 0; which < STATEMENT_COUNT; which++)
            put(image, theirs, (enum statement)which, !statement_of(which).drops ? 20 : 0, &seed);
        check_all(image, theirs); /* more rows, and all written again */
        sqlite3_close(theirs);
        row_image_free(image);
    }
}

/* As many as need inner pages above inner pages, in each kind of tree. */
static void its_trees_have_any_height(void **state)
{
    (void)state;
    for (size_t rows = 1; rows < 30000; rows = rows * 4 + 1) {
        unsigned seed = 7;
        sqlite3 *theirs;
        struct row_image *image = row_image_new();
        assert_int_equal(schema_image_open(&theirs), 0);
        for (size_t row = 0; row < rows; row++) {
            struct values values;
            char key[4500];
            size_t bytes = rows > 5000 ? 40 : 3500 + (size_t)rand_r(&seed) % 900;
            snprintf(key, sizeof key, "%0*zu", (int)bytes, row);
            values_begin(&values);
            values_text(&values, key);
            values_number(&values, (int64_t)row);
            row_image_put(image, PUT_META, &values);
            put_by_sqlite(theirs, &(struct statement_shape){"meta", false, NULL, 2}, &values);
            values_begin(&values);
            values_number(&values, (int64_t)row - 20);
            values_text(&values, key);
            row_image_put(image, PUT_FILE, &values);
            put_by_sqlite(theirs, &(struct statement_shape){"file", false, NULL, 2}, &values);
        }
        struct strbuf plain = STRBUF_INIT;
        row_image_write(image, &plain);
        sqlite3 *ours = opened(&plain);
        check_same(ours, theirs, "PRAGMA integrity_check");
        check_same(ours, theirs, "SELECT substr(key,-9),length(key),value FROM meta");
        check_same(ours, theirs, "SELECT id,substr(path,-9) FROM file ORDER BY id");
        check_same(ours, theirs,
                   "SELECT a.value FROM meta AS a JOIN file ON key=path WHERE id>100"
                   " AND id<200");
        sqlite3_close(ours);
        sqlite3_close(theirs);
        strbuf_release(&plain);
        row_image_free(image);
    }
}

/* The row that comes after writing is behind the last one that was put, and before the last one of
 * their order. */
static void rows_after_writing_find_their_place(void **state)
{
    (void)state;
    static const int64_t locations[] = {5, 3, 4, 9, 1, 2};
    struct statement_shape shape = statement_of(PUT_FRAME);
    struct row_image *image = row_image_new();
    sqlite3 *theirs;
    assert_int_equal(schema_image_open(&theirs), 0);
    for (size_t i = 0; i < sizeof locations / sizeof *locations; i++) {
        struct values values;
        values_begin(&values);
        for (int column = 0; column < 4; column++)
            values_number(&values, column ? column : locations[i]);
        row_image_put(image, PUT_FRAME, &values);
        put_by_sqlite(theirs, &shape, &values);
        if (i % 2)
            check_all(image, theirs);
    }
    check_all(image, theirs);
    sqlite3_close(theirs);
    row_image_free(image);
}

int main(void)
{
    for (size_t i = 0; i < sizeof long_text; i++)
        long_text[i] = (char)('a' + i * i / 7 % 23);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_rows_are_those_of_the_statements),
        cmocka_unit_test(its_trees_have_any_height),
        cmocka_unit_test(rows_after_writing_find_their_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
