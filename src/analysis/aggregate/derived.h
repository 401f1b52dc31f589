/* Figures that follow from the metrics of a call path, or of many merged (doc/METRICS.md,
 * "Derived"). Each is a sum of metrics, most divided by another sum or by how long the program ran:
 * a table and not functions, since the web view computes them too, from the same table. */
#ifndef TIDEMARK_AGGREGATE_DERIVED_H
#define TIDEMARK_AGGREGATE_DERIVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "model/metrics.h"

enum derived_unit {
    DERIVED_RATIO, /* 1.0: once */
    DERIVED_SHARE, /* 0 to 1 */
    DERIVED_BYTES,
    DERIVED_NS,
    DERIVED_PER_SECOND, /* calls */
    DERIVED_BYTES_PER_SECOND,
};
enum { DERIVED_TERMS = 3 };
struct derived {
    const char *name;  /* in JSON, and in lists of columns */
    const char *title; /* of a column */
    enum derived_unit unit;
    const struct metric_row *of[DERIVED_TERMS + 1]; /* their sum; NULL: the end */
    const struct metric_row *by[DERIVED_TERMS + 1]; /* divided by their sum; none: not divided */
    bool by_run;                                    /* divided by the run's duration in seconds */
};
enum { DERIVED_COUNT = 9 };
extern const struct derived derived[DERIVED_COUNT];

/* NAN: not known, or the divisor is 0. run_ns: how long the program ran. */
double derived_value(const struct derived *figure, const struct call_metrics *metrics,
                     struct figure run_ns);
/* "ratio", "share", "bytes", "ns", "per_second", "bytes_per_second" */
const char *derived_unit_name(enum derived_unit unit);

#endif
