/* Programs that are about to be executed. Programs that will not be recorded although children are
 * followed are counted, so that nobody takes the profiles for those of the whole run. A program
 * that our library would harm gets an environment without it, and one that preloads something else
 * gets us in front of that. Runs inside the profiled program, in children of vfork too: no malloc,
 * no stdio, errno kept. */
#ifndef TIDEMARK_RECORDER_LEAVING_H
#define TIDEMARK_RECORDER_LEAVING_H

#include <stdbool.h>
#include <stddef.h>
#include "interpose/exec_environment.h"
#include "wire/wire.h"

struct leaving {
    enum wire_unfollowed kind; /* as what the program is counted; WIRE_FOLLOWED: it is not */
    struct exec_environment environment;
    bool is_readable; /* false: the environment leads to memory that nobody may read */
    bool executes;    /* leaving_executes() */
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
/* Was the exec too long (E2BIG), and is something of ours in the environment? Then the exec is to
 * be tried again, first with the caller's environment, and then without us and the session. */
bool leaving_was_too_long(struct leaving *leaving, int error);
/* The exec has failed. */
void leaving_failed(struct leaving *leaving);

#endif
