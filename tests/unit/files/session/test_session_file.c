/* Rows are there when they were appended, whatever becomes of the file or of its writer. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "../profile/scratch.h"
#include "base/error.h"
#include "session/session_file.h"
#include "session/session_format.h"

static const char layout[] = "what bodies mean";

static struct session_row row_of(int pid)
{
    return (struct session_row){.pid = pid,
                                .parent = 1,
                                .start_unix_ns = 1000 + (uint64_t)pid,
                                .duration_ns = {5},
                                .peak_bytes = {7000},
                                .resident_bytes = FIGURE_UNKNOWN,
                                .alloc_count = {3},
                                .alloc_bytes = {9000},
                                .end = SESSION_END_SIGNAL,
                                .end_status = 11,
                                .lossy = pid % 2,
                                .program = "true",
                                .command = "true 'one argument'"};
}

static struct session_file *open_new(const char *name)
{
    struct session_file *file;
    if (session_file_open(&file, scratch(name), layout, sizeof layout))
        fail_msg("%s", error_text());
    return file;
}

static void append(struct session_file *file, int pid)
{
    struct session_row row = row_of(pid);
    char body[300];
    memset(body, pid, sizeof body);
    assert_int_equal(session_file_append(file, &row, body, (size_t)(pid % 300)), 0);
}

static void write_rows(const char *name, int count)
{
    struct session_file *file = open_new(name);
    for (int pid = 1; pid <= count; pid++)
        append(file, pid);
    assert_int_equal(session_file_rows(file), count);
    session_file_close(file);
}

static void check_row(const struct session_entry *entry, int pid)
{
    struct session_row expected = row_of(pid);
    assert_int_equal(entry->row.pid, pid);
    assert_int_equal(entry->row.parent, expected.parent);
    assert_int_equal(entry->row.start_unix_ns, expected.start_unix_ns);
    assert_int_equal(entry->row.duration_ns.raw, 5);
    assert_int_equal(entry->row.peak_bytes.raw, 7000);
    assert_false(figure_known(entry->row.resident_bytes));
    assert_int_equal(entry->row.alloc_count.raw, 3);
    assert_int_equal(entry->row.alloc_bytes.raw, 9000);
    assert_int_equal(entry->row.end, SESSION_END_SIGNAL);
    assert_int_equal(entry->row.end_status, 11);
    assert_int_equal(entry->row.lossy, pid % 2);
    assert_string_equal(entry->row.program, "true");
    assert_string_equal(entry->row.command, "true 'one argument'");
    assert_int_equal(entry->bytes, pid % 300);
    for (size_t i = 0; i < entry->bytes; i++)
        assert_int_equal(((const unsigned char *)entry->body)[i], pid & 0xff);
}

/* Both ways to read it find the same. */
static struct session *read_session(const char *name)
{
    struct session *session, *listed;
    if (session_read(&session, scratch(name)) || session_list(&listed, scratch(name)))
        fail_msg("%s", error_text());
    assert_int_equal(listed->count, session->count);
    assert_int_equal(listed->lost_bytes, session->lost_bytes);
    assert_int_equal(listed->cut, session->cut);
    session_free(listed);
    return session;
}

static void cut_to(const char *name, off_t bytes)
{
    assert_int_equal(truncate(scratch(name), bytes), 0);
}

static off_t size_of(const char *name)
{
    struct stat stat_of;
    assert_int_equal(stat(scratch(name), &stat_of), 0);
    return stat_of.st_size;
}

/* ---- What is written is what is read ---- */

static void rows_read_as_they_were_appended(void **state)
{
    (void)state;
    size_t bytes;
    write_rows("rows", 500);
    struct session *session = read_session("rows");
    assert_int_equal(session->count, 500);
    assert_int_equal(session->lost_bytes, 0);
    assert_false(session->cut);
    assert_false(session->being_written);
    for (int i = 0; i < 500; i++) {
        check_row(&session->entries[i], i + 1);
        const char *said = session_layout(session, session->entries[i].layout, &bytes);
        assert_int_equal(bytes, sizeof layout);
        assert_string_equal(said, layout);
    }
    assert_null(session_layout(session, 1, &bytes));
    session_free(session);
}

static void a_file_without_rows_is_not_created(void **state)
{
    (void)state;
    struct session_file *file = open_new("none");
    assert_int_equal(session_file_rows(file), 0);
    session_file_close(file);
    assert_int_not_equal(access(scratch("none"), F_OK), 0);
    assert_int_not_equal(access(scratch("none.new"), F_OK), 0);
}

static void it_can_be_read_while_it_grows(void **state)
{
    (void)state;
    struct session_file *file = open_new("grows");
    for (int pid = 1; pid <= 20; pid++) {
        append(file, pid);
        struct session *session = read_session("grows");
        assert_int_equal(session->count, pid);
        assert_true(session->being_written);
        check_row(&session->entries[pid - 1], pid);
        session_free(session);
    }
    session_file_close(file);
}

enum { THREADS = 4, ROWS_EACH = 200 };

struct appender {
    struct session_file *file;
    int first;
};

static void *append_some(void *context)
{
    const struct appender *appender = context;
    for (int i = 0; i < ROWS_EACH; i++)
        append(appender->file, appender->first + i);
    return NULL;
}

static void threads_may_append_at_once(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    struct appender appenders[THREADS];
    bool seen[THREADS * ROWS_EACH] = {false};
    struct session_file *file = open_new("threads");
    for (int i = 0; i < THREADS; i++) {
        appenders[i] = (struct appender){file, 1 + i * ROWS_EACH};
        assert_int_equal(pthread_create(&threads[i], NULL, append_some, &appenders[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    session_file_close(file);
    struct session *session = read_session("threads");
    assert_int_equal(session->count, THREADS * ROWS_EACH);
    for (size_t i = 0; i < session->count; i++) {
        int pid = session->entries[i].row.pid;
        assert_in_range(pid, 1, THREADS * ROWS_EACH);
        assert_false(seen[pid - 1]);
        seen[pid - 1] = true;
        check_row(&session->entries[i], pid);
    }
    session_free(session);
}

static void what_was_there_steps_aside(void **state)
{
    (void)state;
    struct session_file *file;
    write_rows("again", 2);
    write_rows("again", 3);
    struct session *session = read_session("again");
    assert_int_equal(session->count, 3);
    session_free(session);
    session = read_session("again.old");
    assert_int_equal(session->count, 2);
    session_free(session);
    FILE *foreign = fopen(scratch("foreign"), "w");
    fputs("int main(void) { return 0; } /* somebody else's */\n", foreign);
    fclose(foreign);
    assert_int_equal(session_file_open(&file, scratch("foreign"), layout, sizeof layout), -EEXIST);
    assert_non_null(strstr(error_text(), "is no file of Tidemark's"));
}

static void two_writers_do_not_share_a_name(void **state)
{
    (void)state;
    struct session_file *one = open_new("shared"), *other = open_new("shared");
    struct session_row row = row_of(9);
    append(one, 1);
    assert_int_equal(session_file_append(other, &row, "x", 1), -EBUSY);
    append(one, 2);
    session_file_close(one);
    session_file_close(other);
    struct session *session = read_session("shared");
    assert_int_equal(session->count, 2);
    session_free(session);
    assert_int_not_equal(access(scratch("shared.new"), F_OK), 0);
}

/* ---- Kills and full disks ---- */

/* Wherever the file ends, the rows that are whole are read. */
static void a_cut_row_costs_only_itself(void **state)
{
    (void)state;
    write_rows("cut", 3);
    off_t whole = size_of("cut");
    size_t before = 3;
    for (off_t bytes = whole; bytes-- > 0;) {
        struct session *session;
        cut_to("cut", bytes);
        int error = session_read(&session, scratch("cut"));
        if (bytes < (off_t)sizeof(struct session_header)) {
            assert_int_equal(error, -EBADMSG);
            continue;
        }
        assert_int_equal(error, 0);
        assert_in_range(session->count, before - (before > 0), before);
        before = session->count;
        for (size_t i = 0; i < session->count; i++)
            check_row(&session->entries[i], (int)i + 1);
        assert_true(session->cut == (session->lost_bytes > 0));
        session_free(session);
    }
    assert_int_equal(before, 0);
}

static void a_killed_writer_leaves_whole_rows(void **state)
{
    (void)state;
    int told[2];
    assert_int_equal(pipe(told), 0);
    pid_t writer = fork();
    if (!writer) {
        struct session_file *file = open_new("killed");
        for (int pid = 1;; pid++) {
            append(file, pid);
            if (pid == 50 && write(told[1], "x", 1) != 1)
                _exit(1);
        }
    }
    char byte;
    assert_int_equal(read(told[0], &byte, 1), 1);
    kill(writer, SIGKILL);
    waitpid(writer, NULL, 0);
    struct session *session = read_session("killed");
    assert_in_range(session->count, 50, 1 << 30);
    assert_int_equal(session->lost_bytes, 0);
    assert_false(session->being_written);
    for (size_t i = 0; i < session->count; i++)
        check_row(&session->entries[i], (int)i + 1);
    session_free(session);
}

static size_t files_beside(const char *name)
{
    size_t count = 0, length = strlen(name);
    char *directory = strdup(scratch(name));
    *strrchr(directory, '/') = '\0';
    DIR *open = opendir(directory);
    for (struct dirent *entry; (entry = readdir(open));)
        count += strncmp(entry->d_name, name, length) == 0;
    closedir(open);
    free(directory);
    return count;
}

/* A limit on the file's size cuts a write as a full disk does. Returns what is to be restored. */
static struct rlimit limit_file(off_t bytes)
{
    struct rlimit before, limit;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = (struct rlimit){(rlim_t)bytes, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    return before;
}

static void what_does_not_fit_comes_when_there_is_room(void **state)
{
    (void)state;
    struct session_file *file = open_new("full");
    struct session_row row = row_of(7);
    char large[4096] = "";
    append(file, 1);
    off_t before = size_of("full");
    struct rlimit unlimited = limit_file(before + 1000);
    int error = session_file_append(file, &row, large, sizeof large);
    off_t after = size_of("full");
    append(file, 2); /* there would be room, but not before the other */
    size_t rows = session_file_rows(file), waiting = session_file_settle(file);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
    assert_int_equal(error, 0);
    assert_int_equal(after, before);
    assert_int_equal(rows, 1);
    assert_int_equal(waiting, 2);
    assert_non_null(strstr(error_text(), "cannot write the session file"));
    append(file, 3);
    assert_int_equal(session_file_settle(file), 0);
    assert_int_equal(session_file_rows(file), 4);
    session_file_close(file);
    struct session *session = read_session("full");
    assert_int_equal(session->count, 4);
    assert_int_equal(session->lost_bytes, 0);
    assert_int_equal(session->entries[1].row.pid, 7);
    assert_int_equal(session->entries[1].bytes, sizeof large);
    check_row(&session->entries[0], 1);
    check_row(&session->entries[2], 2);
    check_row(&session->entries[3], 3);
    session_free(session);
}

/* What waits is bounded. */
static void too_much_does_not_wait(void **state)
{
    (void)state;
    enum { BYTES = 17 << 20 };
    struct session_file *file = open_new("large");
    struct session_row row = row_of(7);
    char *large = calloc(1, BYTES);
    append(file, 1);
    off_t before = size_of("large");
    struct rlimit unlimited = limit_file(before + 1000);
    int error = session_file_append(file, &row, large, BYTES);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
    assert_int_equal(error, -ENOSPC);
    assert_non_null(strstr(error_text(), "cannot write the session file"));
    assert_int_equal(size_of("large"), before);
    append(file, 2);
    session_file_close(file);
    free(large);
    struct session *session = read_session("large");
    assert_int_equal(session->count, 2);
    session_free(session);
}

/* The first row's disk is full: there is no file, and the next row makes it. */
static void a_first_row_that_does_not_fit_leaves_no_file(void **state)
{
    (void)state;
    struct session_file *file = open_new("first");
    struct rlimit unlimited = limit_file(10);
    append(file, 1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
    assert_int_equal(session_file_rows(file), 0);
    assert_int_not_equal(access(scratch("first"), F_OK), 0);
    assert_int_equal(files_beside("first"), 0);
    append(file, 2);
    session_file_close(file);
    struct session *session = read_session("first");
    assert_int_equal(session->count, 2);
    check_row(&session->entries[0], 1);
    session_free(session);
}

static void append_until_killed(const char *name)
{
    struct session_file *file = open_new(name);
    signal(SIGXFSZ, SIG_DFL);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, 0}); /* the first byte kills */
    append(file, 1);
    _exit(0);
}

/* Between the first byte and the name. */
static void a_writer_that_is_killed_in_its_first_row_leaves_nothing(void **state)
{
    (void)state;
    int status;
    pid_t pid = fork();
    if (pid == 0)
        append_until_killed("killed_first");
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
    assert_int_equal(files_beside("killed_first"), 0);
}

/* ---- Damage ---- */

static void change_byte(const char *name, off_t at)
{
    unsigned char byte;
    int fd = open(scratch(name), O_RDWR);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x55;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

/* Whichever byte is wrong, at most the record that it is in is lost, and that is said. */
static void a_wrong_byte_costs_one_row(void **state)
{
    (void)state;
    write_rows("wrong", 4);
    off_t bytes = size_of("wrong");
    for (off_t at = sizeof(struct session_header); at < bytes; at++) {
        change_byte("wrong", at);
        struct session *session = read_session("wrong");
        assert_in_range(session->count, 3, 4);
        assert_true(session->lost_bytes > 0);
        int last = 0;
        for (size_t i = 0; i < session->count; i++) {
            assert_true(session->entries[i].row.pid > last);
            last = session->entries[i].row.pid;
            check_row(&session->entries[i], last);
        }
        session_free(session);
        change_byte("wrong", at);
    }
}

static void what_is_no_session_file_is_refused(void **state)
{
    (void)state;
    struct session *session;
    FILE *other = fopen(scratch("other"), "w");
    fputs("something of somebody else's", other);
    fclose(other);
    assert_int_equal(session_read(&session, scratch("other")), -EBADMSG);
    assert_non_null(strstr(error_text(), "is no session file"));
    assert_int_equal(session_read(&session, scratch("nothing")), -ENOENT);
    assert_int_equal(session_read(&session, "/dev/null"), -EINVAL);
    assert_false(session_is_file(scratch("other")));
    assert_false(session_is_file(scratch("nothing")));
    write_rows("newer", 1);
    assert_true(session_is_file(scratch("newer")));
    change_byte("newer", 7); /* the version */
    assert_true(session_is_file(scratch("newer")));
    assert_int_equal(session_read(&session, scratch("newer")), -EPROTONOSUPPORT);
}

/* A file of beginnings of records, each of which promises a great deal: it is given up soon. */
static void a_file_made_to_be_slow_is_given_up(void **state)
{
    (void)state;
    enum { RECORDS = 200000 };
    struct session_header header = {OWN_FILE_SESSION_MAGIC, 0, 0};
    struct session_record *records = calloc(RECORDS, sizeof *records);
    for (uint32_t i = 0; i < RECORDS; i++)
        records[i] = (struct session_record){SESSION_RECORD_ROW,
                                             (uint32_t)((RECORDS - i - 1) * sizeof *records), 1};
    FILE *slow = fopen(scratch("slow"), "w");
    fwrite(&header, sizeof header, 1, slow);
    fwrite(records, sizeof *records, RECORDS, slow);
    fclose(slow);
    free(records);
    struct session *session = read_session("slow");
    assert_int_equal(session->count, 0);
    assert_int_equal(session->lost_bytes, RECORDS * sizeof(struct session_record));
    session_free(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_read_as_they_were_appended),
        cmocka_unit_test(a_file_without_rows_is_not_created),
        cmocka_unit_test(it_can_be_read_while_it_grows),
        cmocka_unit_test(threads_may_append_at_once),
        cmocka_unit_test(what_was_there_steps_aside),
        cmocka_unit_test(two_writers_do_not_share_a_name),
        cmocka_unit_test(a_cut_row_costs_only_itself),
        cmocka_unit_test(a_killed_writer_leaves_whole_rows),
        cmocka_unit_test(what_does_not_fit_comes_when_there_is_room),
        cmocka_unit_test(too_much_does_not_wait),
        cmocka_unit_test(a_first_row_that_does_not_fit_leaves_no_file),
        cmocka_unit_test(a_writer_that_is_killed_in_its_first_row_leaves_nothing),
        cmocka_unit_test(a_wrong_byte_costs_one_row),
        cmocka_unit_test(what_is_no_session_file_is_refused),
        cmocka_unit_test(a_file_made_to_be_slow_is_given_up),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
