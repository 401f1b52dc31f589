/* Programs that are about to be executed and will not be recorded although they should be, because
 * nothing of us gets there: they are counted, so that nobody takes a profile for all of a run. Runs
 * inside the profiled program, in children of vfork too: no malloc, no stdio, errno kept. */
#ifndef TIDEMARK_RECORDER_LEAVING_H
#define TIDEMARK_RECORDER_LEAVING_H

#include <stdbool.h>
#include "wire/wire.h"

/* Before the call that executes `file`, which is searched for in PATH if `search` says so (NULL: not
 * known), and with that environment. What it counts as: WIRE_FOLLOWED is not counted. */
enum wire_unfollowed leaving_begin(const char *file, bool search, char *const *environment);
/* That call has failed. */
void leaving_failed(enum wire_unfollowed kind);

#endif
