/* The results of a replay (replay.h). Sites are copied block by block, and a block is visited only
 * if the stamp of one of its sites shows a change. Totals are sums over the blocks' sums. */
#include <stdlib.h>
#include "replay/life.h"
#include "blocks/arena.h"

_Static_assert(REPLAY_BLOCK_SITES == SITES_SUM_COUNT, "what is visited is what is summed");

static bool outcome_settle_block(struct sites *sites, uint32_t first, uint32_t end)
{
    bool changed = false;

    for (uint32_t i = first; i < end; i++)
        changed |= site_settle(sites, i);
    return changed;
}

/* How many sites the largest block has, at least 1. */
static size_t outcome_block_room(const struct sites *sites)
{
    return sites->count < REPLAY_BLOCK_SITES ? (size_t)sites->count + 1 : REPLAY_BLOCK_SITES;
}

static void outcome_copy_block(const struct sites *sites, uint32_t first, uint32_t count,
                               struct replay_site *out)
{
    for (uint32_t i = 0; i < count; i++) {
        out[i].node = sites->cold[first + i].node;
        site_metrics(sites, first + i, &out[i].metrics);
    }
}

static size_t outcome_changed_blocks(struct sites *sites, replay_visit *visit, void *context)
{
    struct replay_site *block = arena_calloc(outcome_block_room(sites), sizeof *block);
    size_t visited = 0;

    for (uint32_t first = 0; first < sites->count; first += REPLAY_BLOCK_SITES) {
        uint32_t rest = sites->count - first;
        uint32_t count = rest < REPLAY_BLOCK_SITES ? rest : REPLAY_BLOCK_SITES;
        if (!outcome_settle_block(sites, first, first + count))
            continue;
        outcome_copy_block(sites, first, count, block);
        sites_keep_sum(sites, first / REPLAY_BLOCK_SITES, block, count);
        visit(context, first, block, count);
        visited++;
    }
    sites_seen(sites);
    free(block);
    return visited;
}

size_t replay_changed_blocks(struct replay *replay, replay_visit *visit, void *context)
{
    return outcome_changed_blocks(&replay->sites, visit, context);
}

size_t replay_changed_mapped_blocks(struct replay *replay, replay_visit *visit, void *context)
{
    return outcome_changed_blocks(&replay->mapped.sites, visit, context);
}

_Static_assert(sizeof(struct program_counts) + 2 * sizeof(struct call_metrics) +
                       4 * sizeof(struct figure) ==
                   sizeof(struct program_metrics),
               "every field of program_metrics is counted, and told below");

static void outcome_tell_mapped(const struct replay *replay, struct program_metrics *out)
{
    const struct mapped_state *mapped = &replay->mapped;
    bool is_mapped = replay->timeline.is_mapped;

    sites_total(&mapped->sites, &out->mapped);
    out->mapped.peak_bytes = figure_of(mapped->peak_bytes);
    out->mapped.peak_ticks = figure_of(mapped->peak_ticks);
    out->all_peak_bytes = figure_of(is_mapped ? mapped->all_peak_bytes : replay->peak_bytes);
    out->all_peak_ticks = figure_of(is_mapped ? mapped->all_peak_ticks : replay->peak_ticks);
    out->discard_count = figure_of(mapped->discard_count);
    out->discard_bytes = figure_of(mapped->discard_bytes);
}

void replay_program(struct replay *replay, struct program_metrics *out)
{
    const struct program_counts *counts = &replay->program;

    *out = (struct program_metrics){
        .live_peak_count = figure_of(counts->live_peak_count),
        .foreign_frees = counts->foreign_frees,
        .replaced_blocks = counts->replaced_blocks,
        .unmap_count = figure_of(counts->unmap_count),
        .unmap_bytes = figure_of(counts->unmap_bytes),
        .brk_count = figure_of(counts->brk_count),
        .brk_bytes = figure_of(counts->brk_bytes),
        .events = counts->events,
        .late_events = counts->late_events,
        .lost_events = counts->lost_events,
        .malformed_events = counts->malformed_events,
    };
    sites_total(&replay->sites, &out->total);
    out->total.peak_bytes = figure_of(replay->peak_bytes);
    out->total.peak_ticks = figure_of(replay->peak_ticks);
    outcome_tell_mapped(replay, out);
    if (replay->sample_bytes) /* a sum of rounded counts may be more than the rounded peak */
        out->live_peak_count =
            figure_max(figure_of(weight_whole(counts->live_peak_count)), out->total.live_count);
}

bool replay_knows_calls(const struct replay *replay)
{
    return !replay->pages;
}

size_t replay_thread_count(const struct replay *replay)
{
    return replay->threads.count;
}

struct thread_metrics replay_thread(const struct replay *replay, size_t index)
{
    return threads_tell(&replay->threads, index);
}

const struct timeline_bucket *replay_timeline(const struct replay *replay, size_t *count,
                                              uint64_t *bucket_ticks)
{
    struct timeline provisional = replay->timeline; /* the buckets themselves are shared */

    timeline_carry(&provisional, replay->live_bytes,
                   replay_state_live_blocks(replay, replay_state_mode_of(replay)));
    *count = replay->timeline.count;
    *bucket_ticks = 1ull << replay->timeline.shift;
    return timeline_tell(&replay->timeline);
}

/* Converts the rows of a sample, whose counts (and bytes computed from counts) are in 1024ths. */
struct whole_rows {
    void (*visit_row)(void *context, const struct distribution_row *row);
    void (*visit_exchange)(void *context, const struct exchange *exchange);
    void *context;
};

static void outcome_visit_whole_row(void *context, const struct distribution_row *row)
{
    const struct whole_rows *whole = context;
    struct distribution_row in_blocks = *row;

    in_blocks.count = weight_whole(row->count);
    in_blocks.bytes = weight_whole(row->bytes);
    whole->visit_row(whole->context, &in_blocks);
}

static void outcome_visit_whole_exchange(void *context, const struct exchange *exchange)
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
    if (replay_state_mode_of(replay) == SAMPLED)
        distributions_visit(replay->distributions, replay->timeline.shift, outcome_visit_whole_row,
                            &whole);
    else
        distributions_visit(replay->distributions, replay->timeline.shift, visit, context);
}

size_t replay_peaks(struct replay *replay, struct peak *peaks)
{
    return peaks_list(&replay->peaks, replay_state_peaks_view(replay), peaks);
}

void replay_changed_curves(struct replay *replay,
                           void (*visit)(void *context, const struct curve *curve), void *context)
{
    curves_visit(&replay->curves, &replay->sites, MEMORY_HEAP, visit, context);
    curves_visit(&replay->mapped.curves, &replay->mapped.sites, MEMORY_MAPPED, visit, context);
}

void replay_exchanges(const struct replay *replay,
                      void (*visit)(void *context, const struct exchange *exchange), void *context)
{
    struct whole_rows whole = {NULL, visit, context};

    if (replay->pages)
        return;
    if (replay_state_mode_of(replay) == SAMPLED)
        exchanges_visit(&replay->exchanges, outcome_visit_whole_exchange, &whole);
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

void replay_devices(const struct replay *replay, const struct device_visitor *visitor,
                    void *context)
{
    const struct devices *devices = &replay->devices;

    for (int i = 0; i < DEVICE_SPACES; i++) {
        const struct devices_space *space = devices->spaces[i];
        if (!space)
            continue;
        visitor->total(context, &space->total);
        for (uint32_t k = 0; k < space->level_count; k++)
            visitor->level(context, &space->levels[k]);
    }
    for (size_t i = 0; i < devices->site_count; i++) {
        struct device_site site = devices_site(devices, i);
        if (site.alloc_count || site.peak_bytes)
            visitor->site(context, &site);
    }
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
    struct replay_region *all = arena_calloc(replay->regions.count + (size_t)1, sizeof *all);

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

static void outcome_copy_cut(const struct regions *regions, uint32_t cut,
                             struct replay_region_site *out)
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
    block = arena_calloc(outcome_block_room(&regions->cuts), sizeof *block);
    sites_follow(&regions->cuts, &replay->sites);
    for (uint32_t first = 0; first < regions->cuts.count; first += REPLAY_BLOCK_SITES) {
        uint32_t rest = regions->cuts.count - first;
        uint32_t count = rest < REPLAY_BLOCK_SITES ? rest : REPLAY_BLOCK_SITES;
        if (!outcome_settle_block(&regions->cuts, first, first + count))
            continue;
        for (uint32_t i = 0; i < count; i++)
            outcome_copy_cut(regions, first + i, &block[i]);
        visit(context, first, block, count);
        visited++;
    }
    regions->cuts.seen_stamp = ++replay->sites.stamp;
    free(block);
    return visited;
}

/* ---- What the program asks ----------------------------------------------------------------- */

static void outcome_count_of_program(const struct replay *replay, struct replay_counters *out)
{
    *out = (struct replay_counters){
        .current_bytes = replay->live_bytes,
        .peak_bytes = replay->watches_all ? replay->watched_peak_bytes : replay->peak_bytes,
        .live_count = replay_state_live_blocks(replay, replay_state_mode_of(replay)),
        .mapped_bytes = replay->timeline.mapped_bytes,
        .mapped_peak_bytes = replay->mapped.peak_bytes,
    };
    for (size_t i = 0; i < replay->threads.count; i++) {
        out->total_bytes += replay->threads.all[i].counts.alloc_bytes;
        out->count += replay->threads.all[i].counts.alloc_count;
    }
}

/* What is alive of a row of several threads is not known of one of them. */
static void outcome_count_of_thread(const struct replay_thread *thread, struct replay_counters *out)
{
    const struct thread_counts *counts = &thread->counts;
    bool is_alone = !counts->earlier_count;

    *out = (struct replay_counters){
        .current_bytes = is_alone ? counts->live_bytes : UINT64_MAX,
        .peak_bytes = !is_alone            ? UINT64_MAX
                      : thread->is_watched ? thread->watched_peak_bytes
                                           : counts->peak_bytes,
        .total_bytes = counts->alloc_bytes - thread->earlier_alloc_bytes,
        .count = counts->alloc_count - thread->earlier_alloc_count,
        .live_count = UINT64_MAX,
        .mapped_bytes = UINT64_MAX,
        .mapped_peak_bytes = UINT64_MAX,
    };
}

bool replay_counters(const struct replay *replay, uint32_t tid, struct replay_counters *out)
{
    const struct replay_thread *thread = tid ? threads_find(&replay->threads, tid) : NULL;

    if (!tid)
        outcome_count_of_program(replay, out);
    else if (thread)
        outcome_count_of_thread(thread, out);
    return !tid || thread;
}

void replay_watch_peak(struct replay *replay, uint32_t tid)
{
    struct replay_thread *thread = tid ? threads_find(&replay->threads, tid) : NULL;

    replay->is_watched = true;
    life_listen_to_levels(replay);
    if (!tid) {
        replay->watches_all = true;
        replay->watched_peak_bytes = replay->live_bytes;
    } else if (thread) {
        thread->is_watched = true;
        thread->watched_peak_bytes = thread->counts.live_bytes;
    }
}

/* ---- Live blocks --------------------------------------------------------------------------- */

static void outcome_visit_block(const struct replay *replay, const struct live_block *block,
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

/* Addresses on their way to `visit`. */
struct outcome_addresses {
    void (*visit)(void *context, const uint64_t *addresses, size_t count);
    void *context;
    size_t count;
    uint64_t list[256];
};

static inline void outcome_visit_address(struct outcome_addresses *addresses, uint64_t address)
{
    addresses->list[addresses->count] = address;
    addresses->count += address != 0; /* an empty slot's is 0 */
    if (addresses->count == sizeof addresses->list / sizeof *addresses->list) {
        addresses->visit(addresses->context, addresses->list, addresses->count);
        addresses->count = 0;
    }
}

void replay_live_addresses(const struct replay *replay,
                           void (*visit)(void *context, const uint64_t *addresses, size_t count),
                           void *context)
{
    const struct threads *threads = &replay->threads;
    struct outcome_addresses addresses = {.visit = visit, .context = context};

    for (const struct live_slot *slot = replay->live.slots; slot < live_table_end(&replay->live);
         slot++)
        outcome_visit_address(&addresses, live_table_address(&replay->live, slot));
    for (size_t i = 0; i < threads->count; i++)
        for (size_t k = 0; k < threads->all[i].pending_count; k++)
            if (threads->all[i].pending[k].old == REALLOC_OLD_LIVE)
                outcome_visit_address(&addresses, threads->all[i].pending[k].block.address);
    visit(context, addresses.list, addresses.count);
}

void replay_live_blocks(const struct replay *replay,
                        void (*visit)(void *context, const struct replay_block *block),
                        void *context)
{
    const struct threads *threads = &replay->threads;

    for (const struct live_slot *slot = replay->live.slots; slot < live_table_end(&replay->live);
         slot++)
        if (slot->key) {
            struct live_block block = live_table_read(&replay->live, slot);
            outcome_visit_block(replay, &block, visit, context);
        }
    for (size_t i = 0; i < threads->count; i++)
        for (size_t k = 0; k < threads->all[i].pending_count; k++)
            if (threads->all[i].pending[k].old == REALLOC_OLD_LIVE)
                outcome_visit_block(replay, &threads->all[i].pending[k].block, visit, context);
}

void replay_mapped(const struct replay *replay,
                   void (*visit)(void *context, const struct replay_mapping *mapping),
                   void *context)
{
    const struct mapped_state *mapped = &replay->mapped;
    struct mapping_piece piece;

    for (uint64_t at = 0; mappings_above(&mapped->mappings, at, &piece); at = piece.end) {
        const struct mapping *mapping = &mapped->mappings.all[piece.mapping];
        struct replay_mapping out = {
            .start = piece.start,
            .end = piece.end,
            .node = mapping->is_allocators ? 0 : mapped->sites.cold[mapping->site].node,
            .is_allocators = mapping->is_allocators,
            .kind = (enum mapping_kind)mapping->kind,
            .is_reserved = mapping->is_reserved,
            .birth_ticks = mapping->born,
        };
        visit(context, &out);
    }
}

/* ---- The replay itself --------------------------------------------------------------------- */

uint64_t replay_event_count(const struct replay *replay)
{
    return replay->program.events;
}

uint64_t replay_last_ticks(const struct replay *replay)
{
    return replay->last_ticks;
}

size_t replay_site_count(const struct replay *replay)
{
    return replay->sites.count;
}

size_t replay_memory_bytes(const struct replay *replay)
{
    return sizeof *replay + live_table_memory_bytes(&replay->live) +
           live_table_memory_bytes(&replay->owed) + live_table_memory_bytes(&replay->chunks) +
           regions_memory_bytes(&replay->regions) + sites_memory_bytes(&replay->sites) +
           threads_memory_bytes(&replay->threads) + curves_memory_bytes(&replay->curves) +
           exchanges_memory_bytes(&replay->exchanges) + depths_memory_bytes(&replay->depths) +
           distributions_memory_bytes(replay->distributions) +
           mapped_memory_bytes(&replay->mapped) + devices_memory_bytes(&replay->devices) +
           REPLAY_TIMELINE_BUCKETS * sizeof(struct timeline_bucket);
}
