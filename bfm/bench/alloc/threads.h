/* What several threads do at once: netbuild tasks (the report's section 3.3) and the worst case of
 * many heaps (3.4). They call malloc and free themselves; each block's contents are verified in
 * passing. */
#ifndef BENCH_ALLOC_THREADS_H
#define BENCH_ALLOC_THREADS_H

#include <stdint.h>
#include "netbuild.h"

/* `tasks` netbuilds of `shapes` each, at most `threads` at a time; each is a thread of its own that
 * begins when there is room for it. All are identical, so their results must be: if not, the
 * process ends. */
void threads_netbuild(unsigned tasks, unsigned threads, uint64_t shapes,
                      struct netbuild_result *result);

/* All deallocations hit one heap: this thread allocates `blocks` of 2 to 8 pointers, then `threads`
 * threads free their shares at once; `rounds` times. The number of allocations. */
uint64_t threads_worst(unsigned threads, uint64_t blocks, unsigned rounds);

#endif
