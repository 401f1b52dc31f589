/* What each record does to the live blocks, the call paths, the threads and the timeline. The order
 * of a step is always the same: old lives end, new ones begin, then the high-water marks and the
 * timeline look at the level, once; so a realloc is one step and never counts both its blocks.
 *
 * Speed is a matter of cache misses: a block's slot and its call path's metrics are somewhere in
 * tens of megabytes. So two cursors run ahead of the replay through the same records: the far one
 * asks for the slots, the near one, when they have come, for the metrics that they lead to. */
#include "replay/replay.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "replay/curves.h"
#include "replay/depths.h"
#include "replay/distributions.h"
#include "replay/exchange.h"
#include "replay/live.h"
#include "replay/mapped.h"
#include "replay/marks.h"
#include "replay/peaks.h"
#include "replay/region.h"
#include "replay/regions.h"
#include "replay/sites.h"
#include "replay/threads.h"
#include "replay/timeline.h"
#include "replay/weight.h"

#define FAR_RECORDS  24
#define NEAR_RECORDS 10

#define FIRST_LIVE_LOG2 10
#define FIRST_OWED_LOG2 3

#define MAX_STACK_BYTES (1ull << 47) /* no address space is larger */

/* The handlers exist twice, for recordings of every allocation and for samples: the functions that
 * do the work are inlined into both with this as their last argument, so that neither pays for the
 * other. */
#define EVENT static inline __attribute__((always_inline))
enum mode { EVERY, SAMPLED };

typedef void record_handler(struct replay *replay, const struct wire_record *record);

struct replay {
    /* the levels; live_bytes is the sum over all sites; live_count in the unit of weights */
    uint64_t live_bytes, live_count;
    uint64_t peak_bytes, peak_ticks; /* the first moment of the highest live_bytes */
    uint64_t last_ticks;
    struct thread *running; /* whose record is being replayed */
    uint32_t stream;
    struct live_table live;
    struct sites sites;
    struct timeline timeline;
    struct threads threads;
    struct peaks peaks;
    struct curves curves;
    struct exchanges exchanges;
    struct distributions *distributions;
    /* Frees that must still come, or never will: by address, the number of them in size_bytes, the
     * birth of the block that showed the last of them missing in birth_ticks. */
    struct live_table owed;
    struct program_metrics program; /* but for `total`; live_peak_count as live_count */
    uint64_t sample_bytes;          /* 0: every allocation is in the records */
    bool pages;                     /* the sample is of pages */
    bool adapts;                    /* and each record says with which interval it was drawn */
    uint32_t owner_mask;            /* of a block's owner; above it lies the level where it adapts */
    uint32_t alloc_rest, free_rest; /* of the timeline, as a thread's */
    record_handler *const *handlers;
    struct mapped mapped;
    struct depths depths;
    struct regions regions;
    struct marks marks;
    struct live_table chunks; /* of pools, by address: their frees are no events */
    bool is_watched;          /* the program's level, or a thread's, is watched for its peak */
    bool watches_all;
    uint64_t watched_peak_bytes;
};

/* ---- Weights ------------------------------------------------------------------------------- */

EVENT struct weight weigh(const struct replay *replay, uint64_t size_bytes, uint64_t slack_bytes,
                          unsigned level, enum mode mode)
{
    if (mode == EVERY)
        return (struct weight){1, size_bytes, slack_bytes, 0};
    if (replay->pages)
        return weight_of_page_block(size_bytes, slack_bytes);
    return replay->adapts ? weight_of_level(level, size_bytes, slack_bytes)
                          : weight_of_sample(replay->sample_bytes, size_bytes, slack_bytes);
}

/* Where levels change an owner has three bits less, and they hold the block's. */
enum { OWNER_LEVEL_SHIFT = 21 };
_Static_assert(WIRE_LEVELS <= 8 && 8u << OWNER_LEVEL_SHIFT == LIVE_NO_OWNER + 1,
               "the bits of an owner");

static inline unsigned level_of(const struct replay *replay, const struct live_block *block)
{
    return replay->adapts ? live_block_owner(block) >> OWNER_LEVEL_SHIFT : 0;
}

EVENT struct weight weigh_block(const struct replay *replay, const struct live_block *block,
                                enum mode mode)
{
    return weigh(replay, block->size_bytes, block->slack_bytes,
                 mode == EVERY ? 0 : level_of(replay, block), mode);
}

/* How many whole blocks a weight adds to a count, with the rest from before. */
EVENT uint64_t whole_blocks(struct weight weight, uint32_t *rest, enum mode mode)
{
    uint64_t parts = weight.count + (mode == SAMPLED ? *rest : 0);

    if (mode == EVERY)
        return parts;
    *rest = parts & ((1u << WEIGHT_SHIFT) - 1);
    return parts >> WEIGHT_SHIFT;
}

EVENT uint64_t live_blocks(const struct replay *replay, enum mode mode)
{
    return mode == EVERY ? replay->live_count : weight_whole(replay->live_count);
}

static enum mode mode_of(const struct replay *replay)
{
    return replay->sample_bytes ? SAMPLED : EVERY;
}

/* Of as many blocks as it stands for; what 63 bits do not hold is cut off. */
EVENT uint64_t lifetimes_of(struct weight weight, uint64_t lifetime, enum mode mode)
{
    unsigned __int128 sum;

    if (mode == EVERY)
        return lifetime;
    sum = (unsigned __int128)lifetime * weight.count >> WEIGHT_SHIFT;
    return sum < INT64_MAX ? (uint64_t)sum : INT64_MAX;
}

/* ---- Levels -------------------------------------------------------------------------------- */

static inline struct peaks_view peaks_view(struct replay *replay)
{
    return (struct peaks_view){&replay->sites, &replay->curves};
}

/* What is looked at only while somebody wants it. */
static void watch_levels(struct replay *replay)
{
    struct thread *thread = replay->running;

    if (replay->regions.open_count)
        regions_see_level(&replay->regions, replay->live_bytes, replay->last_ticks);
    if (replay->live_bytes > replay->watched_peak_bytes)
        replay->watched_peak_bytes = replay->live_bytes;
    if (thread && thread->metrics.live_bytes > thread->watched_peak_bytes)
        thread->watched_peak_bytes = thread->metrics.live_bytes;
}

EVENT void see_levels(struct replay *replay, enum mode mode)
{
    struct timeline_bucket *bucket = timeline_current(&replay->timeline);

    timeline_level_see(&bucket->requested, replay->live_bytes);
    timeline_level_see(&bucket->blocks, live_blocks(replay, mode));
    if (replay->live_count > replay->program.live_peak_count)
        replay->program.live_peak_count = replay->live_count;
    peaks_see(&replay->peaks, peaks_view(replay), replay->live_bytes, replay->last_ticks,
              replay->program.events);
    if (replay->live_bytes > replay->peak_bytes) {
        replay->peak_bytes = replay->live_bytes;
        replay->peak_ticks = replay->last_ticks;
        replay->sites.peak_number++;
    }
    if (__builtin_expect(replay->regions.open_count || replay->is_watched, 0))
        watch_levels(replay);
}

/* ---- Cuts of regions -------------------------------------------------------------------------
 * What happens to the call path of a label happens to its cuts too. None of it happens to programs
 * without regions. */

#define EACH_CUT(replay, label)                                                                    \
    (struct cut cut = cut_first(&(replay)->regions, &(replay)->sites, label); cut_is_there(&cut);   \
     cut_next(&cut))

static void crest_cuts(struct replay *replay, uint32_t label)
{
    for EACH_CUT(replay, label)
        site_crest(&replay->regions.cuts, cut.site, replay->last_ticks);
}

static __attribute__((noinline)) void end_life_in_cuts(struct replay *replay, uint32_t label,
                                                       struct weight weight, uint64_t lifetime,
                                                       uint64_t lifetime_sum)
{
    struct sites *cuts = &replay->regions.cuts;

    for EACH_CUT(replay, label) {
        site_ended(cuts, cut.site, weight, lifetime, lifetime_sum);
        cut.region->live_bytes -= weight.bytes;
        if (cuts->samples)
            cuts->samples[cut.site].live_variance -= weight.variance;
    }
}

/* What a birth is besides its weight. */
struct birth {
    uint64_t size_bytes;
    bool aligned, reallocated, moved;
};

static __attribute__((noinline)) void begin_life_in_cuts(struct replay *replay, uint32_t label,
                                                         struct weight weight, struct birth birth)
{
    struct sites *cuts = &replay->regions.cuts;

    for EACH_CUT(replay, label) {
        struct site_hot *hot = site_change(cuts, cut.site);
        struct site_cold *cold = &cuts->cold[cut.site];
        *(birth.reallocated ? &cold->realloc_count : &hot->alloc_count) += weight.count;
        *(birth.reallocated ? &cold->realloc_bytes : &hot->alloc_bytes) += weight.bytes;
        cold->realloc_moved += birth.moved ? weight.count : 0;
        cold->aligned_count += birth.aligned ? weight.count : 0;
        cold->zero_count += birth.size_bytes == 0 ? weight.count : 0;
        site_born(cuts, cut.site, birth.size_bytes, weight);
        region_grew(cut.region, weight.bytes, replay->last_ticks);
        if (cuts->samples) {
            cuts->samples[cut.site].count++;
            cuts->samples[cut.site].alloc_variance += birth.reallocated ? 0 : weight.variance;
            cuts->samples[cut.site].live_variance += weight.variance;
        }
    }
}

/* The label of what the running thread does at a site; outside all regions the site itself. */
static inline uint32_t label_here(struct replay *replay, uint32_t site)
{
    uint32_t context = replay->running->context;

    return __builtin_expect(context != REGIONS_OUTSIDE, 0)
               ? regions_label(&replay->regions, &replay->sites, context, site)
               : site;
}

/* All that one step does to a call path is done. */
static inline void look_at_site(struct replay *replay, uint32_t site_or_label)
{
    uint32_t site = regions_site(&replay->regions, site_or_label);

    if (__builtin_expect(site != site_or_label, 0))
        crest_cuts(replay, site_or_label);
    site_crest(&replay->sites, site, replay->last_ticks);
    if (site_left_band(&replay->sites, site))
        curves_note(&replay->curves, &replay->sites, site, replay->last_ticks);
}

static void begin_interval(struct replay *replay, enum mode mode)
{
    timeline_advance(&replay->timeline, replay->last_ticks, replay->live_bytes,
                     live_blocks(replay, mode));
    distributions_advance(replay->distributions, replay->last_ticks);
}

/* Time is that of the newest event so far: a late one happens now. */
EVENT void take_time(struct replay *replay, uint64_t ticks, enum mode mode)
{
    replay->program.events++;
    if (ticks < replay->last_ticks)
        replay->program.late_events++;
    else
        replay->last_ticks = ticks;
    if (replay->last_ticks >= replay->timeline.end_ticks)
        begin_interval(replay, mode);
}

/* ---- Lives --------------------------------------------------------------------------------- */

static inline uint32_t thread_number(const struct replay *replay, const struct thread *thread)
{
    return (uint32_t)(thread - replay->threads.all);
}

static inline uint64_t lifetime_of(const struct live_block *block, uint64_t end_ticks)
{
    return end_ticks > block->birth_ticks ? end_ticks - block->birth_ticks : 0;
}

/* The thread that the block was born by; NULL: not known any more. */
static inline struct thread *owner_of(struct replay *replay, const struct live_block *block)
{
    uint32_t owner = live_block_owner(block) & replay->owner_mask;

    return owner < replay->threads.count && owner != replay->owner_mask
               ? &replay->threads.all[owner]
               : NULL;
}

/* A block that is in no table (any more) stops to be counted. */
EVENT void end_life(struct replay *replay, const struct live_block *block, uint64_t ticks,
                    enum mode mode)
{
    struct timeline_bucket *bucket = timeline_current(&replay->timeline);
    struct weight weight = weigh_block(replay, block, mode);
    uint64_t lifetime = lifetime_of(block, ticks);
    uint64_t lifetime_sum = lifetimes_of(weight, lifetime, mode);
    uint32_t site = regions_site(&replay->regions, block->site);
    struct thread *owner = owner_of(replay, block);

    bucket->free_count += whole_blocks(weight, &replay->free_rest, mode);
    bucket->free_bytes += weight.bytes;
    replay->live_count -= weight.count;
    replay->live_bytes -= weight.bytes;
    site_ended(&replay->sites, site, weight, lifetime, lifetime_sum);
    if (__builtin_expect(site != block->site, 0))
        end_life_in_cuts(replay, block->site, weight, lifetime, lifetime_sum);
    distributions_ended(replay->distributions, block->size_bytes, lifetime, weight.count);
    if (owner)
        thread_ended(owner, weight.bytes);
    if (mode == SAMPLED)
        replay->sites.samples[site].live_variance -= weight.variance;
}

EVENT void exchange(struct replay *replay, struct thread *owner, struct weight weight,
                    enum mode mode)
{
    owner->metrics.freed_elsewhere_count += whole_blocks(weight, &owner->elsewhere_rest, mode);
    owner->metrics.freed_elsewhere_bytes += weight.bytes;
    exchanges_add(&replay->exchanges, thread_number(replay, owner),
                  thread_number(replay, replay->running), weight.count, weight.bytes);
}

EVENT void credit_free(struct replay *replay, const struct live_block *block, enum mode mode)
{
    struct weight weight = weigh_block(replay, block, mode);
    struct thread *thread = replay->running, *owner = owner_of(replay, block);

    thread->metrics.free_count += whole_blocks(weight, &thread->free_rest, mode);
    thread->metrics.free_bytes += weight.bytes;
    if (owner && owner != thread)
        exchange(replay, owner, weight, mode);
}

/* The block is no longer the newest one of the thread that it was born by. True if it was. */
static inline bool forget_newest(struct replay *replay, const struct live_block *block)
{
    struct thread *owner = owner_of(replay, block);

    if (!owner || owner->newest_address != block->address)
        return false;
    owner->newest_address = 0;
    return true;
}

static void owe_free(struct replay *replay, uint64_t address, uint64_t until_ticks)
{
    struct live_block *debt = live_table_place(&replay->owed, address);

    if (debt->address != address)
        *debt = (struct live_block){.address = address};
    debt->size_bytes++;
    if (until_ticks > debt->birth_ticks)
        debt->birth_ticks = until_ticks;
    replay->program.replaced_blocks++;
}

/* Is a free (or the beginning of a realloc) with this time the one that was missing? */
static bool settle_owed(struct replay *replay, uint64_t address, uint64_t ticks)
{
    struct live_block *debt;

    if (!replay->owed.count)
        return false;
    debt = live_table_find(&replay->owed, address);
    if (!debt || ticks >= debt->birth_ticks)
        return false;
    if (--debt->size_bytes == 0)
        live_table_remove(&replay->owed, debt);
    replay->program.replaced_blocks--;
    return true;
}

/* Two blocks cannot share an address: the older one's life was over when the younger's began, only
 * the record of its end is late or lost. `slot` keeps the younger. */
static void replace_block(struct replay *replay, struct live_block *slot, struct live_block block,
                          enum mode mode)
{
    struct live_block over = *slot;

    if (slot->birth_ticks > block.birth_ticks) {
        over = block;
    } else {
        forget_newest(replay, slot);
        *slot = block;
    }
    owe_free(replay, over.address, slot->birth_ticks);
    end_life(replay, &over, slot->birth_ticks, mode);
    look_at_site(replay, over.site);
}

/* A block that is counted takes its address. False if its life turns out to be over. */
EVENT bool place_block(struct replay *replay, const struct live_block *block, enum mode mode)
{
    struct live_block *slot = live_table_place(&replay->live, block->address);

    if (slot->address == block->address) {
        replace_block(replay, slot, *block, mode);
        return slot->birth_ticks == block->birth_ticks;
    }
    *slot = *block;
    return true;
}

/* The block that a free or realloc of the address means, out of the table; or none, counted. */
EVENT bool take_block(struct replay *replay, uint64_t address, uint64_t ticks,
                      struct live_block *out, enum mode mode)
{
    struct live_block *slot;

    if (settle_owed(replay, address, ticks))
        return false;
    slot = live_table_find(&replay->live, address);
    if (!slot) {
        replay->program.foreign_frees += mode == EVERY; /* one that was not sampled is none */
        return false;
    }
    *out = *slot;
    live_table_remove(&replay->live, slot);
    return true;
}

static inline uint64_t address_of(const struct wire_record *record)
{
    return record->kind_address & WIRE_ADDRESS_MASK;
}

static inline uint64_t counted_size(const struct wire_record *record)
{
    return record->size_bytes < LIVE_MAX_SIZE ? record->size_bytes : LIVE_MAX_SIZE;
}

EVENT bool has_own_alignment(const struct replay *replay, const struct wire_record *record,
                             enum mode mode)
{
    unsigned align_log2 = wire_detail_align_log2(record->detail);

    if (mode == SAMPLED && replay->adapts)
        align_log2 &= WIRE_LEVEL_ALIGN;
    return wire_kind(record->kind_address) == WIRE_ALIGNED || align_log2 > 4;
}

EVENT struct weight weigh_record(const struct replay *replay, const struct wire_record *record,
                                 enum mode mode)
{
    return weigh(replay, counted_size(record), wire_detail_slack(record->detail),
                 wire_detail_level(record->detail), mode);
}

EVENT void set_owner(const struct replay *replay, struct live_block *block, uint32_t thread,
                     unsigned level, enum mode mode)
{
    if (mode == SAMPLED && replay->adapts)
        thread = (thread < replay->owner_mask ? thread : replay->owner_mask) |
                 level << OWNER_LEVEL_SHIFT;
    live_block_set_owner(block, thread);
}

/* Returns the site, or its label in the regions that the thread is in. */
EVENT uint32_t begin_life(struct replay *replay, const struct wire_record *record, uint32_t site,
                          struct weight weight, bool reallocated, bool moved, enum mode mode)
{
    uint64_t size = counted_size(record);
    uint32_t label = label_here(replay, site);
    struct thread *thread = replay->running;
    struct timeline_bucket *bucket = timeline_current(&replay->timeline);
    struct live_block block = {
        .address = address_of(record),
        .size_bytes = size,
        .birth_ticks = record->ticks,
        .site = label,
        .slack_bytes = wire_detail_slack(record->detail),
    };

    set_owner(replay, &block, thread_number(replay, thread), wire_detail_level(record->detail),
              mode);
    bucket->alloc_count += whole_blocks(weight, &replay->alloc_rest, mode);
    bucket->alloc_bytes += weight.bytes;
    thread_born(thread, wire_kind(record->kind_address),
                whole_blocks(weight, &thread->alloc_rest, mode), weight.bytes);
    distributions_born(replay->distributions, size, weight.count);
    replay->live_count += weight.count;
    replay->live_bytes += weight.bytes;
    site_born(&replay->sites, site, size, weight);
    if (mode == SAMPLED) {
        replay->sites.samples[site].count++;
        replay->sites.samples[site].live_variance += weight.variance;
    }
    if (size == 0)
        replay->sites.cold[site].zero_count += weight.count;
    if (has_own_alignment(replay, record, mode))
        replay->sites.cold[site].aligned_count += weight.count;
    if (__builtin_expect(label != site, 0))
        begin_life_in_cuts(replay, label, weight,
                           (struct birth){size, has_own_alignment(replay, record, mode), reallocated,
                                          moved});
    thread->newest_address = place_block(replay, &block, mode) ? block.address : 0;
    thread_crest(thread, replay->last_ticks);
    thread_spends_on(thread, SPENT_ON_ALLOC, label);
    return label;
}

/* ---- Records ------------------------------------------------------------------------------- */

static inline uint32_t site_of(struct replay *replay, const struct wire_record *record)
{
    return sites_of_node(&replay->sites, wire_detail_node(record->detail));
}

static void count_malformed(struct replay *replay)
{
    replay->program.malformed_events++;
}

EVENT void on_void(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    (void)replay;
    (void)record;
    (void)mode;
}

EVENT void allocate(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    uint32_t site = site_of(replay, record);
    struct site_hot *hot = &replay->sites.hot[site];
    struct weight weight = weigh_record(replay, record, mode);

    hot->alloc_count += weight.count;
    hot->alloc_bytes += weight.bytes;
    if (mode == SAMPLED)
        replay->sites.samples[site].alloc_variance += weight.variance;
    look_at_site(replay, begin_life(replay, record, site, weight, false, false, mode));
    see_levels(replay, mode);
}

EVENT void on_allocation(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    if (!address_of(record)) {
        count_malformed(replay);
        return;
    }
    take_time(replay, record->ticks, mode);
    if (__builtin_expect(replay->chunks.count, 0) && wire_kind(record->kind_address) != WIRE_POOL)
        live_table_drop(&replay->chunks, address_of(record)); /* its free was missed */
    allocate(replay, record, mode);
}

static void fail(struct replay *replay, const struct wire_record *record, uint64_t count)
{
    uint32_t site = site_of(replay, record), label = label_here(replay, site);

    take_time(replay, record->ticks, mode_of(replay));
    site_change(&replay->sites, site);
    replay->sites.cold[site].failed_count += count;
    for EACH_CUT(replay, label) {
        site_change(&replay->regions.cuts, cut.site);
        replay->regions.cuts.cold[cut.site].failed_count += count;
    }
    thread_spends_on(replay->running, SPENT_ON_ALLOC, label);
}

EVENT void on_failure(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    fail(replay, record, weigh_record(replay, record, mode).count);
}

/* Never sampled. */
EVENT void on_mmap_failed(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    fail(replay, record, mode == EVERY ? 1 : 1u << WEIGHT_SHIFT);
}

static inline void count_temporary(struct replay *replay, uint32_t label, uint64_t count)
{
    uint32_t site = regions_site(&replay->regions, label);

    replay->sites.hot[site].temporary_count += count;
    if (__builtin_expect(site != label, 0))
        for EACH_CUT(replay, label)
            replay->regions.cuts.hot[cut.site].temporary_count += count;
}

/* Ends a block by a free of the running thread. `newest`: its owner has allocated nothing since. */
EVENT void free_block(struct replay *replay, const struct live_block *block, uint64_t ticks,
                      bool newest, enum mode mode)
{
    credit_free(replay, block, mode);
    end_life(replay, block, ticks, mode);
    look_at_site(replay, block->site);
    thread_spends_on(replay->running, SPENT_ON_FREE, block->site);
    if (newest && owner_of(replay, block) == replay->running)
        count_temporary(replay, block->site, weigh_block(replay, block, mode).count);
    see_levels(replay, mode);
}

/* Of a sample only the recorder can say: the records between are missing. */
EVENT bool was_newest(struct replay *replay, const struct wire_record *record,
                      const struct live_block *block, enum mode mode)
{
    bool newest = forget_newest(replay, block);

    return mode == EVERY ? newest : wire_kind(record->kind_address) & WIRE_NEWEST;
}

/* Does a free, or the beginning of a realloc, mean a pool's chunk? It is none any more. */
EVENT bool ends_chunk(struct replay *replay, const struct wire_record *record)
{
    return __builtin_expect(replay->chunks.count, 0) && address_of(record) &&
           live_table_drop(&replay->chunks, address_of(record));
}

EVENT void free_of(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    struct live_block block;

    if (address_of(record) && take_block(replay, address_of(record), record->ticks, &block, mode))
        free_block(replay, &block, record->ticks, was_newest(replay, record, &block, mode), mode);
}

EVENT void on_free(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    take_time(replay, record->ticks, mode);
    thread_spends_on(replay->running, SPENT_ON_FREE, SPENT_NO_SITE);
    if (!ends_chunk(replay, record))
        free_of(replay, record, mode);
}

EVENT void on_pool_free(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    take_time(replay, record->ticks, mode);
    free_of(replay, record, mode);
}

/* Counts a freed block where it was freed. A thread that is not known any more is no other one. */
static void credit_freeing_path(struct replay *replay, const struct wire_record *record,
                                const struct live_block *block)
{
    uint32_t site = site_of(replay, record);
    const struct thread *owner = owner_of(replay, block);
    struct weight weight = weigh_block(replay, block, mode_of(replay));

    uint64_t lifetimes = lifetimes_of(weight, lifetime_of(block, record->ticks), mode_of(replay));
    bool elsewhere = owner && owner != replay->running;

    site_freed(&replay->sites, site, weight, lifetimes, elsewhere);
    for EACH_CUT(replay, label_here(replay, site))
        site_freed(&replay->regions.cuts, cut.site, weight, lifetimes, elsewhere);
}

EVENT void free_at(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    struct live_block block;

    if (!address_of(record) || !take_block(replay, address_of(record), record->ticks, &block, mode))
        return;
    if (replay->sites.freed)
        credit_freeing_path(replay, record, &block);
    free_block(replay, &block, record->ticks, was_newest(replay, record, &block, mode), mode);
}

EVENT void on_free_at(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    take_time(replay, record->ticks, mode);
    thread_spends_on(replay->running, SPENT_ON_FREE, SPENT_NO_SITE);
    if (!ends_chunk(replay, record))
        free_at(replay, record, mode);
}

EVENT void on_pool_free_at(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    take_time(replay, record->ticks, mode);
    free_at(replay, record, mode);
}

EVENT void on_realloc_begin(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    struct pending_realloc *pending = thread_push_realloc(&replay->threads, replay->running);
    uint64_t address = address_of(record);

    take_time(replay, record->ticks, mode);
    pending->old = address ? REALLOC_OLD_UNKNOWN : REALLOC_OLD_NONE;
    pending->block.address = address;
    if (address && !ends_chunk(replay, record) &&
        take_block(replay, address, record->ticks, &pending->block, mode)) {
        pending->old = REALLOC_OLD_LIVE;
        pending->newest = forget_newest(replay, &pending->block);
        pending->births = pending->newest ? owner_of(replay, &pending->block)->births : 0;
    }
}

/* Has the owner of the block, whoever reallocates it, allocated nothing since the realloc began?
 * Not known of a sample. */
static bool still_newest(struct replay *replay, const struct pending_realloc *pending)
{
    return pending->newest && !replay->sample_bytes &&
           pending->births == owner_of(replay, &pending->block)->births;
}

/* The realloc that an end completes. If the recorder lost its beginning the old block is unknown.
 */
static struct pending_realloc pop_realloc(struct replay *replay, const struct wire_record *record)
{
    struct thread *thread = replay->running;

    if (!thread->pending_count)
        return (struct pending_realloc){.old = REALLOC_OLD_UNKNOWN,
                                        .block.address = address_of(record)};
    return thread->pending[--thread->pending_count];
}

EVENT void on_realloc_failed(struct replay *replay, const struct wire_record *record,
                             enum mode mode)
{
    struct pending_realloc pending = pop_realloc(replay, record);

    if (mode == SAMPLED && !record->size_bytes) /* that it failed is not in the sample */
        take_time(replay, record->ticks, mode);
    else
        on_failure(replay, record, mode);
    if (pending.old != REALLOC_OLD_LIVE)
        return;
    if (place_block(replay, &pending.block, mode) && still_newest(replay, &pending))
        owner_of(replay, &pending.block)->newest_address = pending.block.address;
    see_levels(replay, mode);
}

/* The old block of a realloc that returned another. */
EVENT void end_old(struct replay *replay, const struct wire_record *record,
                   const struct pending_realloc *pending, enum mode mode)
{
    if (pending->old != REALLOC_OLD_LIVE)
        return;
    credit_free(replay, &pending->block, mode);
    end_life(replay, &pending->block, record->ticks, mode);
}

EVENT void reallocate(struct replay *replay, const struct wire_record *record,
                      const struct pending_realloc *pending, enum mode mode)
{
    uint32_t site = site_of(replay, record), label;
    bool moved = address_of(record) != pending->block.address;
    struct site_cold *cold = &replay->sites.cold[site];
    struct weight weight = weigh_record(replay, record, mode);

    end_old(replay, record, pending, mode);
    if (pending->old == REALLOC_OLD_LIVE)
        distributions_realloc(replay->distributions, pending->block.size_bytes,
                              counted_size(record), weight.count);
    cold->realloc_count += weight.count;
    cold->realloc_bytes += weight.bytes;
    cold->realloc_moved += moved ? weight.count : 0;
    label = begin_life(replay, record, site, weight, true, moved, mode);
    if (pending->old == REALLOC_OLD_LIVE)
        look_at_site(replay, pending->block.site);
    look_at_site(replay, label);
    see_levels(replay, mode);
}

/* realloc(p, 0) has freed. */
EVENT void realloc_to_nothing(struct replay *replay, const struct wire_record *record,
                              const struct pending_realloc *pending, enum mode mode)
{
    if (replay->sites.freed)
        credit_freeing_path(replay, record, &pending->block);
    free_block(replay, &pending->block, record->ticks, still_newest(replay, pending), mode);
}

EVENT void on_realloc_end(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    struct pending_realloc pending = pop_realloc(replay, record);

    take_time(replay, record->ticks, mode);
    thread_spends_on(replay->running, SPENT_ON_FREE, SPENT_NO_SITE);
    if (address_of(record) && pending.old == REALLOC_OLD_NONE) {
        allocate(replay, record, mode);
    } else if (address_of(record)) {
        reallocate(replay, record, &pending, mode);
    } else if (mode == SAMPLED && record->size_bytes) { /* the new block is not in the sample */
        end_old(replay, record, &pending, mode);
        if (pending.old == REALLOC_OLD_LIVE)
            look_at_site(replay, pending.block.site);
        see_levels(replay, mode);
    } else if (pending.old == REALLOC_OLD_LIVE) {
        realloc_to_nothing(replay, record, &pending, mode);
    }
}

EVENT void on_thread_start(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    take_time(replay, record->ticks, mode);
    if (replay->running->announced) /* another thread is over, whether it said so or not */
        regions_thread_ends(&replay->regions, replay->running, replay->last_ticks);
    threads_announce(&replay->threads, replay->stream, (uint32_t)address_of(record), record->ticks);
    replay->running = threads_of_stream(&replay->threads, replay->stream);
}

EVENT void on_thread_end(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    take_time(replay, record->ticks, mode);
    replay->running->metrics.end_ticks = record->ticks;
    regions_thread_ends(&replay->regions, replay->running, replay->last_ticks);
}

EVENT void on_lost(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    take_time(replay, record->ticks, mode);
    replay->program.lost_events += address_of(record);
}

EVENT void on_mmap(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    uint32_t site = site_of(replay, record);

    take_time(replay, record->ticks, mode);
    site_change(&replay->sites, site);
    replay->sites.cold[site].map_count++;
    replay->sites.cold[site].map_bytes += record->size_bytes;
    for EACH_CUT(replay, label_here(replay, site)) {
        site_change(&replay->regions.cuts, cut.site);
        replay->regions.cuts.cold[cut.site].map_count++;
        replay->regions.cuts.cold[cut.site].map_bytes += record->size_bytes;
    }
    mapped_add(&replay->mapped, record->kind_address & WIRE_ADDRESS_MASK, record->size_bytes);
}

EVENT void on_munmap(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    take_time(replay, record->ticks, mode);
    replay->program.unmap_count++;
    replay->program.unmap_bytes += record->size_bytes;
    mapped_remove(&replay->mapped, record->kind_address & WIRE_ADDRESS_MASK, record->size_bytes);
}

EVENT void on_brk_grown(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    take_time(replay, record->ticks, mode);
    replay->program.brk_count++;
    replay->program.brk_bytes += record->size_bytes;
}

EVENT void on_brk_shrunk(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    take_time(replay, record->ticks, mode);
}

static void spend(struct replay *replay, uint32_t label, bool freed, uint64_t ticks)
{
    struct site_hot *hot =
        site_change(&replay->sites, regions_site(&replay->regions, label));

    *(freed ? &hot->free_time : &hot->alloc_time) += ticks;
    for EACH_CUT(replay, label) {
        hot = site_change(&replay->regions.cuts, cut.site);
        *(freed ? &hot->free_time : &hot->alloc_time) += ticks;
    }
}

/* The call that the thread's last record was of took so long; never longer than time itself. */
EVENT void on_spent(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    struct thread *thread = replay->running;
    bool freed = thread->spent_on == SPENT_ON_FREE;
    uint64_t ticks = address_of(record);

    (void)mode;
    if (!replay->threads.timed || thread->spent_on == SPENT_ON_NOTHING ||
        ticks > record->ticks) {
        count_malformed(replay);
        return;
    }
    *(freed ? &thread->metrics.free_time : &thread->metrics.alloc_time) += ticks;
    if (thread->spent_site != SPENT_NO_SITE)
        spend(replay, thread->spent_site, freed, ticks);
    thread->spent_on = SPENT_ON_NOTHING;
}

EVENT void on_stack(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    take_time(replay, record->ticks, mode);
    if (address_of(record) >= MAX_STACK_BYTES || record->size_bytes >= MAX_STACK_BYTES)
        count_malformed(replay);
    else
        thread_stack(replay->running, address_of(record), record->size_bytes,
                     wire_detail_node(record->detail));
}

/* The thread that a record of stacks is about; UINT32_MAX: it is not known. */
static uint32_t thread_with(const struct replay *replay, uint32_t tid)
{
    const struct thread *thread = replay->running;

    if (thread->metrics.tid != tid)
        thread = threads_find(&replay->threads, tid);
    return thread ? thread_number(replay, thread) : UINT32_MAX;
}

EVENT void on_stack_layer(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    struct stack_layer layer = {thread_with(replay, (uint32_t)(record->size_bytes >> 32)),
                                wire_detail_node(record->detail), address_of(record),
                                (uint32_t)record->size_bytes};

    take_time(replay, record->ticks, mode);
    if (layer.thread == UINT32_MAX || layer.bytes >= MAX_STACK_BYTES)
        count_malformed(replay);
    else
        depths_add_layer(&replay->depths, &layer);
}

EVENT void on_stack_peak(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    struct stack_peak peak = {thread_with(replay, (uint32_t)record->size_bytes),
                              wire_detail_node(record->detail), record->ticks, address_of(record)};

    take_time(replay, record->ticks, mode);
    if (peak.thread == UINT32_MAX || peak.bytes >= MAX_STACK_BYTES)
        count_malformed(replay);
    else
        depths_add_peak(&replay->depths, &peak);
}

/* ---- What the program says of itself ------------------------------------------------------- */

EVENT void on_mark(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    uint64_t said = address_of(record);

    take_time(replay, record->ticks, mode);
    if (said >> 32 >= WIRE_MARK_KINDS || (uint32_t)said >= MARKS_NAMES) {
        count_malformed(replay);
        return;
    }
    marks_add(&replay->marks,
              &(struct replay_mark){.ticks = record->ticks,
                                    .name = (uint32_t)said,
                                    .kind = (uint32_t)(said >> 32),
                                    .thread = thread_number(replay, replay->running),
                                    .live_bytes = replay->live_bytes,
                                    .live_count = live_blocks(replay, mode)});
}

EVENT void on_region_begin(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    take_time(replay, record->ticks, mode);
    if (address_of(record) >= MARKS_NAMES)
        count_malformed(replay);
    else
        regions_enter(&replay->regions, &replay->sites, replay->running,
                      (uint32_t)address_of(record), replay->last_ticks, replay->live_bytes);
}

EVENT void on_region_end(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    take_time(replay, record->ticks, mode);
    if (address_of(record) >= MARKS_NAMES)
        count_malformed(replay);
    else
        regions_leave(&replay->regions, replay->running, (uint32_t)address_of(record),
                      replay->last_ticks);
}

/* The block's life as one is over: its path has it among those that were freed. A pool's memory that
 * is no block (a mapping) is none of our business. */
EVENT void on_pool_chunk(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    uint64_t address = address_of(record);
    struct live_block block;

    take_time(replay, record->ticks, mode);
    if (!address || !live_table_find(&replay->live, address) ||
        !take_block(replay, address, record->ticks, &block, mode))
        return;
    if (mode == EVERY)
        live_table_place(&replay->chunks, address)->address = address;
    forget_newest(replay, &block);
    free_block(replay, &block, record->ticks, false, mode);
}

#define HANDLERS(X)                                                                                \
    X(on_void) X(on_free) X(on_realloc_begin) X(on_thread_start) X(on_thread_end) X(on_lost)       \
    X(on_allocation) X(on_failure) X(on_realloc_end) X(on_realloc_failed) X(on_free_at) X(on_mmap) \
    X(on_mmap_failed) X(on_munmap) X(on_brk_grown) X(on_brk_shrunk) X(on_spent) X(on_stack)     \
    X(on_stack_layer) X(on_stack_peak)                                                             \
    X(on_mark) X(on_region_begin) X(on_region_end) X(on_pool_chunk) X(on_pool_free)                     \
    X(on_pool_free_at)

#define X(handler)                                                                                 \
    static void handler##_EVERY(struct replay *replay, const struct wire_record *record)           \
    {                                                                                              \
        handler(replay, record, EVERY);                                                            \
    }                                                                                              \
    static void handler##_SAMPLED(struct replay *replay, const struct wire_record *record)         \
    {                                                                                              \
        handler(replay, record, SAMPLED);                                                          \
    }
HANDLERS(X)
#undef X

/* By the first byte of a record. What has no handler makes no sense. */
#define TABLE(mode)                                                                                \
    [WIRE_VOID] = on_void_##mode, [WIRE_FREE] = on_free_##mode,                                    \
    [WIRE_REALLOC_BEGIN] = on_realloc_begin_##mode, [WIRE_THREAD_START] = on_thread_start_##mode,  \
    [WIRE_THREAD_END] = on_thread_end_##mode, [WIRE_LOST] = on_lost_##mode,                        \
    [WIRE_MALLOC] = on_allocation_##mode, [WIRE_CALLOC] = on_allocation_##mode,                    \
    [WIRE_ALIGNED] = on_allocation_##mode, [WIRE_NEW] = on_allocation_##mode,                      \
    [WIRE_NEW_ARRAY] = on_allocation_##mode, [WIRE_MALLOC | WIRE_FAILED] = on_failure_##mode,      \
    [WIRE_CALLOC | WIRE_FAILED] = on_failure_##mode,                                               \
    [WIRE_ALIGNED | WIRE_FAILED] = on_failure_##mode,                                              \
    [WIRE_NEW | WIRE_FAILED] = on_failure_##mode,                                                  \
    [WIRE_NEW_ARRAY | WIRE_FAILED] = on_failure_##mode,                                            \
    [WIRE_REALLOC_END] = on_realloc_end_##mode,                                                    \
    [WIRE_REALLOC_END | WIRE_FAILED] = on_realloc_failed_##mode,                                   \
    [WIRE_FREE_AT] = on_free_at_##mode, [WIRE_MMAP] = on_mmap_##mode,                              \
    [WIRE_MMAP | WIRE_FAILED] = on_mmap_failed_##mode, [WIRE_MUNMAP] = on_munmap_##mode,           \
    [WIRE_BRK] = on_brk_grown_##mode, [WIRE_BRK | WIRE_FAILED] = on_brk_shrunk_##mode,            \
    [WIRE_STACK_LAYER] = on_stack_layer_##mode, [WIRE_STACK_PEAK] = on_stack_peak_##mode,          \
    [WIRE_SPENT] = on_spent_##mode, [WIRE_STACK] = on_stack_##mode,                                \
    [WIRE_POOL] = on_allocation_##mode, [WIRE_POOL_CHUNK] = on_pool_chunk_##mode,                  \
    [WIRE_POOL_FREE] = on_pool_free_##mode, [WIRE_POOL_FREE_AT] = on_pool_free_at_##mode,          \
    [WIRE_MARK] = on_mark_##mode, [WIRE_REGION_BEGIN] = on_region_begin_##mode,                    \
    [WIRE_REGION_END] = on_region_end_##mode
static record_handler *const handlers[][256] = {
    [EVERY] = {TABLE(EVERY)},
    [SAMPLED] = {TABLE(SAMPLED), [WIRE_FREE | WIRE_NEWEST] = on_free_SAMPLED,
                 [WIRE_FREE_AT | WIRE_NEWEST] = on_free_at_SAMPLED,
                 [WIRE_POOL_FREE | WIRE_NEWEST] = on_pool_free_SAMPLED,
                 [WIRE_POOL_FREE_AT | WIRE_NEWEST] = on_pool_free_at_SAMPLED},
};

/* ---- Cursors ------------------------------------------------------------------------------- */

/* The whole records in [at, end). Nothing is assumed of their alignment. */
struct cursor {
    const unsigned char *at, *end;
};

static inline uint64_t word(const unsigned char *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof(value));
    return value;
}

/* Bytes of the record at the cursor; 0 if there is no whole one any more. */
static inline size_t cursor_record_bytes(const struct cursor *cursor)
{
    size_t left = (size_t)(cursor->end - cursor->at);
    size_t bytes;

    if (left < 16)
        return 0;
    bytes = wire_record_bytes(word(cursor->at));
    return bytes <= left ? bytes : 0;
}

static inline void ask_for_slot(const struct replay *replay, struct cursor *far)
{
    size_t bytes = cursor_record_bytes(far);
    uint64_t address;

    if (!bytes)
        return;
    address = word(far->at) & WIRE_ADDRESS_MASK;
    __builtin_prefetch(live_table_home(&replay->live, address), 1);
    if (bytes == 32)
        sites_number_prefetch(&replay->sites, wire_detail_node(word(far->at + 24)));
    far->at += bytes;
}

static inline void ask_for_site_of_block(const struct replay *replay, const struct cursor *near)
{
    uint64_t address = word(near->at) & WIRE_ADDRESS_MASK;
    struct live_block *block = address ? live_table_find(&replay->live, address) : NULL;

    if (block)
        site_prefetch(&replay->sites, regions_site(&replay->regions, block->site));
}

static inline void ask_for_site(const struct replay *replay, struct cursor *near)
{
    size_t bytes = cursor_record_bytes(near);

    if (bytes == 32) {
        uint32_t number = sites_number(&replay->sites, wire_detail_node(word(near->at + 24)));
        if (number)
            site_prefetch(&replay->sites, number - 1);
        if ((near->at[7] & ~WIRE_NEWEST) == WIRE_FREE_AT) /* its top byte: the kind */
            ask_for_site_of_block(replay, near);
    } else if (bytes == 16) {
        ask_for_site_of_block(replay, near);
    }
    near->at += bytes;
}

static inline void replay_record(struct replay *replay, const unsigned char *at, size_t bytes)
{
    struct wire_record record = {word(at), word(at + 8), 0, 0};
    record_handler *handler;

    if (bytes == 32) {
        record.size_bytes = word(at + 16);
        record.detail = word(at + 24);
    }
    handler = replay->handlers[wire_kind(record.kind_address)];
    if (handler)
        handler(replay, &record);
    else
        count_malformed(replay);
}

static size_t bytes_of(const struct replay_run *runs, size_t count)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += runs[i].bytes;
    return bytes;
}

void replay_runs(struct replay *replay, const struct replay_run *runs, size_t count,
                 const void *records)
{
    const unsigned char *begin = records;
    struct cursor far = {begin, begin + bytes_of(runs, count)}, near = far, now = far;
    size_t record_bytes;

    for (int i = 0; i < FAR_RECORDS; i++)
        ask_for_slot(replay, &far);
    for (int i = 0; i < NEAR_RECORDS; i++)
        ask_for_site(replay, &near);
    for (const struct replay_run *run = runs; run < runs + count; run++) {
        assert(run->thread < replay->threads.stream_count);
        replay->stream = run->thread;
        replay->running = threads_of_stream(&replay->threads, run->thread);
        now.end = now.at + run->bytes;
        while ((record_bytes = cursor_record_bytes(&now))) {
            ask_for_slot(replay, &far);
            ask_for_site(replay, &near);
            replay_record(replay, now.at, record_bytes);
            now.at += record_bytes;
        }
        if (now.at != now.end)
            count_malformed(replay);
        now.at = now.end;
    }
}

void replay_records(struct replay *replay, uint32_t thread, const void *records, size_t bytes)
{
    struct replay_run run = {thread, (uint32_t)bytes};

    assert(bytes <= UINT32_MAX);
    replay_runs(replay, &run, 1, records);
}

/* ---- A replay ------------------------------------------------------------------------------ */

struct replay *replay_new(uint64_t start_ticks, double tick_ns)
{
    struct replay *replay = replay_calloc(1, sizeof(*replay));

    replay->last_ticks = start_ticks;
    replay->handlers = handlers[EVERY];
    replay->owner_mask = LIVE_NO_OWNER;
    live_table_init(&replay->live, FIRST_LIVE_LOG2);
    live_table_init(&replay->owed, FIRST_OWED_LOG2);
    live_table_init(&replay->chunks, FIRST_OWED_LOG2);
    sites_init(&replay->sites);
    timeline_init(&replay->timeline, start_ticks, tick_ns);
    peaks_init(&replay->peaks);
    exchanges_init(&replay->exchanges);
    replay->distributions = distributions_new(start_ticks, replay->timeline.shift);
    return replay;
}

/* ---- A window ------------------------------------------------------------------------------ */

/* Every block that is counted as alive. */
static void each_live_block(struct replay *replay,
                            void (*visit)(struct live_block *block, void *context), void *context)
{
    struct threads *threads = &replay->threads;

    for (size_t i = 0; i <= replay->live.mask; i++)
        if (replay->live.slots[i].address)
            visit(&replay->live.slots[i], context);
    for (size_t i = 0; i < threads->count; i++)
        for (size_t k = 0; k < threads->all[i].pending_count; k++)
            if (threads->all[i].pending[k].old == REALLOC_OLD_LIVE)
                visit(&threads->all[i].pending[k].block, context);
}

struct keep {
    const struct regions *regions;
    bool *sites, *labels;
};

static void keep_site(struct live_block *block, void *context)
{
    struct keep *keep = context;

    keep->sites[regions_site(keep->regions, block->site)] = true;
    if (block->site & REGIONS_LABEL)
        keep->labels[block->site & ~REGIONS_LABEL] = true;
}

static void renumber_block(struct live_block *block, void *context)
{
    const uint32_t *numbers = context;

    if (!(block->site & REGIONS_LABEL)) /* labels keep their numbers */
        block->site = numbers[block->site];
}

static void restart_sites(struct replay *replay, uint64_t start_ticks)
{
    struct regions *regions = &replay->regions;
    struct keep keep = {regions, replay_calloc(replay->sites.count + (size_t)1, sizeof(bool)),
                        replay_calloc(regions->label_count + (size_t)1, sizeof(bool))};
    uint32_t *numbers;

    each_live_block(replay, keep_site, &keep);
    numbers = sites_restart(&replay->sites, keep.sites, start_ticks);
    each_live_block(replay, renumber_block, numbers);
    regions_restart(regions, keep.labels, numbers, &replay->threads, start_ticks,
                    replay->live_bytes);
    free(numbers);
    free(keep.labels);
    free(keep.sites);
}

static void forget_newest_blocks(struct threads *threads)
{
    for (size_t i = 0; i < threads->count; i++)
        for (size_t k = 0; k < threads->all[i].pending_count; k++)
            threads->all[i].pending[k].newest = false;
}

/* The frees that are still owed can still be settled. */
static uint64_t owed_frees(const struct replay *replay)
{
    uint64_t count = 0;

    for (size_t i = 0; i <= replay->owed.mask; i++)
        if (replay->owed.slots[i].address)
            count += replay->owed.slots[i].size_bytes;
    return count;
}

static void restart_details(struct replay *replay, uint64_t start_ticks, double tick_ns)
{
    curves_release(&replay->curves);
    replay->curves = (struct curves){0};
    timeline_release(&replay->timeline);
    timeline_init(&replay->timeline, start_ticks, tick_ns);
    peaks_init(&replay->peaks);
    exchanges_release(&replay->exchanges);
    exchanges_init(&replay->exchanges);
    distributions_free(replay->distributions);
    replay->distributions = distributions_new(start_ticks, replay->timeline.shift);
}

void replay_restart(struct replay *replay, uint64_t start_ticks, double tick_ns)
{
    uint64_t owed = owed_frees(replay);

    restart_sites(replay, start_ticks);
    forget_newest_blocks(&replay->threads);
    restart_details(replay, start_ticks, tick_ns);
    threads_restart(&replay->threads, start_ticks);
    marks_restart(&replay->marks);
    replay->program = (struct program_metrics){.replaced_blocks = owed};
    replay->alloc_rest = replay->free_rest = 0;
    if (replay->last_ticks < start_ticks)
        replay->last_ticks = start_ticks;
    for (uint32_t site = 0; site < replay->sites.count; site++)
        if (site_left_band(&replay->sites, site))
            curves_note(&replay->curves, &replay->sites, site, start_ticks);
    if (replay->last_ticks >= replay->timeline.end_ticks)
        begin_interval(replay, mode_of(replay));
    replay->peak_bytes = replay->live_bytes;
    replay->peak_ticks = start_ticks;
    replay->running = NULL; /* whoever it was */
    see_levels(replay, mode_of(replay));
}

void replay_free(struct replay *replay)
{
    if (!replay)
        return;
    mapped_release(&replay->mapped);
    depths_release(&replay->depths);
    distributions_free(replay->distributions);
    exchanges_release(&replay->exchanges);
    curves_release(&replay->curves);
    threads_release(&replay->threads);
    timeline_release(&replay->timeline);
    sites_release(&replay->sites);
    regions_release(&replay->regions);
    marks_release(&replay->marks);
    live_table_release(&replay->chunks);
    live_table_release(&replay->owed);
    live_table_release(&replay->live);
    free(replay);
}

void replay_sample(struct replay *replay, uint64_t sample_bytes)
{
    assert(!replay->program.events && sample_bytes <= 1u << 30);
    if (!sample_bytes)
        return;
    replay->sample_bytes = sample_bytes;
    replay->handlers = handlers[SAMPLED];
    sites_sample(&replay->sites);
}

void replay_pages(struct replay *replay)
{
    replay_sample(replay, WIRE_PAGE_BYTES);
    replay->pages = true;
    replay->sites.levels_only = true;
}

void replay_adapt(struct replay *replay)
{
    replay_sample(replay, WIRE_LEVEL_UNIT);
    replay->adapts = true;
    replay->owner_mask = LIVE_NO_OWNER >> 3;
}

void replay_know_frees(struct replay *replay)
{
    sites_know_frees(&replay->sites);
}

void replay_know_times(struct replay *replay)
{
    threads_know_times(&replay->threads);
    replay->sites.timed = true;
}

uint32_t replay_thread_begin(struct replay *replay, uint32_t tid, uint64_t ticks)
{
    return threads_add_stream(&replay->threads, tid, ticks);
}

void replay_thread_end(struct replay *replay, uint32_t thread, uint64_t ticks)
{
    struct thread_metrics *metrics;

    assert(thread < replay->threads.stream_count);
    metrics = &threads_of_stream(&replay->threads, thread)->metrics;
    if (!metrics->end_ticks)
        metrics->end_ticks = ticks;
}

void replay_thread_waited(struct replay *replay, uint32_t thread, uint64_t waits, uint64_t ticks)
{
    struct thread_metrics *metrics;

    assert(thread < replay->threads.stream_count);
    metrics = &threads_of_stream(&replay->threads, thread)->metrics;
    metrics->waits += waits;
    metrics->wait_ticks += ticks;
}

void replay_lost(struct replay *replay, uint64_t events)
{
    replay->program.lost_events += events;
}

void replay_memory_sample(struct replay *replay, uint64_t ticks, uint64_t physical_bytes,
                          uint64_t virtual_bytes, uint64_t tool_bytes)
{
    struct timeline_bucket *bucket = timeline_bucket_at(&replay->timeline, ticks);

    timeline_level_see(&bucket->physical, physical_bytes);
    timeline_level_see(&bucket->virt, virtual_bytes);
    timeline_level_see(&bucket->tool, tool_bytes);
}

/* ---- What came out ------------------------------------------------------------------------- */

static bool settle_block(struct sites *sites, uint32_t first, uint32_t end)
{
    bool changed = false;

    for (uint32_t i = first; i < end; i++)
        changed |= site_settle(sites, i);
    return changed;
}

size_t replay_changed_blocks(struct replay *replay, replay_visit *visit, void *context)
{
    const struct sites *sites = &replay->sites;
    struct replay_site *block = replay_calloc(REPLAY_BLOCK_SITES, sizeof(*block));
    size_t visited = 0;

    for (uint32_t first = 0; first < sites->count; first += REPLAY_BLOCK_SITES) {
        uint32_t rest = sites->count - first;
        uint32_t count = rest < REPLAY_BLOCK_SITES ? rest : REPLAY_BLOCK_SITES;
        if (!settle_block(&replay->sites, first, first + count))
            continue;
        for (uint32_t i = 0; i < count; i++) {
            block[i].node = sites->cold[first + i].node;
            site_metrics(sites, first + i, &block[i].metrics);
        }
        visit(context, first, block, count);
        visited++;
    }
    free(block);
    return visited;
}

void replay_program(struct replay *replay, struct program_metrics *out)
{
    *out = replay->program;
    sites_total(&replay->sites, &out->total);
    out->total.peak_bytes = replay->peak_bytes;
    out->total.peak_ticks = replay->peak_ticks;
    if (!replay->sample_bytes)
        return;
    out->live_peak_count = weight_whole(replay->program.live_peak_count);
    if (out->live_peak_count < out->total.live_count) /* a sum of rounded counts */
        out->live_peak_count = out->total.live_count;
}

bool replay_knows_calls(const struct replay *replay)
{
    return !replay->pages;
}

size_t replay_thread_count(const struct replay *replay)
{
    return replay->threads.count;
}

const struct thread_metrics *replay_thread(const struct replay *replay, size_t index)
{
    return index < replay->threads.count ? &replay->threads.all[index].metrics : NULL;
}

const struct timeline_bucket *replay_timeline(const struct replay *replay, size_t *count,
                                              uint64_t *bucket_ticks)
{
    struct timeline provisional = replay->timeline; /* the buckets themselves are shared */

    timeline_carry(&provisional, replay->live_bytes, live_blocks(replay, mode_of(replay)));
    *count = replay->timeline.count;
    *bucket_ticks = 1ull << replay->timeline.shift;
    return replay->timeline.buckets;
}

/* Rows of a sample: their counts, and the bytes that follow from those, are in 1024ths. */
struct whole_rows {
    void (*visit_row)(void *context, const struct distribution_row *row);
    void (*visit_exchange)(void *context, const struct exchange *exchange);
    void *context;
};

static void visit_whole_row(void *context, const struct distribution_row *row)
{
    const struct whole_rows *whole = context;
    struct distribution_row in_blocks = *row;

    in_blocks.count = weight_whole(row->count);
    in_blocks.bytes = weight_whole(row->bytes);
    whole->visit_row(whole->context, &in_blocks);
}

static void visit_whole_exchange(void *context, const struct exchange *exchange)
{
    const struct whole_rows *whole = context;
    struct exchange in_blocks = *exchange;

    in_blocks.count = weight_whole(exchange->count);
    whole->visit_exchange(whole->context, &in_blocks);
}

void replay_distributions(const struct replay *replay,
                          void (*visit)(void *context, const struct distribution_row *row),
                          void *context)
{
    struct whole_rows whole = {visit, NULL, context};

    if (replay->pages)
        return;
    if (mode_of(replay) == SAMPLED)
        distributions_visit(replay->distributions, replay->timeline.shift, visit_whole_row, &whole);
    else
        distributions_visit(replay->distributions, replay->timeline.shift, visit, context);
}

size_t replay_peaks(struct replay *replay, struct peak *peaks)
{
    return peaks_list(&replay->peaks, peaks_view(replay), peaks);
}

void replay_changed_curves(struct replay *replay,
                           void (*visit)(void *context, const struct curve *curve), void *context)
{
    curves_visit(&replay->curves, &replay->sites, visit, context);
}

void replay_exchanges(const struct replay *replay,
                      void (*visit)(void *context, const struct exchange *exchange), void *context)
{
    struct whole_rows whole = {NULL, visit, context};

    if (replay->pages)
        return;
    if (mode_of(replay) == SAMPLED)
        exchanges_visit(&replay->exchanges, visit_whole_exchange, &whole);
    else
        exchanges_visit(&replay->exchanges, visit, context);
}

void replay_stacks(const struct replay *replay,
                   void (*visit_peak)(void *context, const struct stack_peak *peak),
                   void (*visit_layer)(void *context, const struct stack_layer *layer),
                   void *context)
{
    const struct depths *depths = &replay->depths;

    for (size_t i = 0; i < depths->growth_count; i++)
        for (uint32_t k = 0; k < depths->growths[i].count; k++)
            visit_peak(context, &depths->growths[i].peaks[k]);
    for (size_t i = 0; i < depths->layer_count; i++)
        visit_layer(context, &depths->layers[i]);
}

/* ---- Marks and regions --------------------------------------------------------------------- */

void replay_name(struct replay *replay, uint32_t number, const char *text)
{
    marks_name(&replay->marks, number, text);
}

const char *replay_name_of(const struct replay *replay, uint32_t number)
{
    return marks_name_of(&replay->marks, number);
}

const struct replay_mark *replay_marks(const struct replay *replay, size_t *count)
{
    *count = replay->marks.count;
    return replay->marks.all;
}

struct replay_region *replay_regions(const struct replay *replay, size_t *count)
{
    struct replay_region *all = replay_calloc(replay->regions.count + (size_t)1, sizeof(*all));

    *count = replay->regions.count;
    if (*count)
        regions_list(&replay->regions, &replay->threads, replay->last_ticks, all);
    return all;
}

struct replay_untold replay_untold(const struct replay *replay)
{
    return (struct replay_untold){replay->regions.lost, replay->regions.unmatched,
                                  replay->marks.lost};
}

static void copy_cut(const struct regions *regions, uint32_t cut, struct replay_region_site *out)
{
    const struct region_cut *key = &regions->cut_keys[regions->cuts.cold[cut].node];

    out->region = key->region;
    out->node = key->node;
    site_metrics(&regions->cuts, cut, &out->metrics);
}

size_t replay_changed_region_blocks(struct replay *replay, replay_visit_regions *visit,
                                    void *context)
{
    struct regions *regions = &replay->regions;
    struct replay_region_site *block;
    size_t visited = 0;

    if (!regions->cuts.count)
        return 0;
    block = replay_calloc(REPLAY_BLOCK_SITES, sizeof(*block));
    regions->cuts.peak_number = replay->sites.peak_number;
    for (uint32_t first = 0; first < regions->cuts.count; first += REPLAY_BLOCK_SITES) {
        uint32_t rest = regions->cuts.count - first;
        uint32_t count = rest < REPLAY_BLOCK_SITES ? rest : REPLAY_BLOCK_SITES;
        if (!settle_block(&regions->cuts, first, first + count))
            continue;
        for (uint32_t i = 0; i < count; i++)
            copy_cut(regions, first + i, &block[i]);
        visit(context, first, block, count);
        visited++;
    }
    free(block);
    return visited;
}

/* ---- What the program asks ----------------------------------------------------------------- */

static void count_of_program(const struct replay *replay, struct replay_counters *out)
{
    *out = (struct replay_counters){
        .current_bytes = replay->live_bytes,
        .peak_bytes = replay->watches_all ? replay->watched_peak_bytes : replay->peak_bytes,
        .live_count = live_blocks(replay, mode_of(replay)),
    };
    for (size_t i = 0; i < replay->threads.count; i++) {
        out->total_bytes += replay->threads.all[i].metrics.alloc_bytes;
        out->count += replay->threads.all[i].metrics.alloc_count;
    }
}

bool replay_counters(const struct replay *replay, uint32_t tid, struct replay_counters *out)
{
    const struct thread *thread = tid ? threads_find(&replay->threads, tid) : NULL;

    if (!tid)
        count_of_program(replay, out);
    else if (thread)
        *out = (struct replay_counters){
            .current_bytes = thread->metrics.live_bytes,
            .peak_bytes = thread->is_watched ? thread->watched_peak_bytes
                                             : thread->metrics.peak_bytes,
            .total_bytes = thread->metrics.alloc_bytes,
            .count = thread->metrics.alloc_count,
            .live_count = UINT64_MAX,
        };
    return !tid || thread;
}

void replay_watch_peak(struct replay *replay, uint32_t tid)
{
    struct thread *thread = tid ? threads_find(&replay->threads, tid) : NULL;

    replay->is_watched = true;
    if (!tid) {
        replay->watches_all = true;
        replay->watched_peak_bytes = replay->live_bytes;
    } else if (thread) {
        thread->is_watched = true;
        thread->watched_peak_bytes = thread->metrics.live_bytes;
    }
}

/* ---- Live blocks --------------------------------------------------------------------------- */

static void visit_block(const struct replay *replay, const struct live_block *block,
                        void (*visit)(void *context, const struct replay_block *block),
                        void *context)
{
    uint32_t owner = live_block_owner(block) & replay->owner_mask;
    struct replay_block out = {
        .address = block->address,
        .size_bytes = block->size_bytes,
        .birth_ticks = block->birth_ticks,
        .node = replay->sites.cold[regions_site(&replay->regions, block->site)].node,
        .owner = owner == replay->owner_mask ? UINT32_MAX : owner,
    };

    visit(context, &out);
}

size_t replay_live_count(const struct replay *replay)
{
    const struct threads *threads = &replay->threads;
    size_t count = replay->live.count;

    for (size_t i = 0; i < threads->count; i++)
        for (size_t k = 0; k < threads->all[i].pending_count; k++)
            count += threads->all[i].pending[k].old == REALLOC_OLD_LIVE;
    return count;
}

void replay_live_blocks(const struct replay *replay,
                        void (*visit)(void *context, const struct replay_block *block),
                        void *context)
{
    const struct threads *threads = &replay->threads;

    for (size_t i = 0; i <= replay->live.mask; i++)
        if (replay->live.slots[i].address)
            visit_block(replay, &replay->live.slots[i], visit, context);
    for (size_t i = 0; i < threads->count; i++)
        for (size_t k = 0; k < threads->all[i].pending_count; k++)
            if (threads->all[i].pending[k].old == REALLOC_OLD_LIVE)
                visit_block(replay, &threads->all[i].pending[k].block, visit, context);
}

void replay_mapped(const struct replay *replay,
                   void (*visit)(void *context, uint64_t start, uint64_t end), void *context)
{
    for (size_t i = 0; i < replay->mapped.count; i++)
        visit(context, replay->mapped.ranges[i].start, replay->mapped.ranges[i].end);
}

/* ---- Threads, as others see them ----------------------------------------------------------- */

void replay_thread_named(struct replay *replay, uint32_t tid, const char *name)
{
    struct thread *thread = threads_find(&replay->threads, tid);

    if (thread)
        snprintf(thread->metrics.name, sizeof(thread->metrics.name), "%s", name);
}

void replay_thread_stack(struct replay *replay, uint32_t tid, uint64_t deepest_bytes,
                         uint64_t touched_bytes, uint32_t node)
{
    struct thread *thread = threads_find(&replay->threads, tid);

    if (thread)
        thread_stack(thread, deepest_bytes, touched_bytes, node);
}

uint64_t replay_event_count(const struct replay *replay)
{
    return replay->program.events;
}

uint64_t replay_last_ticks(const struct replay *replay)
{
    return replay->last_ticks;
}

size_t replay_memory_bytes(const struct replay *replay)
{
    return sizeof(*replay) + live_table_memory_bytes(&replay->live) +
           live_table_memory_bytes(&replay->owed) + live_table_memory_bytes(&replay->chunks) +
           regions_memory_bytes(&replay->regions) + sites_memory_bytes(&replay->sites) +
           threads_memory_bytes(&replay->threads) + curves_memory_bytes(&replay->curves) +
           exchanges_memory_bytes(&replay->exchanges) + depths_memory_bytes(&replay->depths) +
           distributions_memory_bytes(replay->distributions) +
           REPLAY_TIMELINE_BUCKETS * sizeof(struct timeline_bucket);
}
