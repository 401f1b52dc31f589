/* The rows of metrics.def as a table, and the operations over all metrics: merging two call paths,
 * beginning with nothing, and setting what a recording of pages cannot count to unknown. */
#include "model/metrics.h"

#include <string.h>

/* A row's variance is the name of another field, or NONE. */
#define VARIANCE_OF_NONE             METRIC_NO_VARIANCE
#define VARIANCE_OF_alloc_variance   offsetof(struct call_metrics, alloc_variance)
#define VARIANCE_OF_live_variance    offsetof(struct call_metrics, live_variance)
#define VARIANCE_OF_at_peak_variance offsetof(struct call_metrics, at_peak_variance)
enum { CALLS = true, LEVEL = false, LATER = true, FIRST = false, LOOKS = true };

const struct metric_row metric_rows[METRICS] = {
#define METRIC(field, column, unit, merge, pages, added, variance, title, help)                    \
    {column,                                                                                       \
     title,                                                                                        \
     help,                                                                                         \
     offsetof(struct call_metrics, field),                                                         \
     VARIANCE_OF_##variance,                                                                       \
     METRIC_##unit,                                                                                \
     METRIC_##merge,                                                                               \
     pages,                                                                                        \
     added},
#include "model/metrics.def"
};

const struct metric_row *metric_row_find(const char *column)
{
    for (size_t i = 0; i < METRICS; i++)
        if (!strcmp(metric_rows[i].column, column))
            return &metric_rows[i];
    return NULL;
}

const char *metric_unit_name(enum metric_unit unit)
{
    static const char *const names[] = {"bytes", "count", "ns", "moment_ns", "variance"};
    return names[unit];
}

const char *metric_merge_name(enum metric_merge merge)
{
    static const char *const names[] = {"sum", "min", "max", "never", "least"};
    return names[merge];
}

static inline struct figure metrics_merge_SUM(struct figure a, struct figure b)
{
    return figure_add(a, b);
}
static inline struct figure metrics_merge_MIN(struct figure a, struct figure b)
{
    return figure_min(a, b);
}
static inline struct figure metrics_merge_MAX(struct figure a, struct figure b)
{
    return figure_max(a, b);
}
static inline struct figure metrics_merge_NEVER(struct figure a, struct figure b)
{
    (void)a, (void)b;
    return FIGURE_UNKNOWN;
}

static inline struct figure metrics_merge_LEAST(struct figure a, struct figure b)
{
    return figure_known(a) && figure_known(b) ? figure_add(a, b) : figure_known(a) ? a : b;
}

void call_metrics_merge(struct call_metrics *into, const struct call_metrics *from)
{
#define METRIC(field, column, unit, merge, ...)                                                    \
    into->field = metrics_merge_##merge(into->field, from->field);
#include "model/metrics.def"
}

void call_metrics_know_nothing(struct call_metrics *metrics)
{
    struct figure *all = (struct figure *)metrics; /* the fields are figures, and nothing else is */
    for (size_t i = 0; i < METRICS; i++)
        all[i] = FIGURE_UNKNOWN;
}

void call_metrics_clear(struct call_metrics *metrics, const struct call_metrics *like)
{
    for (size_t i = 0; i < METRICS; i++) {
        const struct metric_row *row = &metric_rows[i];
        bool known = row->merge == METRIC_SUM && (!like || figure_known(metric_value(row, like)));
        *metric_field(row, metrics) = known ? figure_of(0) : FIGURE_UNKNOWN;
    }
}

void call_metrics_forget_calls(struct call_metrics *metrics)
{
    for (size_t i = 0; i < METRICS; i++)
        if (metric_rows[i].counts_calls)
            *metric_field(&metric_rows[i], metrics) = FIGURE_UNKNOWN;
}
