/* The clock that nobody in front of the C library can set: this test defines its functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/now.h"

int clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    *now = (struct timespec){12, 0};
    return 0;
}

long syscall(long number, ...)
{
    (void)number;
    errno = ENOSYS;
    return -1;
}

static void a_library_in_front_tells_us_no_time(void **state)
{
    (void)state;
    uint64_t before = now_monotonic_ns();
    struct timespec nap = {0, 20000000};
    nanosleep(&nap, NULL);
    uint64_t after = now_monotonic_ns();
    assert_true(after - before >= 20000000);
    assert_true(now_ns(CLOCK_REALTIME) > 1577836800u * (uint64_t)1000000000u); /* 2020 */
}

static void it_never_goes_back(void **state)
{
    (void)state;
    uint64_t before = now_monotonic_ns();
    for (unsigned i = 0; i < 100000; i++) {
        uint64_t now = now_monotonic_ns();
        assert_true(now >= before);
        before = now;
    }
}

static void a_clock_that_is_not_there_is_0_and_errno_stays(void **state)
{
    (void)state;
    errno = 5;
    assert_int_equal(now_ns((clockid_t)-77777), 0);
    assert_int_equal(errno, 5);
}

static void later_is_so_much_later(void **state)
{
    (void)state;
    uint64_t before = now_monotonic_ns();
    struct timespec then = now_later(CLOCK_MONOTONIC, 2500000000u);
    uint64_t after = now_monotonic_ns();
    uint64_t then_ns = (uint64_t)then.tv_sec * 1000000000u + (uint64_t)then.tv_nsec;
    assert_true(then_ns >= before + 2500000000u && then_ns <= after + 2500000000u);
    assert_true(then.tv_nsec >= 0 && then.tv_nsec < 1000000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_in_front_tells_us_no_time),
        cmocka_unit_test(it_never_goes_back),
        cmocka_unit_test(a_clock_that_is_not_there_is_0_and_errno_stays),
        cmocka_unit_test(later_is_so_much_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
