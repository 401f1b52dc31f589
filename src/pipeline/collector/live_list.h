/* The live blocks of a process at one moment, by address: a copy, so that the replay can go on
 * while the pages under them are looked at. */
#ifndef TIDEMARK_COLLECTOR_LIVE_LIST_H
#define TIDEMARK_COLLECTOR_LIVE_LIST_H

#include <stddef.h>
#include <stdint.h>

struct live_entry {
    uint64_t address, size_bytes; /* as requested */
    uint32_t node;                /* call path */
    uint32_t row;                 /* of that in a residency */
    uint64_t birth_ticks;         /* 0: not known */
};

struct live_list {
    struct live_entry *blocks;
    size_t count, capacity;
};
#define LIVE_LIST_INIT ((struct live_list){0})

/* Room for `capacity` blocks. 0 or -ENOMEM: a look is left out rather than a program ended. */
int live_list_reserve(struct live_list *list, size_t capacity);
void live_list_release(struct live_list *list);

/* Sorts by address, in place (radix, from the top byte that differs): ten million in about half a
 * second. Blocks of one address stay in no particular order. */
void live_list_sort(struct live_list *list);

/* Of a sorted list: what two blocks claim (a free that was missed) is left to the first by address,
 * and a block of which nothing is left is taken out. Blocks are disjoint then. */
void live_list_part(struct live_list *list);

/* The end of the addresses that a block keeps from others: one of no bytes stands somewhere,
 * too. */
static inline uint64_t live_entry_end(const struct live_entry *block)
{
    uint64_t end, bytes = block->size_bytes ? block->size_bytes : 1;
    return __builtin_add_overflow(block->address, bytes, &end) ? UINT64_MAX : end;
}

#endif
