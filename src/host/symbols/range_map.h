/* Address ranges → a number. Later ranges cover earlier ones, as needed for nested scopes (parents
 * first), aliases (worst first) and re-used JIT memory (oldest first). Ranges are added, then
 * sealed, then found; adding again unseals. */
#ifndef TIDEMARK_SYMBOLS_RANGE_MAP_H
#define TIDEMARK_SYMBOLS_RANGE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANGE_NONE UINT32_MAX

struct range {
    uint64_t low, high; /* [low, high) */
    uint32_t value;
};

/* Sealed: ranges[i].low < ranges[i].high <= ranges[i + 1].low. */
struct range_map {
    struct range *ranges;
    size_t count, capacity;
    bool sealed;
};

void range_map_release(struct range_map *map);

/* An empty or reversed range is ignored: debug information of discarded code has them. */
void range_map_add(struct range_map *map, uint64_t low, uint64_t high, uint32_t value);
void range_map_seal(struct range_map *map);

/* The value at `address`, or RANGE_NONE. Seals if need be. */
uint32_t range_map_find(struct range_map *map, uint64_t address);

#endif
