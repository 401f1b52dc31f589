/* The threads that OpenMP's run-time made, as one. 63 similar rows say less than their sum, and
 * which of them allocated most. Threads are told apart by where they begin; a thread of which no
 * call path is known belongs to none. */
#ifndef TIDEMARK_AGGREGATE_THREAD_TEAM_H
#define TIDEMARK_AGGREGATE_THREAD_TEAM_H

#include <stdbool.h>
#include <stddef.h>
#include "profile/profile.h"

struct thread_team {
    bool *has; /* by thread */
    size_t count;
    /* Sums; of peak_bytes and stack_…: the highest of one thread. */
    struct thread_metrics all;
    size_t most, least; /* the threads that allocated most bytes, and least */
};

/* 0 or -ENOMEM. */
int thread_team_find(struct thread_team *team, const struct profile *profile);
void thread_team_release(struct thread_team *team);

#define THREAD_TEAM_NAME "OpenMP's team"

/* As owner or freer of an exchange. */
#define THREAD_TEAM_ALL (UINT32_MAX - 1)
/* The profile's exchanges, with the team as one thread. `rows` has room for profile->exchange_count
 * of them; returns how many there are. */
size_t thread_team_join(const struct thread_team *team, const struct profile *profile,
                        struct exchange *rows);

#endif
