/* The spaces of memory that drivers of devices hand out (device_spaces.def), and the rows that say
 * what a program had of them. Such memory is no part of the heap's figures, of mapped memory or of
 * resident memory: each space is counted for itself. Declarations only, also for code inside of
 * profiled programs. */
#ifndef TIDEMARK_MODEL_DEVICE_SPACE_H
#define TIDEMARK_MODEL_DEVICE_SPACE_H

#include <stdint.h>

enum device_interface {
    DEVICE_INTERFACE_CUDA,
    DEVICE_INTERFACE_HIP,
    DEVICE_INTERFACE_OPENMP,
    DEVICE_INTERFACE_OPENACC,
};

enum device_place { DEVICE_PLACE_DEVICE, DEVICE_PLACE_EITHER, DEVICE_PLACE_HOST };

enum device_space {
#define DEVICE_SPACE(id, interface, place, name) DEVICE_SPACE_##id,
#include "model/device_spaces.def"
#undef DEVICE_SPACE
    DEVICE_SPACES
};

/* "?": no such space. */
const char *device_space_name(uint32_t space);
enum device_interface device_space_interface(enum device_space space);
enum device_place device_space_place(enum device_space space);

/* All that a run had of one space. Times are ticks in the engine, nanoseconds in a profile. */
struct device_total {
    uint32_t space; /* enum device_space */
    uint64_t peak_bytes, peak_ticks, live_bytes, live_count;
    uint64_t alloc_count, alloc_bytes, free_count;
    uint64_t refused_count, refused_bytes; /* requests that the driver refused, and the largest */
    uint64_t unknown_count;                /* frees of what was not seen to be allocated */
    /* How often a context of the driver ended. What was left in it is free since, but nobody told
     * which blocks those are, so live_bytes is at most that. */
    uint64_t ended_count;
};

/* What one call path had of it. */
struct device_site {
    uint32_t space, node;
    uint64_t alloc_count, alloc_bytes, live_count, live_bytes;
    uint64_t at_peak_bytes; /* when the space had its peak */
    uint64_t peak_bytes;    /* the most that this path had */
};

/* The most that was live in a space from a moment on, until the moment of the next row. */
struct device_level {
    uint32_t space;
    uint64_t ticks, bytes;
};

#endif
