/* Programs that are about to be executed. Programs that will not be recorded although children are
 * followed are counted, so that nobody takes the profiles for those of the whole run. A program
 * that our library would harm gets an environment without it, and one that preloads something else
 * gets us in front of that. Runs inside the profiled program, in children of vfork too: no malloc,
 * no stdio, errno kept. */
#ifndef TIDEMARK_RECORDER_LEAVING_H
#define TIDEMARK_RECORDER_LEAVING_H

#include <stdbool.h>
#include <stddef.h>
#include "wire/wire.h"

struct leaving {
    enum wire_unfollowed kind; /* as what the program is counted; WIRE_FOLLOWED: it is not */
    char *const *environment;  /* the caller's */
    char *const *preload;      /* the entry there that is replaced; NULL: none */
    bool joins;                /* by one with us in front; else by one without us */
    bool executes;             /* leaving_executes() */
};

/* To be called before `file` is executed with that environment. `search`: the file is searched in
 * PATH. NULL: the file is not known. */
struct leaving leaving_begin(const char *file, bool search, char *const *environment);
/* The same for a program that is open. */
struct leaving leaving_begin_open(int file, char *const *environment);
/* The same for /bin/sh with the program's own environment, which is not replaced. */
struct leaving leaving_begin_shell(void);
/* To be called before an exec in this process. Has no effect in the child of a vfork. */
void leaving_executes(struct leaving *leaving);
/* Was the exec too long because we were put in front (E2BIG)? Then it is to be tried with the
 * caller's environment. */
bool leaving_was_too_long(struct leaving *leaving, int error);
/* The exec has failed. */
void leaving_failed(const struct leaving *leaving);

/* The bytes of a copy of the environment with the replaced entry, and the copy. */
size_t leaving_copy_bytes(const struct leaving *leaving);
char *const *leaving_copy(const struct leaving *leaving, void *to);

/* The environment for the program: the caller's, or a copy on the caller's stack. */
#define LEAVING_ENVIRONMENT(leaving)                                                               \
    ((leaving)->preload ? leaving_copy(leaving, __builtin_alloca(leaving_copy_bytes(leaving)))     \
                        : (leaving)->environment)

#endif
