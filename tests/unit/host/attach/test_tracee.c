/* A child that sleeps, waits or computes calls functions for us and notices nothing of it. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <cmocka.h>

#include "attach/target.h"
#include "attach/tracee.h"

static struct shared {
    volatile int ready, stop;
    volatile int calls;
    volatile long last;
    volatile bool killed; /* a call may fail with EINTR, as after SIGSTOP and SIGCONT (signal(7)) */
} * shared;

/* All vector registers, as wide as they are. */
static void clear_vectors(void)
{
    if (__builtin_cpu_supports("avx512f"))
        __asm__ volatile("vzeroall\n vpxorq %%zmm17, %%zmm17, %%zmm17\n kxorw %%k1, %%k1, %%k1" ::
                             : "memory");
    else if (__builtin_cpu_supports("avx"))
        __asm__ volatile("vzeroall" ::: "memory");
}

/* What the child is made to call. */
static long callee(long a, long b, long c, long d, long e, long f)
{
    shared->calls++;
    errno = 99;
    clear_vectors();
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

/* Values in registers alone, of all kinds, while it counts. */
static int hold_vectors(void)
{
    static const uint64_t wanted[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    bool wide = __builtin_cpu_supports("avx512f"), avx = __builtin_cpu_supports("avx");
    uint64_t found[8], more[8], mask = 0x2a5, bytes = wide ? 64 : avx ? 32 : 16;
    while (!shared->stop) {
        shared->ready = 1;
        memcpy(more, wanted, sizeof more);
        if (wide)
            __asm__ volatile("vmovdqu64 %3, %%zmm14\n vmovdqu64 %3, %%zmm17\n kmovw %k2, %%k1\n"
                             "mov $2000000, %%ecx\n 1: dec %%ecx\n jnz 1b\n"
                             "vmovdqu64 %%zmm14, %0\n vmovdqu64 %%zmm17, %1\n kmovw %%k1, %k2"
                             : "=m"(found), "=m"(more), "+r"(mask)
                             : "m"(wanted)
                             : "rcx", "cc", "xmm14");
        else if (avx)
            __asm__ volatile("vmovdqu %1, %%ymm14\n mov $2000000, %%ecx\n 1: dec %%ecx\n jnz 1b\n"
                             "vmovdqu %%ymm14, %0"
                             : "=m"(found)
                             : "m"(wanted)
                             : "rcx", "cc", "xmm14");
        else
            __asm__ volatile("movdqu %1, %%xmm14\n mov $2000000, %%ecx\n 1: dec %%ecx\n jnz 1b\n"
                             "movdqu %%xmm14, %0"
                             : "=m"(found)
                             : "m"(wanted)
                             : "rcx", "cc", "xmm14");
        if (memcmp(found, wanted, bytes) || memcmp(more, wanted, bytes) || mask != 0x2a5)
            return 5;
    }
    return 0;
}

static int sleep_on(void)
{
    while (!shared->stop) {
        struct timespec time = {0, 20 * 1000 * 1000};
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
        if (epoll_wait(set, &event, 1, 20) != 0 && !(shared->killed && errno == EINTR))
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

static const struct target_gadgets *gadgets_of_this(void)
{
    static struct target_gadgets gadgets;
    struct target target;
    const struct target_module *libc;
    if (gadgets.keep)
        return &gadgets;
    assert_int_equal(target_open(&target, getpid()), 0);
    target_find(&target, "gnu_get_libc_version", &libc);
    assert_true(target_find_gadgets(&target, libc, &gadgets));
    target_close(&target);
    return &gadgets; /* a child has the same */
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
        assert_int_equal(tracee_borrow(&tracee, gadgets_of_this(), (uintptr_t)__errno_location), 0);
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

static void test_one_with_values_in_vectors(void **state)
{
    (void)state;
    call_many_times(hold_vectors);
}

/* As deep in its stack as never before: there is nothing mapped below. */
static int sleep_deep(void)
{
    volatile char room[1 << 20];
    room[0] = 1;
    return sleep_on() + room[0] - 1;
}

/* On a stack of which only the program knows where it ends; what lies below is looked after. */
static int coroutine_status;
static ucontext_t outside, inside;

static void run_coroutine(void)
{
    coroutine_status = sleep_on();
}

static int sleep_in_coroutine(void)
{
    enum { BELOW = 8192, STACK = 32768 };
    unsigned char *stack = malloc(BELOW + STACK);
    memset(stack, 0x5a, BELOW + STACK);
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack + BELOW;
    inside.uc_stack.ss_size = STACK;
    inside.uc_link = &outside;
    makecontext(&inside, run_coroutine, 0);
    swapcontext(&outside, &inside);
    for (size_t i = 0; i < BELOW + STACK / 2; i++)
        if (stack[i] != 0x5a)
            return 11;
    return coroutine_status;
}

static void test_one_that_is_deep_in_its_stack(void **state)
{
    (void)state;
    call_many_times(sleep_deep);
}

static void test_one_in_a_coroutine(void **state)
{
    (void)state;
    call_many_times(sleep_in_coroutine);
}

/* ---- Killed while it calls ---- */

static int wait_for_input(void)
{
    int ends[2];
    if (pipe(ends) < 0)
        return 6;
    while (!shared->stop) {
        struct pollfd waiting = {.fd = ends[0], .events = POLLIN};
        shared->ready = 1;
        if (poll(&waiting, 1, 5) != 0)
            return 7;
    }
    return 0;
}

static int wait_for_a_word(void)
{
    uint32_t word = 0;
    struct timespec time = {0, 5 * 1000 * 1000};
    while (!shared->stop) {
        shared->ready = 1;
        if (syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &time, NULL, 0) == 0 ||
            (errno != ETIMEDOUT && errno != EINTR)) /* which call it was syscall() does not show */
            return 8;
    }
    return 0;
}

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
    (void)number;
    signals++;
}

/* Waits for a signal that is blocked else; each one comes. */
static int wait_for_signals(void)
{
    struct itimerval often = {{0, 3000}, {0, 3000}};
    sigset_t blocked, none;
    struct sigaction action = {.sa_handler = count_signal};
    sigaction(SIGALRM, &action, NULL);
    sigemptyset(&blocked);
    sigemptyset(&none);
    sigaddset(&blocked, SIGALRM);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while (!shared->stop) {
        sig_atomic_t before = signals;
        shared->ready = 1;
        if (sigsuspend(&none) != -1 || errno != EINTR || signals == before)
            return 9;
        sigset_t now;
        sigprocmask(SIG_SETMASK, NULL, &now);
        if (!sigismember(&now, SIGALRM) || sigismember(&now, SIGTERM))
            return 10;
    }
    return 0;
}

/* What is killed: calls, one after the other, until it is. */
static void call_for_ever(pid_t child)
{
    const uintptr_t arguments[TRACEE_ARGUMENTS] = {1, 2, 3, 4, 5, 6};
    for (;;) {
        struct tracee tracee;
        uintptr_t result;
        if (tracee_seize(&tracee, child, child) < 0)
            continue;
        if (tracee_stop(&tracee) == 0 &&
            tracee_borrow(&tracee, gadgets_of_this(), (uintptr_t)__errno_location) == 0)
            for (int i = 0; i < 3; i++)
                tracee_call(&tracee, (uintptr_t)callee, arguments, &result);
        tracee_release(&tracee);
    }
}

static unsigned mappings_of(pid_t pid)
{
    char path[64];
    unsigned lines = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "re");
    for (int byte; (byte = fgetc(file)) != EOF;)
        lines += byte == '\n';
    fclose(file);
    return lines;
}

/* The child must see to its own business again: it sets `ready` in each of its rounds. */
static void kill_many_times(int (*what)(void))
{
    enum { KILLS = 60 };
    pid_t child = begin(what);
    unsigned before = mappings_of(child);
    gadgets_of_this();
    shared->killed = true;
    srandom(17);
    for (int i = 0; i < KILLS; i++) {
        pid_t tracer = fork();
        if (tracer == 0)
            call_for_ever(child);
        /* Each second time from wherever it is, also before its first call. */
        for (int tries = 0, calls = shared->calls; i % 2 == 0 && shared->calls == calls; tries++) {
            if (tries > 100000)
                fail_msg("nobody comes to call");
            usleep(100);
        }
        usleep((useconds_t)random() % 3000);
        kill(tracer, SIGKILL);
        assert_int_equal(waitpid(tracer, NULL, 0), tracer);
        shared->ready = 0;
        while (!shared->ready) {
            int status;
            if (waitpid(child, &status, WNOHANG) != 0)
                fail_msg("after %d kills: wait status %#x", i + 1, (unsigned)status);
            usleep(100);
        }
    }
    assert_true(shared->calls >= KILLS / 2);
    assert_true(mappings_of(child) <= before + 2);
    end(child);
}

static void test_killed_beside_one_that_computes(void **state)
{
    (void)state;
    kill_many_times(compute);
}

static void test_killed_beside_one_with_values_in_vectors(void **state)
{
    (void)state;
    kill_many_times(hold_vectors);
}

static void test_killed_beside_one_that_sleeps(void **state)
{
    (void)state;
    kill_many_times(sleep_on);
}

static void test_killed_beside_one_in_a_call_that_is_never_restarted(void **state)
{
    (void)state;
    kill_many_times(wait_for_events);
}

static void test_killed_beside_one_that_polls(void **state)
{
    (void)state;
    kill_many_times(wait_for_input);
}

static void test_killed_beside_one_that_waits_for_a_word(void **state)
{
    (void)state;
    kill_many_times(wait_for_a_word);
}

static void test_killed_beside_one_that_waits_for_signals(void **state)
{
    (void)state;
    kill_many_times(wait_for_signals);
}

static void test_killed_beside_one_in_a_coroutine(void **state)
{
    (void)state;
    kill_many_times(sleep_in_coroutine);
}

static void test_killed_beside_one_with_all_signals_blocked(void **state)
{
    (void)state;
    kill_many_times(blocked);
}

/* ---- What goes wrong ---- */

static void test_a_crash_is_taken_back(void **state)
{
    const uintptr_t none[TRACEE_ARGUMENTS] = {0};
    struct tracee tracee;
    uintptr_t result;
    (void)state;
    pid_t child = begin(sleep_on);
    assert_int_equal(tracee_seize(&tracee, child, child), 0);
    assert_int_equal(tracee_stop(&tracee), 0);
    assert_int_equal(tracee_borrow(&tracee, gadgets_of_this(), (uintptr_t)__errno_location), 0);
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
    assert_int_equal(tracee_borrow(&tracee, gadgets_of_this(), 0), 0);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    assert_true(tracee_call(&tracee, (uintptr_t)callee, none, &result) < 0);
    tracee_release(&tracee);
}

/* From now on the kernel refuses this to the calling process. */
static bool refuse_ptrace(unsigned request)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, request, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static _Noreturn void stop_without(unsigned request)
{
    struct tracee tracee;
    int status;
    pid_t child = begin(sleep_on);
    bool right = refuse_ptrace(request) && tracee_seize(&tracee, child, child) == 0 &&
                 tracee_stop(&tracee) == -EPERM;
    tracee_release(&tracee);
    shared->stop = 1;
    waitpid(child, &status, 0);
    _exit(!right || !WIFEXITED(status) || WEXITSTATUS(status));
}

/* What was not read is not given back: registers of zeros were. */
static void test_one_whose_state_cannot_be_read_runs_on(void **state)
{
    static const unsigned requests[] = {PTRACE_GETSIGMASK, PTRACE_GETREGS};
    (void)state;
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        int status;
        pid_t tracer = fork();
        if (tracer == 0)
            stop_without(requests[i]);
        waitpid(tracer, &status, 0);
        assert_int_equal(status, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_that_computes),
        cmocka_unit_test(test_one_that_sleeps),
        cmocka_unit_test(test_one_in_a_call_that_is_never_restarted),
        cmocka_unit_test(test_one_with_all_signals_blocked),
        cmocka_unit_test(test_one_with_values_in_vectors),
        cmocka_unit_test(test_one_that_is_deep_in_its_stack),
        cmocka_unit_test(test_one_in_a_coroutine),
        cmocka_unit_test(test_killed_beside_one_that_computes),
        cmocka_unit_test(test_killed_beside_one_with_values_in_vectors),
        cmocka_unit_test(test_killed_beside_one_that_sleeps),
        cmocka_unit_test(test_killed_beside_one_in_a_call_that_is_never_restarted),
        cmocka_unit_test(test_killed_beside_one_that_polls),
        cmocka_unit_test(test_killed_beside_one_that_waits_for_a_word),
        cmocka_unit_test(test_killed_beside_one_that_waits_for_signals),
        cmocka_unit_test(test_killed_beside_one_with_all_signals_blocked),
        cmocka_unit_test(test_killed_beside_one_in_a_coroutine),
        cmocka_unit_test(test_a_crash_is_taken_back),
        cmocka_unit_test(test_who_is_gone_is_said_to_be),
        cmocka_unit_test(test_one_whose_state_cannot_be_read_runs_on),
    };
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
