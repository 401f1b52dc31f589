/* What the threads of a program add up to, and what a row of them is called. */
#ifndef TIDEMARK_AGGREGATE_THREAD_TOTALS_H
#define TIDEMARK_AGGREGATE_THREAD_TOTALS_H

#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"
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

/* Adds "worker 4711" or "4711"; of a row that stands for several threads also "and 12 earlier". */
void thread_add_name(struct strbuf *out, const struct thread_metrics *thread);

#endif
