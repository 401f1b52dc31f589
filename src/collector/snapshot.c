#include "collector/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void add_site(void *context, const struct replay_site *site)
{
    struct snapshot *snapshot = context;
    if (snapshot->site_count == snapshot->site_room) {
        size_t room = snapshot->site_room ? 2 * snapshot->site_room : 1024;
        struct replay_site *grown = realloc(snapshot->sites, room * sizeof *grown);
        if (!grown)
            abort(); /* as the replay does: a profile without some of its paths would be a lie */
        snapshot->sites = grown;
        snapshot->site_room = room;
    }
    snapshot->sites[snapshot->site_count++] = *site;
}

static void *copy(const void *array, size_t count, size_t size)
{
    void *made = malloc(count * size + 1);
    if (made && count)
        memcpy(made, array, count * size);
    return made;
}

int snapshot_take(struct snapshot *snapshot, struct replay *replay, struct merge *merge)
{
    *snapshot = (struct snapshot){.clock = clock_read()};
    merge_tell_waits(merge, &snapshot->waits, &snapshot->wait_ticks, &snapshot->lost_events);
    snapshot->damaged_rings = merge_damaged_rings(merge);
    replay_changed_sites(replay, add_site, snapshot);
    replay_program(replay, &snapshot->program);
    snapshot->last_ticks = replay_last_ticks(replay);
    snapshot->thread_count = replay_thread_count(replay);
    snapshot->threads = malloc(snapshot->thread_count * sizeof *snapshot->threads + 1);
    const struct timeline_bucket *buckets =
        replay_timeline(replay, &snapshot->bucket_count, &snapshot->bucket_ticks);
    snapshot->buckets = copy(buckets, snapshot->bucket_count, sizeof *buckets);
    if (!snapshot->threads || !snapshot->buckets) {
        snapshot_release(snapshot);
        return -ENOMEM;
    }
    for (size_t i = 0; i < snapshot->thread_count; i++)
        snapshot->threads[i] = *replay_thread(replay, i);
    return 0;
}

void snapshot_release(struct snapshot *snapshot)
{
    free(snapshot->sites);
    free(snapshot->threads);
    free(snapshot->buckets);
    *snapshot = (struct snapshot){0};
}
