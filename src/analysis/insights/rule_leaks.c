/* Leaks, by how certain they are. Live at exit alone proves little: much of it is kept on purpose.
 * What grows steadily all through the run and is never given back is another matter.
 *
 *   certain     the path's curve rises from interval to interval, to the end     leak-growth
 *   possible    live at the end, no such curve                                   leak-possible
 *   none        a few blocks, made at the start, none of them ever freed: tables, buffers and
 *               caches that live as long as the program; only mentioned in the sum */
#include "insights/rule.h"

#include <math.h>
#include <string.h>
#include "aggregate/facts.h"
#include "aggregate/runtime_pools.h"

/* Growth is looked at in this many equal intervals of the run. */
#define GROWTH_INTERVALS 16
/* Kendall's tau of time and level, where ties count for nothing: 1 is a rise in every interval,
 * 0.95 still one that began or ended a fifth of the run from its ends, 0.92 one that ended a
 * quarter before. */
#define GROWTH_TAU 0.95
/* Fewer points do not make a trend; a single block that is made larger and larger is no leak. */
#define GROWTH_POINTS 8
#define GROWTH_BLOCKS 16
/* At the end at least this much of the path's own peak must be alive. */
#define GROWTH_KEPT 0.75
/* It must go on for this much of the program's work, and up to this close to its end: what is
 * filled in one phase is a table. */
#define GROWTH_SPAN 0.5
#define GROWTH_END  0.1
/* What ended before this part of the run, with the program going on without allocating, may as well
 * be what it loads and then works on. */
#define GROWTH_WHOLE (2.0 / 3)
/* What grows until the program frees all at its end: hardly anything was freed before, and hardly
 * anything is left. */
#define TEARDOWN_BYTES (1 << 20)
#define TEARDOWN_SHARE 0.2  /* of the program's peak */
#define TEARDOWN_MADE  1.25 /* bytes ever ÷ own peak, at most */
#define TEARDOWN_LEFT  0.1
#define TEARDOWN_TIME  0.9 /* of the run, before which half of it is not freed */

#define LEAK_BYTES  (16 << 10)
#define LEAK_BLOCKS 100
/* A few blocks, of which none was ever freed, all of them made in the first part of the run. */
#define ONE_TIME_BLOCKS 8
#define ONE_TIME_PART   0.10

/* ---- Growth -------------------------------------------------------------------------------- */

static double rule_leaks_kendall(const uint64_t *levels, size_t count)
{
    long balance = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            balance += (levels[j] > levels[i]) - (levels[j] < levels[i]);
    return (double)balance / ((double)(count * (count - 1)) / 2);
}

/* A path's growth: from where on and until when, in one of two clocks. */
struct growth_span {
    double from, until; /* 0 to 1 of the program's work */
    double rise;
};
typedef double growth_clock(const struct inquiry *inquiry, double ns);

/* Time, from when the program begins to work until it has done. */
static double rule_leaks_by_time(const struct inquiry *inquiry, double ns)
{
    double from = (double)inquiry->active_from_ns, until = (double)inquiry->active_until_ns;
    double part = until > from ? (ns - from) / (until - from) : 1;
    return part < 0 ? 0 : part > 1 ? 1 : part;
}

/* The curve is a staircase: a level holds until the next point. */
static double rule_leaks_curve_rise(const struct curve *curve, const double *at, size_t count,
                                    double from, double until)
{
    uint64_t levels[GROWTH_INTERVALS];
    size_t next = 0;
    for (size_t i = 0; i < GROWTH_INTERVALS; i++) {
        double end = from + (until - from) * (double)(i + 1) / GROWTH_INTERVALS;
        while (next < count && at[next] <= end)
            next++;
        levels[i] = next ? curve->points[next - 1].bytes : 0;
    }
    return rule_leaks_kendall(levels, GROWTH_INTERVALS);
}

/* From its first point to its highest. */
static struct growth_span rule_leaks_span_of(const struct inquiry *inquiry,
                                             const struct curve *curve, growth_clock *clock)
{
    double at[CURVE_POINTS];
    struct growth_span span = {0};
    uint64_t highest = 0;
    size_t count = curve->count < CURVE_POINTS ? curve->count : CURVE_POINTS;
    for (size_t i = 0; i < count; i++) {
        at[i] = clock(inquiry, (double)curve->points[i].ticks);
        if (curve->points[i].bytes > highest) {
            highest = curve->points[i].bytes;
            span.until = at[i];
        }
    }
    span.from = count ? at[0] : 0;
    span.rise = rule_leaks_curve_rise(curve, at, count, span.from, span.until);
    return span;
}

/* Does it rise while the program works, up to its end, and is it not one phase of it? */
static bool rule_leaks_rises(const struct inquiry *inquiry, const struct curve *curve, double *rise)
{
    static growth_clock *const clocks[] = {rule_leaks_by_time, inquiry_work_at};
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        struct growth_span span = rule_leaks_span_of(inquiry, curve, clocks[i]);
        *rise = span.rise;
        if (span.rise >= GROWTH_TAU && span.until - span.from >= GROWTH_SPAN &&
            span.until >= 1 - GROWTH_END)
            return true;
    }
    return false;
}

bool rule_path_grows_to_the_end(const struct inquiry *inquiry, const struct call_metrics *metrics,
                                const struct curve *curve, double *rise)
{
    if (!curve || curve->count < GROWTH_POINTS || !inquiry->run_ns ||
        rule_number(metrics->live_count) < GROWTH_BLOCKS ||
        rule_number(metrics->live_bytes) < LEAK_BYTES ||
        (double)rule_number(metrics->live_bytes) <
            GROWTH_KEPT * (double)rule_number_or_most(metrics->peak_bytes))
        return false;
    return rule_leaks_rises(inquiry, curve, rise);
}

uint64_t rule_curve_high_ns(const struct curve *curve)
{
    uint64_t highest = 0, at_ns = 0;
    for (size_t i = 0; i < curve->count; i++)
        if (curve->points[i].bytes > highest) {
            highest = curve->points[i].bytes;
            at_ns = curve->points[i].ticks;
        }
    return at_ns;
}

bool rule_growth_is_a_part(const struct inquiry *inquiry, uint64_t until_ns)
{
    return (double)until_ns < GROWTH_WHOLE * (double)inquiry->run_ns;
}

void rule_add_growth(struct strbuf *out, const struct inquiry *inquiry, uint64_t until_ns)
{
    if (rule_growth_is_a_part(inquiry, until_ns))
        strbuf_addf(out, "until %s of %s", human_duration(until_ns).text,
                    human_duration(inquiry->run_ns).text);
    else
        strbuf_add_string(out, "all through the run");
}

struct growth {
    uint64_t bytes, blocks, until_ns;
    struct figure made;
    double rise; /* of the largest path */
    uint64_t largest_bytes;
};

static struct growth rule_leaks_growth_of(const struct inquiry *inquiry, const struct site *site)
{
    struct growth growth = {.made = figure_of(0)};
    /* What all paths hold is too little for one of them. This saves reading the paths of most
     * sites, which are scattered in memory. */
    if (rule_number(site->metrics.live_bytes) < LEAK_BYTES ||
        rule_number(site->metrics.live_count) < GROWTH_BLOCKS)
        return growth;
    for (size_t i = 0; i < site->count; i++) {
        uint32_t at = inquiry->order[site->first + i];
        const struct curve *curve =
            inquiry_curve_of(inquiry->profile, profile_site_path(inquiry->profile, at));
        if (!curve) /* as most have none: their figures are not read */
            continue;
        struct profile_site room;
        const struct profile_site *path = profile_site_at(inquiry->profile, at, &room);
        double rise;
        if (!rule_path_grows_to_the_end(inquiry, &path->metrics, curve, &rise))
            continue;
        uint64_t until_ns = rule_curve_high_ns(curve);
        growth.until_ns = until_ns > growth.until_ns ? until_ns : growth.until_ns;
        growth.bytes += rule_number(path->metrics.live_bytes);
        growth.blocks += rule_number(path->metrics.live_count);
        growth.made = figure_add(growth.made, call_metrics_blocks(&path->metrics));
        if (rule_number(path->metrics.live_bytes) > growth.largest_bytes) {
            growth.largest_bytes = rule_number(path->metrics.live_bytes);
            growth.rise = rise;
        }
    }
    return growth;
}

static const char *rule_leaks_growth_advice(const struct profile *profile)
{
    if (!facts_is_whole_run(profile))
        return "The program had not ended when this was recorded, but nothing of this was given "
               "back so far: find who should free these blocks, or bound the container that keeps "
               "them.";
    return "Find who should free these blocks, or bound the container or cache that keeps them.";
}

/* What the program can still reach may be a table that it needs. */
static void rule_leaks_weigh_growth(const struct inquiry *inquiry, struct insight *insight,
                                    const struct site *site, const struct growth *growth)
{
    bool is_part = rule_growth_is_a_part(inquiry, growth->until_ns);
    if (facts_graph_sample(inquiry->profile)) /* rule_fill() reports containers with unused room */
        insight_at_most(insight, is_part || rule_site_is_unfilled(inquiry, site) ? INSIGHT_INFO
                                                                                 : INSIGHT_NOTICE);
    else if (is_part)
        insight_at_most(insight, INSIGHT_NOTICE);
    else if (insight->severity < INSIGHT_SEVERE)
        insight->severity++; /* growth has no end: worth more attention than its size so far */
}

static void rule_leaks_title_growth(const struct inquiry *inquiry, struct insight *insight,
                                    const struct site *site, const struct growth *growth)
{
    struct site_name name = inquiry_site_name(inquiry, site);
    struct human bytes = human_bytes(growth->bytes), blocks = human_exact(growth->blocks);
    struct strbuf when = STRBUF_INIT;
    rule_add_growth(&when, inquiry, growth->until_ns);
    rule_leaks_weigh_growth(inquiry, insight, site, growth);
    if (facts_graph_sample(inquiry->profile))
        insight_title(insight, "%s grows %s: %s in %s blocks, which the program can still reach",
                      name.text, when.data, bytes.text, blocks.text);
    else
        insight_title(insight, "%s grows %s and %s in %s blocks %s", name.text, when.data,
                      bytes.text, blocks.text,
                      facts_is_whole_run(inquiry->profile) ? "are never freed"
                                                           : "are not freed so far");
    strbuf_release(&when);
}

static void rule_leaks_report_growth(struct inquiry *inquiry, const struct site *site,
                                     const struct candidates *all)
{
    struct growth growth = rule_leaks_growth_of(inquiry, site);
    struct insight *insight = insight_begin(inquiry, growth.bytes,
                                            rule_number(inquiry->total->peak_bytes), INSIGHT_BYTES);
    rule_leaks_title_growth(inquiry, insight, site, &growth);
    insight_add_bytes(insight, "live_bytes", growth.bytes);
    insight_add_count(insight, "live_count", growth.blocks);
    if (figure_known(growth.made))
        insight_add_share(insight, "never_freed_share",
                          inquiry_share_of(growth.blocks, rule_number(growth.made)));
    insight_add_share(insight, "peak_share", insight->cost);
    insight_add_ratio(insight, "rise", growth.rise);
    if (inquiry->run_ns)
        insight_add_bytes(
            insight, "growth_per_second",
            inquiry_whole_number((double)growth.bytes * 1e9 / (double)inquiry->run_ns));
    if (all->found > CANDIDATES)
        insight_add_count(insight, "further_sites", all->found - CANDIDATES);
    insight_add_paths(inquiry, insight, site, METRIC_ROW(live_bytes), INSIGHT_BYTES);
    insight->advice = rule_leaks_growth_advice(inquiry->profile);
}

/* An upper limit of the bytes that the program can still reach. Blocks of one call path may all lie
 * below lost blocks of another. */
static uint64_t rule_leaks_reachable(const struct inquiry *inquiry)
{
    const struct profile_sample *sample = facts_graph_sample(inquiry->profile);
    uint64_t live = rule_number_or_most(inquiry->total->live_bytes);
    uint64_t lost =
        sample ? rule_number(sample->lost_bytes) + rule_number(sample->indirect_bytes) : 0;
    return live > lost ? live - lost : 0;
}

void rule_leak_growth(struct inquiry *inquiry)
{
    struct candidates candidates = {0};
    if (!inquiry_has_curves(inquiry)) {
        inquiry_silent(inquiry, "not recorded: how call paths grow over time");
        return;
    }
    uint64_t reachable = rule_leaks_reachable(inquiry);
    for (size_t i = 0; i < inquiry->site_count; i++) {
        struct growth growth = rule_leaks_growth_of(inquiry, &inquiry->sites[i]);
        /* Lost blocks are rule_leak_lost()'s. */
        if (growth.bytes && rule_lost_of(inquiry, &inquiry->sites[i]).bytes < growth.bytes / 2 &&
            reachable >= growth.bytes / 2)
            inquiry_candidates_add(&candidates, &inquiry->sites[i], growth.bytes);
    }
    for (size_t i = 0; i < candidates.count; i++)
        rule_leaks_report_growth(inquiry, candidates.top[i].site, &candidates);
}

/* ---- Growth that the end hides --------------------------------------------------------------- */

/* When half of the highest level is gone, in ns; INFINITY: it never is. */
static double rule_leaks_falls_at(const struct curve *curve)
{
    uint64_t highest = 0;
    double at = INFINITY;
    for (size_t i = 0; i < curve->count; i++) {
        if (curve->points[i].bytes > highest) {
            highest = curve->points[i].bytes;
            at = INFINITY;
        } else if (curve->points[i].bytes <= highest / 2 && isinf(at)) {
            at = (double)curve->points[i].ticks;
        }
    }
    return at;
}

static bool rule_leaks_grows_to_teardown(const struct inquiry *inquiry,
                                         const struct profile_site *path)
{
    const struct call_metrics *metrics = &path->metrics;
    const struct curve *curve = inquiry_curve_of(inquiry->profile, path->path);
    double peak = (double)rule_number(metrics->peak_bytes);
    if (!curve || curve->count < GROWTH_POINTS || peak < TEARDOWN_BYTES ||
        rule_number(metrics->free_count) < GROWTH_BLOCKS ||
        (double)rule_number_or_most(metrics->live_bytes) > TEARDOWN_LEFT * peak ||
        (double)rule_bytes_of(metrics) > TEARDOWN_MADE * peak)
        return false;
    double rise;
    return rule_leaks_falls_at(curve) >= TEARDOWN_TIME * (double)inquiry->run_ns &&
           !rule_growth_is_a_part(inquiry, rule_curve_high_ns(curve)) &&
           rule_leaks_rises(inquiry, curve, &rise);
}

static uint64_t rule_leaks_teardown_bytes(const struct inquiry *inquiry, const struct site *site)
{
    uint64_t bytes = 0;
    if (rule_number(site->metrics.peak_bytes) < TEARDOWN_BYTES)
        return 0;
    for (size_t i = 0; i < site->count; i++) {
        uint32_t at = inquiry->order[site->first + i];
        struct profile_site room;
        if (rule_number(profile_site_figure(inquiry->profile, at, METRIC_ROW(peak_bytes))) <
            TEARDOWN_BYTES)
            continue;
        const struct profile_site *path = profile_site_at(inquiry->profile, at, &room);
        if (rule_leaks_grows_to_teardown(inquiry, path))
            bytes += rule_number(path->metrics.peak_bytes);
    }
    return rule_at_a_time(inquiry, bytes);
}

static void rule_leaks_report_teardown(struct inquiry *inquiry, const struct candidate *candidate)
{
    struct insight *insight = rule_begin_of_heap(inquiry, candidate->cost);
    insight_title(insight, "%s grows to %s until the program ends, and only then frees it",
                  inquiry_site_name(inquiry, candidate->site).text,
                  human_bytes(candidate->cost).text);
    insight_add_bytes(insight, "peak_bytes", candidate->cost);
    insight_add_count(insight, "alloc_count", rule_blocks_of(&candidate->site->metrics));
    insight_add_share(insight, "peak_share", insight->cost);
    insight_add_paths(inquiry, insight, candidate->site, METRIC_ROW(peak_bytes), INSIGHT_BYTES);
    insight->advice = "A program that runs longer needs more: free what is done with while it "
                      "works, or bound the container. Where all of it is needed to the end, it is "
                      "right as it is.";
}

void rule_teardown_growth(struct inquiry *inquiry)
{
    struct candidates candidates = {0};
    uint64_t least = (uint64_t)(TEARDOWN_SHARE * (double)rule_number(inquiry->total->peak_bytes));
    if (!inquiry_has_curves(inquiry)) {
        inquiry_silent(inquiry, "not recorded: how call paths grow over time");
        return;
    }
    for (size_t i = 0; i < inquiry->site_count; i++) {
        uint64_t bytes = rule_leaks_teardown_bytes(inquiry, &inquiry->sites[i]);
        if (bytes && bytes >= least)
            inquiry_candidates_add(&candidates, &inquiry->sites[i], bytes);
    }
    for (size_t i = 0; i < candidates.count; i++)
        rule_leaks_report_teardown(inquiry, &candidates.top[i]);
}

/* ---- Live at the end ----------------------------------------------------------------------- */

static bool rule_leaks_is_one_time(const struct inquiry *inquiry,
                                   const struct call_metrics *metrics)
{
    return rule_number_or_most(metrics->live_count) <= ONE_TIME_BLOCKS &&
           figure_zero(metrics->free_count) && inquiry->run_ns &&
           (double)rule_number_or_most(metrics->peak_ticks) <=
               ONE_TIME_PART * (double)inquiry->run_ns;
}

struct remains {
    struct candidates sites; /* by bytes that may be leaked */
    uint64_t bytes, blocks, one_time_bytes, one_time_blocks, growing_bytes;
};

/* Blocks that run-times keep, or allocated as they started: the program cannot free them. */
static struct runtime_pools rule_leaks_pools_of(const struct inquiry *inquiry,
                                                const struct site *site)
{
    struct runtime_pools pools = {figure_of(0), figure_of(0)};
    const struct profile *profile = inquiry->profile;
    for (size_t i = 0; i < site->count; i++) {
        uint32_t at = inquiry->order[site->first + i], path = profile_site_path(profile, at);
        struct figure bytes = profile_site_figure(profile, at, METRIC_ROW(live_bytes)),
                      count = profile_site_figure(profile, at, METRIC_ROW(live_count));
        if ((figure_zero(bytes) && figure_zero(count)) ||
            (!startup_has(inquiry->startup, path) &&
             !runtime_pools_has(&inquiry->pool_names, path)))
            continue;
        pools.bytes = figure_add(pools.bytes, bytes);
        pools.count = figure_add(pools.count, count);
    }
    return pools;
}

static void rule_leaks_count_site(const struct inquiry *inquiry, const struct site *site,
                                  struct remains *remains)
{
    struct runtime_pools pools = rule_leaks_pools_of(inquiry, site);
    uint64_t bytes = rule_number(figure_sub(site->metrics.live_bytes, pools.bytes)),
             blocks = rule_number(figure_sub(site->metrics.live_count, pools.count));
    struct growth growth = rule_leaks_growth_of(inquiry, site);
    if (rule_leaks_is_one_time(inquiry, &site->metrics)) {
        remains->one_time_bytes += bytes;
        remains->one_time_blocks += blocks;
        return;
    }
    struct lost lost = rule_lost_of(inquiry, site);
    if (lost.bytes > growth.bytes) { /* rule_leak_lost() reports it */
        bytes -= bytes < lost.bytes ? bytes : lost.bytes;
        blocks -= blocks < lost.count ? blocks : lost.count;
        growth.bytes = growth.blocks = 0;
    }
    /* A path that grows may be one of the run-times', which is taken off already. */
    growth.bytes = growth.bytes < bytes ? growth.bytes : bytes;
    growth.blocks = growth.blocks < blocks ? growth.blocks : blocks;
    remains->growing_bytes += growth.bytes;
    remains->bytes += bytes - growth.bytes;
    remains->blocks += blocks - growth.blocks;
    if (bytes > growth.bytes)
        inquiry_candidates_add(&remains->sites, site, bytes - growth.bytes);
}

static bool rule_leaks_killed(const struct profile *profile)
{
    const char *end = profile_get(profile, PROFILE_META_END);
    return profile->complete && end && strcmp(end, "exit") && strcmp(end, "exec");
}

static void rule_leaks_title_remains(struct insight *insight, const struct profile *profile,
                                     const struct remains *remains)
{
    struct strbuf end = STRBUF_INIT;
    facts_add_outcome(&end, profile);
    struct human bytes = human_bytes(remains->bytes),
                 blocks = inquiry_human_blocks(remains->blocks);
    if (!profile->complete)
        insight_title(insight, "%s in %s alive when this was saved (%s)", bytes.text, blocks.text,
                      end.data);
    else if (rule_leaks_killed(profile))
        insight_title(insight, "%s in %s alive at the end (%s)", bytes.text, blocks.text, end.data);
    else if (facts_graph_sample(profile))
        insight_title(insight, "%s in %s not freed at the end, but still in the program's reach",
                      bytes.text, blocks.text);
    else
        insight_title(insight, "%s in %s never freed, possibly leaked", bytes.text, blocks.text);
    strbuf_release(&end);
}

void rule_leak_possible(struct inquiry *inquiry)
{
    const struct profile *profile = inquiry->profile;
    struct remains remains = {0};
    if (profile->complete && !facts_is_whole_run(profile)) {
        inquiry_silent(inquiry, "a part of a run: what is left at its end may be freed later");
        return;
    }
    for (size_t i = 0; i < inquiry->site_count; i++)
        rule_leaks_count_site(inquiry, &inquiry->sites[i], &remains);
    if (remains.bytes < LEAK_BYTES && remains.blocks < LEAK_BLOCKS)
        return;
    struct insight *insight = insight_begin(inquiry, remains.bytes,
                                            rule_number(inquiry->total->peak_bytes), INSIGHT_BYTES);
    bool ended = profile->complete && !rule_leaks_killed(profile);
    /* Nothing proves it: what is kept on purpose looks the same. */
    insight_at_most(insight, ended && !facts_graph_sample(profile) ? INSIGHT_NOTICE : INSIGHT_INFO);
    rule_leaks_title_remains(insight, profile, &remains);
    insight_add_bytes(insight, "live_bytes", remains.bytes);
    insight_add_count(insight, "live_count", remains.blocks);
    insight_add_count(insight, "sites", remains.sites.found);
    insight_add_share(insight, "peak_share", insight->cost);
    insight_add_bytes(insight, "growing_bytes", remains.growing_bytes);
    insight_add_bytes(insight, "one_time_bytes", remains.one_time_bytes);
    insight_add_count(insight, "one_time_blocks", remains.one_time_blocks);
    for (size_t i = 0; i < remains.sites.count; i++) {
        const struct site *site = remains.sites.top[i].site;
        insight_add_paths(inquiry, insight, site, METRIC_ROW(live_bytes), INSIGHT_BYTES);
    }
    insight->advice =
        ended ? "Free what is not needed to the end; what is kept on purpose may be declared with "
                "a single clean-up function, so that true leaks stand out."
              : "The program did not come to its end, so these are not leaks by themselves: look "
                "at those that should have been freed long before.";
}
