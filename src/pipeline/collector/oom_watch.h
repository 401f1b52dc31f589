/* Tells whether the kernel killed processes of a program's control group because memory ran out.
 * The group of a dead process cannot be asked for, so it is followed while the process lives. The
 * kernel counts a kill before the process dies. For one thread. */
#ifndef TIDEMARK_COLLECTOR_OOM_WATCH_H
#define TIDEMARK_COLLECTOR_OOM_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "procfs/cgroup.h"

struct oom_watch {
    struct cgroup_place place;
    bool placed;
    struct figure kills; /* of the group, ever, when it was first seen */
    /* In the groups that the process was in before: 0 and unlimited where there was none. The
     * kernel shows an exiting process of cgroup v1 in the root group, so the group that a killed
     * process died in may be among them. */
    uint64_t kills_before;
    struct figure limit_before; /* of the last one with kills */
};

/* Notes the group of a live process. Call it again from time to time, because the process may be
 * moved. A process that is gone, or whose group cannot be read, changes nothing. */
void oom_watch_follow(struct oom_watch *watch, pid_t pid);
/* The same from a reading of the group. */
void oom_watch_see(struct oom_watch *watch, const struct cgroup_memory *memory);

/* Kills in its groups while it was seen there, and the limit that the group of the kills has or
 * that is above it (CGROUP_UNLIMITED: none, so the machine had no more). Both are unknown where no
 * group says. */
struct oom_watch_kills {
    struct figure kills, limit_bytes;
};
struct oom_watch_kills oom_watch_kills(const struct oom_watch *watch);

#endif
