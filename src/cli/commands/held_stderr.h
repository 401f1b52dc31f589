/* While a program is recorded, standard error is the program's. What this process writes there (a
 * library, or a collector that dies) is held back until the program has ended, or dropped with
 * --quiet. */
#ifndef TIDEMARK_COMMANDS_HELD_STDERR_H
#define TIDEMARK_COMMANDS_HELD_STDERR_H

#include <stdbool.h>

/* Opens /dev/null for standard streams that are closed: a socket that got such a number would be
 * written to. The program that is started finds them closed, as they were. */
void held_stderr_keep_numbers(void);

/* Before the collector's process is started, so that record and the collector share the file. */
void held_stderr_prepare(bool quiet);
/* Called in the collector. */
void held_stderr_begin(void);
/* Writes what was held back to the real standard error and makes that standard error again. With
 * --quiet it does nothing. May be called from signal handlers, and repeatedly. */
void held_stderr_end(void);

/* The real standard error if it is a terminal, for messages that cannot wait; else -1. */
int held_stderr_terminal(void);

/* Called in record: writes what a collector that died had held back. */
void held_stderr_tell(void);

#endif
