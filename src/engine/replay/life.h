/* What the beginning and the end of a block's life change: the live table, the call paths, the
 * threads, the timeline, and the cuts of the regions in which the block was allocated.
 *
 * A step has always the same order. Old lives end. New lives begin. Then the level is compared once
 * with the high-water marks and the timeline. So a realloc is one step, and its two blocks are
 * never counted together. Inside the room, inlined into the handlers of records. */
#ifndef TIDEMARK_REPLAY_LIFE_H
#define TIDEMARK_REPLAY_LIFE_H

#include "replay/replay_state.h"

/* ---- Levels -------------------------------------------------------------------------------- */

/* Is a level of bytes or of blocks in its quiet range? */
static inline bool life_is_quiet(const struct quiet *quiet, uint64_t level)
{
    return level >= quiet->low && level <= quiet->high;
}

/* The levels have left the quiet range: updates the timeline's interval, the peaks and the watched
 * peaks, and sets a new quiet range. */
void levels_changed(struct replay *replay);

EVENT void life_see_levels(struct replay *replay, enum mode mode)
{
    if (mode == SAMPLED || !life_is_quiet(&replay->quiet_bytes, replay->live_bytes) ||
        !life_is_quiet(&replay->quiet_count, replay->live_count))
        levels_changed(replay);
}

/* Empties the quiet ranges, so that the next step compares everything. */
static inline void life_listen_to_levels(struct replay *replay)
{
    replay->quiet_bytes = replay->quiet_count = QUIET_NEVER;
}

/* ---- Cuts of regions -------------------------------------------------------------------------
 * What happens to the call path of a label happens to its cuts too. None of it happens to programs
 * without regions. */

#define EACH_CUT(replay, label)                                                                    \
    (struct cut cut = cut_first(&(replay)->regions, &(replay)->sites, label); cut_is_there(&cut);  \
     cut_next(&cut))

/* What is counted of a birth besides its weight. */
struct birth {
    uint64_t size_bytes;
    bool aligned, reallocated, moved;
};

/* The rare figures of a birth, alike for the site of a call path and for each of its cuts. */
EVENT void life_count_rarely(struct sites *sites, uint32_t site, struct weight weight,
                             uint64_t size_bytes, bool aligned)
{
    if (size_bytes == 0)
        site_rare(sites, site)->zero_count += weight.count;
    if (aligned)
        site_rare(sites, site)->aligned_count += weight.count;
}

void cuts_begin_life(struct replay *replay, uint32_t label, struct weight weight,
                     struct birth birth);
void cuts_end_life(struct replay *replay, uint32_t label, struct weight weight, uint64_t lifetime,
                   uint64_t lifetime_sum);
void cuts_crest(struct replay *replay, uint32_t label);

/* The label of what the running thread does at a site; outside all regions the site itself. */
static inline uint32_t life_label_here(struct replay *replay, uint32_t site)
{
    uint32_t context = replay->running->context;

    return __builtin_expect(context != REGIONS_OUTSIDE, 0)
               ? regions_label(&replay->regions, &replay->sites, context, site)
               : site;
}

/* The live bytes of the site have left its quiet range: they are a new peak of the site, or a new
 * point of its curve. */
void levels_site_stirs(struct replay *replay, uint32_t site);
/* The same of a site that has a curve, is wide, or has more live bytes than sites without a curve,
 * or no new peak. */
void levels_site_bends(struct replay *replay, uint32_t site);

/* Called once for a call path at the end of a step. */
static inline void life_look_at_site(struct replay *replay, uint32_t site_or_label)
{
    uint32_t site = regions_site(&replay->regions, site_or_label);

    if (__builtin_expect(site != site_or_label, 0))
        cuts_crest(replay, site_or_label);
    if (!site_is_quiet(&replay->sites, site))
        levels_site_stirs(replay, site);
}

/* The newest event is of another interval of the timeline. */
void levels_begin_interval(struct replay *replay);
/* The event is late, or of another interval of the timeline. */
void levels_take_time(struct replay *replay, uint64_t ticks);

/* Counts an event and sets the time. The replay's time is that of the newest event so far, so a
 * late event happens now. */
static inline void life_take_time(struct replay *replay, uint64_t ticks)
{
    replay->program.events++;
    if (__builtin_expect(ticks < replay->last_ticks || ticks >= replay->timeline.end_ticks, 0))
        levels_take_time(replay, ticks);
    else
        replay->last_ticks = ticks;
}

/* ---- Lives --------------------------------------------------------------------------------- */

static inline uint32_t life_thread_number(const struct replay *replay,
                                          const struct replay_thread *thread)
{
    return (uint32_t)(thread - replay->threads.all);
}

static inline uint64_t life_lifetime_of(const struct live_block *block, uint64_t end_ticks)
{
    return end_ticks > block->birth_ticks ? end_ticks - block->birth_ticks : 0;
}

/* The thread that allocated the block; NULL: not known. */
static inline struct replay_thread *life_owner_of(struct replay *replay,
                                                  const struct live_block *block)
{
    uint32_t owner = live_block_owner(block) & replay->owner_mask;

    return owner < replay->threads.count && owner != replay->owner_mask
               ? &replay->threads.all[owner]
               : NULL;
}

/* Ends the life of a block that has been taken out of the live table, or never was in it. */
EVENT void life_end_of(struct replay *replay, struct replay_thread *owner,
                       const struct live_block *block, uint64_t ticks, enum mode mode)
{
    struct interval *bucket = timeline_current(&replay->timeline);
    struct weight weight = replay_state_weigh_block(replay, block, mode);
    uint64_t lifetime = life_lifetime_of(block, ticks);
    uint64_t lifetime_sum = replay_state_lifetimes_of(weight, lifetime, mode);
    uint32_t site = regions_site(&replay->regions, block->site);

    bucket->free_count += replay_state_whole_blocks(weight, &replay->free_rest, mode);
    bucket->free_bytes += weight.bytes;
    replay->live_count -= weight.count;
    replay->live_bytes -= weight.bytes;
    site_ended(&replay->sites, site, weight, lifetime, lifetime_sum);
    if (__builtin_expect(site != block->site, 0))
        cuts_end_life(replay, block->site, weight, lifetime, lifetime_sum);
    distributions_ended(replay->distributions, block->size_bytes, lifetime, weight.count);
    if (owner)
        thread_ended(owner, weight.bytes);
    if (mode == SAMPLED)
        replay->sites.samples[site].live_variance -= weight.variance;
}

EVENT void life_end(struct replay *replay, const struct live_block *block, uint64_t ticks,
                    enum mode mode)
{
    life_end_of(replay, life_owner_of(replay, block), block, ticks, mode);
}

EVENT void life_add_exchange(struct replay *replay, struct replay_thread *owner,
                             struct weight weight, enum mode mode)
{
    owner->counts.freed_elsewhere_count +=
        replay_state_whole_blocks(weight, &owner->elsewhere_rest, mode);
    owner->counts.freed_elsewhere_bytes += weight.bytes;
    exchanges_add(&replay->exchanges, life_thread_number(replay, owner),
                  life_thread_number(replay, replay->running), weight.count, weight.bytes);
}

EVENT void life_credit_free(struct replay *replay, struct replay_thread *owner,
                            const struct live_block *block, enum mode mode)
{
    struct weight weight = replay_state_weigh_block(replay, block, mode);
    struct replay_thread *thread = replay->running;

    thread->counts.free_count += replay_state_whole_blocks(weight, &thread->free_rest, mode);
    thread->counts.free_bytes += weight.bytes;
    if (owner && owner != thread)
        life_add_exchange(replay, owner, weight, mode);
}

/* The block is not the newest one of its owner any more. True if it was. */
static inline bool life_forget_newest_of(struct replay_thread *owner,
                                         const struct live_block *block)
{
    if (!owner || owner->newest_address != block->address)
        return false;
    owner->newest_address = 0;
    return true;
}

static inline bool life_forget_newest(struct replay *replay, const struct live_block *block)
{
    return life_forget_newest_of(life_owner_of(replay, block), block);
}

static inline void life_owe_free(struct replay *replay, uint64_t address, uint64_t until_ticks)
{
    live_table_owe(&replay->owed, address, until_ticks);
    replay->program.replaced_blocks++;
}

/* True if a free, or the beginning of a realloc, is one that was owed: it is older than the birth
 * of the block that took the address. */
static inline bool life_settle_owed(struct replay *replay, uint64_t address, uint64_t ticks)
{
    if (!replay->owed.count || !live_table_settle_debt(&replay->owed, address, ticks))
        return false;
    replay->program.replaced_blocks--;
    return true;
}

/* Two blocks with one address. The older block had ended when the younger began, but the record of
 * its end is late or lost. `slot` keeps the younger block. False: that is the one that it had. */
static inline bool life_replace_block(struct replay *replay, struct live_slot *slot,
                                      const struct live_block *block, enum mode mode)
{
    struct live_block over = live_table_read(&replay->live, slot);
    uint64_t end_ticks = block->birth_ticks;
    bool is_younger = over.birth_ticks <= end_ticks;

    if (is_younger) {
        life_forget_newest(replay, &over);
        live_table_write(&replay->live, slot, block);
    } else {
        end_ticks = over.birth_ticks;
        over = *block;
    }
    life_owe_free(replay, over.address, end_ticks);
    life_end(replay, &over, end_ticks, mode);
    life_look_at_site(replay, over.site);
    return is_younger;
}

/* Puts a block that is counted already into the live table. False if a younger block has the
 * address, so that the life of this one has ended. */
EVENT bool life_place_block(struct replay *replay, const struct live_block *block, uint64_t hash,
                            enum mode mode)
{
    struct live_slot *slot = live_table_place_hashed(&replay->live, block->address, hash);

    if (slot->key)
        return life_replace_block(replay, slot, block, mode);
    live_table_write(&replay->live, slot, block);
    return true;
}

/* Takes the block that a free or a realloc of the address ends out of the live table. False if
 * there is none; that is counted. */
EVENT bool life_take_block(struct replay *replay, uint64_t address, const struct clue *clue,
                           uint64_t ticks, struct live_block *out, enum mode mode)
{
    struct live_slot *slot;

    if (life_settle_owed(replay, address, ticks))
        return false;
    slot = live_table_find_near(&replay->live, address, clue->hash, clue->slot);
    if (!slot) {
        replay->program.foreign_frees +=
            mode == EVERY; /* in a sample: a block that was not drawn */
        return false;
    }
    *out = live_table_read(&replay->live, slot);
    live_table_remove_hashed(&replay->live, slot, clue->hash);
    return true;
}

static inline uint64_t life_address_of(const struct wire_record *record)
{
    return record->kind_address & WIRE_ADDRESS_MASK;
}

static inline uint64_t life_counted_size(const struct wire_record *record)
{
    return record->size_bytes < LIVE_MAX_SIZE ? record->size_bytes : LIVE_MAX_SIZE;
}

EVENT bool life_has_own_alignment(const struct replay *replay, const struct wire_record *record,
                                  enum mode mode)
{
    unsigned align_log2 = wire_detail_align_log2(record->detail);

    if (mode == SAMPLED && replay_state_has_levels(replay))
        align_log2 &= WIRE_LEVEL_ALIGN;
    return wire_kind(record->kind_address) == WIRE_ALIGNED || align_log2 > 4;
}

EVENT struct weight life_weigh_record(const struct replay *replay, const struct wire_record *record,
                                      enum mode mode)
{
    return replay_state_weigh(replay, life_counted_size(record), wire_detail_slack(record->detail),
                              wire_detail_level(record->detail), mode);
}

EVENT void life_set_owner(const struct replay *replay, struct live_block *block, uint32_t thread,
                          unsigned level, enum mode mode)
{
    if (mode == SAMPLED && replay_state_has_levels(replay))
        thread = (thread < replay->owner_mask ? thread : replay->owner_mask) |
                 level << OWNER_LEVEL_SHIFT;
    live_block_set_owner(block, thread);
}

/* Returns the site, or its label in the regions that the thread is in. */
EVENT uint32_t life_begin(struct replay *replay, const struct wire_record *record, uint64_t hash,
                          uint32_t site, struct weight weight, bool reallocated, bool moved,
                          enum mode mode)
{
    uint64_t size = life_counted_size(record);
    uint32_t label = life_label_here(replay, site);
    struct replay_thread *thread = replay->running;
    struct interval *bucket = timeline_current(&replay->timeline);
    struct live_block block = {
        .address = life_address_of(record),
        .size_bytes = size,
        .birth_ticks = record->ticks,
        .site = label,
        .slack_bytes = wire_detail_slack(record->detail),
    };

    life_set_owner(replay, &block, life_thread_number(replay, thread),
                   wire_detail_level(record->detail), mode);
    bucket->alloc_count += replay_state_whole_blocks(weight, &replay->alloc_rest, mode);
    bucket->alloc_bytes += weight.bytes;
    thread_born(thread, wire_kind(record->kind_address),
                replay_state_whole_blocks(weight, &thread->alloc_rest, mode), weight.bytes);
    distributions_born(replay->distributions, size, weight.count);
    replay->live_count += weight.count;
    replay->live_bytes += weight.bytes;
    site_born(&replay->sites, site, size, weight);
    if (mode == SAMPLED) {
        replay->sites.samples[site].count++;
        replay->sites.samples[site].live_variance += weight.variance;
    }
    life_count_rarely(&replay->sites, site, weight, size,
                      life_has_own_alignment(replay, record, mode));
    if (__builtin_expect(label != site, 0))
        cuts_begin_life(
            replay, label, weight,
            (struct birth){size, life_has_own_alignment(replay, record, mode), reallocated, moved});
    thread->newest_address = life_place_block(replay, &block, hash, mode) ? block.address : 0;
    thread_crest(thread, replay->last_ticks);
    thread_spends_on(thread, SPENT_ON_ALLOC, label);
    return label;
}

#endif
