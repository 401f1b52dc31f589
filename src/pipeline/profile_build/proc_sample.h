/* What one look at a process through /proc has shown, as a profile keeps it. */
#ifndef TIDEMARK_PROFILE_BUILD_PROC_SAMPLE_H
#define TIDEMARK_PROFILE_BUILD_PROC_SAMPLE_H

#include <stddef.h>
#include "profile/profile.h"

/* The arrays are the maker's; their `sample` is set to that of `sample` by whoever writes them. */
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
};

#endif
