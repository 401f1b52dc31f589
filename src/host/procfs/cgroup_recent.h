/* Readings of control groups and of the machine's memory that many processes share: thousands of
 * short processes in one group would read the same dozen files each. What is given was read at most
 * CGROUP_RECENT_NS ago, or it is the reading before that which another thread makes now. Where a
 * group is mounted was asked at most a hundred times as long ago.
 *
 * Thread-safe. Functions as their namesakes in cgroup.h. */
#ifndef TIDEMARK_PROCFS_CGROUP_RECENT_H
#define TIDEMARK_PROCFS_CGROUP_RECENT_H

#include "procfs/cgroup.h"

#define CGROUP_RECENT_NS 20000000u

/* A thread that takes events may not wait for one that the scheduler has taken off a processor with
 * the lock in its hand: it asks again later. */
enum cgroup_recent_patience {
    CGROUP_RECENT_WAITS,
    CGROUP_RECENT_TRIES, /* -EAGAIN: another thread has the lock */
};

int cgroup_recent_read(pid_t pid, struct cgroup_memory *memory,
                       enum cgroup_recent_patience patience);
/* The same a moment later, of a process that has executed nothing since: as it was then. */
int cgroup_recent_read_again(pid_t pid, struct cgroup_memory *memory,
                             enum cgroup_recent_patience patience);
int cgroup_recent_machine_read(struct cgroup_machine *machine,
                               enum cgroup_recent_patience patience);

#endif
