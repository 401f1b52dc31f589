/* Readings of control groups and of the machine's memory that many processes share: thousands of
 * short processes in one group would read the same dozen files each. What is given was read at most
 * CGROUP_RECENT_NS ago; where a group is mounted, at most a hundred times as long ago.
 *
 * Thread-safe. Functions as their namesakes in cgroup.h. */
#ifndef TIDEMARK_PROCFS_CGROUP_RECENT_H
#define TIDEMARK_PROCFS_CGROUP_RECENT_H

#include "procfs/cgroup.h"

#define CGROUP_RECENT_NS 20000000u

int cgroup_recent_read(pid_t pid, struct cgroup_memory *memory);
/* The same a moment later, of a process that has executed nothing since: as it was then. */
int cgroup_recent_read_again(pid_t pid, struct cgroup_memory *memory);
int cgroup_recent_machine_read(struct cgroup_machine *machine);

#endif
