/* Stands in for the program that was started (stand_in.h). Signals that users and shells send to
 * `tidemark` are passed on to the program. A terminal's signals reach the whole group, so those are
 * not sent twice. */
#include "commands/stand_in.h"

#include <stddef.h>

static const int forwarded[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                                SIGUSR2, SIGALRM, SIGCONT, SIGTSTP, SIGWINCH};

void stand_in_signals(sigset_t *watched)
{
    sigemptyset(watched);
    sigaddset(watched, SIGCHLD);
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++)
        sigaddset(watched, forwarded[i]);
}

void stand_in_pass_on(const siginfo_t *signal, pid_t child)
{
    int number = signal->si_signo;
    /* A terminal's signals go to the whole foreground group: the program has them already. */
    if (signal->si_code != SI_KERNEL && child > 0 && number != SIGWINCH)
        kill(child, number);
    if (number == SIGTSTP)
        raise(SIGSTOP); /* the shell sees the job stopped; SIGCONT wakes both */
}
