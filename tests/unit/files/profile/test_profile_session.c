/* A row of a session file is all that a profile of its own is. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "sample.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "scratch.h"
#include "check_details.h"
#include "profile/log_replay.h"
#include "profile/profile_session.h"
#include "profile/statements.h"
#include "row_of_profile.h"

/* ---- Dumps --------------------------------------------------------------------------------- */

static int add_row(void *context, int columns, char **values, char **names)
{
    struct strbuf *out = context;
    (void)names;
    for (int i = 0; i < columns; i++)
        strbuf_addf(out, "%s|", values[i] ? values[i] : "-");
    strbuf_add_char(out, '\n');
    return 0;
}

static int add_table(void *context, int columns, char **values, char **names)
{
    struct strbuf *sql = context;
    (void)columns, (void)names;
    strbuf_addf(sql, "SELECT '%s'; SELECT * FROM %s;", values[0], values[0]);
    return 0;
}

/* Every row of every table of the unpacked profile, and every view. */
static char *dump(const char *path)
{
    sqlite3 *database;
    struct strbuf sql = STRBUF_INIT, out = STRBUF_INIT;
    unlink(scratch("dump.db"));
    if (profile_unpack(path, scratch("dump.db")))
        fail_msg("%s", error_text());
    assert_int_equal(sqlite3_open(scratch("dump.db"), &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database,
                                  "SELECT name FROM sqlite_schema WHERE type<>'index'"
                                  " AND name NOT LIKE 'sqlite%' ORDER BY name",
                                  add_table, &sql, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, sql.data, add_row, &out, NULL), SQLITE_OK);
    sqlite3_close(database);
    strbuf_release(&sql);
    return strbuf_detach(&out);
}

static void check_same(const char *path, const char *as_path)
{
    char *one = dump(path), *other = dump(as_path);
    assert_string_equal(one, other);
    free(one);
    free(other);
}

/* ---- Writers ------------------------------------------------------------------------------- */

static int write_both(struct profile_writer *writer)
{
    int error = profile_writer_begin(writer);
    if (!error)
        error = sample_write(writer);
    if (!error)
        error = details_write(writer);
    return error ? error : profile_writer_commit(writer);
}

static const struct session_row sample_row = {
    .pid = 4711,
    .parent = 4000,
    .start_unix_ns = 1790000000000000000,
    .duration_ns = {1024000000},
    .peak_bytes = {27589056},
    .resident_bytes = FIGURE_UNKNOWN,
    .alloc_count = {66237},
    .alloc_bytes = {141899184},
    .end = SESSION_END_EXIT,
    .program = "solver",
    .command = "./build/solver --steps 12 'in put.dat'",
};

static struct session_file *open_session(const char *path)
{
    struct session_file *file;
    if (profile_session_open(&file, path))
        fail_msg("%s", error_text());
    return file;
}

static void append_sample(struct session_file *file, pid_t pid, uint64_t start_unix_ns)
{
    struct profile_writer *writer;
    struct strbuf body = STRBUF_INIT;
    struct session_row row = sample_row;
    row.pid = pid;
    row.start_unix_ns = start_unix_ns;
    assert_int_equal(profile_writer_open_log(&writer, "row"), 0);
    assert_int_equal(write_both(writer), 0);
    assert_int_equal(profile_writer_finish_log(writer, &body), 0);
    assert_int_equal(session_file_append(file, &row, body.data, body.length), 0);
    strbuf_release(&body);
}

/* ---- Tests --------------------------------------------------------------------------------- */

static void a_row_reads_as_a_file_of_its_own(void **state)
{
    (void)state;
    struct session_file *file = open_session(scratch("one.session.tmk"));
    struct profile *profile;
    append_sample(file, 4711, 1);
    session_file_close(file);
    if (profile_read(&profile, scratch("one.session.tmk@4711")))
        fail_msg("%s", error_text());
    check_sample(profile, true);
    check_details(profile, false);
    assert_false(profile->being_written);
    profile_free(profile);
    assert_int_equal(details_file(scratch("one.tmk"), true), 0);
    check_same(scratch("one.session.tmk@4711"), scratch("one.tmk"));
}

/* What came later replaces what was there, in a log as in a database. */
static void what_is_written_twice_is_there_once(void **state)
{
    (void)state;
    struct profile_writer *writers[2];
    struct session_file *file = open_session(scratch("twice.session.tmk"));
    struct strbuf body = STRBUF_INIT;
    assert_int_equal(profile_writer_open_log(&writers[0], "row"), 0);
    assert_int_equal(profile_writer_open(&writers[1], scratch("twice.tmk")), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(write_both(writers[i]), 0);
        assert_int_equal(write_both(writers[i]), 0);
    }
    assert_int_equal(profile_writer_finish_log(writers[0], &body), 0);
    assert_int_equal(profile_writer_finish(writers[1], true), 0);
    assert_int_equal(session_file_append(file, &sample_row, body.data, body.length), 0);
    session_file_close(file);
    strbuf_release(&body);
    check_same(scratch("twice.session.tmk@4711"), scratch("twice.tmk"));
}

static void golden_profiles_are_the_same_as_rows(void **state)
{
    (void)state;
    static const char *const golden[] = {
        GOLDEN_DIR "/profile-v2-details.tmk", GOLDEN_DIR "/profile-v2-details.plain.tmk",
        GOLDEN_DIR "/profile-v2.tmk", GOLDEN_DIR "/profile-v2.plain.tmk"};
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        struct session_file *file = open_session(scratch("golden.session.tmk"));
        struct profile *profile;
        if (row_append(file, golden[i], 0))
            fail_msg("%s", error_text());
        session_file_close(file);
        if (profile_read(&profile, scratch("golden.session.tmk@4711")))
            fail_msg("%s", error_text());
        check_sample(profile, i < 2);
        if (i < 2)
            check_details(profile, false);
        else
            check_no_details(profile);
        profile_free(profile);
    }
}

/* ---- Written at once ----------------------------------------------------------------------- */

static void write_at_once(const char *path, bool pack)
{
    struct profile_writer *writer;
    assert_int_equal(profile_writer_open_at_once(&writer, path), 0);
    assert_int_equal(write_both(writer), 0);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(profile_writer_finish(writer, pack), 0);
}

static void a_profile_written_at_once_is_the_same(void **state)
{
    (void)state;
    assert_int_equal(details_file(scratch("slow.tmk"), true), 0);
    write_at_once(scratch("packed.tmk"), true);
    write_at_once(scratch("plain.tmk"), false);
    check_same(scratch("packed.tmk"), scratch("slow.tmk"));
    check_same(scratch("plain.tmk"), scratch("slow.tmk"));
    assert_int_not_equal(access(scratch("packed.tmk.packing"), F_OK), 0);
    assert_int_not_equal(access(scratch("plain.tmk-wal"), F_OK), 0);
}

/* What was there steps aside when the new one is whole, and what is not ours is refused at once. */
static void what_is_in_the_way_of_a_name_is_kept(void **state)
{
    (void)state;
    struct profile_writer *writer;
    struct stat old, kept;
    write_at_once(scratch("twice_at_once.tmk"), true);
    assert_int_equal(stat(scratch("twice_at_once.tmk"), &old), 0);
    assert_int_equal(profile_writer_open_at_once(&writer, scratch("twice_at_once.tmk")), 0);
    assert_int_equal(write_both(writer), 0);
    assert_int_equal(profile_writer_finish(writer, true), 0);
    assert_int_equal(stat(scratch("twice_at_once.tmk.old"), &kept), 0);
    assert_true(old.st_ino == kept.st_ino);
    int fd = open(scratch("mine.c"), O_CREAT | O_WRONLY, 0600);
    assert_int_equal(write(fd, "int main(void);", 15), 15);
    close(fd);
    assert_int_equal(profile_writer_open_at_once(&writer, scratch("mine.c")), -EEXIST);
    assert_int_equal(profile_writer_open_at_once(&writer, scratch("no/such/place.tmk")), -ENOENT);
}

/* Discarded, or with no room on the disk: there is no file of any name. */
static void a_profile_that_does_not_fit_leaves_no_file(void **state)
{
    (void)state;
    struct profile_writer *writer;
    struct rlimit unlimited, limit;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
    assert_int_equal(profile_writer_open_at_once(&writer, scratch("full.tmk")), 0);
    assert_int_equal(write_both(writer), 0);
    limit = (struct rlimit){1000, unlimited.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    int error = profile_writer_finish(writer, true);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
    assert_int_equal(error, -EFBIG);
    assert_non_null(strstr(error_text(), "there is no profile"));
    assert_int_equal(profile_writer_open_at_once(&writer, scratch("full.tmk")), 0);
    assert_int_equal(write_both(writer), 0);
    profile_writer_discard(writer);
    assert_int_not_equal(access(scratch("full.tmk"), F_OK), 0);
    assert_int_not_equal(access(scratch("full.tmk.packing"), F_OK), 0);
}

/* More than readers take is not written. */
static void a_log_has_an_end(void **state)
{
    (void)state;
    struct profile_writer *writer;
    struct strbuf body = STRBUF_INIT;
    assert_int_equal(profile_writer_open_log(&writer, "large"), 0);
    for (int i = 0; i <= PROFILE_LOG_ROWS_MAX; i++)
        assert_int_equal(profile_put_integer(writer, "key", i), 0);
    assert_int_equal(profile_writer_finish_log(writer, &body), -EFBIG);
    assert_int_equal(body.length, 0);
    strbuf_release(&body);
}

static void a_log_cannot_be_copied(void **state)
{
    (void)state;
    struct profile_writer *writer;
    assert_int_equal(profile_writer_open_log(&writer, "row"), 0);
    assert_int_equal(write_both(writer), 0);
    assert_int_equal(profile_writer_copy(writer, scratch("copy.tmk"), NULL, 0), -ENOTSUP);
    assert_int_not_equal(access(scratch("copy.tmk"), F_OK), 0);
    profile_writer_discard(writer);
}

/* ---- Choosing ------------------------------------------------------------------------------ */

static void check_start(const char *operand, const char *start)
{
    struct profile *profile;
    if (profile_read_meta(&profile, operand))
        fail_msg("%s", error_text());
    assert_string_equal(profile_get(profile, PROFILE_META_START), start);
    profile_free(profile);
}

static void append_started(struct session_file *file, pid_t pid, int64_t start_unix_ns)
{
    struct profile_writer *writer;
    struct strbuf body = STRBUF_INIT;
    struct session_row row = sample_row;
    row.pid = pid;
    row.start_unix_ns = (uint64_t)start_unix_ns;
    assert_int_equal(profile_writer_open_log(&writer, "row"), 0);
    assert_int_equal(profile_put_integer(writer, PROFILE_META_PID, pid), 0);
    assert_int_equal(profile_put_integer(writer, PROFILE_META_START, start_unix_ns), 0);
    assert_int_equal(profile_writer_finish_log(writer, &body), 0);
    assert_int_equal(session_file_append(file, &row, body.data, body.length), 0);
    strbuf_release(&body);
}

static void the_last_image_of_a_process_is_meant(void **state)
{
    (void)state;
    struct session_file *file = open_session(scratch("exec.session.tmk"));
    struct profile *profile;
    append_started(file, 12, 300);
    append_started(file, 11, 200);
    append_started(file, 12, 100);
    session_file_close(file);
    check_start(scratch("exec.session.tmk@12"), "300");
    check_start(scratch("exec.session.tmk@12.1"), "100");
    check_start(scratch("exec.session.tmk@12.2"), "300");
    check_start(scratch("exec.session.tmk@11"), "200");
    assert_int_equal(profile_read(&profile, scratch("exec.session.tmk@12.3")), -ENOENT);
    assert_non_null(strstr(error_text(), "choose one by a number from 1 to 2"));
    assert_int_equal(profile_read(&profile, scratch("exec.session.tmk@13")), -ENOENT);
    assert_non_null(strstr(error_text(), "has no process 13, but 12 (solver), 11 (solver)"));
    assert_int_equal(profile_read(&profile, scratch("exec.session.tmk")), -EBADMSG);
    assert_non_null(strstr(error_text(), "has the profiles of many processes: choose one"));
}

static void put_small_file(const char *path, pid_t pid, int64_t start_unix_ns)
{
    struct profile_writer *writer;
    assert_int_equal(profile_writer_open(&writer, path), 0);
    assert_int_equal(profile_writer_begin(writer), 0);
    assert_int_equal(profile_put_integer(writer, PROFILE_META_PID, pid), 0);
    assert_int_equal(profile_put_integer(writer, PROFILE_META_START, start_unix_ns), 0);
    assert_int_equal(profile_writer_commit(writer), 0);
    assert_int_equal(profile_writer_finish(writer, true), 0);
}

/* What shows profiles again and again asks whether they have changed. */
static void a_row_that_came_later_is_a_change(void **state)
{
    (void)state;
    struct session_file *file = open_session(scratch("sign.session.tmk"));
    append_started(file, 31, 100);
    uint64_t before = profile_signature(scratch("sign.session.tmk@31"));
    assert_true(before != 0);
    assert_true(profile_signature(scratch("sign.session.tmk@31")) == before);
    append_started(file, 31, 200);
    assert_true(profile_signature(scratch("sign.session.tmk@31")) != before);
    session_file_close(file);
    assert_true(profile_signature(scratch("none.session.tmk@31")) == 0);
}

/* DIR@PID, a profile of the session @PID, and the session file for a process that has its own. */
static void files_of_their_own_are_chosen_too(void **state)
{
    (void)state;
    assert_int_equal(mkdir(scratch("dir"), 0700), 0);
    struct session_file *file = open_session(scratch("dir/make.session.tmk"));
    append_started(file, 21, 100);
    append_started(file, 22, 150);
    session_file_close(file);
    put_small_file(scratch("dir/make.tmk"), 20, 50);
    put_small_file(scratch("dir/make.22.tmk"), 22, 250);
    check_start(scratch("dir@20"), "50");
    check_start(scratch("dir@21"), "100");
    check_start(scratch("dir@22"), "250");
    check_start(scratch("dir@22.1"), "150");
    check_start(scratch("dir/make.tmk@20"), "50");
    check_start(scratch("dir/make.tmk@21"), "100");
    check_start(scratch("dir/make.session.tmk@20"), "50");
    check_start(scratch("dir/make.22.tmk@21"), "100");
    put_small_file(scratch("dir/a@21"), 99, 999);
    check_start(scratch("dir/a@21"), "999");
}

static void no_file_no_process(void **state)
{
    (void)state;
    struct profile *profile;
    assert_int_equal(profile_read(&profile, scratch("nothing@12")), -ENOENT);
    assert_int_equal(profile_read(&profile, scratch("nothing@x")), -ENOENT);
    assert_int_equal(profile_read(&profile, scratch("nothing@0")), -ENOENT);
    assert_int_equal(profile_read(&profile, scratch("nothing@1.")), -ENOENT);
}

/* ---- Other versions ------------------------------------------------------------------------ */

/* A later version's table, column and line are left out; what was written by an earlier one lacks
 * columns. */
static void layouts_of_other_versions_are_read(void **state)
{
    (void)state;
    static const char layout[] = "tidemark layout 1\nformat 2\nmore that is new\n"
                                 "put meta value key colour\n"
                                 "put spaceship name\n"
                                 "put thread tid id\n"
                                 "drop meta key\n"
                                 "drop meta colour\n";
    struct session_file *file;
    struct profile_log log;
    struct strbuf body = STRBUF_INIT;
    struct profile *profile;
    profile_log_init(&log);
    for (int i = 0; i < 3; i++) {
        struct values values;
        values_begin(&values);
        values_number(&values, i);
        values_text(&values, (const char *[]){"one", "two", "complete"}[i]);
        values_text(&values, "red");
        profile_log_add(&log, 0, &values);
    }
    struct values ship, thread, one;
    values_begin(&ship);
    values_begin(&thread);
    values_begin(&one);
    values_text(&ship, "Rocinante");
    profile_log_add(&log, 1, &ship);
    values_number(&thread, 77);
    values_number(&thread, 0);
    profile_log_add(&log, 2, &thread);
    values_text(&one, "one");
    profile_log_add(&log, 3, &one);
    profile_log_add(&log, 4, &one);
    assert_int_equal(profile_log_pack(&log, &body), 0);
    assert_int_equal(session_file_open(&file, scratch("other.session.tmk"), layout, strlen(layout)),
                     0);
    assert_int_equal(session_file_append(file, &sample_row, body.data, body.length), 0);
    session_file_close(file);
    if (profile_read(&profile, scratch("other.session.tmk@4711")))
        fail_msg("%s", error_text());
    assert_null(profile->damage);
    assert_null(profile_get(profile, "one"));
    assert_string_equal(profile_get(profile, "two"), "1");
    assert_int_equal(profile->thread_count, 1);
    assert_int_equal(profile->threads[0].tid, 77);
    assert_false(figure_known(profile->threads[0].malloc_count));
    profile_free(profile);
    profile_log_release(&log);
    strbuf_release(&body);
}

static void a_newer_format_is_refused(void **state)
{
    (void)state;
    static const char layout[] = "tidemark layout 1\nformat 3\nput meta key value\n";
    struct session_file *file;
    struct profile_log log;
    struct strbuf body = STRBUF_INIT;
    struct profile *profile;
    profile_log_init(&log);
    assert_int_equal(profile_log_pack(&log, &body), 0);
    assert_int_equal(session_file_open(&file, scratch("new.session.tmk"), layout, strlen(layout)),
                     0);
    assert_int_equal(session_file_append(file, &sample_row, body.data, body.length), 0);
    session_file_close(file);
    assert_int_equal(profile_read(&profile, scratch("new.session.tmk@4711")), -EPROTONOSUPPORT);
    assert_non_null(strstr(error_text(), "update it"));
    profile_log_release(&log);
    strbuf_release(&body);
}

/* A body that makes no sense from somewhere on is read up to there, and that is said. */
static void a_damaged_body_is_read_as_far_as_it_is_sound(void **state)
{
    (void)state;
    struct profile_log log;
    struct strbuf body = STRBUF_INIT;
    struct profile *profile;
    struct session_file *file = open_session(scratch("bad.session.tmk"));
    profile_log_init(&log);
    struct values values;
    values_begin(&values);
    values_text(&values, "program");
    values_text(&values, "half");
    profile_log_add(&log, PUT_META, &values);
    profile_log_add(&log, STATEMENT_COUNT + 3, &values);
    assert_int_equal(profile_log_pack(&log, &body), 0);
    assert_int_equal(session_file_append(file, &sample_row, body.data, body.length), 0);
    session_file_close(file);
    if (profile_read(&profile, scratch("bad.session.tmk@4711")))
        fail_msg("%s", error_text());
    assert_non_null(profile->damage);
    assert_string_equal(profile_get(profile, "program"), "half");
    profile_free(profile);
    profile_log_release(&log);
    strbuf_release(&body);
}

/* ---- Logs ---------------------------------------------------------------------------------- */

static void any_values_survive(void **state)
{
    (void)state;
    static const int64_t numbers[] = {0, 1, -1, INT64_MAX, INT64_MIN, 127, 128, 1 << 20};
    enum { COUNT = sizeof numbers / sizeof *numbers, ROWS = 4000 };
    struct profile_log log;
    struct profile_log_reader reader;
    struct values told[64];
    unsigned seed = getenv("SEED") ? (unsigned)atoi(getenv("SEED")) : (unsigned)getpid();
    print_message("seed %u\n", seed);
    profile_log_init(&log);
    unsigned begin = seed;
    for (int pass = 0; pass < 2; pass++) {
        seed = begin;
        if (pass)
            profile_log_read(&reader, log.rows.data, log.rows.length);
        for (int i = 0; i < ROWS; i++) {
            struct values *values = &told[i % 64];
            int statement = rand_r(&seed) % 3;
            values->count = 0;
            for (int column = 0; column < 9 * (statement + 1); column++)
                switch (rand_r(&seed) % 6) {
                case 0:
                    values_null(values);
                    break;
                case 1:
                    values_text(values, rand_r(&seed) % 2 ? "" : "some text");
                    break;
                case 2:
                    values_blob(values, "\0\1\2", (size_t)rand_r(&seed) % 4);
                    break;
                case 3:
                    values_real(values, rand_r(&seed) / 7.0);
                    break;
                default:
                    values_number(values, numbers[rand_r(&seed) % COUNT]);
                }
            if (!pass) {
                profile_log_add(&log, statement, values);
                continue;
            }
            assert_int_equal(profile_log_next(&reader), statement);
            assert_true(profile_log_values(&reader, values->count));
            for (size_t k = 0; k < values->count; k++) {
                const struct value *got = &reader.values.at[k], *wanted = &values->at[k];
                assert_int_equal(got->type, wanted->type);
                if (got->type == VALUE_TEXT || got->type == VALUE_BLOB) {
                    assert_int_equal(got->bytes, wanted->bytes);
                    assert_memory_equal(got->data, wanted->data, got->bytes);
                } else if (got->type != VALUE_NULL) {
                    assert_int_equal(got->number, wanted->number);
                }
            }
        }
    }
    assert_int_equal(profile_log_next(&reader), -1);
    profile_log_release(&log);
}

/* A line of the layout as SQLite knows the table: "put TABLE COLUMN…" with all of its columns. */
static void check_columns(sqlite3 *database, const char *line)
{
    struct strbuf sql = STRBUF_INIT, expected = STRBUF_INIT;
    const char *table = line + strlen("put ");
    strbuf_addf(&sql,
                "SELECT 'put %.*s ' || group_concat(name, ' ') FROM"
                " (SELECT name FROM pragma_table_info('%.*s') ORDER BY cid)",
                (int)strcspn(table, " "), table, (int)strcspn(table, " "), table);
    assert_int_equal(sqlite3_exec(database, sql.data, add_row, &expected, NULL), SQLITE_OK);
    strbuf_truncate(&expected, expected.length - 2);
    assert_string_equal(line, expected.data);
    strbuf_release(&sql);
    strbuf_release(&expected);
}

static void check_line(sqlite3 *database, const char *line, enum statement which)
{
    struct statement_shape shape = statement_of(which);
    size_t words = 1;
    for (const char *c = line; *c; c++)
        words += *c == ' ';
    assert_int_equal(shape.count, words - 2);
    assert_in_range(words - 2, 0, VALUES_MAX);
    if (!shape.drops && !shape.columns)
        check_columns(database, line);
}

static void check_names(sqlite3 *database, const char *layout)
{
    struct strbuf names = STRBUF_INIT;
    assert_int_equal(
        sqlite3_exec(database,
                     "SELECT 'name ' || block || ' ' || number || ' ' || name FROM block_column",
                     add_row, &names, NULL),
        SQLITE_OK);
    char *rest = names.data;
    for (char *name; (name = strsep(&rest, "\n")) && *name;) {
        name[strlen(name) - 1] = '\n'; /* in place of '|' */
        assert_non_null(strstr(layout, name));
    }
    strbuf_release(&names);
}

/* The layout is what SQLite makes of the schema, and every table has room in a row. */
static void the_layout_names_what_there_is(void **state)
{
    (void)state;
    sqlite3 *database;
    struct strbuf schema = STRBUF_INIT, layout = STRBUF_INIT;
    int statement = 0;
    schema_create(&schema);
    assert_int_equal(sqlite3_open(":memory:", &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, schema.data, NULL, NULL, NULL), SQLITE_OK);
    log_replay_layout(&layout);
    check_names(database, layout.data);
    char *rest = layout.data;
    for (char *line; (line = strsep(&rest, "\n"));)
        if (!strncmp(line, "put ", 4) || !strncmp(line, "drop ", 5))
            check_line(database, line, (enum statement)statement++);
    assert_int_equal(statement, STATEMENT_COUNT);
    assert_in_range(STATEMENT_COUNT, 1, 255);
    sqlite3_close(database);
    strbuf_release(&schema);
    strbuf_release(&layout);
}

static void log_pair(struct profile_log *log, int64_t first, int64_t second)
{
    struct values values;
    values_begin(&values);
    values_number(&values, first);
    values_number(&values, second);
    values_null(&values);
    profile_log_add(log, 7, &values);
}

static void a_row_that_follows_is_the_same_told_shortly(void **state)
{
    (void)state;
    struct profile_log whole, shortly;
    profile_log_init(&whole);
    profile_log_init(&shortly);
    for (int64_t i = 0; i < 300; i++) {
        log_pair(&whole, i, 42);
        if (!i)
            log_pair(&shortly, i, 42);
        else if (i <= 100 || i == 299)
            profile_log_add_next(&shortly, i == 299 ? 199 : 1);
    }
    log_pair(&whole, 1000, 43);
    log_pair(&shortly, 1000, 43);
    assert_int_equal(whole.count, shortly.count);
    assert_int_equal(whole.rows.length, shortly.rows.length);
    assert_memory_equal(whole.rows.data, shortly.rows.data, whole.rows.length);
    profile_log_release(&whole);
    profile_log_release(&shortly);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_values_survive),
        cmocka_unit_test(a_row_that_follows_is_the_same_told_shortly),
        cmocka_unit_test(the_layout_names_what_there_is),
        cmocka_unit_test(a_row_reads_as_a_file_of_its_own),
        cmocka_unit_test(what_is_written_twice_is_there_once),
        cmocka_unit_test(golden_profiles_are_the_same_as_rows),
        cmocka_unit_test(a_profile_written_at_once_is_the_same),
        cmocka_unit_test(what_is_in_the_way_of_a_name_is_kept),
        cmocka_unit_test(a_profile_that_does_not_fit_leaves_no_file),
        cmocka_unit_test(a_log_has_an_end),
        cmocka_unit_test(a_log_cannot_be_copied),
        cmocka_unit_test(the_last_image_of_a_process_is_meant),
        cmocka_unit_test(files_of_their_own_are_chosen_too),
        cmocka_unit_test(a_row_that_came_later_is_a_change),
        cmocka_unit_test(no_file_no_process),
        cmocka_unit_test(layouts_of_other_versions_are_read),
        cmocka_unit_test(a_newer_format_is_refused),
        cmocka_unit_test(a_damaged_body_is_read_as_far_as_it_is_sound),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
