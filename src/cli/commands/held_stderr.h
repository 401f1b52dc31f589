/* Standard error while a program is recorded: it is the program's. What this process would write
 * there, be it a library's or a dying collector's, is held back until the program has ended, or
 * with --quiet dropped. */
#ifndef TIDEMARK_COMMANDS_HELD_STDERR_H
#define TIDEMARK_COMMANDS_HELD_STDERR_H

#include <stdbool.h>

/* Gives standard streams that are closed to nobody else: a socket that got their numbers would be
 * written to. The program that is started finds them closed, as they were. */
void held_stderr_keep_numbers(void);

/* Before the collector's process is started: where it will write is known to both. */
void held_stderr_prepare(bool quiet);
/* In the collector. */
void held_stderr_begin(void);
/* What was written since goes to the real one, which is standard error again; with --quiet nothing
 * does. May be called from handlers of signals, and again. */
void held_stderr_end(void);

/* The real one where somebody sits before it, who may be told at once; else -1. */
int held_stderr_terminal(void);

/* In the process that started it: what a collector that died had still to say. */
void held_stderr_tell(void);

#endif
