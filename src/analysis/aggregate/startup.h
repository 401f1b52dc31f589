/* Memory that run-times and libraries ask for as they start: MPI_Init, OpenMP's team, locales and
 * translations, constructors of libraries before main(), C++'s pool for exceptions. It is allocated
 * once and does no harm, but in lists by size it stands before what the program did.
 *
 * A call path belongs to the start-up where one of its frames does. Constructors of libraries
 * belong to it only where all of them together hold little, because a library of the program's own
 * may do the program's work there. Reads struct profile and nothing else. */
#ifndef TIDEMARK_AGGREGATE_STARTUP_H
#define TIDEMARK_AGGREGATE_STARTUP_H

#include <stdbool.h>
#include <stdint.h>
#include "base/strbuf.h"
#include "model/metrics.h"
#include "profile/profile.h"

enum startup_kind {
    STARTUP_NONE = 0,
    STARTUP_MPI,
    STARTUP_OPENMP,
    STARTUP_LOCALE,
    STARTUP_LIBRARIES,
    STARTUP_EXCEPTIONS,
    STARTUP_KINDS
};

struct startup {
    uint8_t *of_node; /* enum startup_kind, by node; NULL: nothing is */
    struct figure at_peak_bytes[STARTUP_KINDS], live_bytes, live_count;
};

/* 0 or -ENOMEM. */
int startup_find(struct startup *startup, const struct profile *profile);
void startup_release(struct startup *startup);

static inline bool startup_has(const struct startup *startup, uint32_t node)
{
    return startup->of_node && startup->of_node[node];
}
/* By node: does it not belong to the start-up? NULL: out of memory. To be freed. */
bool *startup_others(const struct startup *startup, const struct profile *profile);
/* The sum of a metric over the call paths of the start-up. */
struct figure startup_sum(const struct startup *startup, const struct profile *profile,
                          const struct metric_row *row);
/* Was the thread that was at this path made by OpenMP's run-time? Not for the main thread, in which
 * the run-time is initialised. */
bool startup_is_of_team(const struct profile *profile, uint32_t path);
/* "MPI", "libraries". */
const char *startup_kind_name(enum startup_kind kind);
/* "start-up of MPI, locale": those that hold something at the peak, most first, or that are there
 * at all. Nothing where there is none. */
void startup_add_name(struct strbuf *out, const struct startup *startup);

#endif
