/* Handler and bookkeeping of fatal_signals.h. The handler needs three system calls to die of the
 * signal: the kernel has set the default by then (SA_RESETHAND) and does not block the signal
 * (SA_NODEFER), so that a second one ends the process at once, while the first waits for the
 * collector. */
#include "recorder/fatal_signals.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include "interpose/real.h"
#include "recorder/session.h"
#include "unwind/permitted_calls.h"

/* `wanted`: what the program has set, with SIG_DFL in it. */
static struct fatal_signal {
    int number;
    struct sigaction wanted;
} fatal_signals[] = {{.number = SIGHUP}, {.number = SIGINT}, {.number = SIGTERM}};
static bool fatal_signals_watched;

#define EACH_FATAL_SIGNAL(signal)                                                                  \
    for (struct fatal_signal *signal = fatal_signals;                                              \
         signal < fatal_signals + sizeof fatal_signals / sizeof *fatal_signals; signal++)

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

static void fatal_signals_end(int number, siginfo_t *info, void *context)
{
    (void)info;
    long process = syscall(SYS_getpid);
    struct session_cut cut = fatal_signals_cut(context);
    if (process == 1)
        return;
    session_end_by_signal(number, &cut);
    syscall(SYS_tgkill, process, syscall(SYS_gettid), number);
}

static struct sigaction fatal_signals_ours(void)
{
    struct sigaction ours = {.sa_sigaction = fatal_signals_end,
                             .sa_flags = SA_SIGINFO | SA_RESETHAND | SA_NODEFER};
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
    EACH_FATAL_SIGNAL(signal)
    fatal_signals_watch_one(signal);
    fatal_signals_watched = true;
    errno = saved_errno;
}

void fatal_signals_let_go(void)
{
    int saved_errno = errno;
    if (!fatal_signals_watched)
        return;
    fatal_signals_watched = false;
    EACH_FATAL_SIGNAL(signal)
    {
        struct sigaction now;
        if (REAL(sigaction)(signal->number, NULL, &now) == 0 && fatal_signals_is_ours(&now))
            REAL(sigaction)(signal->number, &signal->wanted, NULL);
    }
    errno = saved_errno;
}

static struct fatal_signal *fatal_signals_find(int number)
{
    EACH_FATAL_SIGNAL(signal)
    if (signal->number == number)
        return signal;
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
