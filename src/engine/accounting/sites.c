/* The sites and their metrics (sites.h). A table of pages maps nodes to site numbers. Each group of
 * figures is an array in an arena, indexed by the site's number. The figures of a site that do not
 * fit 32 bits move to a wide record. */
#include "accounting/sites.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "model/detail.h"

void sites_init(struct sites *sites)
{
    *sites = (struct sites){0};
}

static size_t sites_number_bytes(size_t pages)
{
    return pages * SITES_PAGE_NODES * sizeof(uint32_t);
}

void sites_release(struct sites *sites)
{
    free(sites->pages);
    arena_release_used(&sites->number_memory, sites_number_bytes(sites->pages_used + (size_t)1));
    free(sites->seeds);
    arena_release_used(&sites->hot_memory, sites->count * sizeof(struct site_hot));
    arena_release_used(&sites->cold_memory, sites->count * sizeof(struct site_cold));
    arena_release_used(&sites->wide_memory, sites->wide_count * sizeof *sites->wide);
    arena_release_used(&sites->rare_memory, (sites->rare_count + (size_t)1) * sizeof *sites->rare);
    arena_release(&sites->freed_memory);
    arena_release(&sites->times_memory);
    arena_release(&sites->samples_memory);
    arena_release_used(&sites->all_peaks_memory, sites->count * sizeof *sites->all_peaks);
    arena_release_used(&sites->sum_memory,
                       (sites->count / SITES_SUM_COUNT + (size_t)1) * sizeof *sites->sums);
}

size_t sites_memory_bytes(const struct sites *sites)
{
    return sites->count * (sizeof(struct site_hot) + sizeof(struct site_cold) +
                           (sites->freed ? sizeof(struct site_freed) : 0) +
                           (sites->times ? sizeof(struct site_times) : 0) +
                           (sites->samples ? sizeof(struct site_samples) : 0) +
                           (sites->all_peaks ? sizeof *sites->all_peaks : 0)) +
           sites->wide_count * sizeof(struct site_wide) +
           sites->rare_count * sizeof(struct site_rare) + sites_number_bytes(sites->pages_used) +
           sites->page_count * sizeof *sites->pages;
}

/* calloc and copy, so that the untouched end of a large directory is never resident. */
static void sites_grow_directory(struct sites *sites, uint32_t page)
{
    uint32_t wanted = sites->page_count ? sites->page_count : 64;
    uint32_t *pages;

    while (wanted <= page)
        wanted *= 2;
    pages = arena_calloc(wanted, sizeof *pages);
    if (sites->page_count)
        memcpy(pages, sites->pages, sites->page_count * sizeof *pages);
    free(sites->pages);
    sites->pages = pages;
    sites->page_count = wanted;
}

/* The page of nodes that have none. */
static void __attribute__((noinline)) sites_add_page(struct sites *sites, uint32_t page)
{
    if (page >= sites->page_count)
        sites_grow_directory(sites, page);
    sites->pages[page] = ++sites->pages_used * SITES_PAGE_NODES;
    arena_grow(&sites->number_memory, sites_number_bytes(sites->pages_used + (size_t)1));
    sites->numbers = sites->number_memory.base;
}

static void sites_set_number(struct sites *sites, uint32_t node, uint32_t number)
{
    uint32_t page = node / SITES_PAGE_NODES;

    if (page >= sites->page_count || !sites->pages[page])
        sites_add_page(sites, page);
    sites->numbers[sites->pages[page] + node % SITES_PAGE_NODES] = number;
}

void sites_know_frees(struct sites *sites)
{
    assert(sites->count == 0);
    arena_grow(&sites->freed_memory, sizeof(struct site_freed));
    sites->freed = sites->freed_memory.base;
}

void sites_sample(struct sites *sites)
{
    assert(sites->count == 0);
    arena_grow(&sites->samples_memory, sizeof(struct site_samples));
    sites->samples = sites->samples_memory.base;
    sites->has_more = true;
}

void sites_know_all_peaks(struct sites *sites)
{
    arena_grow(&sites->all_peaks_memory, (sites->count + (size_t)1) * sizeof *sites->all_peaks);
    sites->all_peaks = sites->all_peaks_memory.base;
    sites->room = 0; /* sites_make_room() looks at this array too */
    for (uint32_t site = 0; site < sites->count; site++)
        sites->all_peaks[site] = site_at_peak(sites, site);
    sites->has_more = true;
}

void sites_know_times(struct sites *sites)
{
    assert(sites->count == 0);
    arena_grow(&sites->times_memory, sizeof(struct site_times));
    sites->times = sites->times_memory.base;
}

/* ---- Wide sites ---- */

/* The figures of a site, wide or not, as those of a wide one. */
static struct site_wide sites_figures_of(const struct sites *sites, uint32_t site)
{
    const struct site_hot *hot = &sites->hot[site];
    const struct site_cold *cold = &sites->cold[site];

    if (site_is_wide(hot))
        return sites->wide[hot->born_bytes];
    return (struct site_wide){
        .born_count = hot->born_count,
        .born_bytes = hot->born_bytes,
        .born_slack = hot->born_slack,
        .live_count = hot->live_count,
        .live_bytes = hot->live_bytes,
        .live_slack = hot->live_slack,
        .quiet_low = hot->quiet_low,
        .quiet_high = hot->quiet_high,
        .size_min = hot->born_count ? hot->size_min : UINT64_MAX,
        .size_max = hot->size_max,
        .temporary_count = hot->temporary_count,
        .peak_bytes = cold->peak_bytes,
        .at_peak_count = cold->at_peak_count,
        .at_peak_bytes = cold->at_peak_bytes,
        .crest_bytes = cold->crest_bytes,
    };
}

void site_widen(struct sites *sites, uint32_t site)
{
    struct site_hot *hot = &sites->hot[site];

    if (site_is_wide(hot))
        return;
    arena_grow(&sites->wide_memory, (sites->wide_count + 1) * sizeof *sites->wide);
    sites->wide = sites->wide_memory.base;
    sites->wide[sites->wide_count] = sites_figures_of(sites, site);
    hot->born_count = SITE_WIDE;
    hot->born_bytes = sites->wide_count++;
    hot->live_bytes = hot->quiet_high = 0;
    hot->quiet_low = 1;
}

bool site_is_quiet_wide(const struct sites *sites, uint32_t site)
{
    const struct site_hot *hot = &sites->hot[site];
    const struct site_wide *wide;

    if (!site_is_wide(hot))
        return false;
    wide = site_wide(sites, hot);
    return wide->live_bytes >= wide->quiet_low && wide->live_bytes <= wide->quiet_high;
}

/* ---- Sites ---- */

struct site_rare *site_rare(struct sites *sites, uint32_t site)
{
    struct site_cold *cold = &sites->cold[site];

    if (!cold->rare) {
        arena_grow(&sites->rare_memory, (sites->rare_count + 1) * sizeof *sites->rare);
        sites->rare = sites->rare_memory.base;
        cold->rare = ++sites->rare_count;
    }
    return &sites->rare[cold->rare - 1];
}

/* Memory for one site more than there are. `room` becomes the number of sites for which there is
 * some in all arrays so far. Returns where the array lies now. */
static void *sites_grow_array(struct sites *sites, struct arena *memory, size_t bytes)
{
    arena_grow(memory, (sites->count + (size_t)1) * bytes);
    if (memory->bytes / bytes < sites->room)
        sites->room = (uint32_t)(memory->bytes / bytes);
    return memory->base;
}

static void __attribute__((noinline)) sites_make_room(struct sites *sites)
{
    sites->room = UINT32_MAX;
    sites->hot = sites_grow_array(sites, &sites->hot_memory, sizeof *sites->hot);
    sites->cold = sites_grow_array(sites, &sites->cold_memory, sizeof *sites->cold);
    if (sites->freed)
        sites->freed = sites_grow_array(sites, &sites->freed_memory, sizeof *sites->freed);
    if (sites->times)
        sites->times = sites_grow_array(sites, &sites->times_memory, sizeof *sites->times);
    if (sites->samples)
        sites->samples = sites_grow_array(sites, &sites->samples_memory, sizeof *sites->samples);
    if (sites->all_peaks)
        sites->all_peaks =
            sites_grow_array(sites, &sites->all_peaks_memory, sizeof *sites->all_peaks);
}

uint32_t sites_add(struct sites *sites, uint32_t node)
{
    uint32_t site = sites->count;

    if (site >= sites->room)
        sites_make_room(sites);
    sites->count++;
    sites->are_summed = false;
    sites->hot[site].stamp = sites->stamp;
    sites->hot[site].size_min = UINT32_MAX;
    sites->cold[site].lifetime_min = UINT64_MAX;
    sites->cold[site].node = node;
    sites_set_number(sites, node, sites->count);
    return site;
}

/* ---- Windows ---- */

static void sites_carry(struct sites *sites, const struct sites *old, uint32_t from,
                        uint64_t now_ticks)
{
    struct site_wide before = sites_figures_of(old, from), *wide;
    uint32_t site = sites_add(sites, old->cold[from].node);

    site_widen(sites, site);
    wide = site_wide(sites, &sites->hot[site]);
    wide->live_count = before.live_count;
    wide->live_bytes = before.live_bytes;
    wide->live_slack = before.live_slack;
    wide->peak_bytes = before.live_bytes;
    sites->cold[site].peak_ticks = now_ticks;
    sites->seeds[site] = (struct site_seed){before.live_count, before.live_bytes};
    sites->seed_count = site + 1;
    if (sites->samples)
        sites->samples[site].live_variance = old->samples[from].live_variance;
}

uint32_t *sites_restart(struct sites *sites, const bool *keep, uint64_t now_ticks)
{
    struct sites old = *sites;
    uint32_t *numbers = arena_calloc(old.count + (size_t)1, sizeof *numbers);

    sites_init(sites);
    sites->levels_only = old.levels_only;
    if (old.freed)
        sites_know_frees(sites);
    if (old.samples)
        sites_sample(sites);
    if (old.times)
        sites_know_times(sites);
    if (old.all_peaks)
        sites_know_all_peaks(sites);
    sites->seeds = arena_calloc(old.count + (size_t)1, sizeof *sites->seeds);
    for (uint32_t site = 0; site < old.count; site++) {
        numbers[site] = keep[site] ? sites->count : UINT32_MAX;
        if (numbers[site] != UINT32_MAX)
            sites_carry(sites, &old, site, now_ticks);
    }
    sites_peak(sites); /* the level at the window's beginning is its first peak */
    sites_all_peak(sites);
    sites_release(&old);
    return numbers;
}

/* ---- Samples from here on ---- */

static void sites_scale(uint64_t *count)
{
    *count <<= WEIGHT_SHIFT;
}

static void sites_scale_wide(struct site_wide *wide)
{
    sites_scale(&wide->born_count);
    sites_scale(&wide->live_count);
    sites_scale(&wide->temporary_count);
    sites_scale(&wide->at_peak_count);
}

/* All of its counts are at most the number of blocks that were born. */
static void sites_scale_narrow(struct site_hot *hot, struct site_cold *cold)
{
    hot->born_count <<= WEIGHT_SHIFT;
    hot->live_count <<= WEIGHT_SHIFT;
    hot->temporary_count <<= WEIGHT_SHIFT;
    cold->at_peak_count <<= WEIGHT_SHIFT;
}

static void sites_scale_rare(struct site_rare *rare)
{
    sites_scale(&rare->realloc_count);
    sites_scale(&rare->realloc_moved);
    sites_scale(&rare->failed_count);
    sites_scale(&rare->zero_count);
    sites_scale(&rare->aligned_count);
}

static void sites_scale_site(struct sites *sites, uint32_t site)
{
    struct site_hot *hot = site_change(sites, site);

    if (!site_is_wide(hot) && (uint64_t)(hot->born_count + 1) << WEIGHT_SHIFT > UINT32_MAX)
        site_widen(sites, site);
    sites->samples[site].count =
        site_is_wide(hot) ? site_wide(sites, hot)->born_count : hot->born_count;
    if (site_is_wide(hot))
        sites_scale_wide(site_wide(sites, hot));
    else
        sites_scale_narrow(hot, &sites->cold[site]);
    if (sites->cold[site].rare)
        sites_scale_rare(site_rare(sites, site));
    if (sites->freed) {
        sites_scale(&sites->freed[site].count);
        sites_scale(&sites->freed[site].elsewhere_count);
    }
}

void sites_begin_samples(struct sites *sites)
{
    arena_grow(&sites->samples_memory, (sites->count + (size_t)1) * sizeof *sites->samples);
    sites->samples = sites->samples_memory.base;
    sites->room = 0;
    sites->has_more = true;
    sites->are_summed = false;
    for (uint32_t site = 0; site < sites->count; site++)
        sites_scale_site(sites, site);
    for (uint32_t site = 0; site < sites->seed_count; site++)
        sites_scale(&sites->seeds[site].count);
}

/* ---- Metrics ---- */

static struct site_seed sites_seed_of(const struct sites *sites, uint32_t site)
{
    return site < sites->seed_count ? sites->seeds[site] : (struct site_seed){0, 0};
}

/* All that the metrics of one site are computed from. */
struct site_view {
    struct site_wide now;
    const struct site_hot *hot;
    const struct site_cold *cold;
    const struct site_rare *rare;
    const struct site_freed *freed;     /* NULL: frees were not recorded where they happen */
    const struct site_times *times;     /* NULL: calls were not timed */
    const struct site_samples *samples; /* NULL: every allocation was recorded */
    struct site_seed seed;
    bool behind; /* not changed since the peak: what is alive now was alive then */
    uint64_t at_all_peak_bytes;
};

static uint64_t site_at_all_peak(const struct sites *sites, uint32_t site)
{
    if (!sites->all_peaks)
        return site_at_peak(sites, site);
    return sites->hot[site].stamp < sites->all_peak_stamp ? sites_figures_of(sites, site).live_bytes
                                                          : sites->all_peaks[site];
}

static struct site_view sites_view(const struct sites *sites, uint32_t site)
{
    static const struct site_rare none;
    uint32_t rare = sites->cold[site].rare;

    return (struct site_view){
        .now = sites_figures_of(sites, site),
        .hot = &sites->hot[site],
        .cold = &sites->cold[site],
        .rare = rare ? &sites->rare[rare - 1] : &none,
        .freed = sites->freed ? &sites->freed[site] : NULL,
        .times = sites->times ? &sites->times[site] : NULL,
        .samples = sites->samples ? &sites->samples[site] : NULL,
        .seed = sites_seed_of(sites, site),
        .behind = sites->hot[site].stamp < sites->peak_stamp,
        .at_all_peak_bytes = site_at_all_peak(sites, site),
    };
}

/* Counts of blocks are in 1024ths where allocations are sampled. */
static uint64_t site_blocks(const struct site_view *site, uint64_t count)
{
    return site->samples ? weight_whole(count) : count;
}

/* Blocks that ended or are alive: by allocations, reallocations, or alive when a window began. */
static uint64_t site_lives(const struct site_view *site)
{
    return site_blocks(site, site->now.born_count - site->rare->realloc_count) +
           site_blocks(site, site->rare->realloc_count) + site_blocks(site, site->seed.count);
}

/* Both numbers are rounded, so more blocks could seem to live than were made. */
static uint64_t site_alive(const struct site_view *site)
{
    uint64_t alive = site_blocks(site, site->now.live_count), lives = site_lives(site);

    return site->samples && alive > lives ? lives : alive;
}

/* UINT64_MAX: there was no such block. */
static struct figure site_least(uint64_t least)
{
    return least == UINT64_MAX ? FIGURE_UNKNOWN : figure_of(least);
}

/* What each metric is, of one site: site_metric_FIELD(). A row of metrics.def without its line here
 * does not compile (sites_known_metrics()), and neither does a line without its row. */
#define SITE_METRIC(field, value)                                                                  \
    static inline struct figure site_metric_##field(const struct site_view *site)                  \
    {                                                                                              \
        _Static_assert(offsetof(struct call_metrics, field) % sizeof(struct figure) == 0, "");     \
        return value;                                                                              \
    }
#define SITE_NUMBER(field, number) SITE_METRIC(field, figure_of(number))
/* Only where the site has a `part` of that kind. */
#define SITE_PART(field, part, number)                                                             \
    SITE_METRIC(field, site->part ? figure_of(number) : FIGURE_UNKNOWN)

/* Makes site_metric_alloc_count, site_metric_alloc_bytes, site_metric_realloc_count,
 * site_metric_realloc_bytes, site_metric_realloc_moved, site_metric_free_count,
 * site_metric_free_bytes, site_metric_failed_count, site_metric_zero_count,
 * site_metric_aligned_count, site_metric_temporary_count, site_metric_slack_bytes,
 * site_metric_size_min, site_metric_size_max, site_metric_lifetime_min, site_metric_lifetime_max,
 * site_metric_lifetime_sum, site_metric_live_count, site_metric_live_bytes,
 * site_metric_live_slack_bytes, site_metric_peak_bytes, site_metric_peak_ticks,
 * site_metric_at_peak_bytes, site_metric_at_peak_count, site_metric_map_count,
 * site_metric_map_bytes, site_metric_freed_count, site_metric_freed_bytes,
 * site_metric_freed_elsewhere_count, site_metric_freed_lifetime_sum, site_metric_alloc_time,
 * site_metric_free_time, site_metric_sample_count, site_metric_alloc_variance,
 * site_metric_live_variance,
 * site_metric_at_peak_variance, site_metric_at_all_peak_bytes, site_metric_reserved_bytes,
 * site_metric_discarded_bytes and site_metric_resident_bytes. */
SITE_NUMBER(alloc_count, site_blocks(site, site->now.born_count - site->rare->realloc_count))
SITE_NUMBER(alloc_bytes, site->now.born_bytes - site->rare->realloc_bytes)
SITE_NUMBER(realloc_count, site_blocks(site, site->rare->realloc_count))
SITE_NUMBER(realloc_bytes, site->rare->realloc_bytes)
SITE_NUMBER(realloc_moved, site_blocks(site, site->rare->realloc_moved))
SITE_NUMBER(free_count, site_lives(site) - site_alive(site))
SITE_NUMBER(free_bytes, site->now.born_bytes - site->now.live_bytes + site->seed.bytes)
SITE_NUMBER(failed_count, site_blocks(site, site->rare->failed_count))
SITE_NUMBER(zero_count, site_blocks(site, site->rare->zero_count))
SITE_NUMBER(aligned_count, site_blocks(site, site->rare->aligned_count))
SITE_NUMBER(temporary_count, site_blocks(site, site->now.temporary_count))
SITE_NUMBER(slack_bytes, site->now.born_slack)
SITE_METRIC(size_min, site_least(site->now.size_min))
SITE_NUMBER(size_max, site->now.size_max)
SITE_METRIC(lifetime_min, site_least(site->cold->lifetime_min))
SITE_NUMBER(lifetime_max, site->cold->lifetime_max)
SITE_NUMBER(lifetime_sum, site->hot->lifetime_sum)
SITE_NUMBER(live_count, site_alive(site))
SITE_NUMBER(live_bytes, site->now.live_bytes)
SITE_NUMBER(live_slack_bytes, site->now.live_slack)
SITE_NUMBER(peak_bytes, site->now.peak_bytes)
SITE_NUMBER(peak_ticks, site->cold->peak_ticks)
SITE_NUMBER(at_peak_bytes, site->behind ? site->now.live_bytes : site->now.at_peak_bytes)
SITE_NUMBER(at_peak_count,
            site_blocks(site, site->behind ? site->now.live_count : site->now.at_peak_count))
SITE_NUMBER(map_count, site->rare->map_count)
SITE_NUMBER(map_bytes, site->rare->map_bytes)
SITE_PART(freed_count, freed, site_blocks(site, site->freed->count))
SITE_PART(freed_bytes, freed, site->freed->bytes)
SITE_PART(freed_elsewhere_count, freed, site_blocks(site, site->freed->elsewhere_count))
SITE_PART(freed_lifetime_sum, freed, site->freed->lifetime_sum)
SITE_PART(alloc_time, times, site->times->alloc_time)
SITE_PART(free_time, times, site->times->free_time)
SITE_PART(sample_count, samples, site->samples->count)
SITE_PART(alloc_variance, samples, site->samples->alloc_variance)
SITE_PART(live_variance, samples, site->samples->live_variance)
SITE_PART(at_peak_variance, samples,
          site->behind ? site->samples->live_variance : site->samples->at_peak_variance)

SITE_NUMBER(at_all_peak_bytes, site->at_all_peak_bytes)
SITE_NUMBER(reserved_bytes, site->rare->reserved_bytes)
SITE_NUMBER(discarded_bytes, site->rare->discarded_bytes)
SITE_METRIC(resident_bytes, ((void)site, FIGURE_UNKNOWN)) /* looks tell */

static void sites_known_metrics(const struct sites *sites, uint32_t site, struct call_metrics *out)
{
    const struct site_view view = sites_view(sites, site);

#define METRIC(field, ...) out->field = site_metric_##field(&view);
#include "model/metrics.def"
}

void site_metrics(const struct sites *sites, uint32_t site, struct call_metrics *out)
{
    sites_known_metrics(sites, site, out);
    if (sites->levels_only)
        call_metrics_forget_calls(out);
}

/* ---- Peaks ---- */

static void sites_catch_up_wide(const struct sites *sites, uint64_t stamp, struct site_wide *wide)
{
    if (stamp < sites->crest_stamp)
        wide->crest_bytes = wide->live_bytes;
    if (stamp < sites->peak_stamp) {
        wide->at_peak_count = wide->live_count;
        wide->at_peak_bytes = wide->live_bytes;
    }
}

static void sites_catch_up_more(struct sites *sites, uint32_t site, uint64_t stamp)
{
    if (sites->samples && stamp < sites->peak_stamp)
        sites->samples[site].at_peak_variance = sites->samples[site].live_variance;
    if (sites->all_peaks && stamp < sites->all_peak_stamp)
        sites->all_peaks[site] = site_live_bytes(sites, site);
}

/* A site that is not wide is brought up to date first, so that nothing is kept beside a call. */
void site_catch_up(struct sites *sites, uint32_t site)
{
    struct site_hot *hot = &sites->hot[site];
    struct site_cold *cold = &sites->cold[site];
    uint64_t stamp = hot->stamp;

    sites->are_summed = false;
    hot->stamp = sites->stamp;
    if (site_is_wide(hot)) {
        sites_catch_up_wide(sites, stamp, site_wide(sites, hot));
    } else {
        if (stamp < sites->crest_stamp)
            cold->crest_bytes = hot->live_bytes;
        if (stamp < sites->peak_stamp) {
            cold->at_peak_count = hot->live_count;
            cold->at_peak_bytes = hot->live_bytes;
        }
    }
    if (sites->has_more)
        sites_catch_up_more(sites, site, stamp);
}

bool site_settle(struct sites *sites, uint32_t site)
{
    struct site_hot *hot = &sites->hot[site];
    bool changed = hot->stamp >= sites->seen_stamp;

    if (hot->stamp < sites->peak_stamp) {
        struct site_wide figures = sites_figures_of(sites, site);
        changed |= figures.at_peak_bytes != figures.live_bytes ||
                   figures.at_peak_count != figures.live_count;
    }
    if (sites->all_peaks && hot->stamp < sites->all_peak_stamp)
        changed |= sites->all_peaks[site] != site_live_bytes(sites, site);
    if (hot->stamp < sites->peak_stamp || hot->stamp < sites->all_peak_stamp)
        site_catch_up(sites, site);
    return changed;
}

uint64_t site_at_peak(const struct sites *sites, uint32_t site)
{
    struct site_wide figures = sites_figures_of(sites, site);

    return sites->hot[site].stamp < sites->peak_stamp ? figures.live_bytes : figures.at_peak_bytes;
}

uint64_t site_at_crest(const struct sites *sites, uint32_t site)
{
    struct site_wide figures = sites_figures_of(sites, site);

    return sites->hot[site].stamp < sites->crest_stamp ? figures.live_bytes : figures.crest_bytes;
}

static void sites_crest_wide(struct sites *sites, uint32_t site, uint64_t low, uint64_t high,
                             uint64_t now_ticks)
{
    struct site_wide *wide = site_wide(sites, &sites->hot[site]);

    if (wide->live_bytes > wide->peak_bytes) {
        wide->peak_bytes = wide->live_bytes;
        sites->cold[site].peak_ticks = now_ticks;
    }
    wide->quiet_low = low;
    wide->quiet_high = high < wide->peak_bytes ? high : wide->peak_bytes;
}

void site_crest(struct sites *sites, uint32_t site, uint64_t low, uint64_t high, uint64_t now_ticks)
{
    struct site_hot *hot = &sites->hot[site];
    struct site_cold *cold = &sites->cold[site];

    if (site_is_wide(hot)) {
        sites_crest_wide(sites, site, low, high, now_ticks);
        return;
    }
    if (hot->live_bytes > cold->peak_bytes) {
        cold->peak_bytes = hot->live_bytes;
        cold->peak_ticks = now_ticks;
    }
    hot->quiet_low = (uint32_t)low;
    hot->quiet_high = (uint32_t)(high < cold->peak_bytes ? high : cold->peak_bytes);
    if (hot->live_bytes < hot->quiet_low || hot->live_bytes > hot->quiet_high) {
        hot->quiet_low = UINT32_MAX; /* no step may pass it by */
        hot->quiet_high = 0;
    }
}

/* ---- Sums ---- */

/* The sum of no sites. The largest of no blocks is 0. */
static struct call_metrics sites_no_sites(const struct sites *sites)
{
    struct call_metrics like, none;

    call_metrics_clear(&like, NULL);
    if (!sites->freed)
        like.freed_count = like.freed_bytes = like.freed_elsewhere_count = like.freed_lifetime_sum =
            FIGURE_UNKNOWN;
    if (!sites->times)
        like.alloc_time = like.free_time = FIGURE_UNKNOWN;
    if (!sites->samples)
        like.sample_count = like.alloc_variance = like.live_variance = like.at_peak_variance =
            FIGURE_UNKNOWN;
    call_metrics_clear(&none, &like);
    none.size_max = none.lifetime_max = FIGURE_OF(0);
    return none;
}

void sites_keep_sum(struct sites *sites, uint32_t block, const struct replay_site *all,
                    size_t count)
{
    struct call_metrics *sum;

    arena_grow(&sites->sum_memory, (block + (size_t)1) * sizeof *sites->sums);
    sites->sums = sites->sum_memory.base;
    sum = &sites->sums[block];
    *sum = sites_no_sites(sites);
    for (size_t i = 0; i < count; i++)
        call_metrics_merge(sum, &all[i].metrics);
}

static void sites_add_each_site(const struct sites *sites, struct call_metrics *out)
{
    for (uint32_t site = 0; site < sites->count; site++) {
        struct call_metrics metrics;
        sites_known_metrics(sites, site, &metrics);
        call_metrics_merge(out, &metrics);
    }
}

void sites_total(const struct sites *sites, struct call_metrics *out)
{
    uint32_t blocks = (sites->count + SITES_SUM_COUNT - 1) / SITES_SUM_COUNT;

    *out = sites_no_sites(sites);
    if (!sites->are_summed)
        sites_add_each_site(sites, out);
    for (uint32_t block = 0; sites->are_summed && block < blocks; block++)
        call_metrics_merge(out, &sites->sums[block]);
    if (sites->levels_only)
        call_metrics_forget_calls(out);
}
