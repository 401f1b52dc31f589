/* Starts a collector when the library was preloaded by hand and no session exists. */
#ifndef TIDEMARK_RECORDER_STARTER_H
#define TIDEMARK_RECORDER_STARTER_H

#include <stdbool.h>
#include <stddef.h>

/* False for a library that `tidemark record` has preloaded (WIRE_SESSION_MARK): it belongs to that
 * session or to none. */
bool starter_may_start(void);

/* Starts `tidemark collect`, which is searched beside this library, as a process that is no child
 * of the program. Writes the session's name to `name`, which has `bytes` bytes. `tell_children`:
 * puts TIDEMARK_SESSION into the environment. False: no collector could be started. */
bool starter_start(char *name, size_t bytes, bool tell_children);

#endif
