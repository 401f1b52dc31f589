/* Files that are cut off, altered, foreign, newer or made to hurt: a sentence or a partial profile,
 * never a crash. Run it under the asan preset too. SEED=n repeats a run. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "sample.h"
#include "base/error.h"
#include "scratch.h"

struct bytes {
    unsigned char *at;
    size_t count;
};

static struct bytes load(const char *path)
{
    struct bytes bytes = {0};
    struct stat stat_of;
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && !fstat(fd, &stat_of));
    bytes.count = (size_t)stat_of.st_size;
    bytes.at = malloc(bytes.count);
    assert_int_equal(read(fd, bytes.at, bytes.count), (ssize_t)bytes.count);
    close(fd);
    return bytes;
}

static void store(const char *path, const void *bytes, size_t count)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, count), (ssize_t)count);
    close(fd);
}

/* Everything that a presenter relies on, whatever was in the file. */
static void check_sound(const struct profile *profile)
{
    assert_true(profile->node_count && profile->code_count && profile->function_count);
    for (size_t i = 0; i < profile->node_count; i++) {
        assert_true(profile->nodes[i].parent < i || (!i && !profile->nodes[i].parent));
        assert_true(profile->nodes[i].location < profile->code_count);
    }
    for (size_t i = 0; i < profile->code_count; i++) {
        const struct profile_code *code = &profile->codes[i];
        assert_true(code->module == UINT32_MAX || code->module < profile->module_count);
        assert_true(code->line_count && code->first_line + code->line_count <= profile->line_count);
    }
    for (size_t i = 0; i < profile->line_count; i++)
        assert_true(profile->lines[i].function < profile->function_count);
    for (size_t i = 0; i < profile->function_count; i++)
        assert_non_null(profile->functions[i].name);
    for (size_t i = 0; i < profile->module_count; i++)
        assert_non_null(profile->modules[i].path);
    for (size_t i = 0; i < profile->site_count; i++)
        assert_true(profile_site_path(profile, i) < profile->node_count);
    for (size_t i = 0; i < profile->meta_count; i++)
        assert_true(profile->meta[i].key && profile->meta[i].value);
}

static void read_sums_anyhow(const char *path)
{
    struct profile *profile;
    if (profile_read_sums(&profile, path))
        return;
    check_sound(profile);
    profile_free(profile);
}

/* Returns whether anything could be read. */
static bool read_anyhow(const char *path)
{
    struct profile *profile;
    read_sums_anyhow(path);
    int error = profile_read(&profile, path);
    if (error) {
        assert_true(error < 0);
        assert_null(profile);
        assert_true(strlen(error_text()) > 10);
        return false;
    }
    check_sound(profile);
    profile_free(profile);
    return true;
}

static void a_file_cut_off_anywhere_gives_a_part_or_a_sentence(void **state)
{
    (void)state;
    for (int pack = 0; pack < 2; pack++) {
        assert_int_equal(sample_file(scratch("whole.tmk"), pack), 0);
        struct bytes whole = load(scratch("whole.tmk"));
        size_t stride = 1 + whole.count / 300;
        for (size_t count = 0; count < whole.count; count += count < 200 ? 1 : stride) {
            store(scratch("cut.tmk"), whole.at, count);
            read_anyhow(scratch("cut.tmk"));
        }
        free(whole.at);
    }
}

static void flipped_bits_never_crash(void **state)
{
    (void)state;
    unsigned seed = getenv("SEED") ? (unsigned)atoi(getenv("SEED")) : (unsigned)getpid();
    print_message("seed %u\n", seed);
    for (int pack = 0; pack < 2; pack++) {
        assert_int_equal(sample_file(scratch("sound.tmk"), pack), 0);
        struct bytes sound = load(scratch("sound.tmk"));
        unsigned fixed = 1;
        for (int round = 0; round < 400; round++) {
            unsigned *from = round % 2 ? &seed : &fixed;
            struct bytes copy = {malloc(sound.count), sound.count};
            memcpy(copy.at, sound.at, sound.count);
            for (int flips = 1 + rand_r(from) % 16; flips > 0; flips--)
                copy.at[(size_t)rand_r(from) % copy.count] ^=
                    (unsigned char)(1 << rand_r(from) % 8);
            store(scratch("flipped.tmk"), copy.at, copy.count);
            read_anyhow(scratch("flipped.tmk"));
            free(copy.at);
        }
        free(sound.at);
    }
}

static void assert_refused(const char *path, int error, const char *part)
{
    struct profile *profile;
    assert_int_equal(profile_read(&profile, path), error);
    if (!strstr(error_text(), part)) {
        print_error("'%s' is not in: %s\n", part, error_text());
        fail();
    }
}

static void alter_database(const char *path, const char *sql)
{
    sqlite3 *database;
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    char *message = NULL;
    if (sqlite3_exec(database, sql, NULL, NULL, &message) != SQLITE_OK) {
        print_error("%s: %s\n", sql, message);
        fail();
    }
    sqlite3_close(database);
}

/* The sample as it is recorded, altered. */
static void alter(const char *path, const char *sql)
{
    unlink(path); /* altered before, it may be no profile of ours */
    assert_int_equal(sample_file(path, false), 0);
    alter_database(path, sql);
}

/* The sample in rows, altered. */
static void alter_rows(const char *path, const char *sql)
{
    assert_int_equal(sample_file(scratch("recorded.tmk"), true), 0);
    unlink(path);
    assert_int_equal(profile_unpack(scratch("recorded.tmk"), path), 0);
    alter_database(path, sql);
}

static void what_is_no_profile_is_said_in_one_sentence(void **state)
{
    (void)state;
    const char *path = scratch("foreign");
    store(path, "", 0);
    assert_refused(path, -EBADMSG, "is empty");
    store(path, "#!/bin/sh\necho this is something else\n", 38);
    assert_refused(path, -EBADMSG, "is no tidemark profile");
    assert_refused("/tmp", -EISDIR, "is no file");
    assert_refused("/dev/zero", -EINVAL, "is no file");
    assert_refused(scratch("missing"), -ENOENT, "No such file");
    alter(path, "PRAGMA application_id=7");
    assert_refused(path, -EBADMSG, "no tidemark profile");
    alter(path, "PRAGMA user_version=99");
    assert_refused(path, -EPROTONOSUPPORT, "newer");
}

static void a_newer_packing_is_refused(void **state)
{
    (void)state;
    const char *path = scratch("newer.tmk");
    assert_int_equal(sample_file(path, true), 0);
    struct bytes bytes = load(path);
    bytes.at[15] = '2';
    store(path, bytes.at, bytes.count);
    assert_refused(path, -EPROTONOSUPPORT, "newer");
    free(bytes.at);
}

static void tables_that_compute_are_refused(void **state)
{
    (void)state;
    const char *path = scratch("evil.tmk");
    alter_rows(path,
               "DROP TABLE path; CREATE VIEW path AS WITH RECURSIVE n(id) AS (VALUES(1) UNION ALL"
               " SELECT id+1 FROM n) SELECT id, 0 AS parent, 0 AS location FROM n");
    assert_refused(path, -EBADMSG, "tables are not those of a profile");
    alter_rows(path, "DROP TABLE path; CREATE TABLE path(id INTEGER PRIMARY KEY, parent INTEGER,"
                     " location AS (parent+1))");
    assert_refused(path, -EBADMSG, "tables are not those of a profile");
    static const char *const tables[] = {"path_block", "site_block", "block_column"};
    for (size_t i = 0; i < 3; i++) {
        char sql[300];
        snprintf(sql, sizeof sql,
                 "DROP TABLE %s; CREATE VIEW %s AS WITH RECURSIVE n(first) AS (VALUES(1) UNION ALL"
                 " SELECT first+1 FROM n) SELECT first, 1 AS count, x'0000' AS body FROM n",
                 tables[i], tables[i]);
        path = scratch("evil.tmk");
        alter(path, sql);
        assert_refused(path, -EBADMSG, "tables are not those of a profile");
        assert_int_equal(profile_unpack(path, scratch("evil.db")), -EBADMSG);
        assert_int_equal(access(scratch("evil.db"), F_OK), -1);
    }
}

static void check_noticed(const char *path, const char *what)
{
    struct profile *profile;
    if (profile_read(&profile, path)) {
        print_error("%s: %s\n", what, error_text());
        fail();
    }
    check_sound(profile);
    if (!profile->damage) {
        print_error("not noticed: %s\n", what);
        fail();
    }
    profile_free(profile);
}

static void nonsense_in_rows_is_noted_and_left_out(void **state)
{
    (void)state;
    static const char *const changes[] = {
        "UPDATE path SET parent=id",
        "UPDATE path SET parent=3 WHERE id=2",
        "UPDATE path SET parent=-1 WHERE id=5",
        "UPDATE path SET parent='x' WHERE id=5",
        "UPDATE path SET location=9999",
        "INSERT INTO path VALUES(-5,0,1)",
        "INSERT INTO path VALUES(5000000000,1,1)",
        "UPDATE site SET alloc_count=-1",
        "UPDATE site SET alloc_bytes='many'",
        "UPDATE site SET path=77777 WHERE path=3",
        "UPDATE location_frame SET function=4444",
        "INSERT INTO location_frame VALUES(999,0,1,1)",
        "UPDATE location_frame SET line=99999999999",
        "UPDATE program SET alloc_count=1.5",
        "DROP TABLE timeline",
        "DROP TABLE site",
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        alter_rows(scratch("nonsense.tmk"), changes[i]);
        check_noticed(scratch("nonsense.tmk"), changes[i]);
    }
}

static void nonsense_in_blocks_is_noted_and_left_out(void **state)
{
    (void)state;
    static const char *const changes[] = {
        "UPDATE path_block SET body=NULL",
        "UPDATE path_block SET body='text'",
        "UPDATE path_block SET body=zeroblob(100000)",
        "UPDATE path_block SET body=x'0000020a01010101010101010101'", /* parents of themselves */
        "UPDATE path_block SET count=9",
        "UPDATE path_block SET count=0",
        "UPDATE path_block SET count=-1",
        "UPDATE path_block SET count=5000",
        "UPDATE path_block SET count='many'",
        "UPDATE path_block SET first=-5",
        "UPDATE path_block SET first=4294967290",
        "UPDATE path_block SET first=5000000000",
        "INSERT INTO path_block SELECT first+5,count,body FROM path_block", /* overlapping */
        "DELETE FROM path_block",
        "DROP TABLE path_block",
        "UPDATE site_block SET body=x''",
        "UPDATE site_block SET body=substr(body,1,length(body)-1)",
        "UPDATE site_block SET count=7",
        "DROP TABLE site_block",
        "DELETE FROM block_column",
        "DELETE FROM block_column WHERE name='path'",
        "DELETE FROM block_column WHERE name='location'",
        "UPDATE block_column SET number=-1 WHERE name='parent_distance'",
        "UPDATE block_column SET number=1000000 WHERE name='parent_distance'",
        "DROP TABLE block_column",
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        alter(scratch("nonsense.tmk"), changes[i]);
        check_noticed(scratch("nonsense.tmk"), changes[i]);
        if (!profile_unpack(scratch("nonsense.tmk"), scratch("nonsense.db")))
            read_anyhow(scratch("nonsense.db"));
        unlink(scratch("nonsense.db"));
    }
}

/* A block that is lost takes no other with it, and what refers to it hangs on the root. */
static void a_lost_block_leaves_the_others(void **state)
{
    (void)state;
    enum { PATHS = 10000 };
    const char *path = scratch("lost.tmk");
    struct profile_writer *writer;
    struct profile *profile;
    assert_int_equal(profile_writer_open(&writer, path), 0);
    assert_int_equal(profile_writer_begin(writer), 0);
    for (uint32_t id = 1; id <= PATHS; id++)
        assert_int_equal(profile_put_path(writer, id, id - 1, 0), 0);
    assert_int_equal(profile_writer_finish(writer, false), 0);
    alter_database(path, "UPDATE path_block SET body=x'ff' WHERE first=4097");
    assert_int_equal(profile_read(&profile, path), 0);
    check_sound(profile);
    assert_non_null(strstr(profile->damage, "block"));
    assert_int_equal(profile->node_count, 1 + PATHS - 4096);
    assert_int_equal(profile->nodes[4097].parent, 0); /* number 8193 */
    assert_int_equal(profile->nodes[4098].parent, 4097);
    profile_free(profile);
}

/* Columns that this version does not know are nobody's; those that it misses are not recorded. */
static void columns_may_come_and_go(void **state)
{
    (void)state;
    const char *path = scratch("columns.tmk");
    struct profile *profile;
    alter(path, "UPDATE block_column SET name='of the future'"
                " WHERE name IN ('alloc_count', 'size_min')");
    assert_int_equal(profile_read(&profile, path), 0);
    assert_null(profile->damage);
    assert_int_equal(profile->site_count, SAMPLE_SITES);
    for (int i = 0; i < SAMPLE_SITES; i++) {
        struct call_numbers expected = sample_sites[i].metrics;
        expected.alloc_count = UINT64_MAX;
        expected.size_min = UINT64_MAX;
        struct profile_site room;
        assert_memory_equal(&profile_site_at(profile, (size_t)i, &room)->metrics, &expected,
                            sizeof expected);
    }
    profile_free(profile);
}

static void put_body(sqlite3 *database, const char *table, const void *body, size_t bytes)
{
    char sql[64];
    sqlite3_stmt *statement;
    snprintf(sql, sizeof sql, "UPDATE %s SET body=?", table);
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
    sqlite3_bind_blob(statement, 1, body, (int)bytes, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_finalize(statement);
}

static struct bytes get_body(sqlite3 *database, const char *table)
{
    char sql[64];
    sqlite3_stmt *statement;
    struct bytes body;
    snprintf(sql, sizeof sql, "SELECT body FROM %s", table);
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    body.count = (size_t)sqlite3_column_bytes(statement, 0);
    body.at = malloc(body.count);
    memcpy(body.at, sqlite3_column_blob(statement, 0), body.count);
    sqlite3_finalize(statement);
    return body;
}

/* Every byte of every block altered, and every block cut at every byte. */
static void blocks_may_be_damaged_anywhere(void **state)
{
    (void)state;
    static const char *const tables[] = {"path_block", "site_block"};
    for (size_t i = 0; i < 2; i++) {
        const char *path = scratch("bytes.tmk");
        sqlite3 *database;
        assert_int_equal(sample_file(path, false), 0);
        assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
        sqlite3_exec(database, "PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF", NULL, NULL, NULL);
        struct bytes body = get_body(database, tables[i]);
        for (size_t at = 0; at < body.count; at++) {
            put_body(database, tables[i], body.at, at);
            read_anyhow(path);
            for (unsigned flip = 1; flip < 256; flip *= 11) { /* 1, 11, 121 */
                body.at[at] ^= (unsigned char)flip;
                put_body(database, tables[i], body.at, body.count);
                assert_true(read_anyhow(path));
                body.at[at] ^= (unsigned char)flip;
            }
        }
        free(body.at);
        sqlite3_close(database);
    }
}

static void odd_values_are_taken_as_they_are(void **state)
{
    (void)state;
    const char *path = scratch("odd.tmk");
    struct profile *profile;
    alter_rows(path, "UPDATE function SET name=CAST(x'61006200ff' AS TEXT) WHERE id=1;"
                     "UPDATE function SET name=NULL WHERE id=2; UPDATE module SET path=NULL;"
                     "UPDATE file SET path=NULL; INSERT INTO meta VALUES('big', zeroblob(1000000));"
                     "UPDATE module SET build_id=zeroblob(100000);"
                     "INSERT INTO path VALUES(4000000000,1,1)");
    assert_int_equal(profile_read(&profile, path), 0);
    check_sound(profile);
    assert_string_equal(profile->functions[1].name, "a\\x00b\\x00\xff");
    assert_string_equal(profile->functions[2].name, "?");
    assert_int_equal(profile->node_count, SAMPLE_PATHS + 2);
    profile_free(profile);
}

static size_t searched_bytes;

void *__real_memchr(const void *bytes, int wanted, size_t count);
void *__wrap_memchr(const void *bytes, int wanted, size_t count);

void *__wrap_memchr(const void *bytes, int wanted, size_t count)
{
    const char *found = __real_memchr(bytes, wanted, count);
    searched_bytes += found ? (size_t)(found - (const char *)bytes) + 1 : count;
    return (void *)(uintptr_t)found;
}

/* A text with a NUL at its end: quadratic were 500 times as much. */
static void a_text_is_read_in_linear_time(void **state)
{
    (void)state;
    enum { BYTES = 100000 };
    const char *path = scratch("linear.tmk");
    alter_rows(path,
               "INSERT INTO meta VALUES('long', CAST(hex(zeroblob(50000)) || char(0) AS TEXT))");
    struct profile *profile;
    searched_bytes = 0;
    assert_int_equal(profile_read(&profile, path), 0);
    assert_int_equal(strlen(profile_get(profile, "long")), BYTES + strlen("\\x00"));
    assert_true(searched_bytes > BYTES);
    assert_true(searched_bytes < 10 * BYTES);
    profile_free(profile);
}

static size_t statements;

int __real_sqlite3_prepare_v2(sqlite3 *database, const char *sql, int bytes, sqlite3_stmt **out,
                              const char **rest);
int __wrap_sqlite3_prepare_v2(sqlite3 *database, const char *sql, int bytes, sqlite3_stmt **out,
                              const char **rest);

int __wrap_sqlite3_prepare_v2(sqlite3 *database, const char *sql, int bytes, sqlite3_stmt **out,
                              const char **rest)
{
    statements++;
    return __real_sqlite3_prepare_v2(database, sql, bytes, out, rest);
}

/* Each statement may go through a whole table: they are not as many as its rows. */
static void looks_without_owners_are_not_asked_for_each(void **state)
{
    (void)state;
    const char *path = scratch("looks.tmk");
    alter_rows(path, "WITH RECURSIVE look(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM look"
                     "  WHERE id < 1000)"
                     " INSERT INTO sample(id, why, time_ns, resident_bytes)"
                     "  SELECT id, 0, id, id FROM look;"
                     "INSERT INTO owner(sample, kind, path, resident_bytes)"
                     " VALUES(3, 0, 1, 1), (700, 0, 1, 4), (700, 0, 2, 5), (998, 0, 0, 1)");
    struct profile *sums, *whole;
    size_t first, count;
    assert_int_equal(profile_read(&whole, path), 0);
    assert_int_equal(profile_owners_sample(whole, &first, &count)->id, 998);
    assert_int_equal(whole->owner_count, 4);
    statements = 0;
    assert_int_equal(profile_read_sums(&sums, path), 0);
    assert_true(statements > 5 && statements < 100);
    assert_int_equal(profile_owners_sample(sums, &first, &count)->id, 998);
    assert_int_equal(sums->owner_count, 4);
    profile_free(sums);
    profile_free(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_cut_off_anywhere_gives_a_part_or_a_sentence),
        cmocka_unit_test(flipped_bits_never_crash),
        cmocka_unit_test(what_is_no_profile_is_said_in_one_sentence),
        cmocka_unit_test(a_newer_packing_is_refused),
        cmocka_unit_test(tables_that_compute_are_refused),
        cmocka_unit_test(nonsense_in_rows_is_noted_and_left_out),
        cmocka_unit_test(nonsense_in_blocks_is_noted_and_left_out),
        cmocka_unit_test(a_lost_block_leaves_the_others),
        cmocka_unit_test(columns_may_come_and_go),
        cmocka_unit_test(blocks_may_be_damaged_anywhere),
        cmocka_unit_test(odd_values_are_taken_as_they_are),
        cmocka_unit_test(a_text_is_read_in_linear_time),
        cmocka_unit_test(looks_without_owners_are_not_asked_for_each),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
