/* Readings of control groups and of the machine's memory that many processes share: thousands of
 * short processes in one group would read the same dozen files each. A reading is at most
 * CGROUP_RECENT_NS old, or it is the last one before a reading that another thread makes now. The
 * place where a group is mounted is at most a hundred times as old.
 *
 * Thread-safe. Functions as their namesakes in cgroup.h. */
#ifndef TIDEMARK_PROCFS_CGROUP_RECENT_H
#define TIDEMARK_PROCFS_CGROUP_RECENT_H

#include "procfs/cgroup.h"

#define CGROUP_RECENT_NS 20000000u

/* A thread that takes events must not wait for the lock, because the scheduler may have taken its
 * holder off the processor. It asks again later. */
enum cgroup_recent_patience {
    CGROUP_RECENT_WAITS,
    CGROUP_RECENT_TRIES, /* -EAGAIN: another thread has the lock */
};

int cgroup_recent_read(pid_t pid, struct cgroup_memory *memory,
                       enum cgroup_recent_patience patience);
/* The same a moment later, for a process that has executed no other program since: without reading
 * its /proc/PID/cgroup again. */
int cgroup_recent_read_again(pid_t pid, struct cgroup_memory *memory,
                             enum cgroup_recent_patience patience);
int cgroup_recent_machine_read(struct cgroup_machine *machine,
                               enum cgroup_recent_patience patience);

#endif
