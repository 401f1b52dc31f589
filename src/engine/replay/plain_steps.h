/* The two commonest records where nothing rare is the case: a plain allocation, a plain free. They
 * are 19 of 20 records. What they change is what steps.h changes, and less is asked of them.
 *
 *   a record is plain      no block lives at the allocation's address, its size is neither 0 nor
 *                          above 2 GiB, its slack is below 4 KiB, and no alignment was asked for;
 *                          it is neither late nor of another interval of the timeline;
 *                          no free is owed, and the freed block is known
 *   a batch is plain       no pools, no regions, no times of calls, fewer than 32,768 threads, and
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

#include <assert.h>
#include "replay/steps.h"

/* All times from the last one to the end of the interval fit into slots as births. */
static inline bool plain_births_fit(const struct replay *replay)
{
    const struct live_table *live = &replay->live;

    return live->has_first && replay->last_ticks >= live->first_ticks &&
           !((replay->timeline.end_ticks - live->first_ticks) >> LIVE_BIRTH_BITS);
}

/* `buckets`: of the table of live blocks, when the clues were made; `births`: how many may come. */
static inline bool plain_is_on(const struct replay *replay, size_t buckets, size_t births)
{
    return !replay->chunks.count && !replay->regions.count && !replay->threads.timed &&
           replay->threads.count < LIVE_PLAIN_OWNERS && plain_births_fit(replay) &&
           replay->live.buckets == buckets && replay->live.count + births <= replay->live.limit;
}

/* From here on records of the running thread may be plain. */
void plain_enter(struct replay *replay);
/* Settles everything, if records were plain. */
void plain_leave(struct replay *replay);

/* Ends a rise before a free; false: frees are owed. */
bool plain_ends_rise(struct replay *replay);

/* A record that is neither late nor of another interval. */
EVENT bool plain_is_next(const struct replay *replay, uint64_t ticks)
{
    return __builtin_expect(ticks >= replay->last_ticks && ticks < replay->timeline.end_ticks, 1);
}

/* ---- Frees --------------------------------------------------------------------------------- */

/* A block of the running thread's that was taken out of the table, as a free needs it. */
struct plain_block {
    uint64_t lifetime;
    uint32_t site, size, slack;
    struct site_hot *hot;
};

EVENT struct plain_block plain_block_of(const struct replay *replay, const struct live_slot *slot,
                                        uint64_t ticks)
{
    uint64_t age = ticks - replay->live.first_ticks, birth = slot->birth_word >> LIVE_SLACK_BITS;

    assert(birth <= age); /* no birth is later than the time of the last record, and no free late */
    return (struct plain_block){
        .lifetime = age - birth,
        .site = slot->site,
        .size = slot->size_bytes,
        .slack = slot->birth_word & ((1u << LIVE_SLACK_BITS) - 1),
        .hot = &replay->sites.hot[slot->site],
    };
}

/* False: the free is late or in another interval, or frees are owed. Ends a rise. */
EVENT bool plain_is_next_free(struct replay *replay, uint64_t ticks)
{
    if (__builtin_expect(ticks >= replay->plain.frees_until, 0) &&
        (!plain_ends_rise(replay) || ticks >= replay->plain.frees_until))
        return false;
    return __builtin_expect(ticks >= replay->last_ticks, 1);
}

/* Replays the free of a block that was taken out of the table, as steps.h does. */
void plain_free_rarely(struct replay *replay, struct live_slot *slot, uint64_t ticks);

EVENT void plain_end_newest(struct plain_sums *plain, const struct plain_block *block, uint64_t key)
{
    if (plain->newest_key == key) {
        plain->newest_key = 0;
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

/* Takes a block of the running thread's out of the table, if it is at home; else NULL. */
EVENT struct live_slot *plain_take(struct live_table *table, uint64_t key, const struct clue *clue)
{
    struct live_slot *slot = &table->slots[clue->slot];
    size_t number = clue->slot;

    if (slot->key != key) { /* it may have been born since the clue was made */
        number = live_table_guess_beside(table, clue->slot, clue->hash);
        slot = &table->slots[number];
        if (slot->key != key)
            return NULL;
    }
    live_table_take_near(table, number);
    return slot;
}

/* Replays the free of a block of the running thread's that was taken out of the table. False: its
 * site is wide, and nothing has changed. */
EVENT bool plain_end(struct replay *replay, struct live_slot *slot, uint64_t key, uint64_t ticks)
{
    struct plain_block block = plain_block_of(replay, slot, ticks);

    if (site_is_wide(block.hot))
        return false;
    slot->key = 0;
    replay->last_ticks = ticks;
    plain_end_newest(&replay->plain, &block, key);
    distributions_ended(replay->distributions, block.size, block.lifetime, 1);
    plain_end_at_site(replay, &block);
    plain_lower_levels(replay, block.size);
    return true;
}

/* `word`: the record's first; its address has at most 48 bits. */
EVENT bool plain_free(struct replay *replay, uint64_t word, uint64_t ticks, const struct clue *clue)
{
    uint64_t key = word ^ replay->running_free;
    struct live_slot *slot;
    bool is_own = true;

    if (!clue->hash || !plain_is_next_free(replay, ticks))
        return false;
    slot = plain_take(&replay->live, key, clue);
    if (!slot) {
        slot = live_table_take_far(&replay->live, word & WIRE_ADDRESS_MASK, clue->hash);
        if (!slot)
            return false;
        is_own = slot->key == key;
    }
    if (!is_own || !plain_end(replay, slot, key, ticks))
        plain_free_rarely(replay, slot, ticks);
    return true;
}

/* ---- Allocations --------------------------------------------------------------------------- */

/* A small block has a size that the tally counts directly, and is not of size 0. */
enum plain_size { PLAIN_SMALL, PLAIN_LARGE };

EVENT bool plain_is_small(const struct wire_record *record)
{
    return record->size_bytes - 1 < TALLY_DIRECT - 1;
}

/* Alignment and slack are neighbours. */
EVENT bool plain_fits(const struct wire_record *record, enum plain_size kind)
{
    return !(record->detail >> (32 + LIVE_SLACK_BITS)) &&
           (kind == PLAIN_SMALL || !((record->size_bytes - 1) >> 31));
}

EVENT void plain_fill(const struct replay *replay, struct live_slot *slot,
                      const struct wire_record *record, uint64_t key, size_t site)
{
    slot->key = key;
    slot->birth_word = (record->ticks - replay->live.first_ticks) << LIVE_SLACK_BITS |
                       wire_detail_slack(record->detail);
    slot->site = (uint32_t)site;
    slot->size_bytes = (uint32_t)record->size_bytes;
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

/* Room is asked for before the call: so no counter is kept in a register beside the call. */
EVENT void plain_begin_at_site(struct replay *replay, size_t site, uint64_t size, uint32_t slack)
{
    struct site_hot *hot = &replay->sites.hot[site];
    bool has_room = site_has_room(hot);

    if (has_room && hot->stamp != replay->sites.stamp)
        site_catch_up(&replay->sites, (uint32_t)site);
    if (__builtin_expect(!has_room || !site_born_one(hot, (uint32_t)size, slack), 0))
        plain_begin_at_full_site(replay, (uint32_t)site, size, slack);
    else if (hot->live_bytes > hot->quiet_high &&
             !site_crests_below(&replay->sites, (uint32_t)site, CURVE_THRESHOLD_BYTES,
                                replay->last_ticks))
        levels_site_bends(replay, (uint32_t)site);
}

EVENT void plain_born(struct replay *replay, uint64_t size, enum plain_size kind)
{
    if (kind == PLAIN_SMALL)
        replay->distributions->sizes.direct[size]++;
    else
        distributions_born(replay->distributions, size, 1);
}

/* The address has at most 48 bits. `kind`: from WIRE_MALLOC on. */
EVENT bool plain_allocate(struct replay *replay, const struct wire_record *record,
                          const struct clue *clue, size_t kind, enum plain_size size_kind)
{
    uint64_t address = record->kind_address & LIVE_ADDRESS_MASK;
    uint64_t size = record->size_bytes, key = address | replay->running_key;
    uint32_t slack = wire_detail_slack(record->detail);
    struct live_slot *slot;
    size_t site;

    if (!address || !plain_fits(record, size_kind) || !plain_is_next(replay, record->ticks))
        return false;
    if (!live_table_place_at_home(&replay->live, clue->hash, clue->slot, &slot)) {
        slot = live_table_place_far(&replay->live, life_address_of(record), clue->hash,
                                    clue->slot / LIVE_PLACES);
        if (slot->key)
            return false;
    }
    replay->last_ticks = record->ticks;
    site = clue->number ? clue->number - 1 : steps_site_of(replay, record);
    plain_fill(replay, slot, record, key, site);
    plain_born(replay, size, size_kind);
    replay->plain.births[kind]++;
    replay->plain.newest_key = key;
    plain_begin_at_site(replay, site, size, slack);
    plain_raise_levels(replay, size);
    return true;
}

/* ---- Pairs ---------------------------------------------------------------------------------
 * An allocation, and as the next record the free of its block: half of the records of a compiler.
 * If nobody can see the level between the two, the block is not put into the table, and what lives
 * is as before. */

/* The first words of two records; the first one is a plain allocation. */
EVENT bool plain_frees_at_once(uint64_t allocation, uint64_t word)
{
    return word == ((allocation & LIVE_ADDRESS_MASK) | (uint64_t)WIRE_FREE << 56);
}

/* No block lives at the address. */
EVENT bool plain_is_vacant(const struct live_table *table, uint64_t address,
                           const struct clue *clue)
{
    return !live_table_may_have(table, clue->hash, clue->slot) ||
           !live_table_has_far(table, address, clue->hash, clue->slot / LIVE_PLACES);
}

/* With so many bytes more, for a moment, neither a level nor the path leaves its quiet range. Not
 * asked in a rise, where levels have no upper limit. */
EVENT bool plain_is_quiet(const struct replay *replay, const struct site_hot *hot, uint64_t size)
{
    return replay->live_bytes + size <= replay->plain.high &&
           replay->live.count < replay->plain.count_high &&
           hot->live_bytes + size <= hot->quiet_high && site_has_room(hot);
}

EVENT void plain_pair_at_site(struct replay *replay, size_t site, const struct wire_record *record,
                              uint64_t lifetime)
{
    struct site_hot *hot = &replay->sites.hot[site];

    if (hot->stamp != replay->sites.stamp)
        site_catch_up(&replay->sites, (uint32_t)site);
    site_made_one(hot, (uint32_t)record->size_bytes, wire_detail_slack(record->detail));
    hot->lifetime_sum += lifetime;
    hot->temporary_count++;
    site_lived(&replay->sites.cold[site], lifetime);
}

/* Replays both; the block is small. False: nothing has changed, and each is replayed alone. */
EVENT bool plain_pair(struct replay *replay, const struct wire_record *record,
                      const struct clue *clue, size_t kind, uint64_t ticks)
{
    uint64_t size = record->size_bytes, lifetime = ticks - record->ticks;
    size_t site = clue->number - (size_t)1;

    if (!clue->number || !clue->hash || !plain_fits(record, PLAIN_SMALL) || record->ticks > ticks ||
        record->ticks < replay->last_ticks || ticks >= replay->plain.frees_until ||
        !plain_is_quiet(replay, &replay->sites.hot[site], size) ||
        !plain_is_vacant(&replay->live, life_address_of(record), clue))
        return false;
    replay->last_ticks = ticks;
    replay->plain.births[kind]++;
    replay->plain.freed_bytes += size;
    replay->plain.newest_key = 0;
    plain_born(replay, size, PLAIN_SMALL);
    distributions_ended(replay->distributions, size, lifetime, 1);
    plain_pair_at_site(replay, site, record, lifetime);
    return true;
}

#endif
