/* Numbers found by what they stand for: open addressing, at most half full. The things themselves
 * lie in an array of the caller's, who says what is equal. */
#ifndef TIDEMARK_JOB_MAP_H
#define TIDEMARK_JOB_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct job_map {
    struct job_map_slot {
        uint32_t hash, number; /* number + 1; 0: empty */
    } * slots;
    size_t slot_count, count;
};

typedef bool job_map_equal(const void *array, uint32_t number, const void *key);

/* The number of `key` in `array`; if it is not there it gets `fresh`, and *is_new. */
uint32_t job_map_number(struct job_map *map, uint64_t hash, job_map_equal *equal, const void *array,
                        const void *key, uint32_t fresh, bool *is_new);
void job_map_release(struct job_map *map);

#endif
