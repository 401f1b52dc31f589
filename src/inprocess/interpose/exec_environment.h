/* The environment that an executed program gets: the caller's, or a copy with another LD_PRELOAD.
 * Runs inside other programs, in children of vfork too: no malloc, no stdio, errno kept. */
#ifndef TIDEMARK_INTERPOSE_EXEC_ENVIRONMENT_H
#define TIDEMARK_INTERPOSE_EXEC_ENVIRONMENT_H

#include "interpose/preloads.h"

struct exec_environment {
    char *const *callers;
    preloads_is *is_ours;
    const char *variables; /* how entries of ours begin */
    char *const *preload;  /* the caller's entry that is replaced; NULL: none */
    bool joins;            /* by one with us in front; else by one without us */
    bool forgets;          /* our variables are left out */
    bool may_map;          /* else the copy is on the stack, however large it is */
    bool may_ask;          /* for ids of processes; else no copy of a child's is unmapped */
    void *mapped;          /* the copy, if it is not on the stack */
    size_t mapped_bytes;
};

/* Does an entry begin so? */
bool exec_environment_names(char *const *environment, const char *beginning);
/* Is the copy to be without all that is ours? False: there is nothing of ours. */
bool exec_environment_forgets(struct exec_environment *environment);
/* Does the program get a copy? It has so many bytes. */
bool exec_environment_changes(const struct exec_environment *environment);
size_t exec_environment_bytes(const struct exec_environment *environment);
/* Memory for a copy that may be larger than a thread's stack; NULL: it is not so large, or there is
 * no memory. If a child of vfork maps it and executes, its parent has it until this thread, or its
 * next such child, maps another one. */
void *exec_environment_map(struct exec_environment *environment);
void exec_environment_unmap(struct exec_environment *environment);
char *const *exec_environment_copy(const struct exec_environment *environment, void *to);

/* The environment for the program. */
#define EXEC_ENVIRONMENT(of)                                                                       \
    (!exec_environment_changes(of) ? (of)->callers                                                 \
     : exec_environment_map(of)                                                                    \
         ? exec_environment_copy(of, (of)->mapped)                                                 \
         : exec_environment_copy(of, __builtin_alloca(exec_environment_bytes(of))))

#endif
