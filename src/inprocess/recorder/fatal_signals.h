/* The program's end by a signal that it leaves to the kernel: SIGHUP, SIGINT, SIGTERM. Such a
 * signal meets a handler of ours first, which ends the recording as exit() does, so that the
 * collector can look at the process once more. Then the process dies of the same signal.
 *
 * The program does not see the handler: what it asks for and sets goes through
 * fatal_signals_act(). A signal that the program handles or ignores is left alone. */
#ifndef TIDEMARK_RECORDER_FATAL_SIGNALS_H
#define TIDEMARK_RECORDER_FATAL_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* Puts our handler where the kernel's default stands, if our calls at the end are permitted. The
 * first process of a container is left alone: the kernel spares it such signals. */
void fatal_signals_watch(void);
/* Takes our handler away again: the program is about to install a filter, which may forbid what the
 * handler does. True: fatal_signals_watch() may put it back, where the filter lets it. False: there
 * was none. */
bool fatal_signals_let_go(void);
/* Another thread is about to exit. If a signal is ending the process, it dies of it now. */
void fatal_signals_prevail(void);

/* The program is about to send a signal to a process; 0: to itself. Puts our handler back if it is
 * this process and the kernel has set the default since: the program's handler had SA_RESETHAND. */
void fatal_signals_will_send(pid_t process, int number);

/* sigaction(), in which our handler reads as SIG_DFL, and SIG_DFL becomes our handler. */
int fatal_signals_act(int number, const struct sigaction *wanted, struct sigaction *before);
/* kill(), by which a program that kills itself does not return, as without our handler: the kernel
 * might choose another thread for that. */
int fatal_signals_kill(pid_t process, int number);
/* What the program sees where `handler` was set. */
sighandler_t fatal_signals_seen(sighandler_t handler);

#endif
