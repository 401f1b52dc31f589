/* The sentence for the last failure of this thread. Inside the room. */
#ifndef TIDEMARK_RERUN_ERROR_H
#define TIDEMARK_RERUN_ERROR_H

/* Returns `error`. */
int rerun_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
