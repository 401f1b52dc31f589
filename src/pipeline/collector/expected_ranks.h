/* The processes that `tidemark record` has announced as ranks (WIRE_HELLO_RANK). A node's collector
 * goes on as long as one of them lives, whether it is recorded, starts recorded programs, or does
 * neither. For one thread. */
#ifndef TIDEMARK_COLLECTOR_EXPECTED_RANKS_H
#define TIDEMARK_COLLECTOR_EXPECTED_RANKS_H

#include <stddef.h>
#include <sys/types.h>
#include "procfs/launcher.h"

struct expected_rank {
    pid_t pid;
    struct launcher launcher;
    int pidfd; /* -1: there is none: kill(pid, 0) asks whether it lives */
};

struct expected_ranks {
    struct expected_rank *list;
    size_t count, room;
};

void expected_ranks_add(struct expected_ranks *ranks, pid_t pid);
/* The rank that process `pid` is or descends from; NULL: none. */
const struct launcher *expected_ranks_of(const struct expected_ranks *ranks, pid_t pid);
/* Forgets those that have ended. Returns how many are left. */
size_t expected_ranks_reap(struct expected_ranks *ranks);
void expected_ranks_release(struct expected_ranks *ranks);

#endif
