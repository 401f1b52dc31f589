/* The bitmap of the blocks that are recorded, a radix tree of three levels (followed.h). Levels are
 * mapped at their first use and published by compare-and-swap. Runs inside the profiled program: no
 * malloc, no stdio, errno kept. */
#include "recorder/followed.h"

#include <errno.h>
#include "recorder/shared.h"

struct followed_root *followed_root;

bool followed_begin(void)
{
    if (!followed_root)
        followed_root = private_map(sizeof *followed_root);
    return followed_root;
}

/* The memory that `place` points to, which is mapped at the first call. If two threads map it at
 * once, the pages of the loser stay untouched. */
static void *followed_made(_Atomic(void *) *place, size_t bytes)
{
    void *there = atomic_load_explicit(place, memory_order_acquire);
    if (likely(there))
        return there;
    int saved_errno = errno;
    void *mine = private_map(bytes);
    errno = saved_errno;
    if (mine && !atomic_compare_exchange_strong_explicit(place, &there, mine, memory_order_acq_rel,
                                                         memory_order_acquire))
        mine = there;
    return mine;
}

bool followed_add(uintptr_t address)
{
    size_t first = address >> FOLLOWED_MIDDLE_SHIFT;
    if (unlikely(first >= FOLLOWED_FANOUT))
        return false;
    struct followed_middle *middle =
        followed_made((_Atomic(void *) *)&followed_root->middles[first], sizeof *middle);
    if (!middle)
        return false;
    size_t second = address >> FOLLOWED_LEAF_SHIFT & (FOLLOWED_FANOUT - 1);
    if (!followed_made((_Atomic(void *) *)&middle->leaves[second], sizeof(struct followed_leaf)))
        return false;
    atomic_fetch_or_explicit(followed_word(address), followed_bit(address), memory_order_relaxed);
    return true;
}

bool followed_remove(uintptr_t address)
{
    if (!address || !followed_has(address))
        return false;
    atomic_fetch_and_explicit(followed_word(address), ~followed_bit(address), memory_order_relaxed);
    return true;
}
