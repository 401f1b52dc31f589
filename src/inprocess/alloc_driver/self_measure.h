/* Measures this process: memory, time, page faults. Uses only system calls, and memory of the
 * caller. */
#ifndef TIDEMARK_ALLOC_DRIVER_SELF_MEASURE_H
#define TIDEMARK_ALLOC_DRIVER_SELF_MEASURE_H

#include <stdint.h>
#include "alloc_stream/stream_result.h"

/* Opens the files that are read later, and resets the peak. To be called once, before the
 * stream. */
void measure_begin(struct driver_result *result);
/* Stores the totals since measure_begin(). */
void measure_end(struct driver_result *result);
/* Stores a reading of resident memory; for any thread. Its own time is counted separately. */
void measure_reading(struct driver_result *result, uint32_t number);

/* CPU time of this thread. */
uint64_t measure_thread_ns(void);

/* Ends the process with a sentence in the result. */
_Noreturn void measure_fail(struct driver_result *result, const char *what, int error);

#endif
