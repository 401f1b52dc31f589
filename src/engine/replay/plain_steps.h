/* The two commonest records where nothing rare is the case: a plain allocation, a plain free. They
 * are 19 of 20 records. What they change is what steps.h changes, and less is asked of them.
 *
 *   a record is plain      no block lives at the allocation's address, its size is neither 0 nor
 *                          above 2 GiB, and no alignment was asked for;
 *                          no free is owed, and the freed block is known
 *   a batch is plain       no pools, no regions, no times of calls, fewer than 65,535 threads, and
 *                          the table of live blocks has not grown since the clues were made, and
 *                          need not (plain_is_on())
 *
 * Of a stretch of plain records only the sums count for their thread and for the interval of the
 * timeline. So the sums are kept in `plain`, and whatever else happens first adds them where they
 * belong (plain_leave()). All blocks that are freed are the running thread's own, so its live bytes
 * rise and fall as the program's do, and one comparison sees a new high-water mark of either.
 *
 * While the level rises from one high-water mark of the program's to the next one, only the last
 * of them counts, and nobody can see the others. So during a *rise*, that is while plain
 * allocations follow each other, marks, timeline and separate peaks are left behind, and the quiet
 * range has no upper end. The same holds for the thread's mark. Whatever else happens first brings
 * them up to date (plain_end_rise()).
 *
 * Each function first asks whether the record is plain. If it is not, nothing has changed, and the
 * caller replays the record as steps.h does. Inside the room, inlined into replay_run.c. */
#ifndef TIDEMARK_REPLAY_PLAIN_STEPS_H
#define TIDEMARK_REPLAY_PLAIN_STEPS_H

#include "replay/steps.h"

/* Fewer threads than a block's owner_low can tell apart from each other and from LIVE_NO_OWNER. */
#define PLAIN_OWNERS 0xffffu

/* `buckets`: of the table of live blocks, when the clues were made; `births`: how many may come. */
static inline bool plain_is_on(const struct replay *replay, size_t buckets, size_t births)
{
    return !replay->chunks.count && !replay->regions.count && !replay->threads.timed &&
           replay->threads.count < PLAIN_OWNERS && replay->live.buckets == buckets &&
           replay->live.count + births <= replay->live.limit;
}

/* Where in `plain.births` an allocation that may be plain is counted, by its kind; 0: not plain. */
extern const uint8_t plain_kinds[256];

/* From here on records of the running thread may be plain. */
void plain_enter(struct replay *replay);
/* Settles everything, if records were plain. */
void plain_leave(struct replay *replay);

/* The same before a free; false: frees are owed. */
bool plain_ends_rise(struct replay *replay);

/* life_take_time() of a record that is late, or of another interval. `taken`: by how much
 * live.count has changed for this record already, 1 or -1. */
void plain_take_rare_time(struct replay *replay, uint64_t ticks, int taken);

EVENT void plain_take_time(struct replay *replay, uint64_t ticks, int taken)
{
    if (__builtin_expect(ticks < replay->last_ticks || ticks >= replay->timeline.end_ticks, 0))
        plain_take_rare_time(replay, ticks, taken);
    else
        replay->last_ticks = ticks;
    replay->program.events++; /* which was not settled with those before */
}

/* ---- Frees --------------------------------------------------------------------------------- */

/* A block that was taken out of the table, as a free needs it. `size` and `slack` are those if the
 * running thread is its owner, else the size is too large for any. */
struct plain_block {
    uint64_t size, lifetime;
    uint32_t site, slack;
    struct site_hot *hot;
};

EVENT struct plain_block plain_block_of(const struct replay *replay, const struct live_block *slot,
                                        uint64_t ticks)
{
    return (struct plain_block){
        .size = slot->size_word ^ replay->running_words.size_word,
        .slack = slot->slack_word,
        .lifetime = life_lifetime_of(slot, ticks),
        .site = slot->site,
        .hot = &replay->sites.hot[slot->site],
    };
}

EVENT bool plain_is_own(const struct plain_block *block)
{
    return !(block->size >> 48) && !site_is_wide(block->hot);
}

/* Replays the free of a block that was taken out of the table, as steps.h does. */
void plain_free_rarely(struct replay *replay, struct live_block *slot, uint64_t address,
                       uint64_t ticks);

EVENT void plain_end_newest(struct plain_sums *plain, const struct plain_block *block,
                            uint64_t address)
{
    if (plain->newest_address == address) {
        plain->newest_address = 0;
        block->hot->temporary_count++;
    }
}

EVENT void plain_end_at_site(struct replay *replay, const struct plain_block *block)
{
    if (block->hot->stamp != replay->sites.stamp)
        site_catch_up(&replay->sites, block->site);
    block->hot->lifetime_sum += block->lifetime;
    site_lived(&replay->sites.cold[block->site], block->lifetime);
    site_ended_narrow(block->hot, (struct weight){1, block->size, block->slack, 0});
    if (block->hot->live_bytes < block->hot->quiet_low)
        levels_site_bends(replay, block->site); /* a fall is no new high-water mark */
}

/* The level is below the limit: levels_changed(), or what of it is needed. */
void plain_fall(struct replay *replay);

EVENT void plain_lower_levels(struct replay *replay, uint64_t size)
{
    replay->plain.freed_bytes += size;
    replay->live_bytes -= size;
    if (replay->live_bytes < replay->plain.low || replay->live.count < replay->plain.count_low)
        plain_fall(replay);
}

/* Takes the block out of the table; NULL: there is none. */
EVENT struct live_block *plain_take(struct live_table *table, uint64_t address,
                                    const struct clue *clue, struct live_block *newest)
{
    struct live_block *slot = &table->slots[clue->slot];

    if (slot->address == address) {
        live_table_remove_near(table, slot, clue->slot);
        return slot;
    }
    if (newest->address != address)
        return live_table_take_far(table, address, clue->hash);
    live_table_remove_at(table, newest, (size_t)(newest - table->slots), clue->slot / LIVE_PLACES);
    return newest; /* it was born since the clue was made */
}

EVENT bool plain_free(struct replay *replay, uint64_t address, uint64_t ticks,
                      const struct clue *clue)
{
    struct live_block *slot;
    struct plain_block block;

    if (!address)
        return false;
    if (__builtin_expect(replay->owed.count | replay->plain.rises, 0) && !plain_ends_rise(replay))
        return false;
    slot = plain_take(&replay->live, address, clue, replay->plain.newest);
    if (!slot)
        return false;
    block = plain_block_of(replay, slot, ticks);
    if (!plain_is_own(&block)) {
        plain_free_rarely(replay, slot, address, ticks);
        return true;
    }
    plain_take_time(replay, ticks, -1);
    plain_end_newest(&replay->plain, &block, address);
    distributions_ended(replay->distributions, block.size, block.lifetime, 1);
    plain_end_at_site(replay, &block);
    plain_lower_levels(replay, block.size);
    return true;
}

/* ---- Allocations --------------------------------------------------------------------------- */

EVENT void plain_fill(const struct replay *replay, struct live_block *slot,
                      const struct wire_record *record, uint32_t site)
{
    slot->address = life_address_of(record);
    slot->size_word = record->size_bytes | replay->running_words.size_word;
    slot->birth_ticks = record->ticks;
    slot->site = site;
    slot->slack_word = wire_detail_slack(record->detail); /* owner_high is 0 */
}

/* The level is above the limit: levels_changed(), or a rise begins. */
void plain_rise(struct replay *replay);

EVENT void plain_raise_levels(struct replay *replay, uint64_t size)
{
    replay->live_bytes += size;
    if (replay->live_bytes > replay->plain.high || replay->live.count > replay->plain.count_high)
        plain_rise(replay);
}

/* The site is wide, or may become it. */
void plain_begin_at_full_site(struct replay *replay, uint32_t site, uint64_t size, uint32_t slack);

EVENT void plain_begin_at_site(struct replay *replay, uint32_t site, uint64_t size, uint32_t slack)
{
    struct site_hot *hot = &replay->sites.hot[site];

    if (hot->stamp != replay->sites.stamp)
        site_catch_up(&replay->sites, site);
    if (__builtin_expect(!site_born_one(hot, (uint32_t)size, slack), 0))
        plain_begin_at_full_site(replay, site, size, slack);
    else if (hot->live_bytes > hot->quiet_high &&
             !site_crests_below(&replay->sites, site, CURVE_THRESHOLD_BYTES, replay->last_ticks))
        levels_site_bends(replay, site);
}

/* `kind`: of plain_kinds[], not 0. */
EVENT bool plain_allocate(struct replay *replay, const struct wire_record *record,
                          const struct clue *clue, size_t kind)
{
    uint64_t address = life_address_of(record), size = record->size_bytes;
    uint32_t slack = wire_detail_slack(record->detail), site;
    struct live_block *slot;

    if ((size - 1) >> 31 | wire_detail_align_log2(record->detail) || !address)
        return false;
    slot = live_table_place_at_home(&replay->live, clue->hash, clue->slot / LIVE_PLACES);
    if (!slot) {
        slot = live_table_place_far(&replay->live, address, clue->hash, clue->slot / LIVE_PLACES);
        if (slot->address == address)
            return false;
    }
    replay->plain.newest = slot;
    plain_take_time(replay, record->ticks, 1);
    site = clue->number ? clue->number - 1 : steps_site_of(replay, record);
    plain_fill(replay, slot, record, site);
    distributions_born(replay->distributions, size, 1);
    replay->plain.births[kind - 1]++;
    replay->plain.newest_address = address;
    plain_begin_at_site(replay, site, size, slack);
    plain_raise_levels(replay, size);
    return true;
}

#endif
