/* What one look at a process through /proc has shown, as a profile keeps it. */
#ifndef TIDEMARK_PROFILE_BUILD_PROC_SAMPLE_H
#define TIDEMARK_PROFILE_BUILD_PROC_SAMPLE_H

#include <stddef.h>
#include <stdint.h>
#include "profile/profile.h"

struct held; /* held.h */

/* A piece of a module's variables that is resident or swapped. Each figure counts all of its bytes
 * or none, except compressible_bytes and proportional_bytes. */
struct proc_touched {
    uint64_t start, end;
    const char *module; /* path */
    struct figure resident_bytes, proportional_bytes, swapped_bytes, huge_bytes, shared_bytes,
        zero_bytes, copy_bytes, compressible_bytes, unwritten_1s_bytes, unwritten_10s_bytes,
        filled_bytes, node_bytes[PROFILE_NODES];
};

/* The arrays belong to the maker. The writer of the profile sets their rows' `sample`. */
struct proc_sample {
    const struct profile_sample *sample;
    struct profile_mapping *mappings;
    size_t mapping_count;
    struct profile_residency *rows;
    size_t row_count;
    struct profile_heap_page *cells;
    size_t cell_count;
    struct profile_island *islands;
    size_t island_count;
    struct held *held; /* holders, sharers and chain are made from it; NULL: they are given */
    struct profile_holder *holders; /* without `held` */
    size_t holder_count;
    struct profile_sharer *sharers; /* likewise */
    size_t sharer_count;
    struct profile_chain *chain;
    size_t chain_count;
    struct profile_block_type *types;
    size_t type_count;
    struct profile_block_fill *fills;
    size_t fill_count;
    struct profile_owner *owners;
    size_t owner_count;
    const struct proc_touched *touched; /* pieces of variables, by address */
    size_t touched_count;
    struct profile_container *containers;
    size_t container_count;
};

#endif
