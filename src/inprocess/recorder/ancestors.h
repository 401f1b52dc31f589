/* Finds the session of a process whose environment no longer names it. Runs inside the profiled
 * program, before its main: no malloc, no stdio. */
#ifndef TIDEMARK_RECORDER_ANCESTORS_H
#define TIDEMARK_RECORDER_ANCESTORS_H

#include <stdbool.h>
#include <stddef.h>

/* The value of TIDEMARK_SESSION in the environment of the nearest ancestor that has it. False: no
 * ancestor has it, or none can be read. */
bool ancestors_session(char *name, size_t bytes);

#endif
