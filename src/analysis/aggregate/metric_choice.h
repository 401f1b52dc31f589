/* The metrics that call sites can be listed by. */
#ifndef TIDEMARK_AGGREGATE_METRIC_CHOICE_H
#define TIDEMARK_AGGREGATE_METRIC_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/human.h"
#include "base/strbuf.h"
#include "profile/profile.h"
#include "aggregate/metrics_merge.h"
#include "model/figure_human.h"
#include "model/metrics.h"

/* In the order of the table in metric_choice.c: first those that add up, then extremes. */
#define METRIC_CHOICE_SUMS                                                                         \
    "peak|leaked|count|bytes|temporary|slack|realloc|mmap|freed|failed|zero|aligned|time|resident"
#define METRIC_CHOICE     METRIC_CHOICE_SUMS "|largest|smallest|longest|shortest|own-peak"
#define METRIC_CHOICE_ALL (-1)

struct metric {
    const char *name;             /* as in METRIC_CHOICE and in JSON */
    const char *title;            /* of its section */
    const char *none;             /* the sentence for a section without anything in it */
    const struct metric_row *row; /* its column, its unit, and its variance if it has one */
    bool usual;                   /* shown without --sort */
    bool exact;                   /* even where allocations were sampled */
    const char *missing; /* the sentence where it was not recorded; NULL: it always is but in
                            profiles that were imported */
};

enum { METRIC_SUMS = 14, METRIC_CHOICES = 19 };
extern const struct metric metrics[METRIC_CHOICES];

/* The sentence for a section without anything in it; of mappings its own. */
const char *metric_none(const struct metric *metric, const struct profile *profile);

static inline struct figure metric_of(const struct metric *metric, const struct call_metrics *call)
{
    return metric_value(metric->row, call);
}
/* Do the figures of call paths add up? Otherwise the figure of many is that of one of them. */
static inline bool metric_adds_up(const struct metric *metric)
{
    return metric_row_adds_up(metric->row);
}
/* Of many call paths as one. The level of many is not known, that of the highest one is. */
static inline struct figure metric_of_merged(const struct metric *metric,
                                             const struct merged_metrics *merged)
{
    return metric->row->merge == METRIC_NEVER ? merged->path_peak
                                              : metric_of(metric, &merged->metrics);
}
/* The figure of nothing, with which metric_join() begins. */
static inline struct figure metric_nothing(const struct metric *metric)
{
    return metric_adds_up(metric) ? figure_of(0) : FIGURE_UNKNOWN;
}
/* The figure of two parts. */
static inline struct figure metric_join(const struct metric *metric, struct figure a,
                                        struct figure b)
{
    bool passes_over = metric->row->merge == METRIC_LEAST && (!figure_known(a) || !figure_known(b));
    return passes_over                        ? (figure_known(a) ? a : b)
           : metric_adds_up(metric)           ? figure_add(a, b)
           : metric->row->merge == METRIC_MIN ? figure_min(a, b)
                                              : figure_max(a, b);
}
/* Is there any of it? The smallest block may be of zero bytes. */
static inline bool metric_is_any(const struct metric *metric, struct figure value)
{
    return metric->row->merge == METRIC_MIN ? figure_known(value) : figure_positive(value);
}
/* The figure that lists are sorted by, the highest first. Of the smallest and the shortest it is
 * turned round, so that the lowest value comes first. */
static inline struct figure metric_rank(const struct metric *metric, struct figure value)
{
    return metric->row->merge == METRIC_MIN ? figure_sub(figure_of(FIGURE_MOST), value) : value;
}
/* The position of the metric that lists are sorted by: the given one; without one the first that
 * the profile knows. */
size_t metric_choice_of(const struct profile *profile, int metric);
/* The same for what needs one that adds up. */
static inline size_t metric_choice_that_adds_up(const struct profile *profile, int metric)
{
    return metric_choice_of(profile, metric >= METRIC_SUMS ? METRIC_CHOICE_ALL : metric);
}
/* Was it recorded? To be asked of the whole program: all call paths are alike in this. */
static inline bool metric_is_known(const struct metric *metric, const struct call_metrics *call)
{
    return figure_known(metric_of(metric, call));
}
/* In the units of call_metrics; unknown where the metric has none. */
static inline struct figure metric_variance(const struct metric *metric,
                                            const struct call_metrics *call)
{
    if (metric->row->variance == METRIC_NO_VARIANCE)
        return FIGURE_UNKNOWN;
    return *(const struct figure *)((const char *)call + metric->row->variance);
}
static inline bool metric_is_freed(const struct metric *metric)
{
    return metric->row == METRIC_ROW(freed_bytes);
}
static inline struct human metric_row_human(const struct metric_row *row, struct figure value)
{
    bool time = row->unit == METRIC_NS || row->unit == METRIC_MOMENT;
    return row->unit == METRIC_BYTES ? figure_human_bytes(value)
           : time                    ? figure_human_duration(value)
                                     : figure_human_count(value);
}
static inline struct human metric_human(const struct metric *metric, struct figure value)
{
    return metric_row_human(metric->row, value);
}

/* The title of its section: "Never freed" is said of a whole run only ("Left at end", "Alive now").
 * Begins with a small letter where it stands in a sentence. */
void metric_add_title(struct strbuf *out, const struct metric *metric,
                      const struct profile *profile, bool in_sentence);

/* Why the profile cannot be listed by a metric (a position in METRIC_CHOICE): a sentence that says
 * how to record it. NULL: it can. */
const char *metric_missing(const struct profile *profile, int metric);

#endif
