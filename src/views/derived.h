/* Figures that follow from the metrics of a call path, or of many merged (doc/METRICS.md,
 * "Derived"). */
#ifndef TIDEMARK_VIEWS_DERIVED_H
#define TIDEMARK_VIEWS_DERIVED_H

#include <stddef.h>
#include <stdint.h>
#include "replay/metrics.h"

enum derived_unit {
    DERIVED_RATIO, /* 1.0: once */
    DERIVED_SHARE, /* 0 to 1 */
    DERIVED_BYTES,
    DERIVED_NS,
    DERIVED_PER_SECOND, /* calls */
    DERIVED_BYTES_PER_SECOND,
};
struct derived {
    const char *name;  /* in JSON, and in lists of columns */
    const char *title; /* of a column */
    enum derived_unit unit;
    /* NAN: not known, or of nothing. run_ns: how long the program ran, 0: not known. */
    double (*of)(const struct call_metrics *metrics, uint64_t run_ns);
};
enum { DERIVED_COUNT = 9 };
extern const struct derived derived[DERIVED_COUNT];

#endif
