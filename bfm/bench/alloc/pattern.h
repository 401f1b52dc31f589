/* What can be run: the report's 28 patterns (patterns.c), streams against allocators (streams.c)
 * and netbuilds (netbuild.c). bfm/doc/BFM-bench.md says of each what it is and what was
 * interpreted. */
#ifndef BENCH_ALLOC_PATTERN_H
#define BENCH_ALLOC_PATTERN_H

#include <stdbool.h>
#include <stdint.h>
#include "block.h"

struct pattern {
    const char *name;
    unsigned number;           /* in the report; 0: not of the report */
    uint64_t a, b;             /* sizes in pointers; b 0: N / 128 */
    const struct variant *how; /* of a multi pattern */
    void (*run)(const struct pattern *pattern, struct slot *slots, uint64_t blocks);
    /* How many blocks hold about so many bytes at the peak. */
    uint64_t (*blocks_for)(const struct pattern *pattern, uint64_t bytes);
    bool small;     /* runs at an eighth of the size (r:1-63) */
    bool headline;  /* one of the 17 streams whose slowest call is a figure of the project */
    bool head_only; /* writes a block's first bytes only */
};

extern const struct pattern patterns[];
extern const unsigned pattern_count;
extern const struct pattern streams[];
extern const unsigned stream_count;

#endif
