/* Our own writes inside a program: to their end through a slow pipe and past signals, and no longer
 * than the kernel takes bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <cmocka.h>
#include "unwind/own_write.h"

enum { BYTES = 1 << 18, PART = 1 << 14, PATIENCE_S = 20, NO_FILTER = 77 };

static char sent[BYTES];

static void tick(int number)
{
    (void)number;
}

static _Noreturn void write_past_signals(int fd)
{
    struct sigaction action = {.sa_handler = tick}; /* without SA_RESTART */
    struct itimerval often = {{0, 1000}, {0, 1000}};
    if (sigaction(SIGALRM, &action, NULL) || setitimer(ITIMER_REAL, &often, NULL))
        _exit(NO_FILTER);
    own_write_all(fd, sent, BYTES);
    _exit(0);
}

static void a_slow_pipe_gets_all_of_it(void **state)
{
    (void)state;
    int ends[2], status;
    static char part[PART];
    size_t got = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t writer = fork();
    if (!writer)
        write_past_signals(ends[1]);
    close(ends[1]);
    for (ssize_t more; (more = read(ends[0], part, PART)) > 0; got += (size_t)more)
        usleep(2000);
    close(ends[0]);
    assert_int_equal(waitpid(writer, &status, 0), writer);
    assert_int_equal(status, 0);
    assert_int_equal(got, BYTES);
}

static void a_closed_pipe_and_a_closed_descriptor_end_it(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    own_write_all(ends[1], sent, BYTES);
    close(ends[1]);
    own_write_all(ends[1], sent, BYTES);
    own_write_all(-1, sent, BYTES);
}

/* write() is not done, and returns 0. */
static bool answer_writes_with_nothing(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof code / sizeof *code, code};
    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
           !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static void a_filter_that_answers_nothing_ends_it(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();
    if (!child) {
        if (!answer_writes_with_nothing())
            _exit(NO_FILTER);
        alarm(PATIENCE_S);
        own_write_all(STDERR_FILENO, sent, 1);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_FILTER)
        skip();
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_pipe_gets_all_of_it),
        cmocka_unit_test(a_closed_pipe_and_a_closed_descriptor_end_it),
        cmocka_unit_test(a_filter_that_answers_nothing_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
