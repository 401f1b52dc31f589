/* Calls that signals interrupt a thousand times a second, and that move a part of what is wanted. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <cmocka.h>
#include "base/whole.h"

enum { BYTES = 1 << 20, PART = 1 << 16 };

static char sent[BYTES], got[BYTES + 1];

static void tick(int number)
{
    (void)number;
}

static void tick_often(long microseconds)
{
    struct sigaction action = {.sa_handler = tick}; /* without SA_RESTART */
    struct itimerval often = {{0, microseconds}, {0, microseconds}};
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
}

/* The other end of the pipe does not begin at once, and is slow. */
static _Noreturn void read_slowly(int fd)
{
    for (size_t done = 0; done < BYTES; done += PART) {
        usleep(5000);
        if (whole_read(fd, got + done, PART) != PART)
            _exit(1);
    }
    _exit(memcmp(sent, got, BYTES) != 0);
}

static void a_pipe_takes_all_of_it(void **state)
{
    (void)state;
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t reader = fork();
    if (!reader)
        read_slowly(ends[0]);
    tick_often(1000);
    assert_int_equal(whole_write(ends[1], sent, BYTES), 0);
    tick_often(0);
    assert_int_equal(waitpid(reader, &status, 0), reader);
    assert_int_equal(status, 0);
    close(ends[0]);
    close(ends[1]);
}

static void a_pipe_gives_all_of_it_up_to_its_end(void **state)
{
    (void)state;
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t writer = fork();
    if (!writer) {
        close(ends[0]);
        for (size_t done = 0; done < BYTES; done += PART) {
            usleep(5000);
            if (whole_write(ends[1], sent + done, PART))
                _exit(1);
        }
        _exit(0);
    }
    close(ends[1]);
    tick_often(1000);
    assert_int_equal(whole_read(ends[0], got, BYTES + 1), BYTES);
    tick_often(0);
    assert_memory_equal(got, sent, BYTES);
    assert_int_equal(waitpid(writer, &status, 0), writer);
    assert_int_equal(status, 0);
    close(ends[0]);
}

static void a_file_is_read_where_it_is_asked_for(void **state)
{
    (void)state;
    char name[] = "/tmp/tidemark-whole.XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    unlink(name);
    assert_int_equal(whole_write(fd, sent, BYTES), 0);
    assert_int_equal(whole_read_at(fd, got, PART, PART), PART);
    assert_memory_equal(got, sent + PART, PART);
    assert_int_equal(whole_read_at(fd, got, PART, BYTES - 5), 5);
    assert_int_equal(whole_read_at(fd, got, PART, BYTES + 5), 0);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), BYTES);
    close(fd);
    assert_int_equal(whole_read_at(fd, got, 1, 0), -EBADF);
    assert_int_equal(whole_read(fd, got, 1), -EBADF);
    assert_int_equal(whole_write(fd, sent, 1), -EBADF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipe_takes_all_of_it),
        cmocka_unit_test(a_pipe_gives_all_of_it_up_to_its_end),
        cmocka_unit_test(a_file_is_read_where_it_is_asked_for),
    };
    for (size_t i = 0; i < BYTES; i++)
        sent[i] = (char)(i * 7 + i / 251);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
