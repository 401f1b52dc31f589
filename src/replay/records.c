/* What each record does, and the table that says which one does what; those that nearly all are
 * have a header of their own (steps.h). */
#include "replay/steps.h"

#define MAX_STACK_BYTES (1ull << 47) /* no address space is larger */

EVENT void on_allocation(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    struct clue clue = clue_of(replay, address_of(record));

    on_allocation_at_clue(replay, record, &clue, mode);
}

EVENT void on_free(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    struct clue clue = clue_of(replay, address_of(record));

    on_free_at_clue(replay, record, &clue, mode);
}

static void on_void(struct replay *replay, const struct wire_record *record)
{
    (void)replay;
    (void)record;
}

static void fail(struct replay *replay, const struct wire_record *record, uint64_t count)
{
    uint32_t site = site_of(replay, record), label = label_here(replay, site);

    take_time(replay, record->ticks);
    site_change(&replay->sites, site);
    site_rare(&replay->sites, site)->failed_count += count;
    for EACH_CUT(replay, label) {
        site_change(&replay->regions.cuts, cut.site);
        site_rare(&replay->regions.cuts, cut.site)->failed_count += count;
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

EVENT void on_pool_free(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    struct clue clue = clue_of(replay, address_of(record));

    take_time(replay, record->ticks);
    free_of(replay, record, &clue, mode);
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
    struct clue clue = clue_of(replay, address_of(record));
    struct live_block block;

    if (!address_of(record) ||
        !take_block(replay, address_of(record), &clue, record->ticks, &block, mode))
        return;
    if (replay->sites.freed)
        credit_freeing_path(replay, record, &block);
    free_taken(replay, record, &block, mode);
}

EVENT void on_free_at(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    take_time(replay, record->ticks);
    thread_spends_on(replay->running, SPENT_ON_FREE, SPENT_NO_SITE);
    if (!ends_chunk(replay, record))
        free_at(replay, record, mode);
}

EVENT void on_pool_free_at(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    take_time(replay, record->ticks);
    free_at(replay, record, mode);
}

EVENT void on_realloc_begin(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    struct pending_realloc *pending = thread_push_realloc(&replay->threads, replay->running);
    uint64_t address = address_of(record);
    struct clue clue = clue_of(replay, address);

    take_time(replay, record->ticks);
    pending->old = address ? REALLOC_OLD_UNKNOWN : REALLOC_OLD_NONE;
    pending->block.address = address;
    if (address && !ends_chunk(replay, record) &&
        take_block(replay, address, &clue, record->ticks, &pending->block, mode)) {
        pending->old = REALLOC_OLD_LIVE;
        pending->newest = forget_newest(replay, &pending->block);
        pending->births = pending->newest ? owner_of(replay, &pending->block)->metrics.alloc_count
                                          : 0;
    }
}

/* Has the owner of the block, whoever reallocates it, allocated nothing since the realloc began?
 * Not known of a sample. */
static bool still_newest(struct replay *replay, const struct pending_realloc *pending)
{
    return pending->newest && !replay->sample_bytes &&
           pending->births == owner_of(replay, &pending->block)->metrics.alloc_count;
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
        take_time(replay, record->ticks);
    else
        on_failure(replay, record, mode);
    if (pending.old != REALLOC_OLD_LIVE)
        return;
    if (place_block(replay, &pending.block, live_hash(pending.block.address), mode) &&
        still_newest(replay, &pending))
        owner_of(replay, &pending.block)->newest_address = pending.block.address;
    see_levels(replay, mode);
}

/* The old block of a realloc that returned another. */
EVENT void end_old(struct replay *replay, const struct wire_record *record,
                   const struct pending_realloc *pending, enum mode mode)
{
    if (pending->old != REALLOC_OLD_LIVE)
        return;
    credit_free(replay, owner_of(replay, &pending->block), &pending->block, mode);
    end_life(replay, &pending->block, record->ticks, mode);
}

EVENT void reallocate(struct replay *replay, const struct wire_record *record,
                      const struct pending_realloc *pending, enum mode mode)
{
    uint32_t site = site_of(replay, record), label;
    bool moved = address_of(record) != pending->block.address;
    struct weight weight = weigh_record(replay, record, mode);
    struct site_rare *rare;

    end_old(replay, record, pending, mode);
    if (pending->old == REALLOC_OLD_LIVE)
        distributions_realloc(replay->distributions, pending->block.size_bytes,
                              counted_size(record), weight.count);
    rare = site_rare(&replay->sites, site);
    rare->realloc_count += weight.count;
    rare->realloc_bytes += weight.bytes;
    rare->realloc_moved += moved ? weight.count : 0;
    label = begin_life(replay, record, live_hash(address_of(record)), site, weight, true, moved,
                       mode);
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

    take_time(replay, record->ticks);
    thread_spends_on(replay->running, SPENT_ON_FREE, SPENT_NO_SITE);
    if (address_of(record) && pending.old == REALLOC_OLD_NONE) {
        struct clue clue = clue_of(replay, address_of(record));
        allocate(replay, record, &clue, mode);
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

static void on_thread_start(struct replay *replay, const struct wire_record *record)
{
    take_time(replay, record->ticks);
    if (replay->running->announced) /* another thread is over, whether it said so or not */
        regions_thread_ends(&replay->regions, replay->running, replay->last_ticks);
    threads_announce(&replay->threads, replay->stream, (uint32_t)address_of(record), record->ticks);
    replay->running = threads_of_stream(&replay->threads, replay->stream);
}

static void on_thread_end(struct replay *replay, const struct wire_record *record)
{
    take_time(replay, record->ticks);
    replay->running->metrics.end_ticks = record->ticks;
    regions_thread_ends(&replay->regions, replay->running, replay->last_ticks);
}

static void on_lost(struct replay *replay, const struct wire_record *record)
{
    take_time(replay, record->ticks);
    replay->program.lost_events += address_of(record);
}

static void count_map(struct sites *sites, uint32_t site, uint64_t bytes)
{
    struct site_rare *rare = site_rare(sites, site);

    site_change(sites, site);
    rare->map_count++;
    rare->map_bytes += bytes;
}

static void on_mmap(struct replay *replay, const struct wire_record *record)
{
    uint32_t site = site_of(replay, record);

    take_time(replay, record->ticks);
    count_map(&replay->sites, site, record->size_bytes);
    for EACH_CUT(replay, label_here(replay, site))
        count_map(&replay->regions.cuts, cut.site, record->size_bytes);
    mapped_add(&replay->mapped, record->kind_address & WIRE_ADDRESS_MASK, record->size_bytes,
               record->ticks);
}

static void on_munmap(struct replay *replay, const struct wire_record *record)
{
    take_time(replay, record->ticks);
    replay->program.unmap_count++;
    replay->program.unmap_bytes += record->size_bytes;
    mapped_remove(&replay->mapped, record->kind_address & WIRE_ADDRESS_MASK, record->size_bytes,
                  record->ticks - wire_detail_ticks(record->detail));
}

static void on_brk_grown(struct replay *replay, const struct wire_record *record)
{
    take_time(replay, record->ticks);
    replay->program.brk_count++;
    replay->program.brk_bytes += record->size_bytes;
}

static void on_brk_shrunk(struct replay *replay, const struct wire_record *record)
{
    take_time(replay, record->ticks);
}

static void spend_at(struct sites *sites, uint32_t site, bool freed, uint64_t ticks)
{
    struct site_times *times = &sites->times[site];

    site_change(sites, site);
    *(freed ? &times->free_time : &times->alloc_time) += ticks;
}

static void spend(struct replay *replay, uint32_t label, bool freed, uint64_t ticks)
{
    spend_at(&replay->sites, regions_site(&replay->regions, label), freed, ticks);
    for EACH_CUT(replay, label)
        spend_at(&replay->regions.cuts, cut.site, freed, ticks);
}

/* The call that the thread's last record was of took so long; never longer than time itself. */
static void on_spent(struct replay *replay, const struct wire_record *record)
{
    struct thread *thread = replay->running;
    bool freed = thread->spent_on == SPENT_ON_FREE;
    uint64_t ticks = address_of(record);

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

static void on_stack(struct replay *replay, const struct wire_record *record)
{
    take_time(replay, record->ticks);
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

static void on_stack_layer(struct replay *replay, const struct wire_record *record)
{
    struct stack_layer layer = {thread_with(replay, (uint32_t)(record->size_bytes >> 32)),
                                wire_detail_node(record->detail), address_of(record),
                                (uint32_t)record->size_bytes};

    take_time(replay, record->ticks);
    if (layer.thread == UINT32_MAX || layer.bytes >= MAX_STACK_BYTES)
        count_malformed(replay);
    else
        depths_add_layer(&replay->depths, &layer);
}

static void on_stack_peak(struct replay *replay, const struct wire_record *record)
{
    struct stack_peak peak = {thread_with(replay, (uint32_t)record->size_bytes),
                              wire_detail_node(record->detail), record->ticks, address_of(record)};

    take_time(replay, record->ticks);
    if (peak.thread == UINT32_MAX || peak.bytes >= MAX_STACK_BYTES)
        count_malformed(replay);
    else
        depths_add_peak(&replay->depths, &peak);
}

/* ---- What the program says of itself ------------------------------------------------------- */

EVENT void on_mark(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    uint64_t said = address_of(record);

    take_time(replay, record->ticks);
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

static void on_region_begin(struct replay *replay, const struct wire_record *record)
{
    take_time(replay, record->ticks);
    listen_to_levels(replay); /* the region does */
    if (address_of(record) >= MARKS_NAMES)
        count_malformed(replay);
    else
        regions_enter(&replay->regions, &replay->sites, replay->running,
                      (uint32_t)address_of(record), replay->last_ticks, replay->live_bytes);
}

static void on_region_end(struct replay *replay, const struct wire_record *record)
{
    take_time(replay, record->ticks);
    if (address_of(record) >= MARKS_NAMES)
        count_malformed(replay);
    else
        regions_leave(&replay->regions, replay->running, (uint32_t)address_of(record),
                      replay->last_ticks);
}

/* The block's life as one is over: its path has it among those that were freed. A pool's memory
 * that is no block (a mapping) is none of our business. */
EVENT void on_pool_chunk(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    uint64_t address = address_of(record);
    struct clue clue = clue_of(replay, address);
    struct live_block block;

    take_time(replay, record->ticks);
    if (!address || !live_table_find(&replay->live, address) ||
        !take_block(replay, address, &clue, record->ticks, &block, mode))
        return;
    if (mode == EVERY)
        live_table_place(&replay->chunks, address)->address = address;
    forget_newest(replay, &block);
    free_block(replay, &block, record->ticks, false, mode);
}

/* Those that weigh blocks. */
#define HANDLERS(X)                                                                                \
    X(on_free) X(on_realloc_begin) X(on_allocation) X(on_failure) X(on_realloc_end)                \
    X(on_realloc_failed) X(on_free_at) X(on_mmap_failed) X(on_mark) X(on_pool_chunk)               \
    X(on_pool_free) X(on_pool_free_at)

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
    [WIRE_VOID] = on_void, [WIRE_FREE] = on_free_##mode,                                           \
    [WIRE_REALLOC_BEGIN] = on_realloc_begin_##mode, [WIRE_THREAD_START] = on_thread_start,         \
    [WIRE_THREAD_END] = on_thread_end, [WIRE_LOST] = on_lost,                                      \
    [WIRE_MALLOC] = on_allocation_##mode, [WIRE_CALLOC] = on_allocation_##mode,                    \
    [WIRE_ALIGNED] = on_allocation_##mode, [WIRE_NEW] = on_allocation_##mode,                      \
    [WIRE_NEW_ARRAY] = on_allocation_##mode, [WIRE_MALLOC | WIRE_FAILED] = on_failure_##mode,      \
    [WIRE_CALLOC | WIRE_FAILED] = on_failure_##mode,                                               \
    [WIRE_ALIGNED | WIRE_FAILED] = on_failure_##mode,                                              \
    [WIRE_NEW | WIRE_FAILED] = on_failure_##mode,                                                  \
    [WIRE_NEW_ARRAY | WIRE_FAILED] = on_failure_##mode,                                            \
    [WIRE_REALLOC_END] = on_realloc_end_##mode,                                                    \
    [WIRE_REALLOC_END | WIRE_FAILED] = on_realloc_failed_##mode,                                   \
    [WIRE_FREE_AT] = on_free_at_##mode, [WIRE_MMAP] = on_mmap,                                     \
    [WIRE_MMAP | WIRE_FAILED] = on_mmap_failed_##mode, [WIRE_MUNMAP] = on_munmap,                  \
    [WIRE_BRK] = on_brk_grown, [WIRE_BRK | WIRE_FAILED] = on_brk_shrunk,                           \
    [WIRE_STACK_LAYER] = on_stack_layer, [WIRE_STACK_PEAK] = on_stack_peak,                        \
    [WIRE_SPENT] = on_spent, [WIRE_STACK] = on_stack,                                              \
    [WIRE_POOL] = on_allocation_##mode, [WIRE_POOL_CHUNK] = on_pool_chunk_##mode,                  \
    [WIRE_POOL_FREE] = on_pool_free_##mode, [WIRE_POOL_FREE_AT] = on_pool_free_at_##mode,          \
    [WIRE_MARK] = on_mark_##mode, [WIRE_REGION_BEGIN] = on_region_begin,                           \
    [WIRE_REGION_END] = on_region_end
record_handler *const replay_handlers[][256] = {
    [EVERY] = {TABLE(EVERY)},
    [SAMPLED] = {TABLE(SAMPLED), [WIRE_FREE | WIRE_NEWEST] = on_free_SAMPLED,
                 [WIRE_FREE_AT | WIRE_NEWEST] = on_free_at_SAMPLED,
                 [WIRE_POOL_FREE | WIRE_NEWEST] = on_pool_free_SAMPLED,
                 [WIRE_POOL_FREE_AT | WIRE_NEWEST] = on_pool_free_at_SAMPLED},
};
