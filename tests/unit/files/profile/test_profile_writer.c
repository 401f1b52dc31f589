/* What is written is what is read; nothing that was there is lost. */
#include <dirent.h>
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
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "sample.h"
#include "base/error.h"
#include "scratch.h"
#include "check.h"

static struct profile *read_profile(const char *path)
{
    struct profile *profile;
    if (profile_read(&profile, path)) {
        print_error("%s\n", error_text());
        fail();
    }
    return profile;
}

static bool exists(const char *path)
{
    struct stat stat_of;
    return !lstat(path, &stat_of);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    for (int pack = 0; pack < 2; pack++) {
        const char *path = scratch("equal.tmk");
        assert_int_equal(sample_file(path, pack), 0);
        struct profile *profile = read_profile(path);
        check_sample(profile, false);
        profile_free(profile);
        assert_false(exists(scratch("equal.tmk-wal")));
        assert_false(exists(scratch("equal.tmk-shm")));
    }
}

static void a_writer_that_rests_keeps_no_pages_and_goes_on(void **state)
{
    (void)state;
    const char *path = scratch("resting.tmk");
    struct profile_writer *writer;
    assert_int_equal(profile_writer_open(&writer, path), 0);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(profile_writer_begin(writer), 0);
        assert_int_equal(sample_write(writer), 0);
        assert_int_equal(profile_writer_commit(writer), 0);
        sqlite3_int64 before = sqlite3_memory_used();
        profile_writer_rest(writer);
        assert_in_range(sqlite3_memory_used(), 1, before - 64 * 1024);
        profile_writer_rest(writer); /* nothing is left to give back */
    }
    assert_int_equal(profile_writer_finish(writer, true), 0);
    struct profile *profile = read_profile(path);
    check_sample(profile, false);
    profile_free(profile);
}

static void random_profiles_come_back_equal(void **state)
{
    (void)state;
    unsigned seed = getenv("SEED") ? (unsigned)atoi(getenv("SEED")) : (unsigned)getpid();
    print_message("seed %u\n", seed);
    for (int round = 0; round < 20; round++)
        check_random_round_trip(scratch("random.tmk"), scratch("random.db"),
                                round ? &seed : &(unsigned){42});
}

/* A C function has a linkage name where it is called and none where it is inlined; clones have
 * others. */
static void functions_that_nobody_could_tell_apart_are_one(void **state)
{
    (void)state;
    static const struct profile_frame frames[] = {
        {"grow", NULL, "/src/list.c", 10},    {"grow", "grow.part.0", "/src/list.c", 12},
        {"grow", "grow", "/src/other.c", 10}, {"shrink", "shrink", "/src/list.c", 10},
        {"grow", "grow.cold", NULL, 0},       {"grow", "grow.constprop.0", NULL, 0},
    };
    enum { COUNT = sizeof frames / sizeof *frames };
    const char *path = scratch("same.tmk");
    struct profile_writer *writer;
    assert_int_equal(profile_writer_open(&writer, path), 0);
    assert_int_equal(profile_writer_begin(writer), 0);
    for (uint32_t i = 0; i < COUNT; i++) {
        struct profile_location location = {(int64_t)i + 1, -1, i, 0, &frames[i], 1};
        assert_int_equal(profile_put_location(writer, &location), 0);
    }
    assert_int_equal(profile_writer_finish(writer, false), 0);
    struct profile *profile = read_profile(path);
    uint32_t of[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        of[i] = profile->lines[profile->codes[i + 1].first_line].function;
    assert_int_equal(of[0], of[1]);
    assert_string_equal(profile->functions[of[0]].linkage, "grow.part.0");
    assert_int_not_equal(of[0], of[2]);
    assert_int_not_equal(of[0], of[3]);
    assert_int_not_equal(of[4], of[5]); /* of unknown files: who knows */
    assert_int_not_equal(of[0], of[4]);
    profile_free(profile);
}

static struct profile *profile_without_events(uint64_t lost_events)
{
    const char *path = scratch("none.tmk");
    struct profile_writer *writer;
    struct program_numbers numbers = {.lost_events = lost_events};
    struct program_metrics program = program_metrics_of(&numbers);
    assert_int_equal(profile_writer_open(&writer, path), 0);
    assert_int_equal(profile_writer_begin(writer), 0);
    assert_int_equal(profile_put_program(writer, &program), 0);
    assert_int_equal(profile_writer_commit(writer), 0);
    assert_int_equal(profile_writer_finish(writer, false), 0);
    return read_profile(path);
}

/* All that a program did may be what was lost. */
static void without_events_nothing_is_known_where_some_were_lost(void **state)
{
    (void)state;
    struct profile *none = profile_without_events(0), *lost = profile_without_events(2);
    assert_true(figure_zero(none->program.total.peak_bytes));
    assert_true(figure_zero(none->program.total.map_bytes));
    assert_false(figure_known(lost->program.total.peak_bytes));
    assert_false(figure_known(lost->program.total.alloc_count));
    assert_false(figure_known(lost->program.total.map_bytes));
    assert_int_equal(lost->program.lost_events, 2);
    profile_free(none);
    profile_free(lost);
}

static void a_reader_sees_what_was_committed_last(void **state)
{
    (void)state;
    const char *path = scratch("live.tmk");
    struct profile_writer *writer;
    assert_int_equal(profile_writer_open(&writer, path), 0);
    assert_int_equal(profile_writer_begin(writer), 0);
    assert_int_equal(sample_write(writer), 0);
    assert_int_equal(profile_writer_commit(writer), 0);
    assert_int_equal(profile_writer_begin(writer), 0);
    assert_int_equal(profile_put_text(writer, PROFILE_META_PROGRAM, "not yet"), 0);
    struct profile *profile = read_profile(path);
    assert_true(profile->being_written);
    assert_false(profile->complete);
    assert_int_equal(profile->node_count, SAMPLE_PATHS + 1);
    assert_string_equal(profile_get(profile, PROFILE_META_PROGRAM), "solver");
    profile_free(profile);
    assert_int_equal(profile_writer_commit(writer), 0);
    assert_int_equal(profile_writer_finish(writer, true), 0);
    profile = read_profile(path);
    assert_true(profile->complete);
    assert_false(profile->being_written);
    assert_string_equal(profile_get(profile, PROFILE_META_PROGRAM), "not yet");
    profile_free(profile);
}

/* Another program may hold a read transaction for hours: the profile is completed nevertheless. */
static void a_reader_that_holds_on_does_not_keep_the_end_away(void **state)
{
    (void)state;
    for (int pack = 0; pack < 2; pack++) {
        const char *path = scratch("held.tmk");
        struct profile_writer *writer;
        sqlite3 *holder;
        assert_int_equal(profile_writer_open(&writer, path), 0);
        assert_int_equal(profile_writer_begin(writer), 0);
        assert_int_equal(sample_write(writer), 0);
        assert_int_equal(profile_writer_commit(writer), 0);
        assert_int_equal(sqlite3_open(path, &holder), SQLITE_OK);
        assert_int_equal(sqlite3_exec(holder, "BEGIN; SELECT * FROM path_block", NULL, NULL, NULL),
                         SQLITE_OK);
        assert_int_equal(profile_writer_finish(writer, pack), 0);
        struct profile *profile = read_profile(path);
        check_sample(profile, false);
        profile_free(profile);
        assert_false(exists(scratch("held.tmk-wal")));
        assert_false(exists(scratch("held.tmk.settling")));
        assert_false(exists(scratch("held.tmk.packing")));
        assert_int_equal(sqlite3_exec(holder, "SELECT * FROM site_block", NULL, NULL, NULL),
                         SQLITE_OK);
        sqlite3_close(holder);
    }
}

/* In a child, so that the kernel ends it as it would end a collector. */
static void a_killed_writer_leaves_what_it_committed(void **state)
{
    (void)state;
    for (int round = 0; round < 10; round++) {
        const char *path = scratch("killed.tmk");
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        pid_t pid = fork();
        if (!pid) {
            struct profile_writer *writer;
            if (profile_writer_open(&writer, path))
                _exit(1);
            profile_writer_begin(writer);
            sample_write(writer);
            profile_writer_commit(writer);
            (void)!write(ends[1], "", 1);
            for (uint32_t id = 100;; id++) { /* until killed, in the middle of something */
                profile_writer_begin(writer);
                for (int i = 0; i < 500; i++)
                    profile_put_path(writer, id++, 1, 1);
                profile_writer_commit(writer);
            }
        }
        char byte;
        assert_int_equal(read(ends[0], &byte, 1), 1);
        usleep(1000u * (unsigned)round);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        close(ends[0]);
        close(ends[1]);
        struct profile *profile = read_profile(path);
        assert_null(profile->damage);
        assert_false(profile->complete);
        assert_false(profile->being_written);
        assert_int_equal((profile->node_count - SAMPLE_PATHS - 1) % 500, 0);
        assert_int_equal(profile->site_count, SAMPLE_SITES);
        profile_free(profile);
    }
}

/* ---- Killed while a file is being made ------------------------------------------------------ */

/* The kernel kills a child at the first write behind so many bytes of a file. */
enum { KILLED_AT = 3 << 15 };

static void be_killed_while_writing(void)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){KILLED_AT, KILLED_AT});
}

static void assert_killed(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
}

/* All names in the directory that begin so. */
static unsigned count_names(const char *beginning)
{
    unsigned count = 0;
    DIR *names = opendir(scratch_directory);
    for (struct dirent *name; names && (name = readdir(names));)
        count += !strncmp(name->d_name, beginning, strlen(beginning));
    closedir(names);
    return count;
}

static struct profile_writer *begun_writer(const char *path)
{
    struct profile_writer *writer;
    assert_int_equal(profile_writer_open(&writer, path), 0);
    assert_int_equal(profile_writer_begin(writer), 0);
    assert_int_equal(sample_write(writer), 0);
    assert_int_equal(profile_writer_commit(writer), 0);
    return writer;
}

/* What is written at once has no database to copy, but rows. */
static void a_profile_that_has_no_file_yet_is_copied(void **state)
{
    (void)state;
    struct profile_writer *writer;
    assert_int_equal(profile_writer_open_at_once(&writer, scratch("once.tmk")), 0);
    assert_int_equal(profile_writer_begin(writer), 0);
    assert_int_equal(sample_write(writer), 0);
    assert_int_equal(profile_writer_commit(writer), 0);
    assert_int_equal(profile_writer_copy(writer, scratch("copied.tmk"), NULL, 0), 0);
    struct profile *copy = read_profile(scratch("copied.tmk"));
    assert_int_equal(count_names("once"), 0);
    assert_int_equal(profile_writer_finish(writer, true), 0);
    struct profile *profile = read_profile(scratch("once.tmk"));
    assert_int_equal(profile->site_count, SAMPLE_SITES);
    assert_int_equal(copy->site_count, SAMPLE_SITES);
    profile_free(copy);
    profile_free(profile);
}

static void a_snapshot_whose_writer_is_killed_never_was(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (!pid) {
        struct profile_writer *writer = begun_writer(scratch("snapshot.tmk"));
        be_killed_while_writing();
        profile_writer_copy(writer, scratch("taken.tmk"), NULL, 0);
        _exit(0);
    }
    assert_killed(pid);
    assert_int_equal(count_names("taken"), 0);
    struct profile *profile = read_profile(scratch("snapshot.tmk"));
    assert_int_equal(profile->site_count, SAMPLE_SITES);
    profile_free(profile);
}

static void what_is_unpacked_has_a_name_when_it_is_whole(void **state)
{
    (void)state;
    const char *path = scratch("packed.tmk"), *rows = scratch("rows.db");
    assert_int_equal(sample_file(path, true), 0);
    pid_t pid = fork();
    if (!pid) {
        be_killed_while_writing();
        profile_unpack(path, rows);
        _exit(0);
    }
    assert_killed(pid);
    assert_int_equal(count_names("rows"), 0);
    assert_int_equal(profile_unpack(path, rows), 0);
    assert_int_equal(profile_unpack(path, rows), -EEXIST);
    assert_int_equal(count_names("rows"), 1);
}

static void a_database_that_is_asked_has_no_name(void **state)
{
    (void)state;
    sqlite3 *database;
    sqlite3_stmt *statement;
    const char *path = scratch("asked.tmk");
    assert_int_equal(sample_file(path, true), 0);
    unsigned before = count_names("");
    assert_int_equal(profile_unpack_open(path, scratch_directory, &database), 0);
    assert_int_equal(count_names(""), before);
    assert_int_equal(
        sqlite3_prepare_v2(database, "SELECT count(*) FROM path", -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(statement, 0), SAMPLE_PATHS);
    sqlite3_finalize(statement);
    sqlite3_close(database);
}

static void an_existing_file_becomes_old(void **state)
{
    (void)state;
    const char *path = scratch("kept.tmk"), *old = scratch("kept.tmk.old");
    FILE *file = fopen(path, "w");
    fputs("TMTRACE\nprecious", file); /* begins as a file of ours */
    fclose(file);
    assert_int_equal(sample_file(path, true), 0);
    char text[16] = "";
    file = fopen(old, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_string_equal(text, "precious");
    struct stat stat_of;
    assert_int_equal(stat(path, &stat_of), 0);
    assert_int_equal(stat_of.st_mode & 0777, 0600);
}

static void a_file_of_somebody_else_is_left_alone(void **state)
{
    (void)state;
    struct profile_writer *writer;
    const char *path = scratch("prog.c");
    FILE *file = fopen(path, "w");
    fputs("int main(void)", file);
    fclose(file);
    assert_int_equal(profile_writer_open(&writer, path), -EEXIST);
    assert_non_null(strstr(error_text(), path));
    struct stat stat_of;
    assert_int_equal(stat(path, &stat_of), 0);
    assert_int_equal(stat_of.st_size, 14);
    assert_false(exists(scratch("prog.c.old")));
}

static void links_are_renamed_and_not_followed(void **state)
{
    (void)state;
    const char *path = scratch("link.tmk"), *target = scratch("target");
    FILE *file = fopen(target, "w");
    fputs("TMTRACE\nuntouched", file);
    fclose(file);
    assert_int_equal(symlink(target, path), 0);
    assert_int_equal(sample_file(path, true), 0);
    struct stat stat_of;
    assert_int_equal(stat(target, &stat_of), 0);
    assert_int_equal(stat_of.st_size, 17);
    assert_int_equal(lstat(path, &stat_of), 0);
    assert_true(S_ISREG(stat_of.st_mode));
}

static void what_is_no_file_is_refused(void **state)
{
    (void)state;
    struct profile_writer *writer;
    const char *fifo = scratch("fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(profile_writer_open(&writer, fifo), -EINVAL);
    assert_true(exists(fifo));
    assert_int_equal(profile_writer_open(&writer, scratch_directory), -EINVAL);
    assert_int_equal(profile_writer_open(&writer, "/dev/null"), -EINVAL);
    assert_int_equal(profile_writer_open(&writer, "/nowhere/at/all.tmk"), -ENOENT);
    assert_non_null(strstr(error_text(), "/nowhere/at/all.tmk"));
}

static void a_profile_being_written_is_not_pushed_aside(void **state)
{
    (void)state;
    struct profile_writer *writer, *second;
    const char *path = scratch("busy.tmk");
    assert_int_equal(profile_writer_open(&writer, path), 0);
    assert_int_equal(profile_writer_open(&second, path), -EBUSY);
    profile_writer_abandon(writer);
}

static void a_file_put_in_its_place_is_not_overwritten(void **state)
{
    (void)state;
    struct profile_writer *writer;
    const char *path = scratch("moved.tmk");
    assert_int_equal(profile_writer_open(&writer, path), 0);
    assert_int_equal(rename(path, scratch("elsewhere.tmk")), 0);
    FILE *file = fopen(path, "w");
    fputs("mine", file);
    fclose(file);
    assert_true(profile_writer_finish(writer, true) < 0);
    struct stat stat_of;
    assert_int_equal(stat(path, &stat_of), 0);
    assert_int_equal(stat_of.st_size, 4);
}

static void a_finished_profile_reads_from_a_directory_that_cannot_be_written(void **state)
{
    (void)state;
    for (int pack = 0; pack < 2; pack++) {
        assert_int_equal(mkdir(scratch("readonly"), 0700), 0);
        const char *path = scratch("readonly/profile.tmk");
        assert_int_equal(sample_file(path, pack), 0);
        chmod(path, 0400);
        chmod(scratch("readonly"), 0500);
        pid_t pid = fork();
        if (!pid) { /* root may write everywhere: count the files instead */
            struct profile *profile;
            _exit(profile_read(&profile, path) ? 1 : 0);
        }
        int status;
        waitpid(pid, &status, 0);
        assert_int_equal(status, 0);
        assert_false(exists(scratch("readonly/profile.tmk-wal")));
        assert_false(exists(scratch("readonly/profile.tmk-shm")));
        chmod(scratch("readonly"), 0700);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(rmdir(scratch("readonly")), 0);
    }
}

static void unpacking_gives_the_same_profile(void **state)
{
    (void)state;
    for (int pack = 0; pack < 2; pack++) {
        const char *path = scratch("packed.tmk"), *plain = scratch("plain.db");
        assert_int_equal(sample_file(path, pack), 0);
        assert_int_equal(profile_unpack(path, plain), 0);
        struct profile *profile = read_profile(plain);
        check_sample(profile, false);
        profile_free(profile);
        assert_int_equal(profile_unpack(path, plain), -EEXIST);
        assert_int_equal(profile_unpack(plain, scratch("again.db")), -EINVAL);
        assert_false(exists(scratch("again.db")));
        assert_int_equal(unlink(plain), 0);
    }
}

static int64_t number_in(const char *path, const char *sql)
{
    sqlite3 *database;
    sqlite3_stmt *row;
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    if (sqlite3_prepare_v2(database, sql, -1, &row, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(database));
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    int64_t number = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    sqlite3_close(database);
    return number;
}

static void unpacking_gives_rows_and_views_and_keeps_what_else_is_there(void **state)
{
    (void)state;
    const char *path = scratch("more.tmk"), *rows = scratch("more.db");
    sqlite3 *database;
    assert_int_equal(sample_file(path, false), 0);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, "CREATE TABLE notes(n); INSERT INTO notes VALUES(77)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(database);
    assert_int_equal(profile_unpack(path, rows), 0);
    assert_int_equal(number_in(rows, "SELECT n FROM notes"), 77);
    assert_int_equal(number_in(rows, "SELECT count(*) FROM path"), SAMPLE_PATHS);
    assert_int_equal(number_in(rows, "SELECT parent FROM path WHERE id=10"), 2);
    assert_int_equal(number_in(rows, "SELECT count(*) FROM call_sites"), SAMPLE_SITES);
    assert_int_equal(number_in(rows, "SELECT lifetime_min_ns IS NULL FROM site WHERE path=9"), 1);
    assert_int_equal(
        number_in(rows, "SELECT count(*) FROM sqlite_schema WHERE name LIKE '%block%'"), 0);
    assert_int_equal(number_in(rows, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"),
                     1);
}

/* What unpacking shows is one moment of it. */
static void a_profile_being_written_is_unpacked_as_last_committed(void **state)
{
    (void)state;
    const char *path = scratch("growing.tmk"), *rows = scratch("growing.db");
    struct profile_writer *writer;
    assert_int_equal(profile_writer_open(&writer, path), 0);
    assert_int_equal(profile_writer_begin(writer), 0);
    assert_int_equal(sample_write(writer), 0);
    assert_int_equal(profile_writer_commit(writer), 0);
    assert_int_equal(profile_writer_begin(writer), 0);
    for (uint32_t id = 11; id < 20000; id++)
        assert_int_equal(profile_put_path(writer, id, 1, 1), 0);
    assert_int_equal(profile_unpack(path, rows), 0);
    assert_int_equal(number_in(rows, "SELECT count(*) FROM path"), SAMPLE_PATHS);
    assert_int_equal(number_in(rows, "SELECT sum(alloc_count) FROM site"),
                     (int64_t)sample_program().total.alloc_count);
    assert_int_equal(unlink(rows), 0);
    assert_int_equal(profile_writer_commit(writer), 0);
    assert_int_equal(profile_unpack(path, rows), 0);
    assert_int_equal(number_in(rows, "SELECT count(*) FROM path"), 19999);
    assert_false(exists(scratch("growing.db-wal")));
    profile_writer_abandon(writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(a_writer_that_rests_keeps_no_pages_and_goes_on),
        cmocka_unit_test(random_profiles_come_back_equal),
        cmocka_unit_test(functions_that_nobody_could_tell_apart_are_one),
        cmocka_unit_test(without_events_nothing_is_known_where_some_were_lost),
        cmocka_unit_test(a_reader_sees_what_was_committed_last),
        cmocka_unit_test(a_reader_that_holds_on_does_not_keep_the_end_away),
        cmocka_unit_test(a_killed_writer_leaves_what_it_committed),
        cmocka_unit_test(a_profile_that_has_no_file_yet_is_copied),
        cmocka_unit_test(a_snapshot_whose_writer_is_killed_never_was),
        cmocka_unit_test(what_is_unpacked_has_a_name_when_it_is_whole),
        cmocka_unit_test(a_database_that_is_asked_has_no_name),
        cmocka_unit_test(an_existing_file_becomes_old),
        cmocka_unit_test(a_file_of_somebody_else_is_left_alone),
        cmocka_unit_test(links_are_renamed_and_not_followed),
        cmocka_unit_test(what_is_no_file_is_refused),
        cmocka_unit_test(a_profile_being_written_is_not_pushed_aside),
        cmocka_unit_test(a_file_put_in_its_place_is_not_overwritten),
        cmocka_unit_test(a_finished_profile_reads_from_a_directory_that_cannot_be_written),
        cmocka_unit_test(unpacking_gives_the_same_profile),
        cmocka_unit_test(unpacking_gives_rows_and_views_and_keeps_what_else_is_there),
        cmocka_unit_test(a_profile_being_written_is_unpacked_as_last_committed),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
