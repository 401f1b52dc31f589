/* The session of a process whose environment does not name it any more. Runs inside the profiled
 * program, before its main: no malloc, no stdio. */
#ifndef TIDEMARK_RECORDER_ANCESTORS_H
#define TIDEMARK_RECORDER_ANCESTORS_H

#include <stdbool.h>
#include <stddef.h>

/* What the nearest ancestor that was started in a session was told of it: the value of
 * TIDEMARK_SESSION. False: none was, or none may be asked. */
bool ancestors_session(char *name, size_t bytes);

#endif
