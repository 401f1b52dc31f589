/* Regions that the program marks, with metrics of their own.
 *
 *   thread ─▶ context   the set of regions that the thread is in, in the order of their beginnings
 *   block  ─▶ label     the pair (call path, context) in which the block was allocated
 *   label  ─▶ cuts      one *cut* for each region of the context: a site for (region, call path) in
 *                       a second struct sites, so that each metric of a site exists by region too
 *
 * A block that is allocated outside all regions stores its site as usual and costs nothing here.
 *
 * Invariants
 *   live_block.site & REGIONS_LABEL   <=>  the field holds the number of a label, else of a site
 *   label.cuts                        =    context.depth cuts, the innermost region first
 *   a region occurs once in a context, however often the thread has begun it
 *   sum of a metric over a region's cuts  =  that metric of the region, for metrics that add up
 *   region.live_bytes <= region.peak_bytes;  the high-water marks are kept for each region, because
 *                                            they do not add up
 *
 * A beginning beyond the limits below is ignored and counted in `lost`. */
#ifndef TIDEMARK_ACCOUNTING_REGIONS_H
#define TIDEMARK_ACCOUNTING_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "accounting/marks.h"
#include "accounting/sites.h"
#include "accounting/replay_threads.h"

#define REGIONS_LABEL   0x80000000u
#define REGIONS_OUTSIDE 0u /* the context of a thread that is in none */

enum {
    REGIONS_CONTEXTS = 1 << 16,
    REGIONS_DEPTH = 64,       /* regions that a thread is in at once */
    REGIONS_FRAMES = 1 << 20, /* beginnings in a thread without their ends */
};

struct region_context {
    uint32_t parent, region, depth; /* of the outermost: REGIONS_OUTSIDE, its region, 1 */
};

struct region_label {
    uint32_t site, context;
    uint32_t first_cut; /* in label_cuts: context.depth of them, the innermost first */
};

/* Open addressing: 0 is an empty slot, others an index + 1. */
struct region_index {
    uint32_t *slots;
    size_t mask, count;
};

struct regions {
    struct replay_region *all; /* in the order of their first beginnings */
    uint32_t count, room;
    uint32_t *of_name; /* by name: number + 1; NULL: there are none */
    uint32_t *open;    /* numbers of those that a thread is in, in no order */
    uint32_t open_count, open_room;
    uint64_t lost, unmatched;

    struct region_context *contexts; /* [REGIONS_OUTSIDE] is none */
    uint32_t context_count, context_room;
    struct region_index context_index;

    struct region_label *labels;
    uint32_t label_count, label_room;
    struct region_index label_index;
    uint32_t *label_cuts; /* nodes of `cuts` */
    uint32_t label_cut_count, label_cut_room;

    struct sites cuts; /* their nodes are indices into cut_keys */
    struct region_cut {
        uint32_t region, node;
    } * cut_keys;
    uint32_t cut_count, cut_room;
    struct region_index cut_index;
};

void regions_release(struct regions *regions);
size_t regions_memory_bytes(const struct regions *regions);

/* `sites`: the replay's. The cuts keep the same figures as these (frees, times, samples). */
void regions_enter(struct regions *regions, const struct sites *sites, struct replay_thread *thread,
                   uint32_t name, uint64_t now_ticks, uint64_t live_bytes);
/* Leaves the innermost region of that name; name 0: the innermost of all. */
void regions_leave(struct regions *regions, struct replay_thread *thread, uint32_t name,
                   uint64_t now_ticks);
/* The thread has ended: leaves all regions that it is in. */
void regions_thread_ends(struct regions *regions, struct replay_thread *thread, uint64_t now_ticks);

/* The label of (call path, context); the context is not REGIONS_OUTSIDE. */
uint32_t regions_label(struct regions *regions, const struct sites *sites, uint32_t context,
                       uint32_t site);

/* The site of a block's `site` field, which may hold a label. */
static inline uint32_t regions_site(const struct regions *regions, uint32_t site)
{
    return __builtin_expect(site & REGIONS_LABEL, 0) ? regions->labels[site & ~REGIONS_LABEL].site
                                                     : site;
}

/* ---- Walking the cuts of a label ----
 *
 *     for (struct cut cut = cut_first(…); cut_is_there(&cut); cut_next(&cut)) … cut.site,
 *     cut.region
 */
struct cut {
    struct regions *regions;
    uint32_t left, at;
    uint32_t site;                /* in regions->cuts */
    struct replay_region *region; /* the cut's region */
};
/* The first cut of a label; none if `label` is a site. `sites`: the replay's sites, whose peak
 * stamp is copied to the cuts. */
struct cut cut_first(struct regions *regions, const struct sites *sites, uint32_t label);
void cut_next(struct cut *cut);
static inline bool cut_is_there(const struct cut *cut)
{
    return cut->left > 0;
}

void region_grew(struct replay_region *region, uint64_t bytes, uint64_t now_ticks);

/* Raises the program's peak of each open region to this level. */
void regions_see_level(struct regions *regions, uint64_t live_bytes, uint64_t now_ticks);

/* Copies all regions to `at`, which has `count` places. Open regions include the time until now. */
void regions_list(const struct regions *regions, const struct threads *threads, uint64_t now_ticks,
                  struct replay_region *at);

/* A window begins. `keep`: by label, true if a live block has the label. `numbers`: the new numbers
 * of the replay's sites by the old ones. */
void regions_restart(struct regions *regions, const bool *keep, const uint32_t *numbers,
                     struct threads *threads, uint64_t now_ticks, uint64_t live_bytes);

#endif
