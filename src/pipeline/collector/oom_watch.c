/* Counts the kernel's out-of-memory kills in a control group (oom_watch.h): the group's counter of
 * kills now, minus its value when the group was first seen. */
#include "collector/oom_watch.h"

#include <string.h>
#include "procfs/cgroup_recent.h"

static bool oom_watch_is_same(const struct cgroup_place *a, const struct cgroup_place *b)
{
    return a->version == b->version && !strcmp(a->mount, b->mount) && !strcmp(a->path, b->path);
}

void oom_watch_see(struct oom_watch *watch, const struct cgroup_memory *memory)
{
    if (watch->placed && oom_watch_is_same(&watch->place, &memory->place))
        return;
    watch->place = memory->place;
    watch->placed = true;
    watch->kills = memory->oom_kill_events;
}

void oom_watch_follow(struct oom_watch *watch, pid_t pid)
{
    struct cgroup_memory memory;
    if (cgroup_recent_read(pid, &memory,
                           watch->placed ? CGROUP_RECENT_TRIES : CGROUP_RECENT_WAITS) == 0)
        oom_watch_see(watch, &memory);
}

struct oom_watch_kills oom_watch_kills(const struct oom_watch *watch)
{
    struct cgroup_memory memory;
    if (!watch->placed || cgroup_read_place(&watch->place, &memory) < 0)
        return (struct oom_watch_kills){FIGURE_UNKNOWN, FIGURE_UNKNOWN};
    return (struct oom_watch_kills){figure_sub(memory.oom_kill_events, watch->kills),
                                    memory.limit_bytes};
}
