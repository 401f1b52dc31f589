/* Handler and bookkeeping of fatal_signals.h. While the handler waits for the collector, signals
 * that end the program are not blocked, so that a second one ends it at once; the others are: a
 * handler of the program's might jump out of ours. A second one of the same number that comes soon
 * is the first one's echo: who sends it to a whole group of processes reaches `tidemark record`
 * too, which passes it on (stand_in.h). */
#include "recorder/fatal_signals.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include "base/now.h"
#include "interpose/real.h"
#include "recorder/session.h"
#include "recorder/step_wait.h"
#include "unwind/permitted_calls.h"

/* `wanted`: what the program has set, with SIG_DFL in it. */
static struct fatal_signal {
    int number;
    struct sigaction wanted;
} fatal_signals[] = {{.number = SIGHUP}, {.number = SIGINT}, {.number = SIGTERM}};
static bool fatal_signals_watched;

enum { FATAL_SIGNALS = sizeof fatal_signals / sizeof *fatal_signals };

/* Pointers may be in any register, and on x86-64 in 128 bytes below the stack pointer. What the
 * kernel has saved below that holds old values of the stack, too. */
static struct session_cut fatal_signals_cut(const ucontext_t *context)
{
#if defined(__x86_64__)
    enum { RED_ZONE = 128, REGISTERS = REG_RSP + 1 };
    const greg_t *registers = context->uc_mcontext.gregs;
    struct session_cut cut = {.stack = (uintptr_t)registers[REG_RSP] - RED_ZONE};
#elif defined(__aarch64__)
    enum { REGISTERS = 31 };
    const uint64_t *registers = context->uc_mcontext.regs;
    struct session_cut cut = {.stack = context->uc_mcontext.sp};
#endif
    for (int i = 0; i < REGISTERS; i++)
        cut.registers[i] = (uintptr_t)registers[i];
    return cut;
}

/* The signal that ends a process, and which process: the child of a vfork has its parent's memory,
 * and that of a fork a copy. */
static _Atomic uint64_t fatal_signals_first;
static _Atomic uint64_t fatal_signals_first_ns; /* 0: not known */
enum { NUMBER_BITS = 8, KERNEL_SET_BYTES = 8 };
#define ECHO_NS 250000000u

static int fatal_signals_first_of(uint64_t process)
{
    uint64_t first = atomic_load(&fatal_signals_first);
    return first >> NUMBER_BITS == process ? (int)(first & ((1 << NUMBER_BITS) - 1)) : 0;
}

/* The signal that came first, if this is not the first; else 0. */
static int fatal_signals_claim(uint64_t process, int number)
{
    uint64_t before = atomic_load(&fatal_signals_first);
    uint64_t claim = process << NUMBER_BITS | (uint64_t)number;
    while (before >> NUMBER_BITS != process)
        if (atomic_compare_exchange_strong(&fatal_signals_first, &before, claim))
            return 0;
    return fatal_signals_first_of(process);
}

static uint64_t fatal_signals_now_ns(void)
{
    return permitted_calls_is_forbidden(CALL_TIME) ? 0 : now_monotonic_ns();
}

static bool fatal_signals_is_echo(int first, int number)
{
    uint64_t first_ns = atomic_load(&fatal_signals_first_ns);
    return number == first && first_ns && fatal_signals_now_ns() - first_ns < ECHO_NS;
}

static void fatal_signals_unblock(const sigset_t *signals)
{
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, signals, NULL, KERNEL_SET_BYTES);
}

/* A handler that the program set by a system call of its own, and that calls ours as the one before
 * (Go), would otherwise get the signal again, and call ours again. */
static void fatal_signals_die(long process, int number)
{
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, number);
    REAL(sigaction)(number, &by_default, NULL);
    fatal_signals_unblock(&signals);
    syscall(SYS_tgkill, process, syscall(SYS_gettid), number);
}

/* Those that the program has not blocked itself. */
static void fatal_signals_let_second_end(const ucontext_t *context)
{
    sigset_t signals;
    sigemptyset(&signals);
    for (size_t i = 0; i < FATAL_SIGNALS; i++)
        if (!sigismember(&context->uc_sigmask, fatal_signals[i].number))
            sigaddset(&signals, fatal_signals[i].number);
    fatal_signals_unblock(&signals);
}

static void fatal_signals_end(int number, siginfo_t *info, void *context)
{
    (void)info;
    long process = syscall(SYS_getpid);
    if (process == 1) { /* of its own space of process ids, since a fork */
        fatal_signals_let_go();
        return;
    }
    int first = fatal_signals_claim((uint64_t)process, number);
    if (first && fatal_signals_is_echo(first, number))
        return;
    if (!first) {
        atomic_store(&fatal_signals_first_ns, fatal_signals_now_ns());
        struct session_cut cut = fatal_signals_cut(context);
        fatal_signals_let_second_end(context);
        session_end_by_signal(number, &cut);
    }
    fatal_signals_die(process, first ? first : number);
}

void fatal_signals_prevail(void)
{
    if (permitted_calls_is_forbidden(CALL_DIE | CALL_PID | CALL_TID))
        return;
    long process = syscall(SYS_getpid);
    int first = fatal_signals_first_of((uint64_t)process);
    if (first)
        fatal_signals_die(process, first);
}

/* Faults of ours must stay the program's death. */
static struct sigaction fatal_signals_ours(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT};
    struct sigaction ours = {.sa_sigaction = fatal_signals_end,
                             .sa_flags = SA_SIGINFO | SA_RESTART};
    sigfillset(&ours.sa_mask);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&ours.sa_mask, faults[i]);
    return ours;
}

static bool fatal_signals_is_ours(const struct sigaction *action)
{
    return action->sa_flags & SA_SIGINFO && action->sa_sigaction == fatal_signals_end;
}

static bool fatal_signals_is_default(const struct sigaction *action)
{
    return action->sa_handler == SIG_DFL;
}

sighandler_t fatal_signals_seen(sighandler_t handler)
{
    return handler == (sighandler_t)(uintptr_t)fatal_signals_end ? SIG_DFL : handler;
}

static void fatal_signals_watch_one(struct fatal_signal *signal)
{
    struct sigaction ours = fatal_signals_ours(), now;
    if (REAL(sigaction)(signal->number, NULL, &now) != 0 || !fatal_signals_is_default(&now))
        return;
    signal->wanted = now;
    REAL(sigaction)(signal->number, &ours, NULL);
}

void fatal_signals_watch(void)
{
    int saved_errno = errno;
    if (permitted_calls_is_forbidden(CALL_DIE | CALL_PID | CALL_TID) || syscall(SYS_getpid) == 1)
        return;
    for (size_t i = 0; i < FATAL_SIGNALS; i++)
        fatal_signals_watch_one(&fatal_signals[i]);
    fatal_signals_watched = true;
    errno = saved_errno;
}

bool fatal_signals_let_go(void)
{
    int saved_errno = errno;
    if (!fatal_signals_watched)
        return false;
    fatal_signals_watched = false;
    for (size_t i = 0; i < FATAL_SIGNALS; i++) {
        struct fatal_signal *signal = &fatal_signals[i];
        struct sigaction now;
        if (REAL(sigaction)(signal->number, NULL, &now) == 0 && fatal_signals_is_ours(&now))
            REAL(sigaction)(signal->number, &signal->wanted, NULL);
    }
    errno = saved_errno;
    return true;
}

static struct fatal_signal *fatal_signals_find(int number)
{
    for (size_t i = 0; i < FATAL_SIGNALS; i++)
        if (fatal_signals[i].number == number)
            return &fatal_signals[i];
    return NULL;
}

void fatal_signals_will_send(pid_t process, int number)
{
    int saved_errno = errno;
    struct fatal_signal *signal = fatal_signals_watched ? fatal_signals_find(number) : NULL;
    if (signal && (!process || process == syscall(SYS_getpid)))
        fatal_signals_watch_one(signal);
    errno = saved_errno;
}

int fatal_signals_act(int number, const struct sigaction *wanted, struct sigaction *before)
{
    struct fatal_signal *signal = fatal_signals_find(number);
    struct sigaction ours = fatal_signals_ours(), asked, was;
    if (!signal)
        return REAL(sigaction)(number, wanted, before);
    bool replaces = fatal_signals_watched && wanted && fatal_signals_is_default(wanted);
    if (replaces)
        asked = *wanted; /* `before` may be the same place */
    int status = REAL(sigaction)(number, replaces ? &ours : wanted, &was);
    if (status != 0)
        return status;
    if (before)
        *before = fatal_signals_is_ours(&was) ? signal->wanted : was;
    if (replaces)
        signal->wanted = asked;
    return 0;
}

/* Would the signal end this process, after the look? `blocked`: does this thread leave it to
 * others? */
static bool fatal_signals_ends(pid_t process, int number, bool *blocked)
{
    struct sigaction now;
    uint64_t mask = 0;
    if (!fatal_signals_watched || !fatal_signals_find(number) ||
        permitted_calls_is_forbidden(CALL_DIE | CALL_PID | CALL_TID | CALL_SIGNALS) ||
        process != syscall(SYS_getpid) || REAL(sigaction)(number, NULL, &now) != 0 ||
        !fatal_signals_is_ours(&now))
        return false;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, KERNEL_SET_BYTES);
    *blocked = mask >> (number - 1) & 1;
    return true;
}

static bool fatal_signals_is_pending(int number)
{
    uint64_t pending = 0;
    return syscall(SYS_rt_sigpending, &pending, KERNEL_SET_BYTES) == 0 &&
           pending >> (number - 1) & 1;
}

/* Without our handler kill() would not return where another thread takes the signal. With it, that
 * thread has to run first. If all threads block the signal, or one of them fetches it by sigwait(),
 * kill() returns a little later than it would. */
static void fatal_signals_wait(pid_t process, int number)
{
    enum { STEP_MS = 1, TAKEN_STEPS = 3, PATIENCE_MS = 50, LOOK_MS = 5000 };
    enum { FORBIDDEN = CALL_PENDING | CALL_WAIT | CALL_TIME };
    static _Atomic uint32_t never;
    struct step_wait wait = step_wait_begin(STEP_MS);
    unsigned taken = 0;
    while (!permitted_calls_is_forbidden(FORBIDDEN) && taken < TAKEN_STEPS) {
        bool ends = fatal_signals_first_of((uint64_t)process);
        if (step_wait_ms(&wait) >= (ends ? LOOK_MS : PATIENCE_MS))
            break;
        taken += !ends && !fatal_signals_is_pending(number);
        step_wait_for(&wait, &never, 0);
    }
    fatal_signals_prevail();
}

int fatal_signals_kill(pid_t process, int number)
{
    bool blocked, ends;
    if (process > 0)
        fatal_signals_will_send(process, number);
    ends = fatal_signals_ends(process, number, &blocked);
    if (ends && !blocked)
        return (int)syscall(SYS_tgkill, process, syscall(SYS_gettid), number);
    int status = REAL(kill)(process, number), saved_errno = errno;
    if (ends && status == 0)
        fatal_signals_wait(process, number);
    errno = saved_errno;
    return status;
}
