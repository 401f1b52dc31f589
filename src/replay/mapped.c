#include "replay/mapped.h"

#include <stdlib.h>
#include <string.h>
#include "replay/region.h"

/* Of the smallest page there is: the end of a larger one is nobody else's. */
#define PAGE_BYTES 4096u

static uint64_t end_of(uint64_t address, uint64_t bytes)
{
    uint64_t end;
    if (__builtin_add_overflow(address, bytes, &end) || end > UINT64_MAX - PAGE_BYTES)
        return UINT64_MAX - PAGE_BYTES + 1;
    return (end + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
}

/* The first range that ends above `address`. */
static size_t first_above(const struct mapped *mapped, uint64_t address)
{
    size_t low = 0, high = mapped->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (mapped->ranges[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void mapped_release(struct mapped *mapped)
{
    free(mapped->ranges);
    *mapped = (struct mapped){0};
}

static void give_up(struct mapped *mapped)
{
    mapped_release(mapped);
    mapped->overflowed = true;
}

static void insert(struct mapped *mapped, size_t at, uint64_t start, uint64_t end)
{
    if (mapped->count == MAPPED_MAX) {
        give_up(mapped);
        return;
    }
    if (mapped->count == mapped->capacity) {
        mapped->capacity = mapped->capacity ? 2 * mapped->capacity : 64;
        mapped->ranges =
            replay_realloc(mapped->ranges, mapped->capacity * sizeof *mapped->ranges);
    }
    struct mapped_range *place = mapped->ranges + at;
    memmove(place + 1, place, (mapped->count - at) * sizeof *place);
    *place = (struct mapped_range){start, end};
    mapped->count++;
}

static void clear(struct mapped *mapped, uint64_t start, uint64_t end)
{
    size_t first = first_above(mapped, start), last = first;
    struct mapped_range *range = mapped->ranges + first;
    if (first == mapped->count || range->start >= end)
        return;
    if (range->start < start) {
        uint64_t old_end = range->end;
        range->end = start;
        if (old_end > end) { /* a hole in the middle */
            insert(mapped, first + 1, end, old_end);
            return;
        }
        last = ++first;
    }
    while (last < mapped->count && mapped->ranges[last].end <= end)
        last++;
    if (last < mapped->count && mapped->ranges[last].start < end)
        mapped->ranges[last].start = end;
    if (last > first) {
        memmove(mapped->ranges + first, mapped->ranges + last,
                (mapped->count - last) * sizeof *mapped->ranges);
        mapped->count -= last - first;
    }
}

void mapped_remove(struct mapped *mapped, uint64_t address, uint64_t bytes)
{
    uint64_t end = end_of(address, bytes);
    if (mapped->count && address < end)
        clear(mapped, address, end);
}

void mapped_add(struct mapped *mapped, uint64_t address, uint64_t bytes)
{
    uint64_t end = end_of(address, bytes);
    if (mapped->overflowed || address >= end)
        return;
    if (mapped->count)
        clear(mapped, address, end);
    if (!mapped->overflowed)
        insert(mapped, first_above(mapped, address), address, end);
}
