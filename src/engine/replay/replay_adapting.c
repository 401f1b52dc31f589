/* Goes on by samples where every allocation was recorded (replay_begin_to_adapt()). Counts of
 * blocks become 1024ths, and the owner of each live block makes room for its level, which is 0.
 * Sums of bytes stay as they are. */
#include <assert.h>
#include "replay/life.h"

/* Frees the highest bits of the owner for the level, and sets the level to 0. */
static void replay_adapting_mark(const struct replay *replay, struct live_block *block)
{
    uint32_t owner = live_block_owner(block);

    live_block_set_owner(block, owner < replay->owner_mask ? owner : replay->owner_mask);
}

static void replay_adapting_mark_pending(const struct replay *replay, struct replay_thread *thread)
{
    for (size_t i = 0; i < thread->pending_count; i++) {
        thread->pending[i].newest = false; /* not known of a sample */
        if (thread->pending[i].old == REALLOC_OLD_LIVE)
            replay_adapting_mark(replay, &thread->pending[i].block);
    }
}

static void replay_adapting_mark_blocks(struct replay *replay)
{
    for (struct live_slot *slot = replay->live.slots; slot < live_table_end(&replay->live); slot++)
        if (slot->key) {
            struct live_block block = live_table_read(&replay->live, slot);
            replay_adapting_mark(replay, &block);
            live_table_write(&replay->live, slot, &block);
        }
    for (size_t i = 0; i < replay->threads.count; i++)
        replay_adapting_mark_pending(replay, &replay->threads.all[i]);
}

static void replay_adapting_scale(struct replay *replay)
{
    sites_begin_samples(&replay->sites);
    if (replay->regions.count) { /* else they begin as those of the program are by then */
        sites_follow(&replay->regions.cuts, &replay->sites);
        sites_begin_samples(&replay->regions.cuts);
    }
    distributions_scale(replay->distributions, WEIGHT_SHIFT);
    exchanges_scale(&replay->exchanges, WEIGHT_SHIFT);
    replay->live_count <<= WEIGHT_SHIFT;
    replay->program.live_peak_count <<= WEIGHT_SHIFT;
}

void replay_begin_to_adapt(struct replay *replay)
{
    assert(!replay->sample_bytes && !replay->threads.timed);
    replay->sample_bytes = WIRE_LEVEL_UNIT;
    replay->adapts = true;
    replay->owner_mask = LIVE_NO_OWNER >> 3;
    replay_adapting_mark_blocks(replay);
    replay_adapting_scale(replay);
}

size_t replay_growth_bytes(const struct replay *replay, size_t births)
{
    size_t blocks = replay->live.count + births, has = live_table_memory_bytes(&replay->live);
    size_t growth = live_table_growth_bytes(&replay->live, blocks + blocks / 8);

    return growth && growth < has ? has : growth;
}
