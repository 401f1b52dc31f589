/* Counting by region: the interface of malloc_profile (Baldassin, Borin and Araujo, PPoPP 2015), as
 * their STAMP benchmarks use it, answered by libtidemark-malloc-profile. At exit the program prints
 * a table of sizes, calls and bytes of its sequential, parallel and transactional parts on standard
 * output.
 *
 * The sequential and the parallel region are the process's: who enters one takes all threads along.
 * A transaction is the calling thread's own. Sizes are the bytes that the program asked for; all
 * figures are exact with any number of threads. */
#ifndef TIDEMARK_MALLOC_PROFILE_H
#define TIDEMARK_MALLOC_PROFILE_H

#include <stddef.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { SEQ_REGION, PAR_REGION, TX_REGION } region_type;

/* Always 1, for macros that need a value. */
extern int malloc_enter_region(region_type region);
/* Back to the region before. */
extern void malloc_exit_current_region(void);

extern size_t malloc_count_current(void);
extern size_t malloc_count_peak(void);
extern void malloc_count_reset_peak(void);
extern void malloc_count_print_status(void);

/* Is told what is current, and the calls so far outside of transactions and in them, after each
 * change, by the thread that made it. */
typedef void (*malloc_count_callback_type)(void *cookie, size_t current, size_t mallocs,
                                           size_t frees, size_t mallocs_tx, size_t frees_tx);
extern void malloc_count_set_callback(malloc_count_callback_type callback, void *cookie);

#ifdef __cplusplus
}
#endif

#include "memprofile.h"

#endif
