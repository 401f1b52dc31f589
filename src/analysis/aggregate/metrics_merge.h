/* Metrics of many call paths as one, each by the rule that model/metrics.def gives it. */
#ifndef TIDEMARK_AGGREGATE_METRICS_MERGE_H
#define TIDEMARK_AGGREGATE_METRICS_MERGE_H

#include <stdint.h>
#include "model/metrics.h"

/* Starts as all zero. With more than one path peak_bytes and peak_ticks are not known: their
 * high-water marks were at different moments. What is unknown of one path is unknown of all. */
struct merged_metrics {
    uint64_t paths; /* call paths in it; 0: `metrics` means nothing yet */
    struct call_metrics metrics;
    struct figure path_peak; /* the highest level of one of the paths */
};
void merged_add(struct merged_metrics *into, const struct merged_metrics *from);
void merged_add_path(struct merged_metrics *into, const struct call_metrics *path);
/* Where there is no path in it: all metrics become 0, but unknown where those of `like` are. */
void merged_settle(struct merged_metrics *merged, const struct call_metrics *like);

#endif
