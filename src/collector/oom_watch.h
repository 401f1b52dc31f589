/* Whether the kernel killed processes of a program's control group for want of memory while it was
 * recorded. Who is killed cannot be asked any more where it was, so that is followed while it lives; the
 * kernel counts a kill before it kills. One thread. */
#ifndef TIDEMARK_COLLECTOR_OOM_WATCH_H
#define TIDEMARK_COLLECTOR_OOM_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "process/cgroup.h"

struct oom_watch {
    struct cgroup_place place;
    bool placed;
    uint64_t kills; /* of the group, ever, when it was first seen; PROCESS_UNKNOWN */
};

/* Of a process that lives; again from time to time, since it may be moved. One that is gone, or whose
 * group cannot be seen, changes nothing. */
void oom_watch_follow(struct oom_watch *watch, pid_t pid);
void oom_watch_place(struct oom_watch *watch, const struct cgroup_place *place);

/* Kills in its group since it was first seen there, and the limit that the group has or that is above it
 * (CGROUP_UNLIMITED: none, so the machine had no more). False: not known. */
bool oom_watch_kills(const struct oom_watch *watch, uint64_t *kills, uint64_t *limit_bytes);

#endif
