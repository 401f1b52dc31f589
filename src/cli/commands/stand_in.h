/* What is left of `tidemark record` when its collector cannot go on: memory that a limit does not
 * give, or a flaw of ours. The collector lives in the process that the program's parent waits for,
 * so its death would be taken for the program's. Instead that process becomes a fresh `tidemark
 * stand-in`, by exec: the number and the children stay, all memory goes, and the recorder sees at
 * once that nobody collects any more. */
#ifndef TIDEMARK_COMMANDS_STAND_IN_H
#define TIDEMARK_COMMANDS_STAND_IN_H

#include <signal.h>
#include <sys/types.h>

/* From now on our own death by a signal of our making (abort() and the like), or by an exit()
 * somewhere in a library, becomes a sentence and the stand-in of `child`. Not in builds with
 * sanitizers, which want to tell of it themselves. */
void stand_in_prepare(pid_t child);
/* The collector is closed: how we end now is meant. */
void stand_in_release(void);

/* The child has been waited for, and ended so. */
void stand_in_tell_end(int wait_status);

/* What is passed on to the program, and SIGCHLD. */
void stand_in_signals(sigset_t *watched);

/* One of these, received by us: to the program, as if it had come there. */
void stand_in_pass_on(const siginfo_t *signal, pid_t child);

#endif
