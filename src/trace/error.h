/* The sentence for the last failure, one per thread. Inside the room. */
#ifndef TIDEMARK_TRACE_ERROR_H
#define TIDEMARK_TRACE_ERROR_H

/* Keeps the sentence and returns `error` (a negative errno). */
int trace_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
