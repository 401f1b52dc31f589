/* The call paths that allocate, and those that free where that is recorded ("sites"), densely
 * numbered in the order of their first event, and their metrics. Other paths cost four bytes.
 *
 *   node ──▶ pages of 4096 site numbers ──▶ hot   │ what most events touch      │ 64 bytes
 *                                           cold  │ extremes, peaks, the node   │ 48 bytes
 *                                           wide  │ figures that hot and cold are too narrow for,
 *                                                   128 bytes; few sites have it
 *                                           rare  │ what is rare │ 88 bytes; few sites have it
 *                                          freed  │ what was freed from here    │ 32 bytes,
 *                                                   only where frees come with their call paths
 *                                          times  │ inside the allocator        │ 16 bytes,
 *                                                   only where calls are timed
 *                                        samples  │ how much is known of it     │ 32 bytes,
 *                                                   only where allocations are sampled
 *                                      all_peaks  │ share in the peak of blocks
 *                                                   and mappings together        │ 8 bytes,
 *                                                   only where the program maps
 *
 * Invariants
 *   live = born - ended,   at_peak <= live at the peak,   temporary <= born,   size <= live then
 *   free_count = born_count - live_count,   alloc_count = born_count - realloc_count,
 *   and the same for bytes. (A window's sites add what was alive at its beginning: `seeds`.)
 *
 * Counters in hot and cold have 32 bits. A site whose counters would overflow becomes *wide* for
 * ever: its counters move to a record with 64 bits. By the invariants only a birth can cause that,
 * by the site's count, slack or live bytes. A site that is carried into a window is wide too,
 * because more blocks can be alive there than were born since.
 *
 * The share of each site in the program's peak is brought up to date lazily (Valat, Jalby et al.,
 * "Memory profiling on HPC applications with MALT", figure 2). After each event that makes a new
 * peak, sites_peak() raises the stamp of all sites. Before a site changes, it compares its own
 * stamp with that of all. If its own is lower, it first copies its live bytes to its peak share. So
 *     share at the peak = site.stamp < sites.peak_stamp ? live : at_peak.
 * The share in the peak of blocks and mappings together is kept in the same way (`all_peaks`, by
 * all_peak_stamp). While the program has mapped nothing, it is the share in the program's peak.
 * The crest of a rise of the total (separate_peaks.h) is kept in the same way and by the same
 * stamp, so an event compares only once. sites_seen() raises the stamp too, after all sites were
 * copied out. So
 *     the site has changed since then  <=>  site.stamp >= sites.seen_stamp.
 *
 * A site's live bytes are *quiet* while they are not above the site's own peak and lie within the
 * band of its curve (path_curves.h). Then an event needs one comparison for both.
 *
 * Where allocations are sampled, counts of blocks (not of mmap) are in 1024ths (weight.h). */
#ifndef TIDEMARK_ACCOUNTING_SITES_H
#define TIDEMARK_ACCOUNTING_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "model/metrics.h"
#include "blocks/arena.h"
#include "accounting/weight.h"

struct site_hot {
    _Alignas(64) uint64_t stamp; /* the sites' when it last changed */
    uint64_t lifetime_sum;
    uint64_t born_bytes; /* a wide site's: its place in `wide` */
    uint32_t born_count; /* a wide site's: SITE_WIDE; none of the following is used then */
    uint32_t live_count, live_bytes;
    uint32_t quiet_low, quiet_high; /* live bytes in [low, high] are quiet; not if wide. Those
                                     * after the last step are in it, or low > high */
    uint32_t born_slack, live_slack;
    uint32_t size_min, size_max;
    uint32_t temporary_count;
};
_Static_assert(sizeof(struct site_hot) == 64, "one cache line");
#define SITE_WIDE UINT32_MAX

struct site_cold {
    uint64_t lifetime_min, lifetime_max; /* 16 bytes in one line */
    uint64_t peak_ticks;
    uint32_t peak_bytes, at_peak_bytes, at_peak_count, crest_bytes; /* not a wide site's */
    uint32_t node;
    uint32_t rare; /* its place in `rare` + 1; 0: has none */
};
_Static_assert(sizeof(struct site_cold) == 48, "a multiple of 16");

/* Sums are modulo 2^64: more may live than was born where a window began with live blocks. */
struct site_wide {
    _Alignas(64) uint64_t born_count, born_bytes, born_slack;
    uint64_t live_count, live_bytes, live_slack;
    uint64_t quiet_low, quiet_high;
    uint64_t size_min, size_max;
    uint64_t temporary_count;
    uint64_t peak_bytes, at_peak_count, at_peak_bytes, crest_bytes;
};

struct site_rare {
    uint64_t realloc_count, realloc_bytes, realloc_moved;
    uint64_t failed_count, zero_count, aligned_count;
    uint64_t map_count, map_bytes;
    uint64_t reserved_bytes, discarded_bytes; /* of mappings */
    uint32_t curve;                           /* its number + 1 (path_curves.h); 0: has none */
};

struct site_times {
    uint64_t alloc_time, free_time;
};

struct site_freed {
    uint64_t count, bytes, elsewhere_count, lifetime_sum;
};

/* What was alive when a window began (sites_restart()), in the units of live_count and
 * live_bytes. */
struct site_seed {
    uint64_t count, bytes;
};

struct site_samples {
    uint64_t count;
    uint64_t alloc_variance, live_variance, at_peak_variance;
};

#define SITES_SUM_COUNT  1024u
#define SITES_PAGE_LOG2  12
#define SITES_PAGE_NODES (1u << SITES_PAGE_LOG2)

struct sites {
    struct site_hot *hot;
    struct site_cold *cold;
    struct site_wide *wide;
    struct site_rare *rare;
    struct site_freed *freed;     /* NULL: not recorded */
    struct site_times *times;     /* NULL: calls were not timed */
    struct site_samples *samples; /* NULL: every allocation is recorded */
    uint64_t *all_peaks;          /* NULL: the program has mapped nothing */
    bool has_more;                /* there are samples or all_peaks */
    struct site_seed *seeds;      /* of the first seed_count sites; the others have none */
    uint32_t seed_count;
    uint32_t count, wide_count, rare_count;
    uint32_t room;    /* so many sites have memory in all arrays that are there */
    bool levels_only; /* only what is alive is known, not what happened (replay_pages()) */
    uint64_t stamp;   /* of changes; raised by a peak, by a crest, and when all sites were seen */
    uint64_t peak_stamp, crest_stamp, seen_stamp, all_peak_stamp; /* the stamp's value then */
    struct call_metrics *sums; /* of SITES_SUM_COUNT sites each, as of when all sites were seen */
    bool are_summed;           /* no site has changed since then */
    uint32_t *pages;           /* by node / SITES_PAGE_NODES: where its page begins in `numbers` */
    uint32_t *numbers;         /* of sites + 1, 0: none. The first page stays empty: all nodes that
                                * have no page of their own share it */
    uint32_t page_count, pages_used;
    struct arena hot_memory, cold_memory, wide_memory, rare_memory, number_memory;
    struct arena freed_memory, times_memory, samples_memory, sum_memory, all_peaks_memory;
};

void sites_init(struct sites *sites);
void sites_release(struct sites *sites);
size_t sites_memory_bytes(const struct sites *sites);

/* Before the first site is made: frees are counted at the call paths that free. */
void sites_know_frees(struct sites *sites);
/* Before the first site is made: allocations are sampled. */
void sites_sample(struct sites *sites);
/* From here on allocations are sampled; all before were recorded. Counts become 1024ths. */
void sites_begin_samples(struct sites *sites);
/* Before the first site is made: the duration of calls is recorded. */
void sites_know_times(struct sites *sites);
/* The program begins to map. Until now a site's share in the peak of blocks and mappings together
 * was its share in the peak of blocks. */
void sites_know_all_peaks(struct sites *sites);

/* Forgets what has happened, and keeps what is alive: sites without live blocks (those that `keep`
 * does not name) are removed, the others are numbered anew in the old order. Returns the new
 * numbers by the old ones, malloc'd; UINT32_MAX: removed. The caller must begin curves anew too. */
uint32_t *sites_restart(struct sites *sites, const bool *keep, uint64_t now_ticks);

/* Makes the site of a node that has none. */
uint32_t sites_add(struct sites *sites, uint32_t node);

/* The site number of a node + 1, or 0. */
static inline uint32_t sites_number(const struct sites *sites, uint32_t node)
{
    uint32_t page = node >> SITES_PAGE_LOG2;

    if (page >= sites->page_count)
        return 0;
    return sites->numbers[sites->pages[page] + node % SITES_PAGE_NODES];
}

static inline uint32_t sites_of_node(struct sites *sites, uint32_t node)
{
    uint32_t number = sites_number(sites, node);

    return number ? number - 1 : sites_add(sites, node);
}

/* There may be no such site, or none at all: so addresses are computed with integers. A prefetch of
 * any address is allowed, a pointer outside an array is not. */
static inline void site_prefetch(const struct sites *sites, uint32_t site)
{
    __builtin_prefetch((const void *)((uintptr_t)sites->hot + site * sizeof *sites->hot), 1);
    __builtin_prefetch((const void *)((uintptr_t)sites->cold + site * sizeof *sites->cold), 1);
}

/* The same by the site's number + 1. Subtracting last costs nothing: it is part of an address. */
static inline void site_prefetch_number(const struct sites *sites, uint32_t number)
{
    uintptr_t hot = (uintptr_t)sites->hot + number * sizeof *sites->hot;
    uintptr_t cold = (uintptr_t)sites->cold + number * sizeof *sites->cold;

    __builtin_prefetch((const void *)(hot - sizeof *sites->hot), 1);
    __builtin_prefetch((const void *)(cold - sizeof *sites->cold), 1);
}

static inline bool site_is_wide(const struct site_hot *hot)
{
    return __builtin_expect(hot->born_count == SITE_WIDE, 0);
}

static inline uint64_t site_live_bytes(const struct sites *sites, uint32_t site)
{
    const struct site_hot *hot = &sites->hot[site];

    return site_is_wide(hot) ? sites->wide[hot->born_bytes].live_bytes : hot->live_bytes;
}

/* The program has a new peak: each site's share of it is what is alive now. */
static inline void sites_peak(struct sites *sites)
{
    sites->peak_stamp = ++sites->stamp;
}

/* The same of blocks and mappings together. Only with sites_know_all_peaks(). */
static inline void sites_all_peak(struct sites *sites)
{
    sites->all_peak_stamp = ++sites->stamp;
}

static inline void sites_crest(struct sites *sites)
{
    sites->crest_stamp = ++sites->stamp;
}

/* Takes over the peak of other sites: the per-region sites follow the program's. */
static inline void sites_follow(struct sites *sites, const struct sites *others)
{
    sites->stamp = others->stamp;
    sites->peak_stamp = others->peak_stamp;
    sites->all_peak_stamp = others->all_peak_stamp;
}

/* Copies the live bytes to the peak and crest shares that have been due since the site's last
 * change, and sets the site's stamp. */
void site_catch_up(struct sites *sites, uint32_t site);

/* A site is about to change. */
static inline struct site_hot *site_change(struct sites *sites, uint32_t site)
{
    struct site_hot *hot = &sites->hot[site];

    if (hot->stamp != sites->stamp)
        site_catch_up(sites, site);
    return hot;
}

/* From now on the site is wide. */
void site_widen(struct sites *sites, uint32_t site);

static inline struct site_wide *site_wide(const struct sites *sites, const struct site_hot *hot)
{
    return &sites->wide[hot->born_bytes];
}

static inline void site_born_wide(struct site_wide *wide, uint64_t size_bytes, struct weight weight)
{
    wide->born_count += weight.count;
    wide->born_bytes += weight.bytes;
    wide->born_slack += weight.slack_bytes;
    wide->live_count += weight.count;
    wide->live_bytes += weight.bytes;
    wide->live_slack += weight.slack_bytes;
    if (size_bytes < wide->size_min)
        wide->size_min = size_bytes;
    if (size_bytes > wide->size_max)
        wide->size_max = size_bytes;
}

/* True: with this block a counter would need more than 32 bits. Of bytes only the live ones are
 * kept in 32 bits. */
static inline bool site_is_full(const struct site_hot *hot, struct weight weight)
{
    uint64_t count = hot->born_count + weight.count;
    uint64_t bytes = hot->live_bytes + weight.bytes;
    uint64_t slack = hot->born_slack + weight.slack_bytes;

    return __builtin_expect(((count + 1) | bytes | slack) >> 32, 0);
}

/* A site that is neither wide nor full. */
static inline void site_born_narrow(struct site_hot *hot, uint64_t size_bytes, struct weight weight)
{
    hot->born_count += (uint32_t)weight.count;
    hot->born_bytes += weight.bytes;
    hot->born_slack += (uint32_t)weight.slack_bytes;
    hot->live_count += (uint32_t)weight.count;
    hot->live_bytes += (uint32_t)weight.bytes;
    hot->live_slack += (uint32_t)weight.slack_bytes;
    if (size_bytes < hot->size_min)
        hot->size_min = (uint32_t)size_bytes;
    if (size_bytes > hot->size_max)
        hot->size_max = (uint32_t)size_bytes;
}

/* It is not wide, and no counter of births can soon need more than 32 bits. */
static inline bool site_has_room(const struct site_hot *hot)
{
    return !((hot->born_count | hot->born_slack) >> 31);
}

/* Counts one block of a site that has room as born, and not as living. */
static inline void site_made_one(struct site_hot *hot, uint32_t size_bytes, uint32_t slack_bytes)
{
    hot->born_count++;
    hot->born_bytes += size_bytes;
    hot->born_slack += slack_bytes;
    if (size_bytes < hot->size_min)
        hot->size_min = size_bytes;
    if (size_bytes > hot->size_max)
        hot->size_max = size_bytes;
}

/* Counts the birth of one block of a site that has room. False: its live bytes would need more than
 * 32 bits, and nothing has changed. */
static inline bool site_born_one(struct site_hot *hot, uint32_t size_bytes, uint32_t slack_bytes)
{
    uint32_t live_bytes;

    if (__builtin_add_overflow(hot->live_bytes, size_bytes, &live_bytes))
        return false;
    site_made_one(hot, size_bytes, slack_bytes);
    hot->live_count++;
    hot->live_slack += slack_bytes;
    hot->live_bytes = live_bytes;
    return true;
}

/* A block begins to live. If by a realloc, the caller counts that too. */
static inline void site_born(struct sites *sites, uint32_t site, uint64_t size_bytes,
                             struct weight weight)
{
    struct site_hot *hot = site_change(sites, site);

    if (!site_is_full(hot, weight)) {
        site_born_narrow(hot, size_bytes, weight);
        return;
    }
    if (!site_is_wide(hot))
        site_widen(sites, site);
    site_born_wide(site_wide(sites, hot), size_bytes, weight);
}

static inline void site_lived(struct site_cold *cold, uint64_t lifetime_ticks)
{
    if (lifetime_ticks < cold->lifetime_min)
        cold->lifetime_min = lifetime_ticks;
    if (lifetime_ticks > cold->lifetime_max)
        cold->lifetime_max = lifetime_ticks;
}

/* A site that is not wide. */
static inline void site_ended_narrow(struct site_hot *hot, struct weight weight)
{
    hot->live_count -= (uint32_t)weight.count;
    hot->live_bytes -= (uint32_t)weight.bytes;
    hot->live_slack -= (uint32_t)weight.slack_bytes;
}

/* lifetime_sum: that of all the blocks that this one stands for. */
static inline void site_ended(struct sites *sites, uint32_t site, struct weight weight,
                              uint64_t lifetime_ticks, uint64_t lifetime_sum)
{
    struct site_hot *hot = site_change(sites, site);

    hot->lifetime_sum += lifetime_sum;
    site_lived(&sites->cold[site], lifetime_ticks);
    if (site_is_wide(hot)) {
        struct site_wide *wide = site_wide(sites, hot);
        wide->live_count -= weight.count;
        wide->live_bytes -= weight.bytes;
        wide->live_slack -= weight.slack_bytes;
    } else {
        site_ended_narrow(hot, weight);
    }
}

/* A part of a block has ended, and the rest lives on. */
static inline void site_shrunk(struct sites *sites, uint32_t site, uint64_t bytes)
{
    struct site_hot *hot = site_change(sites, site);

    if (site_is_wide(hot))
        site_wide(sites, hot)->live_bytes -= bytes;
    else
        hot->live_bytes -= (uint32_t)bytes;
}

/* `count` of the blocks that ended were temporary. */
static inline void site_temporary(struct sites *sites, uint32_t site, uint64_t count)
{
    struct site_hot *hot = &sites->hot[site];

    if (site_is_wide(hot))
        site_wide(sites, hot)->temporary_count += count;
    else
        hot->temporary_count += (uint32_t)count;
}

/* The rare figures of a site, which is about to change; made if it has none. */
struct site_rare *site_rare(struct sites *sites, uint32_t site);

static inline uint32_t site_curve(const struct sites *sites, uint32_t site)
{
    uint32_t rare = sites->cold[site].rare;

    return rare ? sites->rare[rare - 1].curve : 0;
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

bool site_is_quiet_wide(const struct sites *sites, uint32_t site);

/* After an event's last change to a site: true if its live bytes are quiet. */
static inline bool site_is_quiet(const struct sites *sites, uint32_t site)
{
    const struct site_hot *hot = &sites->hot[site];

    return (hot->live_bytes >= hot->quiet_low && hot->live_bytes <= hot->quiet_high) ||
           site_is_quiet_wide(sites, site);
}

/* The site's live bytes are not quiet: raises its high-water mark if necessary, and sets the quiet
 * range to the part of [low, high], the band of its curve, that is not above that mark. */
void site_crest(struct sites *sites, uint32_t site, uint64_t low, uint64_t high,
                uint64_t now_ticks);

/* The same of a site that has a new high-water mark of at most `least_bytes`, and never had more.
 * It has no curve, and so a band of [0, least_bytes]. False: it is none, and nothing has changed.
 */
static inline bool site_crests_below(struct sites *sites, uint32_t site, uint64_t least_bytes,
                                     uint64_t now_ticks)
{
    struct site_hot *hot = &sites->hot[site];
    struct site_cold *cold = &sites->cold[site];

    if (cold->rare || hot->live_bytes <= cold->peak_bytes || hot->live_bytes > least_bytes ||
        site_is_wide(hot))
        return false;
    cold->peak_bytes = hot->quiet_high = hot->live_bytes;
    cold->peak_ticks = now_ticks;
    hot->quiet_low = 0;
    return true;
}

/* Its live bytes at the latest peak, and at the latest crest. */
uint64_t site_at_peak(const struct sites *sites, uint32_t site);
uint64_t site_at_crest(const struct sites *sites, uint32_t site);

/* All that is known of a site, as call_metrics has it. */
void site_metrics(const struct sites *sites, uint32_t site, struct call_metrics *out);

/* Brings a site's lazy values up to date; true if it has changed since sites_seen(). */
bool site_settle(struct sites *sites, uint32_t site);
/* Keeps the sum over a block of SITES_SUM_COUNT sites (the last block has fewer), for
 * sites_total(). Called for each changed block while all sites are copied out. */
void sites_keep_sum(struct sites *sites, uint32_t block, const struct replay_site *all,
                    size_t count);
static inline void sites_seen(struct sites *sites)
{
    sites->seen_stamp = ++sites->stamp;
    sites->are_summed = true; /* until a site changes or is added */
}

/* The metrics of all sites as one. The own peaks, which do not add up, stay 0. */
void sites_total(const struct sites *sites, struct call_metrics *out);

#endif
