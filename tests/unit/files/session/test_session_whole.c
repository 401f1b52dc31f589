/* Whole profiles in a session file: listed without being read, whatever becomes of the file, and
 * written by many threads at once. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <signal.h>
#include <unistd.h>
#include <cmocka.h>
#include "../profile/scratch.h"
#include "base/error.h"
#include "base/own_file.h"
#include "session/session_file.h"
#include "session/session_whole.h"

enum { PROFILE_BYTES = 5000, ROWS = 4 };

static struct session_row row_of(int pid)
{
    return (struct session_row){.pid = pid,
                                .start_unix_ns = 1000 + (uint64_t)pid,
                                .duration_ns = {5},
                                .peak_bytes = {7000},
                                .resident_bytes = FIGURE_UNKNOWN,
                                .alloc_count = {3},
                                .alloc_bytes = {9000},
                                .end = SESSION_END_EXIT,
                                .program = "solver",
                                .command = "solver 'one argument'"};
}

static void fill(char *profile, int pid)
{
    memset(profile, pid, PROFILE_BYTES);
}

static int append(struct session_whole_file *file, int pid)
{
    struct session_row row = row_of(pid);
    char profile[PROFILE_BYTES], said[40];
    fill(profile, pid);
    snprintf(said, sizeof said, "process %d\n", pid);
    struct session_whole_body body = {profile, sizeof profile, 0};
    uint64_t at;
    return session_whole_append(file, &row, said, &body, &at);
}

static struct session_whole_file *open_new(const char *name)
{
    struct session_whole_file *file;
    unlink(scratch(name));
    assert_int_equal(session_whole_open(&file, scratch(name)), 0);
    return file;
}

static void write_rows(const char *name)
{
    struct session_whole_file *file = open_new(name);
    for (int pid = 1; pid <= ROWS; pid++)
        assert_int_equal(append(file, pid), 0);
    session_whole_close(file);
}

static struct session *list(const char *name)
{
    struct session *session;
    if (session_list(&session, scratch(name)))
        fail_msg("%s", error_text());
    return session;
}

/* The row is there with its profile, as far as `bytes` of it. */
static void check_row(struct session *session, size_t number, size_t bytes)
{
    char profile[PROFILE_BYTES], said[40];
    const struct session_entry *entry = &session->entries[number];
    int pid = (int)entry->row.pid;
    fill(profile, pid);
    snprintf(said, sizeof said, "process %d\n", pid);
    assert_true(entry->is_whole);
    assert_string_equal(entry->said, said);
    assert_string_equal(entry->row.program, "solver");
    assert_string_equal(entry->row.command, "solver 'one argument'");
    assert_int_equal(session_load(session, number), 0);
    assert_int_equal(entry->bytes, bytes);
    assert_memory_equal(entry->body, profile, bytes);
}

static void rows_are_listed_without_their_profiles(void **state)
{
    (void)state;
    write_rows("listed");
    struct session *session = list("listed");
    assert_int_equal(session->count, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        assert_null(session->entries[i].body);
        check_row(session, i, PROFILE_BYTES);
    }
    assert_int_equal(session->lost_bytes, 0);
    session_free(session);
}

static void a_file_that_is_there_is_left_alone(void **state)
{
    struct session_whole_file *file;
    (void)state;
    write_rows("there");
    assert_int_equal(session_whole_open(&file, scratch("there")), -EEXIST);
    struct session *session = list("there");
    assert_int_equal(session->count, ROWS);
    session_free(session);
}

static void change(const char *name, off_t at, const void *bytes, size_t count)
{
    int fd = open(scratch(name), O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, count, at), count);
    close(fd);
}

static off_t size_of(const char *name)
{
    struct stat status;
    assert_int_equal(stat(scratch(name), &status), 0);
    return status.st_size;
}

static off_t row_bytes(const char *name)
{
    return (size_of(name) - 16) / ROWS;
}

static void damage_before_a_profile_costs_that_row_alone(void **state)
{
    (void)state;
    write_rows("damaged");
    change("damaged", 16 + row_bytes("damaged") + 30, "damage", 6);
    struct session *session = list("damaged");
    assert_int_equal(session->count, ROWS - 1);
    for (size_t i = 0; i < ROWS - 1; i++)
        check_row(session, i, PROFILE_BYTES);
    assert_int_equal(session->lost_bytes, row_bytes("damaged"));
    session_free(session);
}

/* The second one's profile is another's model: it is not listed, and can be read. */
static void a_row_that_stands_twice_is_listed_once(void **state)
{
    struct session *session;
    struct session_whole_file *file = open_new("twice");
    struct session_row row = row_of(1), later = row_of(1);
    char profile[PROFILE_BYTES];
    uint64_t at[4];
    size_t number;
    (void)state;
    later.start_unix_ns++;
    for (int i = 0; i < 4; i++) {
        struct session_whole_body body = {profile, sizeof profile - (i == 3), i == 2 ? at[1] : 0};
        fill(profile, i);
        assert_int_equal(session_whole_append(file, i == 2 ? &later : &row,
                                              i < 3 ? "said" : "other", &body, &at[i]),
                         0);
    }
    session_whole_close(file);
    assert_int_equal(session_list(&session, scratch("twice")), 0);
    assert_int_equal(session->count, 3);
    assert_int_equal(session->lost_bytes, 0);
    assert_int_equal(session->entries[0].body_at, at[0]);
    assert_int_equal(session->entries[1].body_at, at[2]);
    assert_int_equal(session->entries[2].body_at, at[3]);
    assert_true(session_find_body(session, session->entries[1].model_at, &number));
    assert_int_equal(session_load(session, number), 0);
    assert_int_equal(*(const char *)session->entries[number].body, 1);
    assert_int_equal(session_load(session, 0), 0); /* then the other is not there any more */
    assert_null(session->entries[number].body);
    session_free(session);
}

enum { LARGE = 1 << 20, MANY = 64 };

/* 64 profiles of a MiB each. How large a row is. */
static off_t write_large_rows(void)
{
    struct session_whole_file *file = open_new("large");
    char *profile = calloc(1, LARGE);
    struct session_whole_body body = {profile, LARGE, 0};
    uint64_t at;
    for (int pid = 1; pid <= MANY; pid++) {
        struct session_row row = row_of(pid);
        memset(profile, pid, LARGE);
        assert_int_equal(session_whole_append(file, &row, "said", &body, &at), 0);
    }
    free(profile);
    session_whole_close(file);
    return (size_of("large") - 16) / MANY;
}

/* AddressSanitizer itself takes more memory than the limit lets it. */
#ifdef __SANITIZE_ADDRESS__
enum { HAS_LIMIT = false };
#else
enum { HAS_LIMIT = true };
#endif

/* With memory for no more than a few of them. */
static int list_in_little_memory(struct session **session)
{
    struct rlimit before, less;
    getrlimit(RLIMIT_DATA, &before);
    less = before;
    if (HAS_LIMIT)
        less.rlim_cur = 8 << 20;
    setrlimit(RLIMIT_DATA, &less);
    int error = session_list(session, scratch("large"));
    setrlimit(RLIMIT_DATA, &before);
    return error;
}

static void a_damaged_file_is_not_read_into_memory(void **state)
{
    struct session *session;
    off_t each = write_large_rows();
    (void)state;
    change("large", 16 + 5 * each + 40, "damage", 6);
    change("large", 16 + 9 * each, "no kind", 7);
    assert_int_equal(list_in_little_memory(&session), 0);
    assert_int_equal(session->count, MANY - 2);
    assert_int_equal(session->lost_bytes, 2 * each);
    assert_false(session->cut);
    session_free(session);
    unlink(scratch("large"));
}

static void nor_is_one_without_a_readable_row(void **state)
{
    struct session *session;
    off_t each = write_large_rows(), all = size_of("large");
    (void)state;
    for (int i = 0; i < MANY; i++)
        change("large", 16 + i * each + 40, "damage", 6);
    assert_int_equal(list_in_little_memory(&session), 0);
    assert_int_equal(session->count, 0);
    assert_int_equal(session->lost_bytes, all - 16);
    session_free(session);
    change("large", 0, "something", 9);
    assert_int_equal(list_in_little_memory(&session), -EBADMSG);
    assert_non_null(strstr(error_text(), "is no session file"));
    unlink(scratch("large"));
}

static void damage_in_a_profile_is_for_its_reader(void **state)
{
    (void)state;
    write_rows("inside");
    change("inside", 16 + row_bytes("inside") - 100, "damage", 6);
    struct session *session = list("inside");
    assert_int_equal(session->count, ROWS);
    assert_int_equal(session->lost_bytes, 0);
    session_free(session);
}

static void a_length_that_leads_astray_costs_that_row_alone(void **state)
{
    (void)state;
    write_rows("astray");
    change("astray", 16 + 4, "\xff\xff\xff\x03", 4);
    struct session *session = list("astray");
    assert_int_equal(session->count, ROWS - 1);
    session_free(session);
}

static void a_file_that_was_cut_off_has_all_before(void **state)
{
    (void)state;
    write_rows("cut");
    assert_int_equal(truncate(scratch("cut"), size_of("cut") - 1000), 0);
    struct session *session = list("cut");
    assert_int_equal(session->count, ROWS);
    for (size_t i = 0; i < ROWS - 1; i++)
        check_row(session, i, PROFILE_BYTES);
    check_row(session, ROWS - 1, PROFILE_BYTES - 1000);
    session_free(session);
}

static void room_that_was_never_written_is_no_damage(void **state)
{
    (void)state;
    write_rows("hole");
    size_t bytes = (size_t)row_bytes("hole");
    char *zeros = calloc(1, bytes);
    change("hole", 16 + (off_t)bytes, zeros, bytes);
    free(zeros);
    struct session *session = list("hole");
    assert_int_equal(session->count, ROWS - 1);
    assert_int_equal(session->lost_bytes, 0);
    session_free(session);
}

/* The collector was killed, or the file is read, between a row's profile and its beginning. */
static void a_row_that_was_not_finished_is_no_damage(void **state)
{
    enum { FINISHED_PART = 30 };
    (void)state;
    write_rows("unfinished");
    off_t bytes = row_bytes("unfinished"), profile_at = 16 + 2 * bytes - PROFILE_BYTES;
    char zeros[500] = "";
    change("unfinished", 16 + bytes, zeros, (size_t)bytes - PROFILE_BYTES);
    struct session *session = list("unfinished");
    assert_int_equal(session->lost_bytes, bytes); /* what is there is no profile */
    session_free(session);
    change("unfinished", profile_at + 8, OWN_FILE_PACK_MAGIC, 8);
    session = list("unfinished");
    assert_int_equal(session->count, ROWS - 1);
    assert_int_equal(session->lost_bytes, 0);
    session_free(session);
    assert_int_equal(truncate(scratch("unfinished"), profile_at + FINISHED_PART), 0);
    session = list("unfinished");
    assert_int_equal(session->count, 1);
    assert_int_equal(session->lost_bytes, 0);
    session_free(session);
    change("unfinished", 16 + bytes + 50, "x", 1); /* a beginning of which most is gone */
    session = list("unfinished");
    assert_int_equal(session->lost_bytes, bytes - PROFILE_BYTES + FINISHED_PART);
    session_free(session);
}

static void a_full_disk_leaves_no_part_of_a_row(void **state)
{
    struct rlimit before, less;
    (void)state;
    struct session_whole_file *file = open_new("full");
    assert_int_equal(append(file, 1), 0);
    off_t one = size_of("full");
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    less = before;
    less.rlim_cur = (rlim_t)one + 2000;
    setrlimit(RLIMIT_FSIZE, &less);
    assert_int_equal(append(file, 2), -EFBIG);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(size_of("full"), one);
    assert_int_equal(append(file, 3), 0);
    session_whole_close(file);
    struct session *session = list("full");
    assert_int_equal(session->count, 2);
    assert_int_equal(session->entries[1].row.pid, 3);
    session_free(session);
}

static void *append_many(void *context)
{
    static _Atomic int next = 1;
    for (int i = 0; i < 50; i++)
        if (append(context, next++))
            return context;
    return NULL;
}

static void threads_append_at_once(void **state)
{
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    void *failed;
    (void)state;
    struct session_whole_file *file = open_new("threads");
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, append_many, file), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    session_whole_close(file);
    struct session *session = list("threads");
    assert_int_equal(session->count, 50 * THREADS);
    for (size_t i = 0; i < session->count; i++)
        check_row(session, i, PROFILE_BYTES);
    session_free(session);
}

static void a_file_that_rested_goes_on(void **state)
{
    (void)state;
    struct session_whole_file *file = open_new("rests");
    assert_int_equal(append(file, 1), 0);
    session_whole_rest(file);
    assert_int_equal(append(file, 2), 0);
    session_whole_rest(file);
    assert_int_equal(rename(scratch("rests"), scratch("moved")), 0);
    assert_int_equal(append(file, 3), -ENOENT);
    write_rows("rests");
    assert_int_equal(append(file, 4), -ESTALE);
    session_whole_close(file);
    struct session *session = list("moved");
    assert_int_equal(session->count, 2);
    check_row(session, 1, PROFILE_BYTES);
    session_free(session);
}

static void what_is_too_long_is_refused(void **state)
{
    (void)state;
    struct session_whole_file *file = open_new("long");
    struct session_row row = row_of(1);
    struct session_whole_body body = {"", 64 << 20, 0};
    uint64_t at;
    assert_int_equal(session_whole_append(file, &row, "", &body, &at), -EFBIG);
    assert_int_equal(size_of("long"), 16);
    session_whole_close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_listed_without_their_profiles),
        cmocka_unit_test(a_file_that_is_there_is_left_alone),
        cmocka_unit_test(damage_before_a_profile_costs_that_row_alone),
        cmocka_unit_test(a_damaged_file_is_not_read_into_memory),
        cmocka_unit_test(nor_is_one_without_a_readable_row),
        cmocka_unit_test(a_row_that_stands_twice_is_listed_once),
        cmocka_unit_test(damage_in_a_profile_is_for_its_reader),
        cmocka_unit_test(a_length_that_leads_astray_costs_that_row_alone),
        cmocka_unit_test(a_file_that_was_cut_off_has_all_before),
        cmocka_unit_test(room_that_was_never_written_is_no_damage),
        cmocka_unit_test(a_row_that_was_not_finished_is_no_damage),
        cmocka_unit_test(a_full_disk_leaves_no_part_of_a_row),
        cmocka_unit_test(threads_append_at_once),
        cmocka_unit_test(a_file_that_rested_goes_on),
        cmocka_unit_test(what_is_too_long_is_refused),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
