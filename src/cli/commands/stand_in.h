/* Signals that come to `tidemark record` and mean the program that it was asked to start. */
#ifndef TIDEMARK_COMMANDS_STAND_IN_H
#define TIDEMARK_COMMANDS_STAND_IN_H

#include <signal.h>
#include <sys/types.h>

/* What is passed on to the program, and SIGCHLD. */
void stand_in_signals(sigset_t *watched);

/* One of these, received by us: to the program, as if it had come there. */
void stand_in_pass_on(const siginfo_t *signal, pid_t child);

#endif
