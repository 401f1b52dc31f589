/* Memory over time for C programs: the interface of malloc_profile's memprofile (Baldassin, Borin
 * and Araujo, PPoPP 2015), in libtidemark-malloc-profile. Lines are
 *
 *     SECONDS BYTES MALLOCS FREES MALLOCS-IN-TRANSACTIONS FREES-IN-TRANSACTIONS
 *
 * whenever `time_resolution` seconds have passed or memory has changed by more than
 * `size_resolution` bytes; with a function's name they read "func=NAME ts=SECONDS mem=BYTES" and
 * are added to the file. */
#ifndef TIDEMARK_MEMPROFILE_C_H
#define TIDEMARK_MEMPROFILE_C_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

extern void memprofile_start(const char *filepath, double time_resolution, size_t size_resolution,
                             const char *funcname);
/* "BeginRegion NUMBER: SECONDS" on standard output. */
extern void memprofile_insertnull(void);
extern void memprofile_end(void);

#ifdef __cplusplus
}
#endif

#endif
