/* Arrays that grow by too little each time, so that making one of n elements costs n² bytes of
 * copying: by realloc (the AVBP and MAQAO cases of the MALT paper, section 5.3), or by hand as
 * Fortran does it: allocate a larger one, copy, free the old one.
 *
 *   size  ▁▂▃▄▅▆▇█     each new block a little larger than the one before, which dies when it is
 *         └─┘          filled: never more than two alive, the sum of all far above their peak */
#include "insights/rule.h"

#include <math.h>

#define REALLOC_COUNT     100 /* of a site */
#define REALLOC_COMMON    0.5 /* of all growths are by the same number of bytes */
#define REALLOC_OF_COMMON 0.5 /* of those a site must be able to have made */
#define REALLOC_STEP      8   /* mean new size ÷ growth: each adds less than an eighth */

/* Or: what a site's own sizes say, where growths vary. Each reallocation of a block adds less than
 * this part in the geometric mean, and all of them ask for this many times the site's peak. */
#define REALLOC_FACTOR    1.05
#define REALLOC_CUMULATED 16

/* A text of two KiB that grows by words, or some hundred steps, cost hardly anything; and nothing
 * that can be measured where all of them ask for less than a MiB. */
#define REALLOC_WORTH_COUNT 1000
#define REALLOC_WORTH_ASKED (1 << 20)
#define REALLOC_WORTH_BYTES (8 << 10) /* of the largest block */

#define COPY_COUNT      50
#define COPY_REACH      4    /* largest ÷ smallest block */
#define COPY_PEAK_LEAST 1.5  /* own peak ÷ largest block: old and new are alive together, */
#define COPY_PEAK_MOST  2.01 /* and nothing else is */
#define COPY_CUMULATED  8    /* bytes ever ÷ own peak */
/* Mean size ÷ (smallest + largest): one half if sizes grow evenly. Doubling has far less. */
#define COPY_MEAN_LEAST 0.35
#define COPY_MEAN_MOST  0.65
#define COPY_FREED      0.9 /* of its blocks are freed */
/* Where the path has a curve of this many points, it must rise: each against all before it. */
#define COPY_CURVE_POINTS 8
#define COPY_CURVE_RISE   0.5

/* ---- By realloc ---------------------------------------------------------------------------- */

struct growths {
    uint64_t step, count, all; /* the commonest growth in bytes, how often, and all of them */
};

/* The list has the commonest growths only. All reallocations that did not keep the size are
 * therefore taken to be growths. DISTRIBUTION_OTHERS stands for many values, so that it is not the
 * commonest. */
static struct growths rule_growth_commonest(const struct profile *profile)
{
    struct growths growths = {0};
    uint64_t listed = 0, same = 0, all = rule_number(profile->program.total.realloc_count);
    for (size_t i = 0; i < profile->distribution_count; i++) {
        const struct distribution_row *row = &profile->distributions[i];
        if (row->kind != DISTRIBUTION_REALLOC_GROW)
            continue;
        if (!row->x) {
            same += row->count;
            continue;
        }
        listed += row->count;
        if (row->x != DISTRIBUTION_OTHERS && row->count > growths.count) {
            growths.count = row->count;
            growths.step = row->x;
        }
    }
    growths.all = all > same && all - same > listed ? all - same : listed;
    growths.all = growths.all > all ? all : growths.all;
    return growths;
}

static bool rule_growth_grows_by(const struct call_metrics *metrics, struct growths growths)
{
    return rule_number(metrics->realloc_count) >= REALLOC_COUNT &&
           (double)rule_number(metrics->realloc_count) >=
               REALLOC_OF_COMMON * (double)growths.count &&
           rule_number(metrics->realloc_bytes) / rule_number(metrics->realloc_count) >=
               REALLOC_STEP * growths.step;
}

/* The sum of all new sizes would say nothing: what grows in place is neither asked for anew nor
 * copied. */
static struct human rule_growth_moved(const struct call_metrics *metrics)
{
    struct human none = {"none"};
    uint64_t moved = rule_number(metrics->realloc_moved);
    return moved ? human_count(moved) : none;
}

static void rule_growth_weigh_realloc(struct insight *insight, const struct call_metrics *metrics)
{
    if (rule_number(metrics->realloc_count) < REALLOC_WORTH_COUNT ||
        rule_number(metrics->size_max) < REALLOC_WORTH_BYTES)
        insight_at_most(insight, rule_number(metrics->realloc_bytes) < REALLOC_WORTH_ASKED
                                     ? INSIGHT_INFO
                                     : INSIGHT_NOTICE);
}

static void rule_growth_report_realloc(struct inquiry *inquiry, const struct candidate *candidate,
                                       struct growths growths)
{
    const struct site *site = candidate->site;
    const struct call_metrics *metrics = &site->metrics;
    uint64_t mean = rule_number(metrics->realloc_bytes) / rule_number(metrics->realloc_count);
    struct insight *insight =
        insight_begin(inquiry, rule_number(metrics->realloc_bytes), inquiry->bytes, INSIGHT_BYTES);
    rule_growth_weigh_realloc(insight, metrics);
    insight_title(insight, "%s grows its blocks by %s at a time: %s reallocations, %s moved",
                  inquiry_site_name(inquiry, site).text, human_bytes(growths.step).text,
                  human_count(rule_number(metrics->realloc_count)).text,
                  rule_growth_moved(metrics).text);
    insight_add_bytes(insight, "growth", growths.step);
    insight_add_count(insight, "growth_count", growths.count);
    insight_add_share(insight, "growth_share", inquiry_share_of(growths.count, growths.all));
    insight_add_count(insight, "realloc_count", rule_number(metrics->realloc_count));
    insight_add_count(insight, "realloc_moved", rule_number(metrics->realloc_moved));
    insight_add_bytes(insight, "realloc_bytes", rule_number(metrics->realloc_bytes));
    insight_add_bytes(insight, "copied_at_most", rule_number(metrics->realloc_moved) * mean);
    insight_add_bytes(insight, "size_max", rule_number(metrics->size_max));
    insight_add_share(insight, "bytes_share", insight->cost);
    insight_add_paths(inquiry, insight, site, METRIC_ROW(realloc_count), INSIGHT_COUNT);
    insight->advice = "Grow geometrically, by half or to double the size, or reserve the final "
                      "size at the start if it can be known.";
}

/* Does the site grow its blocks by little, judging by its own sizes: from the smallest to the
 * largest in so many steps? Not known of blocks that other sites allocated. */
static bool rule_growth_grows_little(const struct inquiry *inquiry,
                                     const struct call_metrics *metrics, struct growths growths)
{
    uint64_t reallocs = rule_number(metrics->realloc_count),
             blocks = rule_number(metrics->alloc_count);
    /* Those that kept their size, or shrank, may all be its own. */
    uint64_t others = rule_number(inquiry->total->realloc_count) - growths.all;
    uint64_t count = reallocs > others ? reallocs - others : 0;
    double least = (double)rule_number(metrics->size_min),
           most = (double)rule_number(metrics->size_max);
    if (count < REALLOC_COUNT || !blocks || least < 1 || most < COPY_REACH * least ||
        (double)rule_number(metrics->realloc_bytes) <
            REALLOC_CUMULATED * (double)rule_number_or_most(metrics->peak_bytes))
        return false;
    return log(most / least) * (double)blocks / (double)count < log(REALLOC_FACTOR);
}

static void rule_growth_report_little(struct inquiry *inquiry, const struct candidate *candidate)
{
    const struct site *site = candidate->site;
    const struct call_metrics *metrics = &site->metrics;
    uint64_t count = rule_number(metrics->realloc_count);
    struct insight *insight =
        insight_begin(inquiry, candidate->cost, inquiry->bytes, INSIGHT_BYTES);
    rule_growth_weigh_realloc(insight, metrics);
    insight_title(insight, "%s grows its blocks by little at a time: %s reallocations, %s moved",
                  inquiry_site_name(inquiry, site).text, human_count(count).text,
                  rule_growth_moved(metrics).text);
    insight_add_count(insight, "realloc_count", count);
    insight_add_count(insight, "realloc_moved", rule_number(metrics->realloc_moved));
    insight_add_bytes(insight, "realloc_bytes", candidate->cost);
    insight_add_bytes(insight, "size_min", rule_number(metrics->size_min));
    insight_add_bytes(insight, "size_max", rule_number(metrics->size_max));
    insight_add_count(insight, "alloc_count", rule_number(metrics->alloc_count));
    insight_add_share(insight, "bytes_share", insight->cost);
    insight_add_paths(inquiry, insight, site, METRIC_ROW(realloc_count), INSIGHT_COUNT);
    insight->advice = "Grow geometrically, by half or to double the size, or reserve the final "
                      "size at the start if it can be known.";
}

static bool rule_growth_has_common_step(struct growths growths)
{
    return growths.count && (double)growths.count >= REALLOC_COMMON * (double)growths.all;
}

void rule_realloc_growth(struct inquiry *inquiry)
{
    if (rule_number(inquiry->total->realloc_count) && !inquiry_has_distributions(inquiry)) {
        inquiry_silent(inquiry, "not recorded: by how much reallocations grow");
        return;
    }
    struct growths growths = rule_growth_commonest(inquiry->profile);
    bool common = rule_growth_has_common_step(growths);
    struct candidates by_step = {0}, by_little = {0};
    for (size_t i = 0; i < inquiry->site_count; i++) {
        const struct call_metrics *metrics = &inquiry->sites[i].metrics;
        uint64_t bytes = rule_number(metrics->realloc_bytes);
        if (frame_is_interpreted(inquiry->profile, inquiry->sites[i].frame))
            continue; /* the interpreter's own arrays and texts, which no script reserves */
        if (common && rule_growth_grows_by(metrics, growths))
            inquiry_candidates_add(&by_step, &inquiry->sites[i], bytes);
        else if (rule_growth_grows_little(inquiry, metrics, growths))
            inquiry_candidates_add(&by_little, &inquiry->sites[i], bytes);
    }
    for (size_t i = 0; i < by_step.count; i++)
        rule_growth_report_realloc(inquiry, &by_step.top[i], growths);
    for (size_t i = by_step.count; i < CANDIDATES && i - by_step.count < by_little.count; i++)
        rule_growth_report_little(inquiry, &by_little.top[i - by_step.count]);
}

/* ---- By hand ------------------------------------------------------------------------------- */

static bool rule_growth_curve_rises(const struct curve *curve)
{
    long balance = 0, pairs = 0;
    uint32_t count = curve->count < CURVE_POINTS ? curve->count : CURVE_POINTS;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = i + 1; j < count; j++, pairs++)
            balance += (curve->points[j].bytes > curve->points[i].bytes) -
                       (curve->points[j].bytes < curve->points[i].bytes);
    return (double)balance >= COPY_CURVE_RISE * (double)pairs;
}

static bool rule_growth_path_grows_by_copy(const struct profile *profile,
                                           const struct profile_site *path)
{
    const struct call_metrics *metrics = &path->metrics;
    uint64_t blocks = rule_number(metrics->alloc_count);
    if (blocks < COPY_COUNT || !figure_zero(metrics->realloc_count) ||
        !rule_number(metrics->size_min) ||
        rule_number(metrics->size_max) / rule_number(metrics->size_min) < COPY_REACH ||
        (double)rule_number(metrics->free_count) < COPY_FREED * (double)blocks)
        return false;
    double peak = (double)rule_number(metrics->peak_bytes),
           largest = (double)rule_number(metrics->size_max);
    double mean = (double)rule_number(metrics->alloc_bytes) / (double)blocks /
                  ((double)rule_number(metrics->size_min) + largest);
    if (peak < COPY_PEAK_LEAST * largest || peak > COPY_PEAK_MOST * largest ||
        (double)rule_number(metrics->alloc_bytes) < COPY_CUMULATED * peak ||
        mean < COPY_MEAN_LEAST || mean > COPY_MEAN_MOST)
        return false;
    const struct curve *curve = inquiry_curve_of(profile, path->path);
    return !curve || curve->count < COPY_CURVE_POINTS || rule_growth_curve_rises(curve);
}

/* Can one of its paths grow by copy? This saves reading the paths of most sites, which are
 * scattered in memory. */
static bool rule_growth_may_grow_by_copy(const struct call_metrics *site)
{
    uint64_t least = rule_number(site->size_min), most = rule_number(site->size_max);
    return rule_number(site->alloc_count) >= COPY_COUNT && (!least || most / least >= COPY_REACH);
}

/* Is this what most of its calls are for? */
bool rule_site_grows_by_copy(const struct inquiry *inquiry, const struct site *site)
{
    uint64_t calls = 0;
    if (!rule_growth_may_grow_by_copy(&site->metrics) ||
        frame_is_interpreted(inquiry->profile, site->frame))
        return false;
    for (size_t i = 0; i < site->count; i++) {
        uint32_t at = inquiry->order[site->first + i];
        struct profile_site room;
        if (rule_number(profile_site_figure(inquiry->profile, at, METRIC_ROW(alloc_count))) <
            COPY_COUNT)
            continue;
        const struct profile_site *path = profile_site_at(inquiry->profile, at, &room);
        if (rule_growth_path_grows_by_copy(inquiry->profile, path))
            calls += rule_number(path->metrics.alloc_count);
    }
    return calls && 2 * calls >= rule_number_or_most(site->metrics.alloc_count);
}

/* Sizes alone prove little: tables of many sizes that come and go look the same. */
static bool rule_growth_is_seen_to_rise(const struct inquiry *inquiry, const struct site *site)
{
    for (size_t i = 0; i < site->count; i++) {
        const struct curve *curve = inquiry_curve_of(
            inquiry->profile, profile_site_path(inquiry->profile, inquiry->order[site->first + i]));
        if (curve && curve->count >= COPY_CURVE_POINTS && rule_growth_curve_rises(curve))
            return true;
    }
    return false;
}

static void rule_growth_report_copy(struct inquiry *inquiry, const struct candidate *candidate)
{
    const struct site *site = candidate->site;
    const struct call_metrics *metrics = &site->metrics;
    struct insight *insight =
        insight_begin(inquiry, rule_number(metrics->alloc_bytes), inquiry->bytes, INSIGHT_BYTES);
    if (!rule_growth_is_seen_to_rise(inquiry, site))
        insight_at_most(insight, INSIGHT_NOTICE);
    insight_title(insight,
                  "%s grows an array by allocating, copying and freeing: %s times, %s for an array "
                  "of %s",
                  inquiry_site_name(inquiry, site).text,
                  human_count(rule_number(metrics->alloc_count)).text,
                  human_bytes(rule_number(metrics->alloc_bytes)).text,
                  human_bytes(rule_number(metrics->size_max)).text);
    insight_add_count(insight, "alloc_count", rule_number(metrics->alloc_count));
    insight_add_count(insight, "free_count", rule_number(metrics->free_count));
    insight_add_bytes(insight, "size_min", rule_number(metrics->size_min));
    insight_add_bytes(insight, "size_max", rule_number(metrics->size_max));
    insight_add_bytes(insight, "mean_growth",
                      (rule_number(metrics->size_max) - rule_number(metrics->size_min)) /
                          rule_number(metrics->alloc_count));
    insight_add_bytes(insight, "peak_bytes",
                      rule_at_a_time(inquiry, rule_number(metrics->peak_bytes)));
    insight_add_bytes(insight, "alloc_bytes", rule_number(metrics->alloc_bytes));
    insight_add_share(insight, "bytes_share", insight->cost);
    insight_add_paths(inquiry, insight, site, METRIC_ROW(alloc_bytes), INSIGHT_BYTES);
    insight->advice = "Let the array grow to double its size and keep count of what is used, or "
                      "find its final size first. A realloc would often not even copy.";
}

void rule_copy_growth(struct inquiry *inquiry)
{
    struct candidates candidates = {0};
    for (size_t i = 0; i < inquiry->site_count; i++)
        if (rule_site_grows_by_copy(inquiry, &inquiry->sites[i]))
            inquiry_candidates_add(&candidates, &inquiry->sites[i],
                                   rule_number(inquiry->sites[i].metrics.alloc_bytes));
    for (size_t i = 0; i < candidates.count; i++)
        rule_growth_report_copy(inquiry, &candidates.top[i]);
}
