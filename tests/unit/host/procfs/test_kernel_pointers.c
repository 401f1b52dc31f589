#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "procfs/kernel_pointers.h"

static bool has(const struct kernel_pointers *pointers, uint64_t pointer)
{
    for (size_t i = 0; i < pointers->count; i++)
        if (pointers->list[i] == pointer)
            return true;
    return false;
}

static void lines_of_epoll_and_of_timers_say_them(void **state)
{
    (void)state;
    struct kernel_pointers pointers = KERNEL_POINTERS_INIT;
    assert_int_equal(kernel_pointers_parse(&pointers,
                                           "pos:\t0\nflags:\t02\nmnt_id:\t16\n"
                                           "tfd:        4 events:       19 data:     55d0c8a3f2a0 "
                                           " pos:0 ino:8c9 sdev:e\n"
                                           "tfd:        5 events:       19 data:                0 "
                                           " pos:0 ino:8c9 sdev:e\n"),
                     0);
    assert_int_equal(kernel_pointers_parse(&pointers, "ID: 0\nsignal: 34/000055d0c8a40000\n"
                                                      "notify: signal/pid.77\nClockID: 1"),
                     0);
    assert_int_equal(pointers.count, 2);
    assert_int_equal(pointers.list[0], 0x55d0c8a3f2a0);
    assert_int_equal(pointers.list[1], 0x55d0c8a40000);
    kernel_pointers_release(&pointers);
}

static void texts_without_them_say_nothing(void **state)
{
    (void)state;
    struct kernel_pointers pointers = KERNEL_POINTERS_INIT;
    static const char *const texts[] = {"",
                                        "\n\n",
                                        "tfd:",
                                        "tfd: 4 data:\n",
                                        "signal: ",
                                        "signal: 3/",
                                        "signal: 3/x",
                                        "data: 77\n",
                                        "tfd: 4 events: 19\n data: 77\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(kernel_pointers_parse(&pointers, texts[i]), 0);
    assert_int_equal(pointers.count, 0);
    kernel_pointers_release(&pointers);
}

static void what_this_process_gave_the_kernel_is_there(void **state)
{
    (void)state;
    int poll = epoll_create1(EPOLL_CLOEXEC), ends[2];
    assert_int_equal(pipe(ends), 0);
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = 0x123456789a};
    struct sigevent alarm = {.sigev_notify = SIGEV_SIGNAL,
                             .sigev_signo = SIGRTMIN,
                             .sigev_value.sival_ptr = (void *)0xabcdef0120};
    timer_t timer;
    assert_int_equal(epoll_ctl(poll, EPOLL_CTL_ADD, ends[0], &event), 0);
    assert_int_equal(timer_create(CLOCK_MONOTONIC, &alarm, &timer), 0);
    struct kernel_pointers pointers = KERNEL_POINTERS_INIT;
    assert_int_equal(kernel_pointers_read(&pointers, getpid()), 0);
    assert_true(has(&pointers, 0x123456789a));
    if (access("/proc/self/timers", R_OK) == 0)
        assert_true(has(&pointers, 0xabcdef0120));
    close(poll);
    timer_delete(timer);
    kernel_pointers_release(&pointers);
    assert_int_equal(kernel_pointers_read(&pointers, getpid()), 0);
    assert_false(has(&pointers, 0x123456789a));
    assert_false(has(&pointers, 0xabcdef0120));
    kernel_pointers_release(&pointers);
    close(ends[0]);
    close(ends[1]);
}

static void a_process_that_is_gone_is_said(void **state)
{
    (void)state;
    struct kernel_pointers pointers = KERNEL_POINTERS_INIT;
    assert_int_equal(kernel_pointers_read(&pointers, 0x3fffffff), -ESRCH);
    kernel_pointers_release(&pointers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_epoll_and_of_timers_say_them),
        cmocka_unit_test(texts_without_them_say_nothing),
        cmocka_unit_test(what_this_process_gave_the_kernel_is_there),
        cmocka_unit_test(a_process_that_is_gone_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
