/* The processes of which `tidemark record` has said that they become ranks (WIRE_HELLO_RANK): a
 * node's collector goes on as long as one of them lives, whether what it executes is recorded or
 * not, or starts what is. For one thread. */
#ifndef TIDEMARK_COLLECTOR_EXPECTED_RANKS_H
#define TIDEMARK_COLLECTOR_EXPECTED_RANKS_H

#include <stddef.h>
#include <sys/types.h>
#include "procfs/launcher.h"

struct expected_rank {
    pid_t pid;
    struct launcher launcher;
    int pidfd; /* -1: none was to be had: it is asked for by its pid */
};

struct expected_ranks {
    struct expected_rank *list;
    size_t count, room;
};

void expected_ranks_add(struct expected_ranks *ranks, pid_t pid);
/* Which of them process `pid` is, or comes from by its parents; NULL: none. */
const struct launcher *expected_ranks_of(const struct expected_ranks *ranks, pid_t pid);
/* Forgets those that have ended. How many there are still. */
size_t expected_ranks_reap(struct expected_ranks *ranks);
void expected_ranks_release(struct expected_ranks *ranks);

#endif
