/* The two records that nearly all are: a block is made, a block is freed. Inside the room, inlined
 * into the way through the records (run.c). */
#ifndef TIDEMARK_REPLAY_STEPS_H
#define TIDEMARK_REPLAY_STEPS_H

#include "replay/life.h"

static inline uint32_t site_of(struct replay *replay, const struct wire_record *record)
{
    return sites_of_node(&replay->sites, wire_detail_node(record->detail));
}

static inline void count_malformed(struct replay *replay)
{
    replay->program.malformed_events++;
}

EVENT void allocate(struct replay *replay, const struct wire_record *record,
                    const struct clue *clue, enum mode mode)
{
    uint32_t site = clue->number ? clue->number - 1 : site_of(replay, record);
    struct weight weight = weigh_record(replay, record, mode);

    if (mode == SAMPLED)
        replay->sites.samples[site].alloc_variance += weight.variance;
    look_at_site(replay, begin_life(replay, record, clue->hash, site, weight, false, false, mode));
    see_levels(replay, mode);
}

EVENT void on_allocation_at_clue(struct replay *replay, const struct wire_record *record,
                                 const struct clue *clue, enum mode mode)
{
    if (!address_of(record)) {
        count_malformed(replay);
        return;
    }
    take_time(replay, record->ticks);
    if (__builtin_expect(replay->chunks.count, 0) && wire_kind(record->kind_address) != WIRE_POOL)
        live_table_drop(&replay->chunks, address_of(record)); /* its free was missed */
    allocate(replay, record, clue, mode);
}

static inline void count_temporary(struct replay *replay, uint32_t label, uint64_t count)
{
    uint32_t site = regions_site(&replay->regions, label);

    site_temporary(&replay->sites, site, count);
    if (__builtin_expect(site != label, 0))
        for EACH_CUT(replay, label)
            site_temporary(&replay->regions.cuts, cut.site, count);
}

/* Ends a block of that owner's by a free of the running thread. `newest`: the owner has allocated
 * nothing since. */
EVENT void free_block_of(struct replay *replay, struct thread *owner,
                         const struct live_block *block, uint64_t ticks, bool newest,
                         enum mode mode)
{
    credit_free(replay, owner, block, mode);
    end_life_of(replay, owner, block, ticks, mode);
    look_at_site(replay, block->site);
    thread_spends_on(replay->running, SPENT_ON_FREE, block->site);
    if (newest && owner == replay->running)
        count_temporary(replay, block->site, weigh_block(replay, block, mode).count);
    see_levels(replay, mode);
}

EVENT void free_block(struct replay *replay, const struct live_block *block, uint64_t ticks,
                      bool newest, enum mode mode)
{
    free_block_of(replay, owner_of(replay, block), block, ticks, newest, mode);
}

/* Of a sample only the recorder can say: the records between are missing. */
EVENT bool was_newest(struct thread *owner, const struct wire_record *record,
                      const struct live_block *block, enum mode mode)
{
    bool newest = forget_newest_of(owner, block);

    return mode == EVERY ? newest : wire_kind(record->kind_address) & WIRE_NEWEST;
}

/* Does a free, or the beginning of a realloc, mean a pool's chunk? It is none any more. */
EVENT bool ends_chunk(struct replay *replay, const struct wire_record *record)
{
    return __builtin_expect(replay->chunks.count, 0) && address_of(record) &&
           live_table_drop(&replay->chunks, address_of(record));
}

/* The free of a block that was taken out of the table. */
EVENT void free_taken(struct replay *replay, const struct wire_record *record,
                      const struct live_block *block, enum mode mode)
{
    struct thread *owner = owner_of(replay, block);
    bool newest = was_newest(owner, record, block, mode);

    free_block_of(replay, owner, block, record->ticks, newest, mode);
}

EVENT void free_of(struct replay *replay, const struct wire_record *record, const struct clue *clue,
                   enum mode mode)
{
    struct live_block block;

    if (address_of(record) &&
        take_block(replay, address_of(record), clue, record->ticks, &block, mode))
        free_taken(replay, record, &block, mode);
}

EVENT void on_free_at_clue(struct replay *replay, const struct wire_record *record,
                           const struct clue *clue, enum mode mode)
{
    take_time(replay, record->ticks);
    thread_spends_on(replay->running, SPENT_ON_FREE, SPENT_NO_SITE);
    if (!ends_chunk(replay, record))
        free_of(replay, record, clue, mode);
}

#endif
