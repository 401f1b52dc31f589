/* The sorted copy of the live blocks (live_list.h). Regions are counted in a hash table and sorted
 * one by one, by counting. Lists without regions and crowded groups are sorted in place by radix, a
 * byte of the address at a time (American flag sort), with insertion for short buckets. */
#include "collector/live_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "base/array.h"
#include "base/hash.h"
#include "base/search.h"

/* Below this many blocks, counting 256 buckets costs more than moving the blocks about. */
#define INSERTION_BLOCKS 48

enum { BUCKETS = 256, BUCKET_BITS = 8 };

/* More and smaller regions would be sorted sooner, but each is a place that the copying writes to
 * at random. A region's groups have a few blocks each. */
enum { REGION_SHIFT = 21, REGIONS_FIRST = 64, REGIONS_MOST = 65536, GROUP_BITS = 13 };

/* From here on the list is worth huge pages: it is written at as many places as there are
 * regions. */
#define HUGE_FROM ((size_t)4 << 20)

int live_list_reserve(struct live_list *list, size_t capacity)
{
    size_t bytes = capacity * sizeof *list->blocks;
    if (capacity <= list->capacity)
        return 0;
    struct live_entry *blocks = realloc(list->blocks, bytes);
    if (!blocks)
        return -ENOMEM;
    list->blocks = blocks;
    list->capacity = capacity;
    if (bytes >= HUGE_FROM) {
        uintptr_t page = 4096, start = ((uintptr_t)blocks + page - 1) & ~(page - 1);
        (void)madvise((void *)start, ((uintptr_t)blocks + bytes - start) & ~(page - 1),
                      MADV_HUGEPAGE);
    }
    return 0;
}

void live_list_release(struct live_list *list)
{
    free(list->blocks);
    free(list->regions);
    free(list->order);
    free(list->spare);
    *list = LIVE_LIST_INIT;
}

/* ---- Regions ------------------------------------------------------------------------------- */

/* Its place in the table, or the free one where it would stand. */
static struct live_region *live_list_region(const struct live_list *list, uint64_t number)
{
    struct live_region *regions = list->regions;
    size_t mask = list->region_room - 1, at = hash_u64(number) & mask;
    while (regions[at].number != number && regions[at].count)
        at = (at + 1) & mask;
    return &regions[at];
}

static void live_list_count_region(struct live_list *list, uint64_t number, uint32_t blocks)
{
    struct live_region *region = live_list_region(list, number);
    list->region_count += !region->count;
    region->number = number;
    region->count += blocks;
}

/* Twice the room; with as many regions as there may be, regions of twice the size instead. */
static bool live_list_grow_regions(struct live_list *list)
{
    struct live_list old = *list;
    unsigned wider = old.region_count >= REGIONS_MOST;
    list->region_room = !old.region_room ? REGIONS_FIRST : old.region_room << !wider;
    list->regions = calloc(list->region_room, sizeof *list->regions);
    if (!list->regions) {
        list->regions = old.regions;
        list->region_room = old.region_room;
        return false;
    }
    list->region_shift = old.region_room ? old.region_shift + wider : REGION_SHIFT;
    list->region_count = 0;
    for (size_t i = 0; i < old.region_room; i++)
        if (old.regions[i].count)
            live_list_count_region(list, old.regions[i].number >> wider, old.regions[i].count);
    free(old.regions);
    return true;
}

/* The first block of a region. */
static __attribute__((noinline)) bool live_list_expect_first(struct live_list *list,
                                                             uint64_t address)
{
    while (list->region_count * 2 >= list->region_room)
        if (!live_list_grow_regions(list))
            return false;
    live_list_count_region(list, address >> list->region_shift, 1);
    return true;
}

bool live_list_expect(struct live_list *list, const uint64_t *addresses, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct live_region *region =
            list->region_room ? live_list_region(list, addresses[i] >> list->region_shift) : NULL;
        if (region && region->count)
            region->count++;
        else if (!live_list_expect_first(list, addresses[i]))
            return false;
    }
    return true;
}

static int live_list_region_compare(const void *left, const void *right)
{
    const struct live_region *a = *(struct live_region *const *)left;
    const struct live_region *b = *(struct live_region *const *)right;
    return (a->number > b->number) - (a->number < b->number);
}

int live_list_lay_out(struct live_list *list)
{
    size_t sum = 0, count = 0;
    list->order = malloc((list->region_count + 1) * sizeof *list->order);
    if (!list->order)
        return -ENOMEM;
    for (size_t i = 0; i < list->region_room; i++)
        if (list->regions[i].count)
            list->order[count++] = &list->regions[i];
    qsort(list->order, count, sizeof *list->order, live_list_region_compare);
    for (size_t i = 0; i < count; i++) {
        list->order[i]->next = (uint32_t)sum;
        sum += list->order[i]->count;
    }
    return sum < UINT32_MAX ? live_list_reserve(list, sum + 1) : -ENOMEM;
}

void live_list_put(struct live_list *list, const struct live_entry *block)
{
    struct live_region *region = live_list_region(list, block->address >> list->region_shift);
    __builtin_prefetch(&list->blocks[region->next + 4], 1); /* 40 % of the copying */
    list->blocks[region->next++] = *block;
    list->count++;
}

/* ---- Radix --------------------------------------------------------------------------------- */

static void live_list_sort_few(struct live_entry *blocks, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (blocks[i - 1].address <= blocks[i].address)
            continue;
        struct live_entry block = blocks[i];
        size_t at = i;
        for (; at > 0 && blocks[at - 1].address > block.address; at--)
            blocks[at] = blocks[at - 1];
        blocks[at] = block;
    }
}

static unsigned live_list_bucket_of(const struct live_entry *block, unsigned shift)
{
    return (unsigned)(block->address >> shift) & (BUCKETS - 1);
}

/* Puts every block into its bucket by following the cycles of the permutation:
 *
 *     ┌ bucket 0 ────────┬ bucket 1 ───┬ …      next[b]: first place of bucket b that is not known
 *     │ right │ ? ? ? ?  │ right │ ?   │        to hold a block of its own; end[b]: its end */
static void live_list_distribute(struct live_entry *blocks, size_t next[BUCKETS],
                                 const size_t end[BUCKETS], unsigned shift)
{
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++)
        while (next[bucket] < end[bucket]) {
            struct live_entry block = blocks[next[bucket]];
            for (unsigned home; (home = live_list_bucket_of(&block, shift)) != bucket;) {
                struct live_entry other = blocks[next[home]];
                blocks[next[home]++] = block;
                block = other;
            }
            blocks[next[bucket]++] = block;
        }
}

static void live_list_sort_from(struct live_entry *blocks, size_t count, unsigned shift)
{
    size_t next[BUCKETS] = {0}, end[BUCKETS], sum = 0;
    for (size_t i = 0; i < count; i++)
        next[live_list_bucket_of(&blocks[i], shift)]++;
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++) {
        size_t begin = sum;
        sum += next[bucket];
        next[bucket] = begin;
        end[bucket] = sum;
    }
    live_list_distribute(blocks, next, end, shift);
    size_t begin = 0;
    for (unsigned bucket = 0; bucket < BUCKETS; begin = end[bucket++]) {
        size_t here = end[bucket] - begin;
        if (here <= INSERTION_BLOCKS || shift == 0)
            live_list_sort_few(blocks + begin, shift ? here : 0);
        else
            live_list_sort_from(blocks + begin, here, shift - BUCKET_BITS);
    }
}

static void live_list_sort_all(struct live_entry *blocks, size_t count)
{
    uint64_t differing = 0;
    for (size_t i = 1; i < count; i++)
        differing |= blocks[i].address ^ blocks[0].address;
    if (count <= INSERTION_BLOCKS)
        live_list_sort_few(blocks, count);
    else if (differing)
        live_list_sort_from(blocks, count,
                            (63u - (unsigned)__builtin_clzll(differing)) / BUCKET_BITS *
                                BUCKET_BITS);
}

/* ---- A region ------------------------------------------------------------------------------ */

static unsigned live_list_group_of(const struct live_entry *block, unsigned shift, unsigned bits)
{
    return (unsigned)(block->address >> shift) & ((1u << bits) - 1);
}

/* Where the blocks of each group of 2^shift bytes begin. Returns how many the largest has. */
static uint32_t live_list_count_groups(const struct live_entry *blocks, size_t count,
                                       unsigned shift, unsigned bits, uint32_t *next)
{
    uint32_t sum = 0, most = 0;
    memset(next, 0, sizeof *next << bits);
    for (size_t i = 0; i < count; i++)
        next[live_list_group_of(&blocks[i], shift, bits)]++;
    for (unsigned group = 0; group < 1u << bits; group++) {
        uint32_t here = next[group];
        most = here > most ? here : most;
        next[group] = sum;
        sum += here;
    }
    return most;
}

/* Inserts each block among those of its group, which are few. The entry in front of a group is of a
 * lower group or left over from a lower region, so insertion stops there. */
static void live_list_insert(struct live_entry *spare, const struct live_entry *blocks,
                             size_t count, unsigned shift, unsigned bits, uint32_t *next)
{
    for (size_t i = 0; i < count; i++) {
        struct live_entry block = blocks[i];
        struct live_entry *at = &spare[next[live_list_group_of(&block, shift, bits)]++];
        for (; at[-1].address > block.address; at--)
            *at = at[-1];
        *at = block;
    }
}

static void live_list_sort_crowded(struct live_entry *spare, const struct live_entry *blocks,
                                   size_t count, unsigned shift, unsigned bits, uint32_t *next)
{
    for (size_t i = 0; i < count; i++)
        spare[next[live_list_group_of(&blocks[i], shift, bits)]++] = blocks[i];
    for (unsigned group = 0, begin = 0; group < 1u << bits; begin = next[group++])
        if (next[group] - begin > 1)
            live_list_sort_all(spare + begin, next[group] - begin);
}

/* One entry more in front, of address 0: insertion stops there at the latest. */
static bool live_list_make_spare(struct live_list *list, size_t count)
{
    if (list->spare_room < count) {
        free(list->spare);
        list->spare = calloc(count * 2 + 1, sizeof *list->spare);
        list->spare_room = list->spare ? count * 2 : 0;
    }
    return list->spare != NULL;
}

/* Sorts a region into list->spare + 1, with about as many groups as blocks. False: there is no
 * memory. */
static bool live_list_sort_region(struct live_list *list, const struct live_entry *blocks,
                                  size_t count)
{
    uint32_t next[1 << GROUP_BITS];
    unsigned bits = GROUP_BITS;
    while (bits > 1 && count >> (bits - 1) == 0)
        bits--;
    if (bits > list->region_shift)
        bits = list->region_shift;
    unsigned shift = list->region_shift - bits;
    if (!live_list_make_spare(list, count))
        return false;
    if (live_list_count_groups(blocks, count, shift, bits, next) > INSERTION_BLOCKS)
        live_list_sort_crowded(list->spare + 1, blocks, count, shift, bits, next);
    else
        live_list_insert(list->spare + 1, blocks, count, shift, bits, next);
    return true;
}

bool live_list_sort_next(struct live_list *list, struct live_stretch *stretch)
{
    stretch->first += stretch->count;
    stretch->count = list->count - stretch->first;
    if (list->region_count && stretch->region < list->region_count)
        stretch->count = list->order[stretch->region++]->count;
    struct live_entry *blocks = list->blocks + stretch->first;
    stretch->blocks = blocks;
    if (stretch->count > INSERTION_BLOCKS && list->region_count &&
        live_list_sort_region(list, blocks, stretch->count))
        stretch->blocks = list->spare + 1;
    else
        live_list_sort_all(blocks, stretch->count);
    return stretch->count > 0;
}

size_t live_list_first_above(const struct live_list *list, size_t from, uint64_t address)
{
    SEARCH_FIRST(from, list->count, at, live_entry_end(&list->blocks[at]) <= address);
    return from;
}
