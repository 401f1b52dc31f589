/* Signals that come at any instruction, on other stacks, in many threads at once; and stops. Linked
 * with victims/safe_malloc.c where handlers allocate: glibc's malloc forbids it. */
#include "torture.h"
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>

enum { THREADS = 4, ALTERNATE = 32 * 1024 };

static __thread volatile unsigned seen;
static __thread volatile bool jumping;
static __thread sigjmp_buf back;
static __thread volatile bool jump_wanted;
static atomic_bool stop_all;

/* A call that a jump cuts short between its return and its count is one more in the profile. */
static _Atomic unsigned long long cut;

static void on_signal(int number)
{
    (void)number;
    seen++;
    torture_freed(torture_counted(33));
    if (jump_wanted && jumping && seen % 16 == 0) {
        jumping = false;
        atomic_fetch_add(&cut, 1);
        siglongjmp(back, 1);
    }
}

/* 10,000 a second of CPU time to this thread alone. */
static timer_t rapid(void)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN};
    event._sigev_un._tid = (int)syscall(SYS_gettid);
    CHECK(!syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer));
    struct itimerspec when = {{0, 100000}, {0, 100000}};
    CHECK(!syscall(SYS_timer_settime, timer, 0, &when, NULL));
    return timer;
}

static void *body(void *argument)
{
    char *stack = mmap(NULL, ALTERNATE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(stack != MAP_FAILED);
    CHECK(!sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = ALTERNATE}, NULL));
    jump_wanted = argument != NULL;
    timer_t timer = rapid();
    volatile unsigned wanted = (unsigned)torture_times(500);
    for (volatile unsigned rounds = 0; seen < wanted && rounds < 20000; rounds++) {
        if (!sigsetjmp(back, 1)) {
            jumping = true;
            for (int i = 0; i < 10; i++)
                torture_freed(torture_counted(21));
        }
        jumping = false;
    }
    syscall(SYS_timer_delete, timer);
    signal(SIGRTMIN, SIG_IGN);
    CHECK(!sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL) && !munmap(stack, ALTERNATE));
    torture_work(50);
    return NULL;
}

static void in_threads(bool jumps)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART};
    CHECK(!sigaction(SIGRTMIN, &action, NULL));
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&thread[i], NULL, body, jumps ? (void *)1 : NULL));
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_join(thread[i], NULL));
    if (jumps) {
        victim_fact("slack", 2 * atomic_load(&cut));
        victim_fact("misses_frees", 1); /* whose record a jump cut off: the block seems replaced */
    }
}

static void altstacks(void)
{
    in_threads(false);
}

/* ---- On an alternate stack above the thread's own ---- */

/* While some of the handlers wait, the collector reads what they have recorded: a record that they
 * interrupted may not be passed over. */
static void on_signal_above(int number)
{
    on_signal(number);
    if (seen % 8 == 0)
        usleep(10000);
}

static void *works_below(void *alternate)
{
    CHECK(!sigaltstack(&(stack_t){.ss_sp = alternate, .ss_size = ALTERNATE}, NULL));
    timer_t timer = rapid();
    volatile unsigned wanted = (unsigned)torture_times(300);
    while (seen < wanted) /* by this thread: no other may stop the signals */
        torture_freed(torture_counted(21));
    syscall(SYS_timer_delete, timer);
    CHECK(!sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL));
    return NULL;
}

static void altstacks_above(void)
{
    enum { OWN = 256 * 1024 };
    struct sigaction action = {.sa_handler = on_signal_above, .sa_flags = SA_ONSTACK | SA_RESTART};
    CHECK(!sigaction(SIGRTMIN, &action, NULL));
    pthread_t thread[THREADS];
    pthread_attr_t attributes;
    CHECK(!pthread_attr_init(&attributes));
    for (int i = 0; i < THREADS; i++) {
        char *both =
            mmap(NULL, OWN + ALTERNATE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(both != MAP_FAILED && !pthread_attr_setstack(&attributes, both, OWN));
        CHECK(!pthread_create(&thread[i], &attributes, works_below, both + OWN));
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_join(thread[i], NULL));
}

static void longjumps(void)
{
    in_threads(true);
}

/* ---- Stopped and continued ---- */

static void *works(void *argument)
{
    while (!atomic_load(&stop_all))
        torture_work(10);
    return argument;
}

static void stopped(void)
{
    pid_t self = getpid(), helper = fork();
    CHECK(helper >= 0);
    if (!helper) { /* allocates nothing, so it is no process of the recording */
        for (int i = 0; i < torture_times(30); i++) {
            kill(self, SIGSTOP);
            syscall(SYS_sched_yield);
            kill(self, SIGCONT);
            struct timespec pause = {0, 1000000};
            nanosleep(&pause, NULL);
        }
        syscall(SYS_exit_group, 0);
    }
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        CHECK(!pthread_create(&thread[i], NULL, works, NULL));
    CHECK(torture_wait(helper) == 0);
    atomic_store(&stop_all, true);
    for (int i = 0; i < 2; i++)
        CHECK(!pthread_join(thread[i], NULL));
}

int main(int argc, char **argv)
{
    static const struct torture_case cases[] = {
        {"altstacks", altstacks},
        {"altstacks_above", altstacks_above},
        {"longjumps", longjumps},
        {"stopped", stopped},
        {NULL, NULL},
    };
    return torture_main(argc, argv, cases);
}
