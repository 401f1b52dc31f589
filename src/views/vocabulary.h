/* The metrics of call paths as data: for presenters that show whichever there are (JSON, the web).
 * doc/METRICS.md defines each; replay/metrics.h holds the values. */
#ifndef TIDEMARK_VIEWS_VOCABULARY_H
#define TIDEMARK_VIEWS_VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "replay/metrics.h"

enum vocabulary_unit {
    VOCABULARY_BYTES = 0,
    VOCABULARY_COUNT,
    VOCABULARY_NS,       /* how long */
    VOCABULARY_MOMENT,   /* ns since the start of the recording */
    VOCABULARY_VARIANCE, /* (sampling interval)^2 / 1024, in bytes^2 */
};
enum vocabulary_merge {
    VOCABULARY_SUM = 0, /* what is unknown of one path is unknown of all */
    VOCABULARY_MIN,     /* unknown: of no block; it is passed over */
    VOCABULARY_MAX,
    VOCABULARY_NEVER, /* of more than one path not known */
};

struct vocabulary_entry {
    const char *name;  /* in JSON, SQL and doc/METRICS.md */
    const char *title; /* of a column, lower case */
    const char *help;  /* a sentence without full stop */
    size_t offset;     /* in struct call_metrics */
    enum vocabulary_unit unit;
    enum vocabulary_merge merge;
    const char *variance; /* the name of its variance; NULL: it has none */
};
enum { VOCABULARY_SIZE = 36 };
/* In the order in which documents list them; the variances last. */
extern const struct vocabulary_entry vocabulary[VOCABULARY_SIZE];

/* NULL: there is none. */
const struct vocabulary_entry *vocabulary_find(const char *name);
const char *vocabulary_unit_name(enum vocabulary_unit unit);
const char *vocabulary_merge_name(enum vocabulary_merge merge);

/* UINT64_MAX: not known, or of nothing. */
static inline uint64_t vocabulary_value(const struct vocabulary_entry *entry,
                                        const struct call_metrics *call)
{
    uint64_t value;
    memcpy(&value, (const char *)call + entry->offset, sizeof value);
    return value;
}

/* Is it there at all, by the program's sums? All call paths are alike in this. */
static inline bool vocabulary_is_recorded(const struct vocabulary_entry *entry,
                                          const struct call_metrics *total)
{
    return entry->merge != VOCABULARY_SUM || vocabulary_value(entry, total) != UINT64_MAX;
}

#endif
