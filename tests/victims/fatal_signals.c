/* Dies of a signal that it leaves to the kernel, as argument 1 says. What is lost then is known:
 * 7 blocks of 100 bytes, beside what the way itself adds. Signal: argument 2, or SIGTERM. */
#include "victim.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>

sighandler_t bsd_signal(int number, sighandler_t handler); /* declared for old standards only */

static void *kept[3];

VICTIM void victim_lose(size_t bytes)
{
    keep(malloc(bytes));
    barrier();
}

VICTIM void victim_keep(void)
{
    for (int i = 0; i < 3; i++)
        kept[i] = keep(malloc(50));
    keep(kept);
}

/* No old pointer stays in what calls have left of the stack and in registers. */
VICTIM void victim_wipe(void)
{
    char old[4096];
    memset(old, 0, sizeof old);
    keep(old);
#if defined(__x86_64__)
    __asm__ volatile("xor %%ecx, %%ecx\nxor %%edx, %%edx\nxor %%esi, %%esi\nxor %%r8d, %%r8d\n"
                     "xor %%r9d, %%r9d\nxor %%r10d, %%r10d\nxor %%r11d, %%r11d"
                     :
                     :
                     : "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11");
#endif
}

static void die(int number)
{
    CHECK(!kill(getpid(), number));
    for (;;)
        pause();
}

/* ---- Ways ---- */

static void *holds_by_its_stack(void *started)
{
    void *volatile held = keep(malloc(1000));
    sigset_t all;
    sigfillset(&all);
    CHECK(!pthread_sigmask(SIG_BLOCK, &all, NULL));
    pthread_barrier_wait(started);
    for (;;)
        pause();
    return held;
}

static void beside_a_thread(int number)
{
    pthread_t thread;
    CHECK(!pthread_barrier_init(&victim_meeting, NULL, 2));
    CHECK(!pthread_create(&thread, NULL, holds_by_its_stack, &victim_meeting));
    pthread_barrier_wait(&victim_meeting);
    die(number);
}

static void *allocates(void *unused)
{
    for (;;)
        free(keep(malloc(64)));
    return unused;
}

/* The signal meets a thread within malloc or free. */
static void within_a_call(int number)
{
    pthread_t thread;
    sigset_t all;
    CHECK(!pthread_create(&thread, NULL, allocates, NULL));
    sigfillset(&all);
    CHECK(!pthread_sigmask(SIG_BLOCK, &all, NULL));
    usleep(20000);
    die(number);
}

static void die_in_time(int number)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = number};
    struct itimerspec soon = {.it_value.tv_nsec = 50000000};
    timer_t timer;
    CHECK(!timer_create(CLOCK_MONOTONIC, &event, &timer) && !timer_settime(timer, 0, &soon, NULL));
}

static VICTIM uintptr_t hidden_block(void)
{
    return ~(uintptr_t)keep(malloc(2000));
}

/* A register that calls do not keep has the only pointer. */
static void in_a_register(int number)
{
    uintptr_t hidden = hidden_block();
    die_in_time(number);
#if defined(__x86_64__)
    __asm__ volatile("not %0\n1: pause\njmp 1b" : "+c"(hidden));
#else
    __asm__ volatile("mvn x9, %0\n1: yield\nb 1b" : : "r"(hidden) : "x9");
#endif
}

static void after_a_handler(int number)
{
    CHECK(signal(number, SIG_IGN) == SIG_DFL);
    CHECK(!kill(getpid(), number));
    CHECK(signal(number, SIG_DFL) == SIG_IGN);
    die(number);
}

static void raise_again(int number)
{
    raise(number); /* when this handler returns */
}

/* As node ends. */
static void by_its_own_handler(int number)
{
    struct sigaction once = {.sa_handler = raise_again, .sa_flags = (int)SA_RESETHAND};
    CHECK(!sigaction(number, &once, NULL));
    die(number);
}

/* Without Tidemark the thread that kills the process does not come to its next line. */
static void *kills_and_goes_on(void *number)
{
    kill(getpid(), *(int *)number);
    CHECK(write(STDOUT_FILENO, "went on ", 8) == 8);
    for (;;)
        pause();
}

static void by_a_thread_that_goes_on(int number)
{
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, kills_and_goes_on, &number));
    for (;;)
        pause();
}

static void make_the_look_long(void)
{
    for (int i = 0; i < 100000; i++)
        kept[2] = keep(malloc(16));
}

/* Another thread exits while the signal ends the process. That thread sends it, too: without
 * Tidemark it does not come to its next line, however busy the machine is. */
static bool takes_signals; /* does main()'s thread? */

static void *kills_and_exits(void *number)
{
    struct timespec soon = {0, 300000};
    while (!__atomic_load_n(&takes_signals, __ATOMIC_ACQUIRE))
        sched_yield();
    kill(getpid(), *(int *)number);
    nanosleep(&soon, NULL);
    _exit(98);
}

static void beside_an_exit(int number)
{
    pthread_t thread;
    make_the_look_long();
    sigset_t all, before;
    sigfillset(&all);
    CHECK(!pthread_sigmask(SIG_BLOCK, &all, &before));
    CHECK(!pthread_create(&thread, NULL, kills_and_exits, &number));
    CHECK(!pthread_sigmask(SIG_SETMASK, &before, NULL));
    __atomic_store_n(&takes_signals, true, __ATOMIC_RELEASE);
    for (;;)
        pause();
}

static sigjmp_buf back;

static void jumps(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

static void *kills_soon(void *number)
{
    usleep(5000);
    CHECK(!kill(getpid(), *(int *)number));
    return NULL;
}

/* A timer's handler that jumps, as it may in a program that does not expect to die in between. */
static void beside_jumps(int number)
{
    struct itimerspec often = {.it_value.tv_nsec = 200000, .it_interval.tv_nsec = 200000};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    static volatile int jumped;
    sigset_t all, before;
    pthread_t thread;
    timer_t timer;
    sigfillset(&all);
    make_the_look_long();
    CHECK(signal(SIGALRM, jumps) == SIG_DFL);
    CHECK(!pthread_sigmask(SIG_BLOCK, &all, &before));
    CHECK(!pthread_create(&thread, NULL, kills_soon, &number));
    CHECK(!pthread_sigmask(SIG_SETMASK, &before, NULL));
    CHECK(!timer_create(CLOCK_MONOTONIC, &event, &timer));
    if (sigsetjmp(back, 1) == 0)
        CHECK(!timer_settime(timer, 0, &often, NULL));
    while (jumped++ < 10000)
        pause();
    _exit(94);
}

/* The first of two that come at once ends it: the kernel takes the lower number. */
static void by_two(int number)
{
    sigset_t all, before;
    sigfillset(&all);
    CHECK(!sigprocmask(SIG_BLOCK, &all, &before));
    CHECK(!kill(getpid(), number) && !kill(getpid(), SIGHUP));
    sigprocmask(SIG_SETMASK, &before, NULL);
    _exit(95);
}

static struct sigaction found;

static void passes_on(int number, siginfo_t *info, void *context)
{
    if (found.sa_flags & SA_SIGINFO)
        found.sa_sigaction(number, info, context);
    signal(number, SIG_DFL);
    raise(number);
}

/* A handler by a system call of the program's own, which calls the one that it has found. */
static void by_a_call_of_its_own(int number)
{
    struct { /* the kernel's struct */
        void *handler;
        unsigned long flags;
        void *restorer;
        uint64_t mask;
    } act, before;
    struct sigaction by_libc = {.sa_sigaction = passes_on, .sa_flags = SA_SIGINFO};
    CHECK(!syscall(SYS_rt_sigaction, number, NULL, &before, 8));
    CHECK(!sigaction(number, &by_libc, NULL));
    CHECK(!syscall(SYS_rt_sigaction, number, NULL, &act, 8)); /* has a restorer */
    if ((sighandler_t)before.handler != SIG_DFL) {
        found.sa_sigaction = (void (*)(int, siginfo_t *, void *))before.handler;
        found.sa_flags = (int)before.flags;
    }
    act.flags |= SA_NODEFER;
    CHECK(!syscall(SYS_rt_sigaction, number, &act, NULL, 8));
    die(number);
}

/* No call but those that a program needs to kill itself at all. */
static void under_a_filter(int number)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_kill, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof code / sizeof *code, code};
    pid_t self = getpid();
    CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter));
    kill(self, number);
    _exit(98);
}

static ucontext_t main_context, small_context;

static void die_there(int number)
{
    die(number);
}

/* A coroutine of 8 KiB, beside the kernel's frame of a signal. */
static void on_a_small_stack(int number)
{
    static char stack[8192];
    CHECK(!getcontext(&small_context));
    small_context.uc_stack.ss_sp = stack;
    small_context.uc_stack.ss_size = sizeof stack;
    small_context.uc_link = &main_context;
    makecontext(&small_context, (void (*)(void))die_there, 1, number);
    CHECK(!swapcontext(&main_context, &small_context));
}

/* The child of a vfork has its parent's memory, and dies alone. */
static void after_a_vfork(int number)
{
    int status = 0;
    pid_t child = vfork();
    if (child == 0) {
        syscall(SYS_kill, syscall(SYS_getpid), number);
        _exit(97);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == number);
    die(number);
}

static void as_a_child(int number)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        victim_lose(3000);
        victim_wipe();
        die(number);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == number);
    die(number);
}

/* Until somebody else sends it. */
static void wait_for_it(int number)
{
    (void)number;
    close(open("ready", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    for (;;)
        pause();
}

/* ---- What the program sees ---- */

static void say(int number, const char *when)
{
    struct sigaction now;
    CHECK(!sigaction(number, NULL, &now));
    printf("%d %s: %s, flags %x, masked %d\n", number, when,
           now.sa_handler == SIG_DFL   ? "default"
           : now.sa_handler == SIG_IGN ? "ignored"
                                       : "a handler",
           (unsigned)now.sa_flags & ~0x4000000u, sigismember(&now.sa_mask, SIGUSR1));
}

static void nothing(int number)
{
    (void)number;
}

static void ask(int number)
{
    struct sigaction asked = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP}, before;
    say(number, "at the beginning");
    sigaddset(&asked.sa_mask, SIGUSR1);
    struct sigaction *same = &asked; /* one place for both, as some programs have it */
    CHECK(!sigaction(number, same, &asked) && asked.sa_handler == SIG_DFL);
    say(number, "after it was set");
    CHECK(signal(number, nothing) == SIG_DFL);
    say(number, "handled");
    CHECK(signal(number, SIG_DFL) == nothing);
    say(number, "by signal()");
    CHECK(sysv_signal(number, nothing) == SIG_DFL && bsd_signal(number, SIG_IGN) == nothing);
    say(number, "ignored");
    CHECK(!sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, &before));
    CHECK(before.sa_handler == SIG_IGN);
    CHECK(ssignal(number, SIG_DFL) == SIG_DFL);
    say(number, "at the end");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*does)(int number);
    } ways[] = {
        {"kill", die},
        {"beside_a_thread", beside_a_thread},
        {"within_a_call", within_a_call},
        {"in_a_register", in_a_register},
        {"after_a_handler", after_a_handler},
        {"by_its_own_handler", by_its_own_handler},
        {"by_a_thread_that_goes_on", by_a_thread_that_goes_on},
        {"beside_an_exit", beside_an_exit},
        {"beside_jumps", beside_jumps},
        {"by_two", by_two},
        {"by_a_call_of_its_own", by_a_call_of_its_own},
        {"under_a_filter", under_a_filter},
        {"wait_for_it", wait_for_it},
        {"on_a_small_stack", on_a_small_stack},
        {"after_a_vfork", after_a_vfork},
        {"as_a_child", as_a_child},
    };
    int number = argc > 2 ? atoi(argv[2]) : SIGTERM;
    CHECK(argc > 1);
    if (!strcmp(argv[1], "ask")) {
        ask(number);
        return 0;
    }
    victim_keep();
    for (int i = 0; i < 7; i++)
        victim_lose(100);
    victim_wipe();
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (!strcmp(argv[1], ways[i].name))
            ways[i].does(number);
    return 96;
}
