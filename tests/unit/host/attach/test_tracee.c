/* A child that sleeps, waits or computes calls functions for us and notices nothing of it. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "attach/target.h"
#include "attach/tracee.h"

static struct shared {
    volatile int ready, stop;
    volatile int calls;
    volatile long last;
} * shared;

/* What the child is made to call. */
static long callee(long a, long b, long c, long d, long e, long f)
{
    shared->calls++;
    errno = 99;
    __asm__ volatile("pxor %%xmm0, %%xmm0\n pxor %%xmm7, %%xmm7\n pxor %%xmm15, %%xmm15" ::
                         : "xmm0", "xmm7", "xmm15");
    for (int i = 0; i < 20; i++)
        sched_yield();
    return shared->last = a + 10 * b + 100 * c + 1000 * d + 10000 * e + 100000 * f;
}

static void crash(void)
{
    __builtin_trap();
}

/* ---- What the child does; its exit status says what it noticed ---- */

static int compute(void)
{
    double expected = 0;
    while (!shared->stop) {
        double sum = 0, more = 1;
        errno = 7;
        for (int i = 1; i < 300000; i++) {
            sum += 1.0 / i;
            more *= 1.0000001;
        }
        expected = expected == 0 ? sum + more : expected;
        shared->ready = 1;
        if (sum + more != expected || errno != 7)
            return 1;
    }
    return 0;
}

static int sleep_on(void)
{
    while (!shared->stop) {
        struct timespec time = {0, 100 * 1000 * 1000};
        shared->ready = 1;
        if (nanosleep(&time, NULL) < 0)
            return 2;
    }
    return 0;
}

static int wait_for_events(void)
{
    int set = epoll_create1(0);
    struct epoll_event event;
    while (!shared->stop) {
        shared->ready = 1;
        if (epoll_wait(set, &event, 1, 100) != 0)
            return 3;
    }
    return 0;
}

static int blocked(void)
{
    sigset_t all, now;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    int status = sleep_on();
    sigprocmask(SIG_SETMASK, NULL, &now);
    for (int each = 1; each < 32; each++)
        if (each != SIGKILL && each != SIGSTOP && !sigismember(&now, each))
            return 4;
    return status;
}

/* ---- Tests ---- */

static pid_t begin(int (*what)(void))
{
    memset((void *)shared, 0, sizeof *shared);
    pid_t child = fork();
    if (child == 0)
        _exit(what());
    while (!shared->ready)
        usleep(1000);
    return child;
}

static void end(pid_t child)
{
    int status;
    shared->stop = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static uintptr_t gadget_of_this(void)
{
    struct target target;
    const struct target_module *libc;
    assert_int_equal(target_open(&target, getpid()), 0);
    target_find(&target, "gnu_get_libc_version", &libc);
    uintptr_t gadget = target_gadget(&target, libc);
    target_close(&target);
    return gadget; /* a child has the same */
}

static void call_many_times(int (*what)(void))
{
    const uintptr_t arguments[TRACEE_ARGUMENTS] = {1, 2, 3, 4, 5, 6};
    enum { TIMES = 20 };
    pid_t child = begin(what);
    for (int i = 0; i < TIMES; i++) {
        struct tracee tracee;
        uintptr_t result = 0;
        assert_int_equal(tracee_seize(&tracee, child, child), 0);
        assert_int_equal(tracee_stop(&tracee), 0);
        assert_int_equal(tracee_borrow(&tracee, gadget_of_this(), (uintptr_t)__errno_location), 0);
        assert_int_equal(tracee_call(&tracee, (uintptr_t)callee, arguments, &result), 0);
        assert_int_equal(result, 654321);
        assert_int_equal(tracee_call(&tracee, (uintptr_t)callee, arguments, &result), 0);
        tracee_release(&tracee);
        usleep(2000);
    }
    assert_int_equal(shared->calls, 2 * TIMES);
    end(child);
}

static void test_one_that_computes(void **state)
{
    (void)state;
    call_many_times(compute);
}

static void test_one_that_sleeps(void **state)
{
    (void)state;
    call_many_times(sleep_on);
}

static void test_one_in_a_call_that_is_never_restarted(void **state)
{
    (void)state;
    call_many_times(wait_for_events);
}

static void test_one_with_all_signals_blocked(void **state)
{
    (void)state;
    call_many_times(blocked);
}

static void test_a_crash_is_taken_back(void **state)
{
    const uintptr_t none[TRACEE_ARGUMENTS] = {0};
    struct tracee tracee;
    uintptr_t result;
    (void)state;
    pid_t child = begin(sleep_on);
    assert_int_equal(tracee_seize(&tracee, child, child), 0);
    assert_int_equal(tracee_stop(&tracee), 0);
    assert_int_equal(tracee_borrow(&tracee, gadget_of_this(), (uintptr_t)__errno_location), 0);
    assert_int_equal(tracee_call(&tracee, (uintptr_t)crash, none, &result), -EFAULT);
    tracee_release(&tracee);
    end(child);
}

static void test_who_is_gone_is_said_to_be(void **state)
{
    const uintptr_t none[TRACEE_ARGUMENTS] = {0};
    struct tracee tracee;
    uintptr_t result;
    int status;
    (void)state;
    pid_t child = begin(sleep_on);
    assert_int_equal(tracee_seize(&tracee, child, child), 0);
    assert_int_equal(tracee_stop(&tracee), 0);
    assert_int_equal(tracee_borrow(&tracee, gadget_of_this(), 0), 0);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    assert_true(tracee_call(&tracee, (uintptr_t)callee, none, &result) < 0);
    tracee_release(&tracee);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_that_computes),
        cmocka_unit_test(test_one_that_sleeps),
        cmocka_unit_test(test_one_in_a_call_that_is_never_restarted),
        cmocka_unit_test(test_one_with_all_signals_blocked),
        cmocka_unit_test(test_a_crash_is_taken_back),
        cmocka_unit_test(test_who_is_gone_is_said_to_be),
    };
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
