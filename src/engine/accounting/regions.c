/* Regions that the program marks: the open regions of each thread, contexts, labels and per-region
 * sites (regions.h). Contexts, labels and per-region sites are arrays. Each array has an index by
 * open addressing with two 32-bit numbers as the key. */
#include "accounting/regions.h"

#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "blocks/arena.h"

/* ---- Arrays and indices -------------------------------------------------------------------- */

/* Room for one more at the end of the array that the pointer at `array` points to. */
static void regions_make_room(void *array, uint32_t count, uint32_t more, uint32_t *room,
                              size_t bytes)
{
    void *items;

    if (count + more <= *room)
        return;
    memcpy(&items, array, sizeof items);
    *room = 2 * (count + more);
    items = arena_realloc(items, *room * bytes);
    memcpy(array, &items, sizeof items);
}

#define ROOM(array, count, more, room)                                                             \
    regions_make_room(&(array), count, more, &(room), sizeof(*(array)))

/* The key of an item. */
typedef uint64_t index_key(const struct regions *regions, uint32_t item);

static uint64_t regions_context_key(const struct regions *regions, uint32_t item)
{
    const struct region_context *context = &regions->contexts[item];

    return (uint64_t)context->parent << 32 | context->region;
}

static uint64_t regions_label_key(const struct regions *regions, uint32_t item)
{
    const struct region_label *label = &regions->labels[item];

    return (uint64_t)label->context << 32 | label->site;
}

static uint64_t regions_cut_key(const struct regions *regions, uint32_t item)
{
    const struct region_cut *cut = &regions->cut_keys[item];

    return (uint64_t)cut->region << 32 | cut->node;
}

/* The slot of the item with that key, or the empty one where it would be. */
static uint32_t *regions_index_slot(const struct region_index *index, const struct regions *regions,
                                    index_key *key_of, uint64_t key)
{
    size_t at = hash_u64(hash_u64(key) + key) & index->mask;

    while (index->slots[at] && key_of(regions, index->slots[at] - 1) != key)
        at = (at + 1) & index->mask;
    return &index->slots[at];
}

static void regions_index_grow(struct region_index *index, const struct regions *regions,
                               index_key *key_of)
{
    struct region_index old = *index;

    index->mask = old.slots ? 2 * old.mask + 1 : 63;
    index->slots = arena_calloc(index->mask + 1, sizeof *index->slots);
    for (size_t i = 0; old.slots && i <= old.mask; i++)
        if (old.slots[i])
            *regions_index_slot(index, regions, key_of, key_of(regions, old.slots[i] - 1)) =
                old.slots[i];
    free(old.slots);
}

/* The item with that key; `*slot`: where a new one's number + 1 goes. */
static bool regions_index_find(struct region_index *index, const struct regions *regions,
                               index_key *key_of, uint64_t key, uint32_t **slot)
{
    if (!index->slots || 2 * index->count > index->mask)
        regions_index_grow(index, regions, key_of);
    *slot = regions_index_slot(index, regions, key_of, key);
    return **slot;
}

static void regions_index_clear(struct region_index *index)
{
    free(index->slots);
    *index = (struct region_index){0};
}

void regions_release(struct regions *regions)
{
    free(regions->all);
    free(regions->open);
    free(regions->of_name);
    free(regions->contexts);
    free(regions->labels);
    free(regions->label_cuts);
    free(regions->cut_keys);
    sites_release(&regions->cuts);
    regions_index_clear(&regions->context_index);
    regions_index_clear(&regions->label_index);
    regions_index_clear(&regions->cut_index);
}

size_t regions_memory_bytes(const struct regions *regions)
{
    if (!regions->count)
        return 0;
    return regions->room * sizeof *regions->all + MARKS_NAMES * sizeof *regions->of_name +
           regions->context_room * sizeof *regions->contexts +
           regions->label_room * sizeof *regions->labels +
           regions->label_cut_room * sizeof *regions->label_cuts +
           regions->cut_room * sizeof *regions->cut_keys + sites_memory_bytes(&regions->cuts);
}

/* ---- Regions and contexts ------------------------------------------------------------------ */

static void regions_begin(struct regions *regions, const struct sites *sites)
{
    regions->of_name = arena_calloc(MARKS_NAMES, sizeof *regions->of_name);
    ROOM(regions->contexts, 0, 1, regions->context_room);
    regions->contexts[0] = (struct region_context){0};
    regions->context_count = 1;
    sites_init(&regions->cuts);
    if (sites->freed)
        sites_know_frees(&regions->cuts);
    if (sites->samples)
        sites_sample(&regions->cuts);
    if (sites->times)
        sites_know_times(&regions->cuts);
    if (sites->all_peaks)
        sites_know_all_peaks(&regions->cuts);
    regions->cuts.levels_only = sites->levels_only;
}

static uint32_t region_of(struct regions *regions, uint32_t name, uint64_t now_ticks)
{
    uint32_t *number = &regions->of_name[name];

    if (!*number) {
        ROOM(regions->all, regions->count, 1, regions->room);
        regions->all[regions->count] = (struct replay_region){
            .name = name, .first_ticks = now_ticks, .left_bytes = FIGURE_UNKNOWN};
        *number = ++regions->count;
    }
    return *number - 1;
}

static bool regions_is_in(const struct regions *regions, uint32_t context, uint32_t region)
{
    for (; context; context = regions->contexts[context].parent)
        if (regions->contexts[context].region == region)
            return true;
    return false;
}

/* The context within `parent`; REGIONS_OUTSIDE: there is no room for it. */
static uint32_t regions_context_within(struct regions *regions, uint32_t parent, uint32_t region)
{
    uint32_t *slot;

    if (regions_index_find(&regions->context_index, regions, regions_context_key,
                           (uint64_t)parent << 32 | region, &slot))
        return *slot - 1;
    if (regions->context_count == REGIONS_CONTEXTS ||
        regions->contexts[parent].depth == REGIONS_DEPTH)
        return REGIONS_OUTSIDE;
    ROOM(regions->contexts, regions->context_count, 1, regions->context_room);
    regions->contexts[regions->context_count] =
        (struct region_context){parent, region, regions->contexts[parent].depth + 1};
    *slot = ++regions->context_count;
    regions->context_index.count++;
    return *slot - 1;
}

static void regions_push_frame(struct replay_thread *thread, uint32_t region, uint64_t now_ticks)
{
    regions_make_room(&thread->frames, thread->frame_count, 1, &thread->frame_room,
                      sizeof *thread->frames);
    thread->frames[thread->frame_count++] =
        (struct region_frame){region, thread->context, now_ticks};
}

static void regions_open(struct regions *regions, uint32_t number, uint64_t now_ticks,
                         uint64_t live_bytes)
{
    struct replay_region *region = &regions->all[number];

    if (!region->open_count++) {
        ROOM(regions->open, regions->open_count, 1, regions->open_room);
        regions->open[regions->open_count++] = number;
    }
    if (live_bytes > region->program_peak_bytes) {
        region->program_peak_bytes = live_bytes;
        region->program_peak_ticks = now_ticks;
    }
}

void regions_enter(struct regions *regions, const struct sites *sites, struct replay_thread *thread,
                   uint32_t name, uint64_t now_ticks, uint64_t live_bytes)
{
    uint32_t region, context;

    if (!regions->of_name)
        regions_begin(regions, sites);
    if (name >= MARKS_NAMES || thread->frame_count == REGIONS_FRAMES) {
        regions->lost++;
        return;
    }
    region = region_of(regions, name, now_ticks);
    context = thread->context;
    if (!regions_is_in(regions, context, region))
        context = regions_context_within(regions, context, region);
    if (!context) {
        regions->lost++;
        return;
    }
    regions->all[region].entered_count++;
    if (context != thread->context)
        regions_open(regions, region, now_ticks, live_bytes);
    regions_push_frame(thread, region, now_ticks);
    thread->context = context;
}

static void regions_close(struct regions *regions, uint32_t number)
{
    uint32_t at = 0;

    if (--regions->all[number].open_count)
        return;
    while (regions->open[at] != number)
        at++;
    regions->open[at] = regions->open[--regions->open_count];
}

/* Takes the innermost frame off. */
static void regions_leave_one(struct regions *regions, struct replay_thread *thread, bool ended,
                              uint64_t now_ticks)
{
    struct region_frame *frame = &thread->frames[--thread->frame_count];
    struct replay_region *region = &regions->all[frame->region];

    region->unended_count += !ended;
    if (frame->context != thread->context) {
        region->time_ticks += now_ticks > frame->ticks ? now_ticks - frame->ticks : 0;
        region->left_bytes = figure_of(region->live_bytes);
        region->last_ticks = now_ticks;
        regions_close(regions, frame->region);
    }
    thread->context = frame->context;
}

static bool regions_is_open(const struct regions *regions, const struct replay_thread *thread,
                            uint32_t name, size_t *depth)
{
    for (*depth = thread->frame_count; (*depth)-- > 0;)
        if (!name || regions->all[thread->frames[*depth].region].name == name)
            return true;
    return false;
}

void regions_leave(struct regions *regions, struct replay_thread *thread, uint32_t name,
                   uint64_t now_ticks)
{
    size_t depth;

    if (!regions_is_open(regions, thread, name, &depth)) {
        regions->unmatched++;
        return;
    }
    while (thread->frame_count > depth)
        regions_leave_one(regions, thread, thread->frame_count == depth + 1, now_ticks);
}

void regions_thread_ends(struct regions *regions, struct replay_thread *thread, uint64_t now_ticks)
{
    while (thread->frame_count)
        regions_leave_one(regions, thread, false, now_ticks);
}

/* ---- Labels and cuts ----------------------------------------------------------------------- */

/* The cut's node. */
static uint32_t regions_cut_of(struct regions *regions, uint32_t region, uint32_t node)
{
    uint32_t *slot;

    if (regions_index_find(&regions->cut_index, regions, regions_cut_key,
                           (uint64_t)region << 32 | node, &slot))
        return *slot - 1;
    ROOM(regions->cut_keys, regions->cut_count, 1, regions->cut_room);
    regions->cut_keys[regions->cut_count] = (struct region_cut){region, node};
    *slot = ++regions->cut_count;
    regions->cut_index.count++;
    return *slot - 1;
}

static uint32_t regions_add_label(struct regions *regions, uint32_t node, uint32_t context,
                                  uint32_t site)
{
    uint32_t depth = regions->contexts[context].depth;

    ROOM(regions->labels, regions->label_count, 1, regions->label_room);
    ROOM(regions->label_cuts, regions->label_cut_count, depth, regions->label_cut_room);
    regions->labels[regions->label_count] =
        (struct region_label){site, context, regions->label_cut_count};
    for (; context; context = regions->contexts[context].parent)
        regions->label_cuts[regions->label_cut_count++] =
            regions_cut_of(regions, regions->contexts[context].region, node);
    return regions->label_count++;
}

uint32_t regions_label(struct regions *regions, const struct sites *sites, uint32_t context,
                       uint32_t site)
{
    uint32_t *slot;

    if (!regions_index_find(&regions->label_index, regions, regions_label_key,
                            (uint64_t)context << 32 | site, &slot)) {
        *slot = regions_add_label(regions, sites->cold[site].node, context, site) + 1;
        regions->label_index.count++;
    }
    return REGIONS_LABEL | (*slot - 1);
}

static void regions_cut_load(struct cut *cut)
{
    struct regions *regions = cut->regions;
    uint32_t node = regions->label_cuts[cut->at];

    cut->site = sites_of_node(&regions->cuts, node);
    cut->region = &regions->all[regions->cut_keys[node].region];
}

struct cut cut_first(struct regions *regions, const struct sites *sites, uint32_t label)
{
    struct cut cut = {.regions = regions};

    if (!(label & REGIONS_LABEL))
        return cut;
    sites_follow(&regions->cuts, sites);
    cut.at = regions->labels[label & ~REGIONS_LABEL].first_cut;
    cut.left = regions->contexts[regions->labels[label & ~REGIONS_LABEL].context].depth;
    regions_cut_load(&cut);
    return cut;
}

void cut_next(struct cut *cut)
{
    cut->at++;
    if (--cut->left)
        regions_cut_load(cut);
}

void region_grew(struct replay_region *region, uint64_t bytes, uint64_t now_ticks)
{
    region->live_bytes += bytes;
    if (region->live_bytes > region->peak_bytes) {
        region->peak_bytes = region->live_bytes;
        region->peak_ticks = now_ticks;
    }
}

void regions_see_level(struct regions *regions, uint64_t live_bytes, uint64_t now_ticks)
{
    for (uint32_t i = 0; i < regions->open_count; i++) {
        struct replay_region *region = &regions->all[regions->open[i]];
        if (live_bytes > region->program_peak_bytes) {
            region->program_peak_bytes = live_bytes;
            region->program_peak_ticks = now_ticks;
        }
    }
}

void regions_list(const struct regions *regions, const struct threads *threads, uint64_t now_ticks,
                  struct replay_region *at)
{
    memcpy(at, regions->all, regions->count * sizeof *at);
    for (size_t i = 0; i < threads->count; i++) {
        const struct replay_thread *thread = &threads->all[i];
        for (size_t k = 0; k < thread->frame_count; k++) {
            const struct region_frame *frame = &thread->frames[k];
            struct replay_region *region = &at[frame->region];
            uint32_t within = k + 1 < thread->frame_count ? frame[1].context : thread->context;
            if (frame->context == within)
                continue;
            region->time_ticks += now_ticks > frame->ticks ? now_ticks - frame->ticks : 0;
            region->last_ticks = now_ticks;
        }
    }
}

/* ---- Windows ------------------------------------------------------------------------------- */

/* Keeps the cuts that have live blocks. */
static void regions_keep_cuts(struct regions *regions, const bool *keep, uint64_t now_ticks)
{
    bool *kept = arena_calloc(regions->cuts.count + (size_t)1, sizeof *kept);

    for (uint32_t i = 0; i < regions->label_count; i++) {
        const struct region_label *label = &regions->labels[i];
        uint32_t depth = regions->contexts[label->context].depth;
        for (uint32_t k = 0; keep[i] && k < depth; k++)
            kept[sites_of_node(&regions->cuts, regions->label_cuts[label->first_cut + k])] = true;
    }
    free(sites_restart(&regions->cuts, kept, now_ticks));
    free(kept);
}

/* Labels keep their numbers, because live blocks store them. The index drops labels without live
 * blocks. */
static void regions_keep_labels(struct regions *regions, const bool *keep, const uint32_t *numbers)
{
    uint32_t *slot;

    regions_index_clear(&regions->label_index);
    for (uint32_t i = 0; i < regions->label_count; i++) {
        struct region_label *label = &regions->labels[i];
        if (!keep[i]) {
            label->site = 0;
            continue;
        }
        label->site = numbers[label->site];
        regions_index_find(&regions->label_index, regions, regions_label_key,
                           regions_label_key(regions, i), &slot);
        *slot = i + 1;
        regions->label_index.count++;
    }
}

static void regions_restart_region(struct replay_region *region, uint64_t now_ticks,
                                   uint64_t live_bytes)
{
    *region = (struct replay_region){
        .name = region->name,
        .open_count = region->open_count,
        .first_ticks = now_ticks,
        .live_bytes = region->live_bytes,
        .peak_bytes = region->live_bytes,
        .peak_ticks = now_ticks,
        .left_bytes = FIGURE_UNKNOWN,
        .program_peak_bytes = region->open_count ? live_bytes : 0,
        .program_peak_ticks = region->open_count ? now_ticks : 0,
    };
}

void regions_restart(struct regions *regions, const bool *keep, const uint32_t *numbers,
                     struct threads *threads, uint64_t now_ticks, uint64_t live_bytes)
{
    if (!regions->count)
        return;
    regions_keep_cuts(regions, keep, now_ticks);
    regions_keep_labels(regions, keep, numbers);
    for (uint32_t i = 0; i < regions->count; i++)
        regions_restart_region(&regions->all[i], now_ticks, live_bytes);
    for (size_t i = 0; i < threads->count; i++)
        for (size_t k = 0; k < threads->all[i].frame_count; k++)
            threads->all[i].frames[k].ticks = now_ticks;
    regions->lost = regions->unmatched = 0;
}
