/* Starts a collector when the library was preloaded by hand and no session exists. */
#ifndef TIDEMARK_RECORDER_STARTER_H
#define TIDEMARK_RECORDER_STARTER_H

#include <stdbool.h>
#include <stddef.h>

/* False for a library that `tidemark record` has preloaded (WIRE_SESSION_MARK): it belongs to that
 * session or to none. */
bool starter_may_start(void);

/* Starts `tidemark collect`, found beside this library, as a process that is nobody's child that
 * the program could wait for, puts TIDEMARK_SESSION into the environment for children if
 * they are to be told, and writes the session's name. False: no collector could be started. */
bool starter_start(char *name, size_t bytes, bool tell_children);

#endif
