/* The metrics that call sites can be listed by. */
#ifndef TIDEMARK_REPORT_METRIC_H
#define TIDEMARK_REPORT_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/human.h"
#include "base/strbuf.h"
#include "profile/profile.h"
#include "replay/metrics.h"

struct metric {
    const char *name;   /* as in REPORT_METRIC_CHOICE and in JSON */
    const char *title;  /* of its section */
    const char *column; /* of struct site, in JSON and SQL */
    const char *none;   /* the sentence for a section without anything in it */
    size_t offset;      /* in struct call_metrics */
    enum metric_unit { METRIC_UNIT_BYTES, METRIC_UNIT_COUNT, METRIC_UNIT_NS } unit;
    bool usual;          /* shown without --sort */
    size_t variance;     /* of the metric, in struct call_metrics; 0: there is none */
    bool exact;          /* even where allocations were sampled */
    const char *missing; /* the sentence where it was not recorded; NULL: it always is but in
                            profiles that were imported */
};

enum { METRIC_COUNT = 13 };
extern const struct metric metrics[METRIC_COUNT];

/* Was it recorded? To be asked of the whole program: all call paths are alike in this. */
static inline bool metric_is_known(const struct metric *metric, const struct call_metrics *call)
{
    return *(const uint64_t *)((const char *)call + metric->offset) != UINT64_MAX;
}
/* What is not known adds nothing. */
static inline uint64_t metric_of(const struct metric *metric, const struct call_metrics *call)
{
    return metric_is_known(metric, call) ? *(const uint64_t *)((const char *)call + metric->offset)
                                         : 0;
}
/* In the units of call_metrics; 0 where it is not known. */
static inline uint64_t metric_variance(const struct metric *metric, const struct call_metrics *call)
{
    uint64_t variance =
        metric->variance ? *(const uint64_t *)((const char *)call + metric->variance) : 0;
    return variance == UINT64_MAX ? 0 : variance;
}
static inline bool metric_is_freed(const struct metric *metric)
{
    return metric->offset == offsetof(struct call_metrics, freed_bytes);
}
static inline struct human metric_human(const struct metric *metric, uint64_t value)
{
    return metric->unit == METRIC_UNIT_BYTES ? human_bytes(value)
           : metric->unit == METRIC_UNIT_NS  ? human_duration(value)
                                             : human_count(value);
}

/* The title of its section: "Never freed" is said of a whole run only ("Left at end", "Alive now"). Begins with a
 * small letter where it stands in a sentence. */
void metric_add_title(struct strbuf *out, const struct metric *metric,
                      const struct profile *profile, bool in_sentence);

#endif
