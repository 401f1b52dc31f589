/* What the program says of itself: marks, and regions with all that is metered in them.
 *
 *   thread ─▶ context   the set of regions that the thread is in, in the order of their beginnings
 *   block  ─▶ label     (call path, context) that it was born in; blocks that were born outside all
 *                       regions name their call path as ever, and cost nothing here
 *   label  ─▶ cuts      for each region of the context one (region, call path): a site of its own in a
 *                       second struct sites, so that every metric of a site is there by region too
 *
 * Where the replay keeps a site's number of a block, it is a label's if REGIONS_LABEL is set in it.
 * The sums over all cuts of a region are the region's; what does not add up (its own high-water
 * mark, that of the program while it was open) is kept for each region.
 *
 * Contexts are sets: a region that is begun where it is open already is in them once. What goes
 * beyond the limits below is not told of, and counted in `lost`. */
#ifndef TIDEMARK_REPLAY_REGIONS_H
#define TIDEMARK_REPLAY_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "replay/marks.h"
#include "replay/sites.h"
#include "replay/threads.h"

#define REGIONS_LABEL   0x80000000u
#define REGIONS_OUTSIDE 0u /* the context of a thread that is in none */

enum {
    REGIONS_CONTEXTS = 1 << 16,
    REGIONS_DEPTH = 64,      /* regions that a thread is in at once */
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
    uint32_t *of_name;    /* by name: number + 1; NULL: there are none */
    uint32_t *open; /* those that a thread is in, in no order */
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

    struct sites cuts;          /* their nodes are indices into cut_keys */
    struct region_cut {
        uint32_t region, node;
    } *cut_keys;
    uint32_t cut_count, cut_room;
    struct region_index cut_index;
};

void regions_release(struct regions *regions);
size_t regions_memory_bytes(const struct regions *regions);

/* `sites`: the replay's. The cuts know what those know (frees, times, samples). */
void regions_enter(struct regions *regions, const struct sites *sites, struct thread *thread,
                   uint32_t name, uint64_t now_ticks, uint64_t live_bytes);
/* name 0: the innermost. */
void regions_leave(struct regions *regions, struct thread *thread, uint32_t name,
                   uint64_t now_ticks);
/* The thread leaves none any more. */
void regions_thread_ends(struct regions *regions, struct thread *thread, uint64_t now_ticks);

/* The label of what happens at a call path in a context that is not REGIONS_OUTSIDE. */
uint32_t regions_label(struct regions *regions, const struct sites *sites, uint32_t context,
                       uint32_t site);

/* The call path of what may be a label. */
static inline uint32_t regions_site(const struct regions *regions, uint32_t site)
{
    return __builtin_expect(site & REGIONS_LABEL, 0) ? regions->labels[site & ~REGIONS_LABEL].site
                                                     : site;
}

/* ---- The cuts of a label, for who changes them ----
 *
 *     for (struct cut cut = cut_first(…); cut_is_there(&cut); cut_next(&cut))  … cut.site, cut.region
 */
struct cut {
    struct regions *regions;
    uint32_t left, at;
    uint32_t site;                /* in regions->cuts */
    struct replay_region *region; /* that it is of */
};
/* Nothing is there if it is no label. `sites`: the replay's, whose peak is the cuts' too. */
struct cut cut_first(struct regions *regions, const struct sites *sites, uint32_t label);
void cut_next(struct cut *cut);
static inline bool cut_is_there(const struct cut *cut)
{
    return cut->left > 0;
}

void region_grew(struct replay_region *region, uint64_t bytes, uint64_t now_ticks);

/* The program's level while regions are open. */
void regions_see_level(struct regions *regions, uint64_t live_bytes, uint64_t now_ticks);

/* With the time of those that are open; `at` has `count` places. */
void regions_list(const struct regions *regions, const struct threads *threads,
                  uint64_t now_ticks, struct replay_region *at);

/* A window begins. `keep`: by label, those of blocks that are alive; `numbers`: the new ones of the
 * replay's sites. */
void regions_restart(struct regions *regions, const bool *keep, const uint32_t *numbers,
                     struct threads *threads, uint64_t now_ticks, uint64_t live_bytes);

#endif
