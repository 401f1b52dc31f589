/* What this process takes: memory, time, faults. System calls and memory of the caller only. */
#ifndef TIDEMARK_ALLOC_DRIVER_SELF_MEASURE_H
#define TIDEMARK_ALLOC_DRIVER_SELF_MEASURE_H

#include <stdint.h>
#include "alloc_stream/stream_result.h"

/* Opens what is read later; forgets the peak so far. Once, before the stream. */
void measure_begin(struct driver_result *result);
/* The totals since then. */
void measure_end(struct driver_result *result);
/* Takes a reading (any thread). Its own time is counted apart. */
void measure_reading(struct driver_result *result, uint32_t number);

/* CPU time of this thread. */
uint64_t measure_thread_ns(void);

/* Ends the process with a sentence in the result. */
_Noreturn void measure_fail(struct driver_result *result, const char *what, int error);

#endif
