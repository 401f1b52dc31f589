/* Signals that come at any instruction, on other stacks, in many threads at once; and stops. Linked
 * with victims/safe_malloc.c where handlers allocate: glibc's malloc forbids it. */
#include "torture.h"
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

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

/* ---- A handler that forks in the middle of a hook, and returns in both processes ---- */

/* The code of the recorder's library. Bare, any code will do. */
static uintptr_t hooks_lo = 0, hooks_hi = UINTPTR_MAX;
static volatile unsigned forks, ticks;
static volatile bool is_child;

static int find_hooks(struct dl_phdr_info *module, size_t bytes, void *context)
{
    (void)bytes, (void)context;
    if (!strstr(module->dlpi_name, "/libtidemark"))
        return 0;
    for (int i = 0; i < module->dlpi_phnum; i++)
        if (module->dlpi_phdr[i].p_type == PT_LOAD && module->dlpi_phdr[i].p_flags & PF_X) {
            hooks_lo = module->dlpi_addr + module->dlpi_phdr[i].p_vaddr;
            hooks_hi = hooks_lo + module->dlpi_phdr[i].p_memsz;
        }
    return 1;
}

static uintptr_t interrupted_at(const void *context)
{
#if defined(__x86_64__)
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#else
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.pc;
#endif
}

static void on_signal_fork(int number, siginfo_t *about, void *context)
{
    (void)number, (void)about;
    uintptr_t ip = interrupted_at(context);
    ticks++;
    if (is_child || ip < hooks_lo || ip >= hooks_hi || forks >= (unsigned)torture_times(8))
        return;
    pid_t child = fork();
    CHECK(child >= 0);
    forks++;
    if (child)
        CHECK(torture_wait(child) == 0);
    else
        is_child = true;
}

/* A child is recorded from the first call behind the interrupted one on. */
VICTIM void of_a_child(void)
{
    for (int i = 0; i < 50; i++)
        torture_freed(torture_counted(77));
    _exit(0);
}

/* Another stack each time, so that there is something to walk. */
VICTIM void *at_depth(int depth)
{
    return depth ? keep(at_depth(depth - 1)) : torture_counted(21);
}

static void forks_inside(void)
{
    struct sigaction action = {.sa_sigaction = on_signal_fork, .sa_flags = SA_SIGINFO | SA_RESTART};
    CHECK(!sigaction(SIGRTMIN, &action, NULL));
    dl_iterate_phdr(find_hooks, NULL);
    timer_t timer = rapid();
    for (int i = 0; forks < (unsigned)torture_times(8) && ticks < 2000000; i++) {
        torture_freed(at_depth(i % 20));
        if (is_child)
            of_a_child();
    }
    if (is_child)
        of_a_child();
    syscall(SYS_timer_delete, timer);
    CHECK(forks == (unsigned)torture_times(8));
    victim_fact("unfollowed", 1); /* the interrupted call of each child */
    victim_fact("within_of_a_child", 50ull * forks);
}

int main(int argc, char **argv)
{
    static const struct torture_case cases[] = {
        {"altstacks", altstacks}, {"altstacks_above", altstacks_above}, {"longjumps", longjumps},
        {"stopped", stopped},     {"forks_inside", forks_inside},       {NULL, NULL},
    };
    return torture_main(argc, argv, cases);
}
