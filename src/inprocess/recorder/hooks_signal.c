/* Hooks of the functions that set what a signal does. The program sees SIG_DFL where our handler
 * stands (fatal_signals.h). */
#include "recorder/hooks.h"

#include <signal.h>
#include <stddef.h>
#include "recorder/fatal_signals.h"

HOOK int sigaction(int number, const struct sigaction *wanted, struct sigaction *before)
{
    return fatal_signals_act(number, wanted, before);
}
HOOKED(sigaction)

HOOK sighandler_t signal(int number, sighandler_t handler)
{
    struct sigaction by_default = {.sa_handler = SIG_DFL, .sa_flags = SA_RESTART}, before;
    if (handler != SIG_DFL)
        return fatal_signals_seen(REAL(signal)(number, handler));
    sigaddset(&by_default.sa_mask, number);
    return fatal_signals_act(number, &by_default, &before) == 0 ? before.sa_handler : SIG_ERR;
}
HOOKED(signal)
HOOKED_TOO(bsd_signal, signal)
HOOKED_TOO(ssignal, signal)

HOOK sighandler_t __sysv_signal(int number, sighandler_t handler)
{
    return fatal_signals_seen(REAL(__sysv_signal)(number, handler));
}
HOOKED(__sysv_signal)
HOOKED_TOO(sysv_signal, __sysv_signal)

HOOK sighandler_t sigset(int number, sighandler_t handler)
{
    return fatal_signals_seen(REAL(sigset)(number, handler));
}
HOOKED(sigset)

/* A handler that has cleaned up dies of its signal by these. */
HOOK int raise(int number)
{
    fatal_signals_will_send(0, number);
    return REAL(raise)(number);
}
HOOKED(raise)

HOOK int kill(pid_t process, int number)
{
    return fatal_signals_kill(process, number);
}
HOOKED(kill)
