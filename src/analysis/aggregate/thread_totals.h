/* What the threads of a program add up to. */
#ifndef TIDEMARK_AGGREGATE_THREAD_TOTALS_H
#define TIDEMARK_AGGREGATE_THREAD_TOTALS_H

#include <stddef.h>
#include <stdint.h>
#include "profile/profile.h"

/* All that allocated or freed: a row may stand for several. */
uint64_t threads_ever(const struct profile *profile);

/* Most threads alive at once, of those that allocated or freed; 0: none, or out of memory. Where
 * rows stand for several it is at most so many, because nothing is known of the time between. */
size_t threads_peak(const struct profile *profile);

/* Bytes of thread-local storage, as the MALT paper counts it: a copy for each of the most threads
 * alive at once, and the original of what is initialised. */
struct thread_storage {
    struct figure per_thread, image, total;
};
struct thread_storage threads_storage(const struct profile *profile);

#endif
