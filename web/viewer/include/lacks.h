/* Declares what glibc has and WASI's C library does not; browser.c has it. Every source of the
 * viewer is compiled with this in front. */
#ifndef TIDEMARK_VIEWER_LACKS_H
#define TIDEMARK_VIEWER_LACKS_H

#include <stddef.h>

void qsort_r(void *rows, size_t count, size_t bytes,
             int (*compare)(const void *, const void *, void *), void *context);
char *realpath(const char *path, char *resolved);
const char *sigabbrev_np(int signal);
unsigned geteuid(void);

#endif
