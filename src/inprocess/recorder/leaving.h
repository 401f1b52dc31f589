/* Programs that are about to be executed. What will not be recorded although it should be, because
 * nothing of us gets there, is counted, so that nobody takes a profile for all of a run. What our
 * library would harm gets an environment without it. Runs inside the profiled program, in children
 * of vfork too: no malloc, no stdio, errno kept. */
#ifndef TIDEMARK_RECORDER_LEAVING_H
#define TIDEMARK_RECORDER_LEAVING_H

#include <stdbool.h>
#include <stddef.h>
#include "wire/wire.h"

struct leaving {
    enum wire_unfollowed kind; /* what it counts as: WIRE_FOLLOWED is not counted */
    char *const *environment;  /* as it was given */
    char *const *preload;      /* the entry there that must go without us; NULL: none */
};

/* Before the call that executes `file`, which is searched for in PATH if `search` says so (NULL:
 * not known), and with that environment. */
struct leaving leaving_begin(const char *file, bool search, char *const *environment);
/* The same for a program that is open. */
struct leaving leaving_begin_open(int file, char *const *environment);
/* That call has failed. */
void leaving_failed(const struct leaving *leaving);

/* What a copy of the environment without us takes, and the copy. */
size_t leaving_copy_bytes(const struct leaving *leaving);
char *const *leaving_copy(const struct leaving *leaving, void *to);

/* The environment that the program is to get: as it was given, or a copy on the caller's stack. */
#define LEAVING_ENVIRONMENT(leaving)                                                               \
    ((leaving)->preload ? leaving_copy(leaving, __builtin_alloca(leaving_copy_bytes(leaving)))     \
                        : (leaving)->environment)

#endif
