/* The address ranges that the program mapped by mmap (mapped.h). They are a sorted array, searched
 * by halves. Mapping and unmapping first cut [start, end) out of the ranges there, which shortens,
 * removes or splits them. */
#include "accounting/mapped.h"

#include <stdlib.h>
#include <string.h>
#include "blocks/arena.h"

/* Of the smallest page there is: the end of a larger one is nobody else's. */
#define PAGE_BYTES 4096u

static uint64_t mapped_end_of(uint64_t address, uint64_t bytes)
{
    uint64_t end;
    if (__builtin_add_overflow(address, bytes, &end) || end > UINT64_MAX - PAGE_BYTES)
        return UINT64_MAX - PAGE_BYTES + 1;
    return (end + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
}

/* The first range that ends above `address`. */
static size_t mapped_first_above(const struct mapped *mapped, uint64_t address)
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

static void mapped_give_up(struct mapped *mapped)
{
    mapped_release(mapped);
    mapped->overflowed = true;
}

static void mapped_insert(struct mapped *mapped, size_t at, struct mapped_range range)
{
    if (mapped->count == MAPPED_MAX) {
        mapped_give_up(mapped);
        return;
    }
    if (mapped->count == mapped->capacity) {
        mapped->capacity = mapped->capacity ? 2 * mapped->capacity : 64;
        mapped->ranges = arena_realloc(mapped->ranges, mapped->capacity * sizeof *mapped->ranges);
    }
    struct mapped_range *place = mapped->ranges + at;
    memmove(place + 1, place, (mapped->count - at) * sizeof *place);
    *place = range;
    mapped->count++;
}

static void mapped_make_hole(struct mapped *mapped, size_t at, uint64_t start, uint64_t end)
{
    struct mapped_range behind = mapped->ranges[at];
    behind.start = end;
    mapped->ranges[at].end = start;
    mapped_insert(mapped, at + 1, behind);
}

/* What is left of a range, if anything: one piece of it, since there is no hole. */
static bool mapped_trim(struct mapped_range *range, uint64_t start, uint64_t end)
{
    if (range->start < start)
        range->end = start;
    else
        range->start = end;
    return range->start < range->end;
}

/* Ranges that began later than `before` stay. */
static void mapped_clear(struct mapped *mapped, uint64_t start, uint64_t end, uint64_t before)
{
    size_t from = mapped_first_above(mapped, start), to = from;
    for (; from < mapped->count && mapped->ranges[from].start < end; from++) {
        struct mapped_range range = mapped->ranges[from];
        if (range.born <= before && range.start < start && range.end > end) {
            mapped_make_hole(mapped, from, start, end); /* it is the only one in here */
            return;
        }
        if (range.born > before || mapped_trim(&range, start, end))
            mapped->ranges[to++] = range;
    }
    if (to < from)
        memmove(mapped->ranges + to, mapped->ranges + from,
                (mapped->count - from) * sizeof *mapped->ranges);
    mapped->count -= from - to;
}

void mapped_remove(struct mapped *mapped, uint64_t address, uint64_t bytes, uint64_t before)
{
    uint64_t end = mapped_end_of(address, bytes);
    if (mapped->count && address < end)
        mapped_clear(mapped, address, end, before);
}

void mapped_add(struct mapped *mapped, uint64_t address, uint64_t bytes, uint64_t born)
{
    uint64_t end = mapped_end_of(address, bytes);
    if (mapped->overflowed || address >= end)
        return;
    if (mapped->count)
        mapped_clear(mapped, address, end, UINT64_MAX);
    if (!mapped->overflowed)
        mapped_insert(mapped, mapped_first_above(mapped, address),
                      (struct mapped_range){address, end, born});
}
