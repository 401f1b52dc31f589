/* Perf-style maps of JIT code: lines of "START SIZE name", the numbers in hexadecimal, written by
 * the process itself to /tmp/perf-PID.map and growing while it runs. */
#ifndef TIDEMARK_SYMBOLS_JIT_H
#define TIDEMARK_SYMBOLS_JIT_H

#include <sys/types.h>

#include "symbols/string_pool.h"
#include "symbols/range_map.h"

struct jit_map {
    int pid;
    dev_t device;
    ino_t inode;
    off_t read_bytes; /* whole lines only */
    struct range_map ranges;
    const char **names; /* by the ranges' values */
    size_t name_count, name_capacity;
};

void jit_map_release(struct jit_map *map);

/* Reads what is new in the map of map->pid, under `root` if that is not empty. */
void jit_map_update(struct jit_map *map, const char *root, struct pool *pool);

/* The name at `address`, or NULL. */
const char *jit_map_find(struct jit_map *map, uint64_t address);

#endif
