/* Programs that are about to be executed. What will not be recorded although it should be, because
 * nothing of us gets there, is counted, so that nobody takes a profile for all of a run. What our
 * library would harm gets an environment without it, and who preloads something else gets us in
 * front of that. Runs inside the profiled program, in children
 * of vfork too: no malloc, no stdio, errno kept. */
#ifndef TIDEMARK_RECORDER_LEAVING_H
#define TIDEMARK_RECORDER_LEAVING_H

#include <stdbool.h>
#include <stddef.h>
#include "wire/wire.h"

struct leaving {
    enum wire_unfollowed kind; /* what it counts as: WIRE_FOLLOWED is not counted */
    char *const *environment;  /* as it was given */
    char *const *preload;      /* the entry there that is to be another one; NULL: none */
    bool joins;                /* with us in front again; else without us */
    bool executes;             /* leaving_executes() */
};

/* Before the call that executes `file`, which is searched for in PATH if `search` says so (NULL:
 * not known), and with that environment. */
struct leaving leaving_begin(const char *file, bool search, char *const *environment);
/* The same for a program that is open. */
struct leaving leaving_begin_open(int file, char *const *environment);
/* /bin/sh with the program's environment as it is, which nobody can change for it. */
struct leaving leaving_begin_shell(void);
/* The next call executes it in this process, and returns only if it fails. Not in the child of a
 * vfork. */
void leaving_executes(struct leaving *leaving);
/* With us in front again there was no room for the environment: try as it was given? */
bool leaving_was_too_long(struct leaving *leaving, int error);
/* That call has failed. */
void leaving_failed(const struct leaving *leaving);

/* What a copy of the environment with the other entry takes, and the copy. */
size_t leaving_copy_bytes(const struct leaving *leaving);
char *const *leaving_copy(const struct leaving *leaving, void *to);

/* The environment that the program is to get: as it was given, or a copy on the caller's stack. */
#define LEAVING_ENVIRONMENT(leaving)                                                               \
    ((leaving)->preload ? leaving_copy(leaving, __builtin_alloca(leaving_copy_bytes(leaving)))     \
                        : (leaving)->environment)

#endif
