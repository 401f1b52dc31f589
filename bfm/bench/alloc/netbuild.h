/* The report's netbuild (sections 3.2 and 3.3): electrically connected sets of rectangles over
 * several layers, by a scanline. About ten pairs of malloc and free a rectangle, of 16 to 64 bytes,
 * in ten types. */
#ifndef BENCH_ALLOC_NETBUILD_H
#define BENCH_ALLOC_NETBUILD_H

#include <stdint.h>

struct netbuild_result {
    uint64_t nets;     /* connected sets */
    uint64_t checksum; /* of their sizes and first members: the same with every allocator */
    uint64_t allocations;
    uint64_t overlaps;
};

enum { NETBUILD_LAYERS = 7 };

/* One task from its random input to the last free. Any number of threads may run one each. */
void netbuild_run(uint64_t shapes, uint64_t seed, struct netbuild_result *result);

/* The same nets by comparing all pairs, in the harness's memory: for small inputs. */
void netbuild_compare_all(uint64_t shapes, uint64_t seed, struct netbuild_result *result);

#endif
