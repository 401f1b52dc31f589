/* A profile as text for people, and as JSON for programs. Reads struct profile and nothing else. */
#ifndef TIDEMARK_REPORT_REPORT_H
#define TIDEMARK_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "profile/profile.h"

/* In the order of the table in metric.c. */
#define REPORT_METRIC_CHOICE "peak|leaked|count|bytes|temporary|slack|realloc|mmap|freed"
#define REPORT_ALL_METRICS   (-1)
#define REPORT_LEAST_COLUMNS 72

struct report_options {
    int metric;   /* position in REPORT_METRIC_CHOICE; REPORT_ALL_METRICS: the usual sections. One
                     that the profile does not know (report_metric_missing) gives no section. */
    size_t top;   /* call sites in a section */
    size_t depth; /* caller levels that branch */
    const char *filter; /* extended regular expression; NULL: none */
    bool hide_std;
    bool colour, utf8;
    size_t columns; /* REPORT_LEAST_COLUMNS at least */
};

/* 0 or -errno of the stream. */
int report_text(FILE *out, const struct profile *profile, const struct report_options *options);
int report_json(FILE *out, const struct profile *profile, const struct report_options *options);

/* At most ten lines after a recording. `path`: of the profile. Colour if `out` is a terminal. */
int report_summary(FILE *out, const struct profile *profile, const char *path);

/* Why the profile cannot be listed by a metric: a sentence that says how to record it. NULL: it can. */
const char *report_metric_missing(const struct profile *profile, int metric);

/* 0, or -EINVAL and why in `why`. */
int report_filter_check(const char *filter, char *why, size_t why_bytes);

#endif
