/* The functions that replay records, and the table from kinds of records to functions. The two
 * commonest kinds have a header of their own (steps.h). */
#include "replay/steps.h"
#include "wire/device_records.h"
#include "wire/record_kinds.h"

#define MAX_STACK_BYTES (1ull << 47) /* no address space is larger */

EVENT void records_on_allocation(struct replay *replay, const struct wire_record *record,
                                 enum mode mode)
{
    struct clue clue = replay_state_clue_of(replay, life_address_of(record));

    steps_on_allocation_at_clue(replay, record, &clue, mode);
}

EVENT void records_on_free(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    struct clue clue = replay_state_clue_of(replay, life_address_of(record));

    steps_on_free_at_clue(replay, record, &clue, mode);
}

static void records_on_void(struct replay *replay, const struct wire_record *record)
{
    (void)replay;
    (void)record;
}

static void records_fail(struct replay *replay, const struct wire_record *record, uint64_t count)
{
    uint32_t site = steps_site_of(replay, record), label = life_label_here(replay, site);

    life_take_time(replay, record->ticks);
    site_change(&replay->sites, site);
    site_rare(&replay->sites, site)->failed_count += count;
    for
        EACH_CUT(replay, label)
        {
            site_change(&replay->regions.cuts, cut.site);
            site_rare(&replay->regions.cuts, cut.site)->failed_count += count;
        }
    thread_spends_on(replay->running, SPENT_ON_ALLOC, label);
}

EVENT void records_on_failure(struct replay *replay, const struct wire_record *record,
                              enum mode mode)
{
    records_fail(replay, record, life_weigh_record(replay, record, mode).count);
}

/* Mappings are never sampled: one failure counts as one. */
EVENT void records_on_mmap_failed(struct replay *replay, const struct wire_record *record,
                                  enum mode mode)
{
    records_fail(replay, record, mode == EVERY ? 1 : 1u << WEIGHT_SHIFT);
}

EVENT void records_on_pool_free(struct replay *replay, const struct wire_record *record,
                                enum mode mode)
{
    struct clue clue = replay_state_clue_of(replay, life_address_of(record));

    life_take_time(replay, record->ticks);
    steps_free_of(replay, record, &clue, mode);
}

/* Counts a freed block at the path that freed it. An owner that is not known does not count as
 * another thread. */
static void records_credit_freeing_path(struct replay *replay, const struct wire_record *record,
                                        const struct live_block *block)
{
    uint32_t site = steps_site_of(replay, record);
    const struct replay_thread *owner = life_owner_of(replay, block);
    struct weight weight = replay_state_weigh_block(replay, block, replay_state_mode_of(replay));

    uint64_t lifetimes = replay_state_lifetimes_of(weight, life_lifetime_of(block, record->ticks),
                                                   replay_state_mode_of(replay));
    bool elsewhere = owner && owner != replay->running;

    site_freed(&replay->sites, site, weight, lifetimes, elsewhere);
    for
        EACH_CUT(replay, life_label_here(replay, site))
    site_freed(&replay->regions.cuts, cut.site, weight, lifetimes, elsewhere);
}

EVENT void records_free_at(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    struct clue clue = replay_state_clue_of(replay, life_address_of(record));
    struct live_block block;

    if (!life_address_of(record) ||
        !life_take_block(replay, life_address_of(record), &clue, record->ticks, &block, mode))
        return;
    if (replay->sites.freed)
        records_credit_freeing_path(replay, record, &block);
    steps_free_taken(replay, record, &block, mode);
}

EVENT void records_on_free_at(struct replay *replay, const struct wire_record *record,
                              enum mode mode)
{
    life_take_time(replay, record->ticks);
    thread_spends_on(replay->running, SPENT_ON_FREE, SPENT_NO_SITE);
    if (!steps_ends_chunk(replay, record))
        records_free_at(replay, record, mode);
}

EVENT void records_on_pool_free_at(struct replay *replay, const struct wire_record *record,
                                   enum mode mode)
{
    life_take_time(replay, record->ticks);
    records_free_at(replay, record, mode);
}

EVENT void records_on_realloc_begin(struct replay *replay, const struct wire_record *record,
                                    enum mode mode)
{
    struct pending_realloc *pending = thread_push_realloc(&replay->threads, replay->running);
    uint64_t address = life_address_of(record);
    struct clue clue = replay_state_clue_of(replay, address);

    life_take_time(replay, record->ticks);
    pending->old = address ? REALLOC_OLD_UNKNOWN : REALLOC_OLD_NONE;
    pending->block.address = address;
    if (address && !steps_ends_chunk(replay, record) &&
        life_take_block(replay, address, &clue, record->ticks, &pending->block, mode)) {
        pending->old = REALLOC_OLD_LIVE;
        pending->newest = life_forget_newest(replay, &pending->block);
        pending->births =
            pending->newest ? life_owner_of(replay, &pending->block)->counts.alloc_count : 0;
    }
}

/* True if the owner of the block, which may be another thread than the one that reallocates, has
 * allocated nothing since the realloc began. Not known of a sample. */
static bool records_still_newest(struct replay *replay, const struct pending_realloc *pending)
{
    return pending->newest && !replay->sample_bytes &&
           pending->births == life_owner_of(replay, &pending->block)->counts.alloc_count;
}

/* The realloc that an end completes. If the recorder lost its beginning the old block is unknown.
 */
static struct pending_realloc records_pop_realloc(struct replay *replay,
                                                  const struct wire_record *record)
{
    struct replay_thread *thread = replay->running;

    if (!thread->pending_count)
        return (struct pending_realloc){.old = REALLOC_OLD_UNKNOWN,
                                        .block.address = life_address_of(record)};
    return thread->pending[--thread->pending_count];
}

EVENT void records_on_realloc_failed(struct replay *replay, const struct wire_record *record,
                                     enum mode mode)
{
    struct pending_realloc pending = records_pop_realloc(replay, record);

    if (mode == SAMPLED && !record->size_bytes) /* the failure was not drawn */
        life_take_time(replay, record->ticks);
    else
        records_on_failure(replay, record, mode);
    if (pending.old != REALLOC_OLD_LIVE)
        return;
    if (life_place_block(replay, &pending.block, live_hash(pending.block.address), mode) &&
        records_still_newest(replay, &pending))
        life_owner_of(replay, &pending.block)->newest_address = pending.block.address;
    life_see_levels(replay, mode);
}

/* The old block of a realloc that returned another. */
EVENT void records_end_old(struct replay *replay, const struct wire_record *record,
                           const struct pending_realloc *pending, enum mode mode)
{
    if (pending->old != REALLOC_OLD_LIVE)
        return;
    life_credit_free(replay, life_owner_of(replay, &pending->block), &pending->block, mode);
    life_end(replay, &pending->block, record->ticks, mode);
}

EVENT void records_reallocate(struct replay *replay, const struct wire_record *record,
                              const struct pending_realloc *pending, enum mode mode)
{
    uint32_t site = steps_site_of(replay, record), label;
    bool moved = life_address_of(record) != pending->block.address;
    struct weight weight = life_weigh_record(replay, record, mode);
    struct site_rare *rare;

    records_end_old(replay, record, pending, mode);
    if (pending->old == REALLOC_OLD_LIVE)
        distributions_realloc(replay->distributions, pending->block.size_bytes,
                              life_counted_size(record), weight.count);
    rare = site_rare(&replay->sites, site);
    rare->realloc_count += weight.count;
    rare->realloc_bytes += weight.bytes;
    rare->realloc_moved += moved ? weight.count : 0;
    label = life_begin(replay, record, live_hash(life_address_of(record)), site, weight, true,
                       moved, mode);
    if (pending->old == REALLOC_OLD_LIVE)
        life_look_at_site(replay, pending->block.site);
    life_look_at_site(replay, label);
    life_see_levels(replay, mode);
}

/* realloc(p, 0) has freed. */
EVENT void records_realloc_to_nothing(struct replay *replay, const struct wire_record *record,
                                      const struct pending_realloc *pending, enum mode mode)
{
    if (replay->sites.freed)
        records_credit_freeing_path(replay, record, &pending->block);
    steps_free_block(replay, &pending->block, record->ticks, records_still_newest(replay, pending),
                     mode);
}

EVENT void records_on_realloc_end(struct replay *replay, const struct wire_record *record,
                                  enum mode mode)
{
    struct pending_realloc pending = records_pop_realloc(replay, record);

    life_take_time(replay, record->ticks);
    thread_spends_on(replay->running, SPENT_ON_FREE, SPENT_NO_SITE);
    if (life_address_of(record) && pending.old == REALLOC_OLD_NONE) {
        struct clue clue = replay_state_clue_of(replay, life_address_of(record));
        steps_allocate(replay, record, &clue, mode);
    } else if (life_address_of(record)) {
        records_reallocate(replay, record, &pending, mode);
    } else if (mode == SAMPLED && record->size_bytes) { /* the new block was not drawn */
        records_end_old(replay, record, &pending, mode);
        if (pending.old == REALLOC_OLD_LIVE)
            life_look_at_site(replay, pending.block.site);
        life_see_levels(replay, mode);
    } else if (pending.old == REALLOC_OLD_LIVE) {
        records_realloc_to_nothing(replay, record, &pending, mode);
    }
}

static void records_on_thread_start(struct replay *replay, const struct wire_record *record)
{
    life_take_time(replay, record->ticks);
    if (replay->running->announced) /* another thread is over, whether it said so or not */
        regions_thread_ends(&replay->regions, replay->running, replay->last_ticks);
    threads_announce(&replay->threads, replay->stream, (uint32_t)life_address_of(record),
                     record->ticks);
    replay_state_run(replay, replay->stream);
}

static void records_on_thread_end(struct replay *replay, const struct wire_record *record)
{
    life_take_time(replay, record->ticks);
    replay->running->counts.end_ticks = record->ticks;
    regions_thread_ends(&replay->regions, replay->running, replay->last_ticks);
}

static void records_on_lost(struct replay *replay, const struct wire_record *record)
{
    life_take_time(replay, record->ticks);
    replay->program.lost_events += life_address_of(record);
}

static void records_count_map(struct sites *sites, uint32_t site, uint64_t bytes)
{
    struct site_rare *rare = site_rare(sites, site);

    site_change(sites, site);
    rare->map_count++;
    rare->map_bytes += bytes;
}

static void records_count_programs_map(struct replay *replay, const struct wire_record *record)
{
    uint32_t site = steps_site_of(replay, record);

    records_count_map(&replay->sites, site, record->size_bytes);
    for
        EACH_CUT(replay, life_label_here(replay, site))
    records_count_map(&replay->regions.cuts, cut.site, record->size_bytes);
}

static void records_on_mmap(struct replay *replay, const struct wire_record *record)
{
    uint32_t said = wire_detail_slack(record->detail);

    life_take_time(replay, record->ticks);
    if (!wire_mapping_is_inherited(said) && !wire_mapping_is_allocators(said))
        records_count_programs_map(replay, record);
    mapped_on_mmap(replay, record);
}

static void records_on_munmap(struct replay *replay, const struct wire_record *record)
{
    life_take_time(replay, record->ticks);
    bool is_allocators = wire_detail_is_allocators(record->detail) ||
                         mapped_is_allocators(&replay->mapped, life_address_of(record));
    if (!is_allocators) {
        replay->program.unmap_count++;
        replay->program.unmap_bytes += record->size_bytes;
    }
    mapped_on_munmap(replay, record, is_allocators);
}

static void records_on_mprotect(struct replay *replay, const struct wire_record *record)
{
    life_take_time(replay, record->ticks);
    mapped_on_mprotect(replay, record);
}

static void records_on_madvise(struct replay *replay, const struct wire_record *record)
{
    life_take_time(replay, record->ticks);
    mapped_on_madvise(replay, record);
}

static void records_on_brk_grown(struct replay *replay, const struct wire_record *record)
{
    life_take_time(replay, record->ticks);
    replay->program.brk_count++;
    replay->program.brk_bytes += record->size_bytes;
    mapped_on_break(replay, record, true);
}

static void records_on_brk_shrunk(struct replay *replay, const struct wire_record *record)
{
    life_take_time(replay, record->ticks);
    mapped_on_break(replay, record, false);
}

static void records_spend_at(struct sites *sites, uint32_t site, bool freed, uint64_t ticks)
{
    struct site_times *times = &sites->times[site];

    site_change(sites, site);
    *(freed ? &times->free_time : &times->alloc_time) += ticks;
}

static void records_spend(struct replay *replay, uint32_t label, bool freed, uint64_t ticks)
{
    records_spend_at(&replay->sites, regions_site(&replay->regions, label), freed, ticks);
    for
        EACH_CUT(replay, label)
    records_spend_at(&replay->regions.cuts, cut.site, freed, ticks);
}

/* The duration of the call of the thread's last record. A duration beyond the record's own time is
 * malformed. */
static void records_on_spent(struct replay *replay, const struct wire_record *record)
{
    struct replay_thread *thread = replay->running;
    bool freed = thread->spent_on == SPENT_ON_FREE;
    uint64_t ticks = life_address_of(record);

    if (!replay->threads.timed || thread->spent_on == SPENT_ON_NOTHING || ticks > record->ticks) {
        steps_count_malformed(replay);
        return;
    }
    *(freed ? &thread->counts.free_time : &thread->counts.alloc_time) += ticks;
    if (thread->spent_site != SPENT_NO_SITE)
        records_spend(replay, thread->spent_site, freed, ticks);
    thread->spent_on = SPENT_ON_NOTHING;
}

static void records_on_stack(struct replay *replay, const struct wire_record *record)
{
    life_take_time(replay, record->ticks);
    if (life_address_of(record) >= MAX_STACK_BYTES || record->size_bytes >= MAX_STACK_BYTES)
        steps_count_malformed(replay);
    else
        thread_stack(replay->running, life_address_of(record), record->size_bytes,
                     wire_detail_node(record->detail));
}

/* The thread that a record of stacks is about; UINT32_MAX: it is not known. */
static uint32_t records_thread_with(const struct replay *replay, uint32_t tid)
{
    const struct replay_thread *thread = replay->running;

    if (thread->counts.tid != tid)
        thread = threads_find(&replay->threads, tid);
    return thread ? life_thread_number(replay, thread) : UINT32_MAX;
}

static void records_on_stack_layer(struct replay *replay, const struct wire_record *record)
{
    struct stack_layer layer = {records_thread_with(replay, (uint32_t)(record->size_bytes >> 32)),
                                wire_detail_node(record->detail), life_address_of(record),
                                (uint32_t)record->size_bytes};

    life_take_time(replay, record->ticks);
    if (layer.thread == UINT32_MAX || layer.bytes >= MAX_STACK_BYTES)
        steps_count_malformed(replay);
    else
        depths_add_layer(&replay->depths, &layer);
}

static void records_on_stack_peak(struct replay *replay, const struct wire_record *record)
{
    struct stack_peak peak = {records_thread_with(replay, (uint32_t)record->size_bytes),
                              wire_detail_node(record->detail), record->ticks,
                              life_address_of(record)};

    life_take_time(replay, record->ticks);
    if (peak.thread == UINT32_MAX || peak.bytes >= MAX_STACK_BYTES)
        steps_count_malformed(replay);
    else
        depths_add_peak(&replay->depths, &peak);
}

/* ---- Memory of devices --------------------------------------------------------------------- */

static void records_on_device(struct replay *replay, const struct wire_record *record,
                              void (*tell)(struct devices *devices,
                                           const struct device_event *event))
{
    uint32_t said = wire_detail_slack(record->detail);
    struct device_event event = {.ticks = record->ticks,
                                 .address = life_address_of(record),
                                 .bytes = record->size_bytes,
                                 .node = wire_detail_node(record->detail),
                                 .space = said & WIRE_DEVICE_SPACE_MASK,
                                 .is_handle = said & WIRE_DEVICE_HANDLE};

    life_take_time(replay, record->ticks);
    if (event.space >= DEVICE_SPACES || event.bytes > LIVE_MAX_SIZE)
        steps_count_malformed(replay);
    else
        tell(&replay->devices, &event);
}

static void records_on_device_alloc(struct replay *replay, const struct wire_record *record)
{
    if (life_address_of(record))
        records_on_device(replay, record, devices_allocate);
    else
        steps_count_malformed(replay);
}

static void records_on_device_refused(struct replay *replay, const struct wire_record *record)
{
    records_on_device(replay, record, devices_refuse);
}

static void records_on_device_free(struct replay *replay, const struct wire_record *record)
{
    records_on_device(replay, record, devices_free);
}

static void records_on_device_kept(struct replay *replay, const struct wire_record *record)
{
    records_on_device(replay, record, devices_undo_free);
}

static void records_on_device_hold(struct replay *replay, const struct wire_record *record)
{
    records_on_device(replay, record, devices_hold);
}

static void records_on_device_unmap(struct replay *replay, const struct wire_record *record)
{
    records_on_device(replay, record, devices_unmap);
}

static void records_on_device_end(struct replay *replay, const struct wire_record *record)
{
    records_on_device(replay, record, devices_end);
}

/* ---- What the program says of itself ------------------------------------------------------- */

EVENT void records_on_mark(struct replay *replay, const struct wire_record *record, enum mode mode)
{
    uint64_t said = life_address_of(record);

    life_take_time(replay, record->ticks);
    if (said >> 32 >= WIRE_MARK_KINDS || (uint32_t)said >= MARKS_NAMES) {
        steps_count_malformed(replay);
        return;
    }
    marks_add(&replay->marks,
              &(struct replay_mark){.ticks = record->ticks,
                                    .name = (uint32_t)said,
                                    .kind = (uint32_t)(said >> 32),
                                    .thread = life_thread_number(replay, replay->running),
                                    .live_bytes = replay->live_bytes,
                                    .live_count = replay_state_live_blocks(replay, mode)});
}

static void records_on_region_begin(struct replay *replay, const struct wire_record *record)
{
    life_take_time(replay, record->ticks);
    life_listen_to_levels(replay); /* so that the region's peaks are kept from here on */
    if (life_address_of(record) >= MARKS_NAMES)
        steps_count_malformed(replay);
    else
        regions_enter(&replay->regions, &replay->sites, replay->running,
                      (uint32_t)life_address_of(record), replay->last_ticks, replay->live_bytes);
}

static void records_on_region_end(struct replay *replay, const struct wire_record *record)
{
    life_take_time(replay, record->ticks);
    if (life_address_of(record) >= MARKS_NAMES)
        steps_count_malformed(replay);
    else
        regions_leave(&replay->regions, replay->running, (uint32_t)life_address_of(record),
                      replay->last_ticks);
}

/* The life of the block ends, and its path counts it as freed. A mapping that a pool cuts up is not
 * counted any more either (mapped_life.h). */
EVENT void records_on_pool_chunk(struct replay *replay, const struct wire_record *record,
                                 enum mode mode)
{
    uint64_t address = life_address_of(record);
    struct clue clue = replay_state_clue_of(replay, address);
    struct live_block block;

    life_take_time(replay, record->ticks);
    if (address && !live_table_find(&replay->live, address))
        mapped_on_chunk(replay, record);
    if (!address || !live_table_find(&replay->live, address) ||
        !life_take_block(replay, address, &clue, record->ticks, &block, mode))
        return;
    if (mode == EVERY)
        live_table_note(&replay->chunks, address);
    life_forget_newest(replay, &block);
    steps_free_block(replay, &block, record->ticks, false, mode);
}

/* The functions that exist for both modes, because they weigh blocks. */
/* clang-format off */
#define HANDLERS(X)                                                                                \
    X(records_on_free) X(records_on_realloc_begin) X(records_on_allocation)                        \
    X(records_on_failure) X(records_on_realloc_end) X(records_on_realloc_failed)                   \
    X(records_on_free_at) X(records_on_mmap_failed) X(records_on_mark) X(records_on_pool_chunk)    \
    X(records_on_pool_free) X(records_on_pool_free_at)
/* clang-format on */

/* Makes records_on_free_EVERY, records_on_free_SAMPLED, records_on_realloc_begin_EVERY,
 * records_on_realloc_begin_SAMPLED, records_on_allocation_EVERY, records_on_allocation_SAMPLED,
 * records_on_failure_EVERY, records_on_failure_SAMPLED, records_on_realloc_end_EVERY,
 * records_on_realloc_end_SAMPLED, records_on_realloc_failed_EVERY,
 * records_on_realloc_failed_SAMPLED, records_on_free_at_EVERY, records_on_free_at_SAMPLED,
 * records_on_mmap_failed_EVERY, records_on_mmap_failed_SAMPLED, records_on_mark_EVERY,
 * records_on_mark_SAMPLED, records_on_pool_chunk_EVERY, records_on_pool_chunk_SAMPLED,
 * records_on_pool_free_EVERY, records_on_pool_free_SAMPLED, records_on_pool_free_at_EVERY and
 * records_on_pool_free_at_SAMPLED. */
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

/* Which function replays the records of a kind: those without the kind's flag, and those with it
 * (records.def). A row of records.def without a line here does not compile, nor does a line without
 * a row. */
#define KINDS(X, mode)                                                                             \
    X(mode, WIRE_VOID, records_on_void, NULL)                                                      \
    X(mode, WIRE_FREE, records_on_free_##mode, records_on_free_##mode)                             \
    X(mode, WIRE_REALLOC_BEGIN, records_on_realloc_begin_##mode, NULL)                             \
    X(mode, WIRE_THREAD_START, records_on_thread_start, NULL)                                      \
    X(mode, WIRE_THREAD_END, records_on_thread_end, NULL)                                          \
    X(mode, WIRE_LOST, records_on_lost, NULL)                                                      \
    X(mode, WIRE_SPENT, records_on_spent, NULL)                                                    \
    X(mode, WIRE_MARK, records_on_mark_##mode, NULL)                                               \
    X(mode, WIRE_REGION_BEGIN, records_on_region_begin, NULL)                                      \
    X(mode, WIRE_REGION_END, records_on_region_end, NULL)                                          \
    X(mode, WIRE_POOL_CHUNK, records_on_pool_chunk_##mode, NULL)                                   \
    X(mode, WIRE_POOL_FREE, records_on_pool_free_##mode, records_on_pool_free_##mode)              \
    X(mode, WIRE_MALLOC, records_on_allocation_##mode, records_on_failure_##mode)                  \
    X(mode, WIRE_CALLOC, records_on_allocation_##mode, records_on_failure_##mode)                  \
    X(mode, WIRE_ALIGNED, records_on_allocation_##mode, records_on_failure_##mode)                 \
    X(mode, WIRE_NEW, records_on_allocation_##mode, records_on_failure_##mode)                     \
    X(mode, WIRE_NEW_ARRAY, records_on_allocation_##mode, records_on_failure_##mode)               \
    X(mode, WIRE_REALLOC_END, records_on_realloc_end_##mode, records_on_realloc_failed_##mode)     \
    X(mode, WIRE_FREE_AT, records_on_free_at_##mode, records_on_free_at_##mode)                    \
    X(mode, WIRE_POOL, records_on_allocation_##mode, NULL)                                         \
    X(mode, WIRE_POOL_FREE_AT, records_on_pool_free_at_##mode, records_on_pool_free_at_##mode)     \
    X(mode, WIRE_MMAP, records_on_mmap, records_on_mmap_failed_##mode)                             \
    X(mode, WIRE_MUNMAP, records_on_munmap, NULL)                                                  \
    X(mode, WIRE_BRK, records_on_brk_grown, records_on_brk_shrunk)                                 \
    X(mode, WIRE_MPROTECT, records_on_mprotect, NULL)                                              \
    X(mode, WIRE_MADVISE, records_on_madvise, NULL)                                                \
    X(mode, WIRE_STACK, records_on_stack, NULL)                                                    \
    X(mode, WIRE_STACK_LAYER, records_on_stack_layer, NULL)                                        \
    X(mode, WIRE_STACK_PEAK, records_on_stack_peak, NULL)                                          \
    X(mode, WIRE_DEVICE_ALLOC, records_on_device_alloc, records_on_device_refused)                 \
    X(mode, WIRE_DEVICE_FREE, records_on_device_free, records_on_device_kept)                      \
    X(mode, WIRE_DEVICE_HOLD, records_on_device_hold, NULL)                                        \
    X(mode, WIRE_DEVICE_UNMAP, records_on_device_unmap, NULL)                                      \
    X(mode, WIRE_DEVICE_END, records_on_device_end, NULL)

/* Each row has a line: else REPLAYED_ with its name is nothing. */
#define REPLAYED(mode, kind, plain, flagged) REPLAYED_##kind,
enum { KINDS(REPLAYED, EVERY) REPLAYED_KINDS };
#define RECORD(name, number, length, class, flag, shown, filter)                                   \
    _Static_assert(REPLAYED_##name < REPLAYED_KINDS, "a handler for each kind");
#include "wire/records.def"
#undef RECORD

#define RECORD(name, number, length, class, flag, shown, filter)                                   \
    FLAG_OF_##name = RECORD_FLAG_##flag,
enum {
#include "wire/records.def"
};
#undef RECORD

/* By the first byte of a record; NULL: no such kind. */
#define HAS_FLAG(mode, kind)                                                                       \
    ((int)FLAG_OF_##kind == (int)RECORD_FLAG_FAILED ||                                             \
     ((int)FLAG_OF_##kind == (int)RECORD_FLAG_NEWEST && (mode) == SAMPLED))
#define ENTRY(mode, kind, plain, flagged)                                                          \
    [kind] = plain, [(kind) | WIRE_FAILED] = HAS_FLAG(mode, kind) ? (flagged) : NULL,
record_handler *const replay_handlers[][256] = {
    [EVERY] = {KINDS(ENTRY, EVERY)},
    [SAMPLED] = {KINDS(ENTRY, SAMPLED)},
};
