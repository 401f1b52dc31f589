/* See oom_watch.h. */
#include "collector/oom_watch.h"

#include <string.h>

static bool is_same(const struct cgroup_place *a, const struct cgroup_place *b)
{
    return a->version == b->version && !strcmp(a->mount, b->mount) && !strcmp(a->path, b->path);
}

void oom_watch_place(struct oom_watch *watch, const struct cgroup_place *place)
{
    struct cgroup_memory memory;
    if (watch->placed && is_same(&watch->place, place))
        return;
    watch->place = *place;
    watch->placed = cgroup_read_place(place, &memory) == 0;
    watch->kills = watch->placed ? memory.oom_kill_events : PROCESS_UNKNOWN;
}

void oom_watch_follow(struct oom_watch *watch, pid_t pid)
{
    struct cgroup_place place;
    if (cgroup_locate(pid, &place) == 0)
        oom_watch_place(watch, &place);
}

bool oom_watch_kills(const struct oom_watch *watch, uint64_t *kills, uint64_t *limit_bytes)
{
    struct cgroup_memory memory;
    if (!watch->placed || watch->kills == PROCESS_UNKNOWN ||
        cgroup_read_place(&watch->place, &memory) < 0 ||
        memory.oom_kill_events == PROCESS_UNKNOWN || memory.oom_kill_events < watch->kills)
        return false;
    *kills = memory.oom_kill_events - watch->kills;
    *limit_bytes = memory.limit_bytes;
    return true;
}
