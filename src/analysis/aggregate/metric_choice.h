/* The metrics that call sites can be listed by. */
#ifndef TIDEMARK_AGGREGATE_METRIC_CHOICE_H
#define TIDEMARK_AGGREGATE_METRIC_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/human.h"
#include "base/strbuf.h"
#include "profile/profile.h"
#include "model/figure_human.h"
#include "model/metrics.h"

/* In the order of the table in metric_choice.c. */
#define METRIC_CHOICE                                                                              \
    "peak|leaked|count|bytes|temporary|slack|realloc|mmap|freed|failed|zero|aligned|time"
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

enum { METRIC_CHOICES = 13 };
extern const struct metric metrics[METRIC_CHOICES];

/* The sentence for a section without anything in it; of mappings its own. */
const char *metric_none(const struct metric *metric, const struct profile *profile);

static inline struct figure metric_of(const struct metric *metric, const struct call_metrics *call)
{
    return metric_value(metric->row, call);
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
