/* What the rules are made of. Inside the room.
 *
 * A rule is a function that is given the inquiry, looks at the profile and calls insight_begin()
 * for what it found, or inquiry_silent() where its data was not recorded. No rule reads another's
 * findings. Where two rules could report the same thing, both call a predicate of the site that
 * decides (rule_site_is_…). */
#ifndef TIDEMARK_INSIGHTS_RULE_H
#define TIDEMARK_INSIGHTS_RULE_H

#include "aggregate/runtime_pools.h"
#include "aggregate/startup.h"
#include "base/human.h"
#include "insights/insight.h"

/* Call paths that the same frame of the program stands for.
 * Invariant: each of profile->sites is in exactly one. */
struct site {
    struct frame frame;
    struct call_metrics metrics; /* merged; peak_bytes is the sum of the paths' own peaks: at least
                                    what was alive here at once; peak_ticks the latest of theirs */
    size_t first, count;         /* into inquiry.order */
    uint64_t widest_bytes;       /* the largest own peak of one path */
};

struct inquiry {
    const struct profile *profile;
    const struct call_metrics *total;
    const bool *hidden; /* frames_of_libraries() */
    struct site *sites;
    size_t site_count;
    uint32_t *order;        /* indices of profile->sites, site by site */
    uint32_t *site_of_node; /* by node; UINT32_MAX: it never allocated */
    uint64_t run_ns;        /* how long the recording lasted; 0: not known */
    uint64_t calls, bytes;  /* allocations and reallocations, and their bytes */
    /* While the program works: between the first and the last hundredth of its allocations. All of
     * the run where it is not known. */
    uint64_t active_from_ns, active_until_ns;
    uint64_t freed_at_rest; /* blocks, net, behind that */
    struct lost *lost;      /* by site */
    const struct startup *startup;
    enum insight_severity least; /* rules that find only milder things are not asked */
    struct runtime_pool_names pool_names;
    const struct rule *rule; /* the one that is being asked */
    struct insights *out;
};

enum rule_rank {
    RANK_LAST = -1, /* what others are folded into */
    RANK_HINT = 0,  /* where to look */
    RANK_COST,      /* what costs more than it needs to */
    RANK_FAULT,     /* what should not be */
    RANK_END,       /* what ends programs */
};

struct rule {
    const char *id;
    void (*ask)(struct inquiry *inquiry);
    bool of_calls; /* asks what happened in all, which not every recording knows */
    enum insight_severity most;
    int rank; /* among findings of one severity the highest come first: enum rule_rank */
};
extern const struct rule rules[];
extern const size_t rule_count;

/* The rule cannot be asked: `why` is "not recorded: …". */
void inquiry_silent(struct inquiry *inquiry, const char *why);

/* The share of the program's allocations that were made until `ns`, 0 to 1: a clock that stands
 * still while the program rests. Where they are not known, the share of the run's time. */
double inquiry_work_at(const struct inquiry *inquiry, double ns);

/* Does a look at `ns` show the program at work, or in a rest that lasts, and not its tear-down? */
bool inquiry_counts_at(const struct inquiry *inquiry, uint64_t ns);

/* What was recorded. */
bool inquiry_has_distributions(const struct inquiry *inquiry);
bool inquiry_has_curves(const struct inquiry *inquiry);
const struct curve *inquiry_curve_of(const struct profile *profile, uint32_t node); /* NULL: none */

double inquiry_share_of(uint64_t part, uint64_t whole); /* 0 if whole is 0 */
uint64_t inquiry_whole_number(double value); /* what a damaged file makes too large is UINT64_MAX */

/* A finding whose cost is `amount` (bytes, count or ns) of `whole`. */
struct insight *insight_begin(struct inquiry *inquiry, uint64_t amount, uint64_t whole,
                              enum insight_unit unit);
void insight_release(struct insight *insight); /* what it points to */
void insight_at_most(struct insight *insight, enum insight_severity most);
void insight_at_least(struct insight *insight, enum insight_severity least);
/* For a finding that says what the memory is: as an info it comes before all other infos. */
void insight_leads_infos(struct insight *insight);
void insight_title(struct insight *insight, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void insight_add_bytes(struct insight *insight, const char *metric, uint64_t value);
void insight_add_count(struct insight *insight, const char *metric, uint64_t value);
void insight_add_ns(struct insight *insight, const char *metric, uint64_t value);
void insight_add_share(struct insight *insight, const char *metric, double value);
void insight_add_ratio(struct insight *insight, const char *metric, double value);
void insight_add_text(struct insight *insight, const char *metric, const char *value);
/* The paths with most of something. A finding shows INSIGHT_PATHS of them: those that read alike,
 * since they differ in library frames or far up only, as one, and none with less than a hundredth
 * of what the first has. */
enum { TOP_PATHS = 256 };
struct inquiry_top_paths {
    uint32_t nodes[TOP_PATHS];
    uint64_t values[TOP_PATHS]; /* falling */
    size_t count;
};
/* a value of 0 is none */
void inquiry_top_paths_add(struct inquiry_top_paths *top, uint32_t node, uint64_t value);
void insight_add_top(const struct inquiry *inquiry, struct insight *insight,
                     const struct inquiry_top_paths *top, enum insight_unit unit);
/* Nothing if INSIGHT_PATHS are there already. */
void insight_add_path(const struct inquiry *inquiry, struct insight *insight, uint32_t node,
                      uint64_t value, enum insight_unit unit);
/* The paths of a site with most of a metric. */
void insight_add_paths(const struct inquiry *inquiry, struct insight *insight,
                       const struct site *site, const struct metric_row *row,
                       enum insight_unit unit);

/* The name of a site, short and safe, for a title. */
struct site_name {
    char text[128];
};
struct site_name inquiry_site_name(const struct inquiry *inquiry, const struct site *site);

struct human inquiry_human_blocks(uint64_t count); /* "1 block", "2,000 blocks" */

/* The few sites that matter most to a rule. */
#define CANDIDATES INSIGHT_PATHS
struct candidate {
    const struct site *site;
    uint64_t cost;
};
struct candidates {
    struct candidate top[CANDIDATES]; /* most first */
    size_t count, found;
    uint64_t cost; /* of all that were found */
};
void inquiry_candidates_add(struct candidates *candidates, const struct site *site, uint64_t cost);

/* For thresholds: an unknown figure counts as 0, so that no finding rests on it. A rule whose data
 * was not recorded at all is silent before. */
static inline uint64_t rule_number(struct figure figure)
{
    return figure_or(figure, 0);
}

/* For upper limits: an unknown figure counts as more than any number, so that no finding rests on
 * it. */
static inline uint64_t rule_number_or_most(struct figure figure)
{
    return figure_or(figure, FIGURE_MOST);
}

/* Blocks ever made here. */
static inline uint64_t rule_blocks_of(const struct call_metrics *metrics)
{
    return rule_number(call_metrics_blocks(metrics));
}
static inline uint64_t rule_bytes_of(const struct call_metrics *metrics)
{
    return rule_number(call_metrics_bytes(metrics));
}
static inline uint64_t rule_mean_size(const struct call_metrics *metrics)
{
    return rule_blocks_of(metrics) ? rule_bytes_of(metrics) / rule_blocks_of(metrics) : 0;
}

/* Predicates that more than one rule asks. */
/* rule_growth.c */
bool rule_site_grows_by_copy(const struct inquiry *inquiry, const struct site *site);
/* rule_blocks.c */
bool rule_site_is_small(const struct site *site);
/* rule_churn.c */
/* What a site had at a time, at most: its paths need not have had their peaks together, and nobody
 * has more than the program. */
uint64_t rule_at_a_time(const struct inquiry *inquiry, uint64_t own_peaks);
bool rule_site_is_churned(const struct site *site);
/* rule_churn.c */
bool rule_site_is_compiler_made(const struct inquiry *inquiry, const struct site *site);

/* rule_lost.c */
/* What is lost of the islands whose heads a site has asked for. */
struct lost {
    uint64_t bytes, count, island_count;
};
void rule_leak_lost(struct inquiry *inquiry);
struct lost *rule_lost_by_site(const struct inquiry *inquiry); /* NULL: out of memory */
struct lost rule_lost_of(const struct inquiry *inquiry, const struct site *site);
/* rule_leaks.c */
/* Of one call path, blocks or mappings. NULL: no curve, and no growth that is known. */
bool rule_path_grows_to_the_end(const struct inquiry *inquiry, const struct call_metrics *metrics,
                                const struct curve *curve, double *rise);
/* When a curve is highest, and whether that is long before the run's end: "all through the run", or
 * "until 320 ms of 2.32 s". */
uint64_t rule_curve_high_ns(const struct curve *curve);
bool rule_growth_is_a_part(const struct inquiry *inquiry, uint64_t until_ns);
void rule_add_growth(struct strbuf *out, const struct inquiry *inquiry, uint64_t until_ns);
void rule_leak_growth(struct inquiry *inquiry);
void rule_teardown_growth(struct inquiry *inquiry);
void rule_leak_possible(struct inquiry *inquiry);
/* rule_mapped.c */
void rule_mapping_growth(struct inquiry *inquiry);
/* rule_owner.c */
bool rule_heap_is_small(const struct inquiry *inquiry); /* less than a tenth of what is resident */
/* insight_begin() of what blocks cost, `bytes` of the peak. Where the heap is small, at most an
 * info: the program's memory is elsewhere, and nothing that is done about blocks would show. */
struct insight *rule_begin_of_heap(struct inquiry *inquiry, uint64_t bytes);
bool rule_heap_is_minor(const struct inquiry *inquiry); /* less than half */
void rule_resident_owner(struct inquiry *inquiry);
/* rule_blocks.c */
void rule_small_blocks(struct inquiry *inquiry);
void rule_size_waste(struct inquiry *inquiry);
/* rule_churn.c */
void rule_short_lived(struct inquiry *inquiry);
void rule_compiler_temporaries(struct inquiry *inquiry);
void rule_large_recycling(struct inquiry *inquiry);
/* rule_growth.c */
void rule_realloc_growth(struct inquiry *inquiry);
void rule_copy_growth(struct inquiry *inquiry);
/* rule_peaks.c */
void rule_peak_one_site(struct inquiry *inquiry);
void rule_secondary_peak(struct inquiry *inquiry);
/* rule_resident.c */
void rule_fragmentation(struct inquiry *inquiry);
void rule_untouched(struct inquiry *inquiry);
bool rule_site_is_untouched(const struct inquiry *inquiry, const struct site *site);
void rule_memory_limit(struct inquiry *inquiry);
/* rule_fill.c */
void rule_fill(struct inquiry *inquiry);
bool rule_site_is_unfilled(const struct inquiry *inquiry, const struct site *site);

/* rule_content.c */
void rule_content(struct inquiry *inquiry);

/* rule_stacks.c */
void rule_stacks(struct inquiry *inquiry);

/* rule_variables.c */
void rule_tls(struct inquiry *inquiry);
void rule_globals(struct inquiry *inquiry);
/* rule_threads.c */
void rule_cross_thread_frees(struct inquiry *inquiry);
void rule_allocator_time(struct inquiry *inquiry);
/* rule_startup.c; asked when all others have been, of what they found */
void rule_startup_fold(struct inquiry *inquiry);
/* rule_loss.c */
void rule_loss(struct inquiry *inquiry);

#endif
