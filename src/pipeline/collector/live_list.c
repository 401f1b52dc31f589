/* The sorted copy of the live blocks (live_list.h). It is sorted in place by radix, a byte of the
 * address at a time (American flag sort), with insertion for short buckets. */
#include "collector/live_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Below this many blocks, counting 256 buckets costs more than moving the blocks about. */
#define INSERTION_BLOCKS 48

enum { BUCKETS = 256, BUCKET_BITS = 8 };

int live_list_reserve(struct live_list *list, size_t capacity)
{
    if (capacity <= list->capacity)
        return 0;
    struct live_entry *blocks = realloc(list->blocks, capacity * sizeof *blocks);
    if (!blocks)
        return -ENOMEM;
    list->blocks = blocks;
    list->capacity = capacity;
    return 0;
}

void live_list_release(struct live_list *list)
{
    free(list->blocks);
    *list = LIVE_LIST_INIT;
}

static void live_list_sort_few(struct live_entry *blocks, size_t count)
{
    for (size_t i = 1; i < count; i++) {
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

void live_list_sort(struct live_list *list)
{
    uint64_t differing = 0;
    for (size_t i = 1; i < list->count; i++)
        differing |= list->blocks[i].address ^ list->blocks[0].address;
    if (list->count <= INSERTION_BLOCKS)
        live_list_sort_few(list->blocks, list->count);
    else if (differing)
        live_list_sort_from(list->blocks, list->count,
                            (63u - (unsigned)__builtin_clzll(differing)) / BUCKET_BITS *
                                BUCKET_BITS);
}

void live_list_part(struct live_list *list)
{
    uint64_t covered = 0;
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct live_entry block = list->blocks[i];
        uint64_t end = live_entry_end(&block);
        if (end <= covered)
            continue;
        if (block.address < covered) {
            block.size_bytes = end - covered;
            block.address = covered;
        }
        covered = end;
        list->blocks[kept++] = block;
    }
    list->count = kept;
}
