/* Counts the kernel's out-of-memory kills in a control group (oom_watch.h): the group's counter of
 * kills now, minus its value when the group was first seen. Kills in a group that the process
 * leaves are added up. */
#include "collector/oom_watch.h"

#include <string.h>
#include "procfs/cgroup_recent.h"

static bool oom_watch_is_same(const struct cgroup_place *a, const struct cgroup_place *b)
{
    return a->version == b->version && !strcmp(a->mount, b->mount) && !strcmp(a->path, b->path);
}

static struct oom_watch_kills oom_watch_here(const struct oom_watch *watch)
{
    struct cgroup_memory memory;
    if (!watch->placed || cgroup_read_place(&watch->place, &memory) < 0)
        return (struct oom_watch_kills){FIGURE_UNKNOWN, FIGURE_UNKNOWN};
    return (struct oom_watch_kills){figure_sub(memory.oom_kill_events, watch->kills),
                                    memory.limit_bytes};
}

/* A group that has been removed meanwhile says nothing of its kills, none of which was this
 * process. */
static void oom_watch_leave(struct oom_watch *watch)
{
    struct oom_watch_kills here = oom_watch_here(watch);
    uint64_t kills = figure_or(here.kills, 0);
    if (!kills)
        return;
    watch->kills_before += kills;
    watch->limit_before = here.limit_bytes;
}

void oom_watch_see(struct oom_watch *watch, const struct cgroup_memory *memory)
{
    if (watch->placed && oom_watch_is_same(&watch->place, &memory->place))
        return;
    oom_watch_leave(watch);
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
    struct oom_watch_kills here = oom_watch_here(watch);
    uint64_t kills = figure_or(here.kills, 0);
    if (!watch->kills_before)
        return here;
    return (struct oom_watch_kills){figure_of(watch->kills_before + kills),
                                    kills ? here.limit_bytes : watch->limit_before};
}
