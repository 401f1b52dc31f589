/* The sentence for the last failure of this thread. Inside the room. */
#ifndef TIDEMARK_MOMENT_ERROR_H
#define TIDEMARK_MOMENT_ERROR_H

/* Returns `error`. */
int moment_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
