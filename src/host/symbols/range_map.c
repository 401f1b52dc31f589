/* Maps addresses to numbers (range_map.h). Sealing cuts the ranges at all their ends into segments
 * and paints them, the last range first. A painted segment is final, and `next` skips painted ones
 * (a union-find). So sealing costs n log n for any nesting, and a corrupt file cannot make it
 * quadratic. */
#include "symbols/range_map.h"

#include <stdlib.h>
#include "base/memory.h"
#include "base/search.h"

#include "symbols/name_memory.h"

void range_map_release(struct range_map *map)
{
    free(map->ranges);
    *map = (struct range_map){0};
}

void range_map_add(struct range_map *map, uint64_t low, uint64_t high, uint32_t value)
{
    if (low >= high)
        return;
    map->ranges =
        name_memory_grow(map->ranges, &map->capacity, map->count + 1, sizeof *map->ranges);
    map->ranges[map->count++] = (struct range){low, high, value};
    map->sealed = false;
}

static bool range_map_in_order(const struct range_map *map)
{
    for (size_t i = 1; i < map->count; i++) {
        if (map->ranges[i].low < map->ranges[i - 1].high)
            return false;
    }
    return true;
}

static int range_map_compare_u64(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Every low and high once, ascending. */
static uint64_t *range_map_cuts_of(const struct range_map *map, size_t *cut_count)
{
    uint64_t *cuts = memory_zeroed(map->count * 2, sizeof *cuts);
    for (size_t i = 0; i < map->count; i++) {
        cuts[2 * i] = map->ranges[i].low;
        cuts[2 * i + 1] = map->ranges[i].high;
    }
    qsort(cuts, map->count * 2, sizeof *cuts, range_map_compare_u64);
    size_t kept = 0;
    for (size_t i = 0; i < map->count * 2; i++) {
        if (kept == 0 || cuts[kept - 1] != cuts[i])
            cuts[kept++] = cuts[i];
    }
    *cut_count = kept;
    return cuts;
}

static size_t range_map_cut_at(const uint64_t *cuts, size_t cut_count, uint64_t address)
{
    const uint64_t *found = bsearch(&address, cuts, cut_count, sizeof *cuts, range_map_compare_u64);
    return (size_t)(found - cuts);
}

/* The first segment at or after `at` that is not painted yet. */
static size_t range_map_next_blank(size_t *next, size_t at)
{
    while (next[at] != at) {
        next[at] = next[next[at]];
        at = next[at];
    }
    return at;
}

/* One range per run of segments of one value. */
static void range_map_collect(struct range_map *map, const uint64_t *cuts, const uint32_t *paint,
                              size_t segment_count)
{
    map->count = 0;
    for (size_t i = 0; i < segment_count; i++) {
        if (paint[i] == RANGE_NONE)
            continue;
        struct range *last = map->count ? &map->ranges[map->count - 1] : NULL;
        if (last && last->value == paint[i] && last->high == cuts[i])
            last->high = cuts[i + 1];
        else
            range_map_add(map, cuts[i], cuts[i + 1], paint[i]);
    }
}

static void range_map_flatten(struct range_map *map)
{
    size_t cut_count;
    uint64_t *cuts = range_map_cuts_of(map, &cut_count);
    size_t segment_count = cut_count - 1;
    uint32_t *paint = memory_zeroed(segment_count, sizeof *paint);
    size_t *next = memory_zeroed(cut_count, sizeof *next);
    for (size_t i = 0; i < segment_count; i++)
        paint[i] = RANGE_NONE;
    for (size_t i = 0; i < cut_count; i++)
        next[i] = i;

    for (size_t i = map->count; i-- > 0;) {
        const struct range *range = &map->ranges[i];
        size_t end = range_map_cut_at(cuts, cut_count, range->high);
        size_t at = range_map_next_blank(next, range_map_cut_at(cuts, cut_count, range->low));
        while (at < end) {
            paint[at] = range->value;
            next[at] = at + 1;
            at = range_map_next_blank(next, at);
        }
    }
    range_map_collect(map, cuts, paint, segment_count);
    free(next);
    free(paint);
    free(cuts);
}

void range_map_seal(struct range_map *map)
{
    if (!map->sealed && map->count && !range_map_in_order(map))
        range_map_flatten(map);
    map->sealed = true;
}

uint32_t range_map_find(struct range_map *map, uint64_t address)
{
    if (!map->sealed)
        range_map_seal(map);
    size_t first = 0;
    SEARCH_FIRST(first, map->count, at, map->ranges[at].high <= address);
    if (first == map->count || map->ranges[first].low > address)
        return RANGE_NONE;
    return map->ranges[first].value;
}
