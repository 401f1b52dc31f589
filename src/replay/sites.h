/* The call paths that allocate, and those that free where that is recorded ("sites"), densely
 * numbered in the order of their first event, and their metrics. Other paths cost four bytes.
 *
 *   node ──▶ pages of 4096 site numbers ──▶ hot   ┌────────────┬────────────┬────────────┐ 192 bytes
 *                                                  │ sums       │ bounds     │ at peaks   │
 *                                                  │            │            │            │
 *                                                  └────────────┴────────────┴────────────┘
 *                                           cold  │ what is rare, and the node  │ 72 bytes
 *                                          freed  │ what was freed from here    │ 32 bytes,
 *                                                   only where frees come with their call paths
 *                                        samples  │ how much is known of it           │  32 bytes,
 *                                                   only where allocations are sampled
 *
 * A block's life is site_born() … site_ended(); what call_metrics says follows from the two sums:
 *     live = born - ended,   free_count = ended_count,   alloc_count = born_count - realloc_count,
 * bytes likewise.
 *
 * The share of each site in the program's peak is brought up to date lazily (Valat, Jalby et al.,
 * "Memory profiling on HPC applications with MALT", figure 2): whoever keeps the total raises the
 * stamp of all sites after every event that made a new peak, and a site copies its live bytes to its
 * peak share before it changes while its own stamp is behind. So
 *     share at the peak = site.stamp < sites.peak_stamp ? live : at_peak.
 * The crest of a rise of the total (peaks.h) is kept in the same way and by the same stamp, so that
 * an event compares once; and whoever has seen all sites raises it too: a site has changed since
 * if  site.stamp >= sites.seen_stamp.
 *
 * Where allocations are sampled, counts of blocks (not of mmap) are in 1024ths (weight.h). */
#ifndef TIDEMARK_REPLAY_SITES_H
#define TIDEMARK_REPLAY_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "replay/metrics.h"
#include "replay/region.h"
#include "replay/weight.h"

struct site_hot {
    /* what began here (by whatever call) and what ended of it; live is the difference, in two's
     * complement where a window began with live blocks */
    _Alignas(64) uint64_t born_count;
    uint64_t born_bytes, born_slack_bytes;
    uint64_t ended_count, ended_bytes, ended_slack_bytes;
    uint64_t lifetime_sum;
    uint64_t stamp; /* the sites' when it last changed */
    /* looked at by every event, seldom written */
    uint64_t peak_bytes;
    uint64_t band_low, band_span; /* live bytes in [low, low + span] say nothing new (curves.h) */
    uint64_t size_min, size_max;
    uint64_t lifetime_min, lifetime_max;
    uint64_t temporary_count;
    /* written when there is a new peak, or its calls are timed */
    uint64_t at_peak_count, at_peak_bytes;
    uint64_t crest_bytes;
    uint64_t peak_ticks;
    uint64_t alloc_time, free_time;
};
_Static_assert(sizeof(struct site_hot) == 192, "three cache lines");

struct site_cold {
    uint64_t realloc_count, realloc_bytes, realloc_moved;
    uint64_t failed_count, zero_count, aligned_count;
    uint64_t map_count, map_bytes;
    uint32_t node;
    uint32_t curve; /* its number + 1 (curves.h); 0: has none */
};

struct site_freed {
    uint64_t count, bytes, elsewhere_count, lifetime_sum;
};

/* What was alive when a window began (sites_restart()), in the units of live_count and live_bytes. */
struct site_seed {
    uint64_t count, bytes;
};

struct site_samples {
    uint64_t count;
    uint64_t alloc_variance, live_variance, at_peak_variance;
};

#define SITES_PAGE_LOG2  12
#define SITES_PAGE_NODES (1u << SITES_PAGE_LOG2)

struct sites {
    struct site_hot *hot;
    struct site_cold *cold;
    struct site_freed *freed; /* NULL: not recorded */
    struct site_samples *samples; /* NULL: every allocation is recorded */
    struct site_seed *seeds; /* of the first seed_count sites; the others have none */
    uint32_t seed_count;
    uint32_t count;
    bool timed; /* how long calls took is told */
    bool levels_only; /* what is alive is known, not what happened */
    uint64_t stamp; /* of changes; raised by a peak, by a crest, and when all sites were seen: */
    uint64_t peak_stamp, crest_stamp, seen_stamp; /* what it then became */
    uint32_t **pages; /* by node: site number + 1, 0 if it has none; a page may be NULL */
    uint32_t page_count, pages_used;
    struct region hot_memory, cold_memory, freed_memory, samples_memory;
};

void sites_init(struct sites *sites);
void sites_release(struct sites *sites);
size_t sites_memory_bytes(const struct sites *sites);

/* From now on, and before the first site is made: what is freed is counted where it is freed. */
void sites_know_frees(struct sites *sites);
/* Likewise: allocations are sampled. */
void sites_sample(struct sites *sites);

/* Forgets what has happened, not what is alive: sites that have no live blocks (those not to keep) are
 * no more, the others are numbered anew in the old order. Returns the new numbers by the old ones, malloc'd; UINT32_MAX:
 * none. Curves must be begun anew too. */
uint32_t *sites_restart(struct sites *sites, const bool *keep, uint64_t now_ticks);

/* Makes the site of a node that has none. */
uint32_t sites_add(struct sites *sites, uint32_t node);

/* The site number of a node + 1, or 0. */
static inline uint32_t sites_number(const struct sites *sites, uint32_t node)
{
    uint32_t page = node >> SITES_PAGE_LOG2;

    if (page >= sites->page_count || !sites->pages[page])
        return 0;
    return sites->pages[page][node & (SITES_PAGE_NODES - 1)];
}

/* The number will be asked for soon. */
static inline void sites_number_prefetch(const struct sites *sites, uint32_t node)
{
    uint32_t page = node >> SITES_PAGE_LOG2;

    if (page < sites->page_count && sites->pages[page])
        __builtin_prefetch(&sites->pages[page][node & (SITES_PAGE_NODES - 1)]);
}

static inline uint32_t sites_of_node(struct sites *sites, uint32_t node)
{
    uint32_t number = sites_number(sites, node);

    return number ? number - 1 : sites_add(sites, node);
}

/* By numbers, for there may be no sites yet: prefetching from anywhere is allowed, pointing is not. */
static inline void site_prefetch(const struct sites *sites, uint32_t site)
{
    uintptr_t hot = (uintptr_t)sites->hot + site * sizeof *sites->hot;

    __builtin_prefetch((const void *)hot, 1);
    __builtin_prefetch((const void *)(hot + 64), 1);
    __builtin_prefetch((const void *)(hot + 128), 1);
}

static inline uint64_t site_live_bytes(const struct site_hot *hot)
{
    return hot->born_bytes - hot->ended_bytes;
}

static inline uint64_t site_live_count(const struct site_hot *hot)
{
    return hot->born_count - hot->ended_count;
}

/* What is alive now is what will have been at the latest peak. */
static inline void sites_peak(struct sites *sites)
{
    sites->peak_stamp = ++sites->stamp;
}

static inline void sites_crest(struct sites *sites)
{
    sites->crest_stamp = ++sites->stamp;
}

/* The peaks of others are these sites' too. */
static inline void sites_follow(struct sites *sites, const struct sites *others)
{
    sites->stamp = others->stamp;
    sites->peak_stamp = others->peak_stamp;
}

/* Copies what was alive at peaks since the site last changed, and says that it does. */
void site_catch_up(struct sites *sites, uint32_t site);

/* A site is about to change. */
static inline struct site_hot *site_change(struct sites *sites, uint32_t site)
{
    struct site_hot *hot = &sites->hot[site];

    if (hot->stamp != sites->stamp)
        site_catch_up(sites, site);
    return hot;
}

/* A block begins to live. If by a realloc, the caller counts that too. */
static inline void site_born(struct sites *sites, uint32_t site, uint64_t size_bytes,
                             struct weight weight)
{
    struct site_hot *hot = site_change(sites, site);

    hot->born_count += weight.count;
    hot->born_bytes += weight.bytes;
    hot->born_slack_bytes += weight.slack_bytes;
    if (size_bytes < hot->size_min)
        hot->size_min = size_bytes;
    if (size_bytes > hot->size_max)
        hot->size_max = size_bytes;
}

/* lifetime_sum: that of all the blocks that this one stands for. */
static inline void site_ended(struct sites *sites, uint32_t site, struct weight weight,
                              uint64_t lifetime_ticks, uint64_t lifetime_sum)
{
    struct site_hot *hot = site_change(sites, site);

    hot->ended_count += weight.count;
    hot->ended_bytes += weight.bytes;
    hot->ended_slack_bytes += weight.slack_bytes;
    hot->lifetime_sum += lifetime_sum;
    if (lifetime_ticks < hot->lifetime_min)
        hot->lifetime_min = lifetime_ticks;
    if (lifetime_ticks > hot->lifetime_max)
        hot->lifetime_max = lifetime_ticks;
}

/* A block was freed from this path. Only with sites_know_frees(). */
static inline void site_freed(struct sites *sites, uint32_t site, struct weight weight,
                              uint64_t lifetime_sum, bool elsewhere)
{
    struct site_freed *freed = &sites->freed[site];

    site_change(sites, site);
    freed->count += weight.count;
    freed->bytes += weight.bytes;
    freed->elsewhere_count += elsewhere ? weight.count : 0;
    freed->lifetime_sum += lifetime_sum;
}

/* All that one event does to a site is done: is this its own high-water mark? */
static inline void site_crest(struct sites *sites, uint32_t site, uint64_t now_ticks)
{
    struct site_hot *hot = &sites->hot[site];

    if (site_live_bytes(hot) > hot->peak_bytes) {
        hot->peak_bytes = site_live_bytes(hot);
        hot->peak_ticks = now_ticks;
    }
}

/* Likewise: are its live bytes outside the band that they were in? */
static inline bool site_left_band(const struct sites *sites, uint32_t site)
{
    const struct site_hot *hot = &sites->hot[site];

    return site_live_bytes(hot) - hot->band_low > hot->band_span;
}

/* All that is known of a site, as call_metrics has it. */
void site_metrics(const struct sites *sites, uint32_t site, struct call_metrics *out);

/* Brings a site's lazy values up to date; true if it has changed since sites_seen(). */
bool site_settle(struct sites *sites, uint32_t site);
static inline void sites_seen(struct sites *sites)
{
    sites->seen_stamp = ++sites->stamp;
}

/* The metrics of all sites as one. The own peaks, which do not add up, stay 0. */
void sites_total(const struct sites *sites, struct call_metrics *out);

#endif
