/* See sites.h. */
#include "replay/sites.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "replay/detail.h"

void sites_init(struct sites *sites)
{
    *sites = (struct sites){0};
}

void sites_release(struct sites *sites)
{
    for (uint32_t page = 0; page < sites->page_count; page++)
        if (sites->pages[page]) /* a directory may be large and nearly empty */
            free(sites->pages[page]);
    free(sites->pages);
    free(sites->seeds);
    region_release(&sites->hot_memory);
    region_release(&sites->cold_memory);
    region_release(&sites->wide_memory);
    region_release(&sites->rare_memory);
    region_release(&sites->freed_memory);
    region_release(&sites->times_memory);
    region_release(&sites->samples_memory);
    region_release(&sites->sum_memory);
}

size_t sites_memory_bytes(const struct sites *sites)
{
    return sites->count * (sizeof(struct site_hot) + sizeof(struct site_cold) +
                           (sites->freed ? sizeof(struct site_freed) : 0) +
                           (sites->times ? sizeof(struct site_times) : 0) +
                           (sites->samples ? sizeof(struct site_samples) : 0)) +
           sites->wide_count * sizeof(struct site_wide) +
           sites->rare_count * sizeof(struct site_rare) +
           sites->pages_used * (size_t)SITES_PAGE_NODES * sizeof(uint32_t) +
           sites->page_count * sizeof(uint32_t *);
}

/* calloc and copy, so that the untouched end of a large directory is never resident. */
static void grow_directory(struct sites *sites, uint32_t page)
{
    uint32_t wanted = sites->page_count ? sites->page_count : 64;
    uint32_t **pages;

    while (wanted <= page)
        wanted *= 2;
    pages = replay_calloc(wanted, sizeof(*pages));
    if (sites->page_count)
        memcpy(pages, sites->pages, sites->page_count * sizeof(*pages));
    free(sites->pages);
    sites->pages = pages;
    sites->page_count = wanted;
}

static uint32_t *number_of_node(struct sites *sites, uint32_t node)
{
    uint32_t page = node >> SITES_PAGE_LOG2;

    if (page >= sites->page_count)
        grow_directory(sites, page);
    if (!sites->pages[page]) {
        sites->pages[page] = replay_calloc(SITES_PAGE_NODES, sizeof(uint32_t));
        sites->pages_used++;
    }
    return &sites->pages[page][node & (SITES_PAGE_NODES - 1)];
}

void sites_know_frees(struct sites *sites)
{
    assert(sites->count == 0);
    region_grow(&sites->freed_memory, sizeof(struct site_freed));
    sites->freed = sites->freed_memory.base;
}

void sites_sample(struct sites *sites)
{
    assert(sites->count == 0);
    region_grow(&sites->samples_memory, sizeof(struct site_samples));
    sites->samples = sites->samples_memory.base;
}

void sites_know_times(struct sites *sites)
{
    assert(sites->count == 0);
    region_grow(&sites->times_memory, sizeof(struct site_times));
    sites->times = sites->times_memory.base;
}

/* ---- Wide sites ---- */

/* The figures of a site, whichever it is, as a wide one has them. */
static struct site_wide figures_of(const struct sites *sites, uint32_t site)
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
        .quiet_span = hot->quiet_span,
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
    region_grow(&sites->wide_memory, (sites->wide_count + 1) * sizeof(*sites->wide));
    sites->wide = sites->wide_memory.base;
    sites->wide[sites->wide_count] = figures_of(sites, site);
    hot->born_count = SITE_WIDE;
    hot->born_bytes = sites->wide_count++;
    hot->live_bytes = hot->quiet_span = 0;
    hot->quiet_low = 1;
}

bool site_is_quiet_wide(const struct sites *sites, uint32_t site)
{
    const struct site_hot *hot = &sites->hot[site];
    const struct site_wide *wide;

    if (!site_is_wide(hot))
        return false;
    wide = site_wide(sites, hot);
    return wide->live_bytes - wide->quiet_low <= wide->quiet_span;
}

/* ---- Sites ---- */

struct site_rare *site_rare(struct sites *sites, uint32_t site)
{
    struct site_cold *cold = &sites->cold[site];

    if (!cold->rare) {
        region_grow(&sites->rare_memory, (sites->rare_count + 1) * sizeof(*sites->rare));
        sites->rare = sites->rare_memory.base;
        cold->rare = ++sites->rare_count;
    }
    return &sites->rare[cold->rare - 1];
}

static void grow_kept(struct sites *sites)
{
    if (sites->freed) {
        region_grow(&sites->freed_memory, sites->count * sizeof(struct site_freed));
        sites->freed = sites->freed_memory.base;
    }
    if (sites->times) {
        region_grow(&sites->times_memory, sites->count * sizeof(struct site_times));
        sites->times = sites->times_memory.base;
    }
    if (sites->samples) {
        region_grow(&sites->samples_memory, sites->count * sizeof(struct site_samples));
        sites->samples = sites->samples_memory.base;
    }
}

uint32_t sites_add(struct sites *sites, uint32_t node)
{
    uint32_t site = sites->count++;

    sites->are_summed = false;
    region_grow(&sites->hot_memory, sites->count * sizeof(struct site_hot));
    region_grow(&sites->cold_memory, sites->count * sizeof(struct site_cold));
    grow_kept(sites);
    sites->hot = sites->hot_memory.base;
    sites->cold = sites->cold_memory.base;
    sites->hot[site].stamp = sites->stamp;
    sites->hot[site].size_min = UINT32_MAX;
    sites->cold[site].lifetime_min = UINT64_MAX;
    sites->cold[site].node = node;
    *number_of_node(sites, node) = sites->count;
    return site;
}

/* ---- Windows ---- */

static void carry_site(struct sites *sites, const struct sites *old, uint32_t from,
                       uint64_t now_ticks)
{
    struct site_wide before = figures_of(old, from), *wide;
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
    uint32_t *numbers = replay_calloc(old.count + (size_t)1, sizeof(*numbers));

    sites_init(sites);
    if (old.freed)
        sites_know_frees(sites);
    if (old.samples)
        sites_sample(sites);
    if (old.times)
        sites_know_times(sites);
    sites->seeds = replay_calloc(old.count + (size_t)1, sizeof(*sites->seeds));
    for (uint32_t site = 0; site < old.count; site++) {
        numbers[site] = keep[site] ? sites->count : UINT32_MAX;
        if (numbers[site] != UINT32_MAX)
            carry_site(sites, &old, site, now_ticks);
    }
    sites_peak(sites); /* the level that it begins with is the first one */
    sites_release(&old);
    return numbers;
}

static struct site_seed seed_of(const struct sites *sites, uint32_t site)
{
    return site < sites->seed_count ? sites->seeds[site] : (struct site_seed){0, 0};
}

static void freed_metrics(const struct sites *sites, uint32_t site, struct call_metrics *out)
{
    static const struct site_freed unknown = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    const struct site_freed *freed = sites->freed ? &sites->freed[site] : &unknown;

    out->freed_count = freed->count;
    out->freed_bytes = freed->bytes;
    out->freed_elsewhere_count = freed->elsewhere_count;
    out->freed_lifetime_sum = freed->lifetime_sum;
}

static void sample_metrics(const struct sites *sites, uint32_t site, bool behind,
                           struct call_metrics *out)
{
    static const struct site_samples none = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    const struct site_samples *samples = sites->samples ? &sites->samples[site] : &none;

    out->sample_count = samples->count;
    out->alloc_variance = samples->alloc_variance;
    out->live_variance = samples->live_variance;
    out->at_peak_variance = behind ? samples->live_variance : samples->at_peak_variance;
}

/* 1024ths become whole blocks. Rounded each for itself, more could seem to live than were made. */
static void round_counts(const struct sites *sites, struct site_seed seed,
                         struct call_metrics *out)
{
    uint64_t *const counts[] = {
        &out->alloc_count,   &out->realloc_count, &out->realloc_moved,         &out->failed_count,
        &out->zero_count,    &out->aligned_count, &out->temporary_count,       &out->live_count,
        &out->at_peak_count, &out->freed_count,   &out->freed_elsewhere_count,
    };
    size_t count = sizeof(counts) / sizeof(*counts) - (sites->freed ? 0 : 2);

    for (size_t i = 0; i < count; i++)
        *counts[i] = weight_whole(*counts[i]);
    uint64_t lives = out->alloc_count + out->realloc_count + weight_whole(seed.count);
    if (out->live_count > lives)
        out->live_count = lives;
    out->free_count = lives - out->live_count;
}

static void rare_metrics(const struct sites *sites, uint32_t site, struct call_metrics *out)
{
    static const struct site_rare none;
    uint32_t number = sites->cold[site].rare;
    const struct site_rare *rare = number ? &sites->rare[number - 1] : &none;

    out->alloc_count -= rare->realloc_count;
    out->alloc_bytes -= rare->realloc_bytes;
    out->realloc_count = rare->realloc_count;
    out->realloc_bytes = rare->realloc_bytes;
    out->realloc_moved = rare->realloc_moved;
    out->failed_count = rare->failed_count;
    out->zero_count = rare->zero_count;
    out->aligned_count = rare->aligned_count;
    out->map_count = rare->map_count;
    out->map_bytes = rare->map_bytes;
}

static void known_metrics(const struct sites *sites, uint32_t site, struct call_metrics *out)
{
    const struct site_hot *hot = &sites->hot[site];
    const struct site_cold *cold = &sites->cold[site];
    const struct site_wide figures = figures_of(sites, site);
    bool behind = hot->stamp < sites->peak_stamp;
    struct site_seed seed = seed_of(sites, site);

    *out = (struct call_metrics){
        .alloc_count = figures.born_count,
        .alloc_bytes = figures.born_bytes,
        .free_count = figures.born_count - figures.live_count + seed.count,
        .free_bytes = figures.born_bytes - figures.live_bytes + seed.bytes,
        .temporary_count = figures.temporary_count,
        .slack_bytes = figures.born_slack,
        .size_min = figures.size_min,
        .size_max = figures.size_max,
        .lifetime_min = cold->lifetime_min,
        .lifetime_max = cold->lifetime_max,
        .lifetime_sum = hot->lifetime_sum,
        .live_count = figures.live_count,
        .live_bytes = figures.live_bytes,
        .live_slack_bytes = figures.live_slack,
        .peak_bytes = figures.peak_bytes,
        .peak_ticks = cold->peak_ticks,
        .at_peak_bytes = behind ? figures.live_bytes : figures.at_peak_bytes,
        .at_peak_count = behind ? figures.live_count : figures.at_peak_count,
        .alloc_time = sites->times ? sites->times[site].alloc_time : UINT64_MAX,
        .free_time = sites->times ? sites->times[site].free_time : UINT64_MAX,
    };
    rare_metrics(sites, site, out);
    freed_metrics(sites, site, out);
    sample_metrics(sites, site, behind, out);
    if (sites->samples)
        round_counts(sites, seed, out);
}

void site_metrics(const struct sites *sites, uint32_t site, struct call_metrics *out)
{
    known_metrics(sites, site, out);
    if (sites->levels_only)
        call_metrics_forget_calls(out);
}

/* ---- Peaks ---- */

static void catch_up_narrow(const struct sites *sites, const struct site_hot *hot,
                            struct site_cold *cold)
{
    if (hot->stamp < sites->crest_stamp)
        cold->crest_bytes = hot->live_bytes;
    if (hot->stamp < sites->peak_stamp) {
        cold->at_peak_count = hot->live_count;
        cold->at_peak_bytes = hot->live_bytes;
    }
}

static void catch_up_wide(const struct sites *sites, uint64_t stamp, struct site_wide *wide)
{
    if (stamp < sites->crest_stamp)
        wide->crest_bytes = wide->live_bytes;
    if (stamp < sites->peak_stamp) {
        wide->at_peak_count = wide->live_count;
        wide->at_peak_bytes = wide->live_bytes;
    }
}

void site_catch_up(struct sites *sites, uint32_t site)
{
    struct site_hot *hot = &sites->hot[site];

    sites->are_summed = false;
    if (site_is_wide(hot))
        catch_up_wide(sites, hot->stamp, site_wide(sites, hot));
    else
        catch_up_narrow(sites, hot, &sites->cold[site]);
    if (sites->samples && hot->stamp < sites->peak_stamp)
        sites->samples[site].at_peak_variance = sites->samples[site].live_variance;
    hot->stamp = sites->stamp;
}

bool site_settle(struct sites *sites, uint32_t site)
{
    struct site_hot *hot = &sites->hot[site];
    bool changed = hot->stamp >= sites->seen_stamp;

    if (hot->stamp < sites->peak_stamp) {
        struct site_wide figures = figures_of(sites, site);
        changed |= figures.at_peak_bytes != figures.live_bytes ||
                   figures.at_peak_count != figures.live_count;
        site_catch_up(sites, site);
    }
    return changed;
}

uint64_t site_at_peak(const struct sites *sites, uint32_t site)
{
    struct site_wide figures = figures_of(sites, site);

    return sites->hot[site].stamp < sites->peak_stamp ? figures.live_bytes : figures.at_peak_bytes;
}

uint64_t site_at_crest(const struct sites *sites, uint32_t site)
{
    struct site_wide figures = figures_of(sites, site);

    return sites->hot[site].stamp < sites->crest_stamp ? figures.live_bytes : figures.crest_bytes;
}

static void crest_wide(struct sites *sites, uint32_t site, uint64_t low, uint64_t high,
                       uint64_t now_ticks)
{
    struct site_wide *wide = site_wide(sites, &sites->hot[site]);

    if (wide->live_bytes > wide->peak_bytes) {
        wide->peak_bytes = wide->live_bytes;
        sites->cold[site].peak_ticks = now_ticks;
    }
    wide->quiet_low = low;
    wide->quiet_span = (high < wide->peak_bytes ? high : wide->peak_bytes) - low;
}

void site_crest(struct sites *sites, uint32_t site, uint64_t low, uint64_t high,
                uint64_t now_ticks)
{
    struct site_hot *hot = &sites->hot[site];
    struct site_cold *cold = &sites->cold[site];

    if (site_is_wide(hot)) {
        crest_wide(sites, site, low, high, now_ticks);
        return;
    }
    if (hot->live_bytes > cold->peak_bytes) {
        cold->peak_bytes = hot->live_bytes;
        cold->peak_ticks = now_ticks;
    }
    hot->quiet_low = (uint32_t)low;
    hot->quiet_span = (uint32_t)(high < cold->peak_bytes ? high : cold->peak_bytes) - (uint32_t)low;
}

/* ---- Sums ---- */

static void least(uint64_t *into, uint64_t value)
{
    if (value < *into)
        *into = value;
}

static void most(uint64_t *into, uint64_t value)
{
    if (value > *into)
        *into = value;
}

static void add_site(struct call_metrics *total, const struct call_metrics *site)
{
    total->alloc_count += site->alloc_count;
    total->alloc_bytes += site->alloc_bytes;
    total->realloc_count += site->realloc_count;
    total->realloc_bytes += site->realloc_bytes;
    total->realloc_moved += site->realloc_moved;
    total->free_count += site->free_count;
    total->free_bytes += site->free_bytes;
    total->failed_count += site->failed_count;
    total->zero_count += site->zero_count;
    total->aligned_count += site->aligned_count;
    total->temporary_count += site->temporary_count;
    total->slack_bytes += site->slack_bytes;
    least(&total->size_min, site->size_min);
    most(&total->size_max, site->size_max);
    least(&total->lifetime_min, site->lifetime_min);
    most(&total->lifetime_max, site->lifetime_max);
    total->lifetime_sum += site->lifetime_sum;
    total->live_count += site->live_count;
    total->live_bytes += site->live_bytes;
    total->live_slack_bytes += site->live_slack_bytes;
    total->at_peak_bytes += site->at_peak_bytes;
    total->at_peak_count += site->at_peak_count;
    total->map_count += site->map_count;
    total->map_bytes += site->map_bytes;
}

static void add_times(struct call_metrics *total, const struct call_metrics *site)
{
    total->alloc_time += site->alloc_time;
    total->free_time += site->free_time;
}

static void add_freed(struct call_metrics *total, const struct call_metrics *site)
{
    total->freed_count += site->freed_count;
    total->freed_bytes += site->freed_bytes;
    total->freed_elsewhere_count += site->freed_elsewhere_count;
    total->freed_lifetime_sum += site->freed_lifetime_sum;
}

static void add_samples(struct call_metrics *total, const struct call_metrics *site)
{
    total->sample_count += site->sample_count;
    total->alloc_variance += site->alloc_variance;
    total->live_variance += site->live_variance;
    total->at_peak_variance += site->at_peak_variance;
}

static void add_all(const struct sites *sites, struct call_metrics *total,
                    const struct call_metrics *site)
{
    add_site(total, site);
    if (sites->times)
        add_times(total, site);
    if (sites->freed)
        add_freed(total, site);
    if (sites->samples)
        add_samples(total, site);
}

/* The sum of no sites. */
static struct call_metrics no_sites(const struct sites *sites)
{
    uint64_t freed = sites->freed ? 0 : UINT64_MAX, sampled = sites->samples ? 0 : UINT64_MAX;
    uint64_t timed = sites->times ? 0 : UINT64_MAX;

    return (struct call_metrics){.size_min = UINT64_MAX,
                                 .lifetime_min = UINT64_MAX,
                                 .alloc_time = timed,
                                 .free_time = timed,
                                 .freed_count = freed,
                                 .freed_bytes = freed,
                                 .freed_elsewhere_count = freed,
                                 .freed_lifetime_sum = freed,
                                 .sample_count = sampled,
                                 .alloc_variance = sampled,
                                 .live_variance = sampled,
                                 .at_peak_variance = sampled};
}

void sites_keep_sum(struct sites *sites, uint32_t block, const struct replay_site *all,
                    size_t count)
{
    struct call_metrics *sum;

    region_grow(&sites->sum_memory, (block + (size_t)1) * sizeof(*sites->sums));
    sites->sums = sites->sum_memory.base;
    sum = &sites->sums[block];
    *sum = no_sites(sites);
    for (size_t i = 0; i < count; i++)
        add_all(sites, sum, &all[i].metrics);
}

static void add_each_site(const struct sites *sites, struct call_metrics *out)
{
    for (uint32_t site = 0; site < sites->count; site++) {
        struct call_metrics metrics;
        known_metrics(sites, site, &metrics);
        add_all(sites, out, &metrics);
    }
}

void sites_total(const struct sites *sites, struct call_metrics *out)
{
    uint32_t blocks = (sites->count + SITES_SUM_COUNT - 1) / SITES_SUM_COUNT;

    *out = no_sites(sites);
    if (!sites->are_summed)
        add_each_site(sites, out);
    for (uint32_t block = 0; sites->are_summed && block < blocks; block++)
        add_all(sites, out, &sites->sums[block]);
    if (sites->levels_only)
        call_metrics_forget_calls(out);
}
