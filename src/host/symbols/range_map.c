/* Maps addresses to numbers (range_map.h). Sealing cuts the ranges at all their ends into segments
 * and paints them, the last range first. A painted segment is final, and `next` skips painted ones
 * (a union-find). So sealing costs n log n for any nesting, and a corrupt file cannot make it
 * quadratic. */
#include "symbols/range_map.h"

#include <stdlib.h>
#include "base/memory.h"
#include "base/search.h"

#include "symbols/name_memory.h"

/* Of a sort by digits; fewer ends are compared. */
enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, SORT_BY_DIGITS = 1000 };

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

/* One end of a range: its low one has an even number. */
struct range_cut {
    uint64_t address;
    uint32_t end;
};

static int range_map_compare_cuts(const void *left, const void *right)
{
    const struct range_cut *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

/* One pass of a sort by digits, from `from` to `to`. False: all have the same digit, and nothing
 * was moved. */
static bool range_map_sort_digit(const struct range_cut *from, struct range_cut *to, size_t count,
                                 int shift)
{
    size_t starts[DIGITS] = {0}, sum = 0;
    for (size_t i = 0; i < count; i++)
        starts[from[i].address >> shift & (DIGITS - 1)]++;
    if (starts[from[0].address >> shift & (DIGITS - 1)] == count)
        return false;
    for (size_t i = 0; i < DIGITS; i++) {
        size_t here = starts[i];
        starts[i] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; i++)
        to[starts[from[i].address >> shift & (DIGITS - 1)]++] = from[i];
    return true;
}

/* By address. Comparing them two by two was a half of what sealing the symbols of a library
 * takes. */
static struct range_cut *range_map_sort_cuts(struct range_cut *cuts, size_t count)
{
    if (count < SORT_BY_DIGITS) {
        qsort(cuts, count, sizeof *cuts, range_map_compare_cuts);
        return cuts;
    }
    struct range_cut *other = memory_zeroed(count, sizeof *other);
    for (int shift = 0; shift < 64; shift += DIGIT_BITS)
        if (range_map_sort_digit(cuts, other, count, shift)) {
            struct range_cut *sorted = other;
            other = cuts;
            cuts = sorted;
        }
    free(other);
    return cuts;
}

/* Every low and high once, ascending. places[]: where the ends of each range are among them. */
static uint64_t *range_map_cuts_of(const struct range_map *map, size_t *cut_count, uint32_t *places)
{
    size_t ends = map->count * 2, kept = 0;
    struct range_cut *cuts = memory_zeroed(ends, sizeof *cuts);
    uint64_t *kept_cuts = memory_zeroed(ends, sizeof *kept_cuts);
    for (size_t i = 0; i < map->count; i++) {
        cuts[2 * i] = (struct range_cut){map->ranges[i].low, (uint32_t)(2 * i)};
        cuts[2 * i + 1] = (struct range_cut){map->ranges[i].high, (uint32_t)(2 * i + 1)};
    }
    cuts = range_map_sort_cuts(cuts, ends);
    for (size_t i = 0; i < ends; i++) {
        if (kept == 0 || kept_cuts[kept - 1] != cuts[i].address)
            kept_cuts[kept++] = cuts[i].address;
        places[cuts[i].end] = (uint32_t)(kept - 1);
    }
    free(cuts);
    *cut_count = kept;
    return kept_cuts;
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
    uint32_t *places = memory_zeroed(map->count * 2, sizeof *places);
    uint64_t *cuts = range_map_cuts_of(map, &cut_count, places);
    size_t segment_count = cut_count - 1;
    uint32_t *paint = memory_zeroed(segment_count, sizeof *paint);
    size_t *next = memory_zeroed(cut_count, sizeof *next);
    for (size_t i = 0; i < segment_count; i++)
        paint[i] = RANGE_NONE;
    for (size_t i = 0; i < cut_count; i++)
        next[i] = i;

    for (size_t i = map->count; i-- > 0;) {
        const struct range *range = &map->ranges[i];
        size_t end = places[2 * i + 1];
        size_t at = range_map_next_blank(next, places[2 * i]);
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
    free(places);
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
