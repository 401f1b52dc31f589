/* BFM_OPTIONS: names with or without a value, separated by commas. bfm/doc/BFM.md and bfm(3) list
 * them. Read once, before the first block. What is not understood is reported on stderr and
 * ignored. */
#ifndef TIDEMARK_BFM_BFM_OPTIONS_H
#define TIDEMARK_BFM_BFM_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DECAY_NEVER UINT64_MAX

struct options {
    uint64_t decay_ms;
    bool huge_pages;    /* use them when the system gives them on request */
    bool huge_always;   /* the system gives them unasked: small heaps decline */
    bool populate;      /* pages of the top are made resident in groups, ahead of their use */
    bool check;         /* each free is checked at once: no thread caches */
    bool canary;        /* known words after each block are verified when it is freed */
    bool random;        /* the order of blocks in records cannot be guessed */
    bool zero;          /* what is freed reads as zeros */
    bool guard;         /* each block has pages of its own, between pages without access */
    size_t cache_bytes; /* how much free memory may be kept: age_limit() */
};

extern struct options options;

void bfm_options_read(void);

#endif
