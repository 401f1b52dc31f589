/* The two commonest records: a block is allocated, a block is freed. Inside the room, inlined into
 * the loop over the records (replay_run.c). */
#ifndef TIDEMARK_REPLAY_STEPS_H
#define TIDEMARK_REPLAY_STEPS_H

#include "replay/life.h"

static inline uint32_t steps_site_of(struct replay *replay, const struct wire_record *record)
{
    return sites_of_node(&replay->sites, wire_detail_node(record->detail));
}

static inline void steps_count_malformed(struct replay *replay)
{
    replay->program.malformed_events++;
}

EVENT void steps_allocate(struct replay *replay, const struct wire_record *record,
                          const struct clue *clue, enum mode mode)
{
    uint32_t site = clue->number ? clue->number - 1 : steps_site_of(replay, record);
    struct weight weight = life_weigh_record(replay, record, mode);

    if (mode == SAMPLED)
        replay->sites.samples[site].alloc_variance += weight.variance;
    life_look_at_site(replay,
                      life_begin(replay, record, clue->hash, site, weight, false, false, mode));
    life_see_levels(replay, mode);
}

EVENT void steps_on_allocation_at_clue(struct replay *replay, const struct wire_record *record,
                                       const struct clue *clue, enum mode mode)
{
    if (!life_address_of(record)) {
        steps_count_malformed(replay);
        return;
    }
    life_take_time(replay, record->ticks);
    if (__builtin_expect(replay->chunks.count, 0) && wire_kind(record->kind_address) != WIRE_POOL)
        live_table_drop(&replay->chunks, life_address_of(record)); /* its free was missed */
    steps_allocate(replay, record, clue, mode);
}

static inline void steps_count_temporary(struct replay *replay, uint32_t label, uint64_t count)
{
    uint32_t site = regions_site(&replay->regions, label);

    site_temporary(&replay->sites, site, count);
    if (__builtin_expect(site != label, 0))
        for
            EACH_CUT(replay, label)
    site_temporary(&replay->regions.cuts, cut.site, count);
}

/* Ends a block of that owner's by a free of the running thread. `newest`: the owner has allocated
 * nothing since. */
EVENT void steps_free_block_of(struct replay *replay, struct replay_thread *owner,
                               const struct live_block *block, uint64_t ticks, bool newest,
                               enum mode mode)
{
    life_credit_free(replay, owner, block, mode);
    life_end_of(replay, owner, block, ticks, mode);
    life_look_at_site(replay, block->site);
    thread_spends_on(replay->running, SPENT_ON_FREE, block->site);
    if (newest && owner == replay->running)
        steps_count_temporary(replay, block->site,
                              replay_state_weigh_block(replay, block, mode).count);
    life_see_levels(replay, mode);
}

EVENT void steps_free_block(struct replay *replay, const struct live_block *block, uint64_t ticks,
                            bool newest, enum mode mode)
{
    steps_free_block_of(replay, life_owner_of(replay, block), block, ticks, newest, mode);
}

/* In a sample the recorder sets a flag in the record, because the records between are missing. */
EVENT bool steps_was_newest(struct replay_thread *owner, const struct wire_record *record,
                            const struct live_block *block, enum mode mode)
{
    bool newest = life_forget_newest_of(owner, block);

    return mode == EVERY ? newest : wire_kind(record->kind_address) & WIRE_NEWEST;
}

/* True: the free, or the beginning of a realloc, was of a pool's chunk, which has ended. */
EVENT bool steps_ends_chunk(struct replay *replay, const struct wire_record *record)
{
    return __builtin_expect(replay->chunks.count, 0) && life_address_of(record) &&
           live_table_drop(&replay->chunks, life_address_of(record));
}

/* The free of a block that was taken out of the table. */
EVENT void steps_free_taken(struct replay *replay, const struct wire_record *record,
                            const struct live_block *block, enum mode mode)
{
    struct replay_thread *owner = life_owner_of(replay, block);
    bool newest = steps_was_newest(owner, record, block, mode);

    steps_free_block_of(replay, owner, block, record->ticks, newest, mode);
}

EVENT void steps_free_of(struct replay *replay, const struct wire_record *record,
                         const struct clue *clue, enum mode mode)
{
    struct live_block block;

    if (life_address_of(record) &&
        life_take_block(replay, life_address_of(record), clue, record->ticks, &block, mode))
        steps_free_taken(replay, record, &block, mode);
}

EVENT void steps_on_free_at_clue(struct replay *replay, const struct wire_record *record,
                                 const struct clue *clue, enum mode mode)
{
    life_take_time(replay, record->ticks);
    thread_spends_on(replay->running, SPENT_ON_FREE, SPENT_NO_SITE);
    if (!steps_ends_chunk(replay, record))
        steps_free_of(replay, record, clue, mode);
}

#endif
