/* The two commonest records where nothing rare is the case: a plain allocation, a plain free. They
 * are 19 of 20 records. What they change is what steps.h changes, and less is asked of them.
 *
 *   a record is plain      no block lives at the allocation's address, its size is neither 0 nor
 *                          beyond 32 bits, and no alignment was asked for;
 *                          no free is owed, and the freed block is known
 *   a batch is plain       no pools, no regions, no times of calls, and the table of live blocks
 *                          has not grown since the clues were made, and need not (plain_is_on())
 *
 * While the level rises from one high-water mark of the program's to the next one, only the last of
 * them counts, and nobody can see the others. So during a *rise*, that is while plain allocations
 * follow each other, marks, timeline and separate peaks are left behind (is_rising), and the quiet
 * range has no upper end. Whatever else happens first brings them up to date (plain_end_rise()).
 *
 * Each function first asks whether the record is plain. If it is not, nothing has changed, and the
 * caller replays the record as steps.h does. Inside the room, inlined into replay_run.c. */
#ifndef TIDEMARK_REPLAY_PLAIN_STEPS_H
#define TIDEMARK_REPLAY_PLAIN_STEPS_H

#include "replay/steps.h"

/* `buckets`: of the table of live blocks, when the clues were made; `births`: how many may come. */
static inline bool plain_is_on(const struct replay *replay, size_t buckets, size_t births)
{
    return !replay->chunks.count && !replay->regions.count && !replay->threads.timed &&
           replay->threads.count < LIVE_NO_OWNER && replay->live.buckets == buckets &&
           replay->live.count + births <= replay->live.limit;
}

/* Where in thread_counts an allocation that may be plain is counted, by its kind; 0: not plain. */
extern const uint8_t plain_counters[256];

void plain_end_rise(struct replay *replay);
/* The same before a free; false: frees are owed. */
bool plain_ends_rise(struct replay *replay);

/* life_take_time() of a record that is not one of a rise if it is late, or of another interval. */
void plain_take_rare_time(struct replay *replay, uint64_t ticks);

EVENT void plain_take_time(struct replay *replay, uint64_t ticks)
{
    replay->program.events++;
    if (__builtin_expect(ticks < replay->last_ticks || ticks >= replay->timeline.end_ticks, 0))
        plain_take_rare_time(replay, ticks);
    else
        replay->last_ticks = ticks;
}

/* ---- Frees --------------------------------------------------------------------------------- */

/* A block that was taken out of the table, as a free needs it. `size` and `slack` are those if the
 * running thread is its owner, else too large for any. */
struct plain_block {
    uint64_t size, slack, lifetime;
    uint32_t site;
    struct site_hot *hot;
};

EVENT struct plain_block plain_block_of(const struct replay *replay, const struct live_block *slot,
                                        uint64_t ticks)
{
    return (struct plain_block){
        .size = slot->size_word ^ replay->running_words.size_word,
        .slack = slot->slack_word ^ replay->running_words.slack_word,
        .lifetime = life_lifetime_of(slot, ticks),
        .site = slot->site,
        .hot = &replay->sites.hot[slot->site],
    };
}

EVENT bool plain_is_own(const struct plain_block *block)
{
    return !(block->size >> 48 | block->slack >> 24) && !site_is_wide(block->hot);
}

/* Replays the free of a block that was taken out of the table, as steps.h does. */
void plain_free_rarely(struct replay *replay, struct live_block *slot, uint64_t address,
                       uint64_t ticks);

EVENT void plain_end_at_thread(struct replay_thread *thread, const struct plain_block *block,
                               uint64_t address)
{
    thread->counts.free_count++;
    thread->counts.free_bytes += block->size;
    thread->counts.live_bytes -= block->size;
    if (thread->newest_address == address) {
        thread->newest_address = 0;
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
        levels_site_stirs(replay, block->site);
}

/* The level has left the quiet range: levels_changed(), or what of it is needed. */
void plain_fall(struct replay *replay);

EVENT void plain_lower_levels(struct replay *replay, uint64_t size)
{
    struct interval *bucket = timeline_current(&replay->timeline);

    bucket->free_count++;
    bucket->free_bytes += size;
    replay->live_count--;
    replay->live_bytes -= size;
    if (replay->live_bytes < replay->quiet_bytes.low ||
        replay->live_count < replay->quiet_count.low)
        plain_fall(replay);
}

/* Takes the block out of the table; NULL: there is none. */
EVENT struct live_block *plain_take(struct live_table *table, uint64_t address,
                                    const struct clue *clue, size_t newest_at)
{
    struct live_block *slot = &table->slots[clue->slot];
    size_t newest = newest_at / sizeof *slot;

    if (slot->address == address) {
        live_table_remove_near(table, slot, clue->slot);
        return slot;
    }
    slot = (struct live_block *)((char *)table->slots + newest_at);
    if (slot->address != address || newest / LIVE_PLACES != clue->slot / LIVE_PLACES)
        return live_table_take_far(table, address, clue->hash);
    live_table_remove_near(table, slot, newest); /* it was born since the clue was made */
    return slot;
}

EVENT bool plain_free(struct replay *replay, uint64_t address, uint64_t ticks,
                      const struct clue *clue)
{
    struct live_block *slot;
    struct plain_block block;

    if (!address)
        return false;
    if (__builtin_expect(replay->owed.count | replay->is_rising, 0) && !plain_ends_rise(replay))
        return false;
    slot = plain_take(&replay->live, address, clue, replay->newest_at);
    if (!slot)
        return false;
    block = plain_block_of(replay, slot, ticks);
    if (!plain_is_own(&block)) {
        plain_free_rarely(replay, slot, address, ticks);
        return true;
    }
    plain_take_time(replay, ticks);
    plain_end_at_thread(replay->running, &block, address);
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
    slot->slack_word = wire_detail_slack(record->detail) | replay->running_words.slack_word;
}

/* The level has left the quiet range: levels_changed(), or a rise begins. */
void plain_rise(struct replay *replay);

EVENT void plain_raise_levels(struct replay *replay, uint64_t size)
{
    struct interval *bucket = timeline_current(&replay->timeline);

    bucket->alloc_count++;
    bucket->alloc_bytes += size;
    replay->live_count++;
    replay->live_bytes += size;
    if (replay->live_bytes > replay->quiet_bytes.high ||
        replay->live_count > replay->quiet_count.high)
        plain_rise(replay);
}

/* The site is wide, or becomes it. */
void plain_begin_at_full_site(struct replay *replay, uint32_t site, uint64_t size, uint32_t slack);

EVENT void plain_begin_at_site(struct replay *replay, uint32_t site, uint64_t size, uint32_t slack)
{
    struct weight weight = {1, size, slack, 0};
    struct site_hot *hot = &replay->sites.hot[site];

    if (hot->stamp != replay->sites.stamp)
        site_catch_up(&replay->sites, site);
    if (site_is_full(hot, weight)) {
        plain_begin_at_full_site(replay, site, size, slack);
        return;
    }
    site_born_narrow(hot, size, weight);
    if (hot->live_bytes > hot->quiet_high)
        levels_site_stirs(replay, site);
}

EVENT void plain_begin_at_thread(struct replay *replay, size_t counter, uint64_t address,
                                 uint64_t size)
{
    struct replay_thread *thread = replay->running;

    thread_born_at(thread, counter, 1, size);
    thread->newest_address = address;
    thread_crest(thread, replay->last_ticks);
}

/* `counter`: of plain_counters[], not 0. */
EVENT bool plain_allocate(struct replay *replay, const struct wire_record *record,
                          const struct clue *clue, size_t counter)
{
    uint64_t address = life_address_of(record), size = record->size_bytes;
    uint32_t slack = wire_detail_slack(record->detail), site;
    struct live_block *slot;

    if ((size - 1) >> 32 | wire_detail_align_log2(record->detail) || !address)
        return false;
    slot = live_table_place_in(&replay->live, address, clue->hash, clue->slot / LIVE_PLACES);
    if (slot->address == address)
        return false;
    replay->newest_at = (size_t)((char *)slot - (char *)replay->live.slots);
    plain_take_time(replay, record->ticks);
    site = clue->number ? clue->number - 1 : steps_site_of(replay, record);
    plain_fill(replay, slot, record, site);
    distributions_born(replay->distributions, size, 1);
    plain_begin_at_thread(replay, counter, address, size);
    plain_begin_at_site(replay, site, size, slack);
    plain_raise_levels(replay, size);
    return true;
}

#endif
