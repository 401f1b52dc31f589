/* Signals that `tidemark record` receives and that mean the program that it has started. */
#ifndef TIDEMARK_COMMANDS_STAND_IN_H
#define TIDEMARK_COMMANDS_STAND_IN_H

#include <signal.h>
#include <sys/types.h>

/* Fills `watched` with the signals that are passed on to the program, and SIGCHLD. */
void stand_in_signals(sigset_t *watched);

/* Passes a signal that this process has received on to the program. */
void stand_in_pass_on(const siginfo_t *signal, pid_t child);

#endif
