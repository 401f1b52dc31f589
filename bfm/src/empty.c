/* Takes and gives blocks of 0 bytes. The range is reserved at the first request, and a bit says of
 * each 16 bytes whether they are in use. The next one is sought behind the last one, so an
 * address comes again as late as can be.
 *
 *   bit i of used[]  <=>  range + 16 * i is in use
 *   bit w of full[]  <=>  used[w] has no 0 */
#include "bfm/empty.h"
#include "bfm/layout.h"
#include "bfm/os.h"

enum { EMPTY_BLOCKS = 65536, EMPTY_WORDS = EMPTY_BLOCKS / 64, EMPTY_SUMS = EMPTY_WORDS / 64 };
#define EMPTY_BYTES (EMPTY_BLOCKS * ALIGN)

static struct lock lock;
static _Atomic uintptr_t range; /* 0: nothing is reserved yet */
static bool refused;            /* by the system; it is asked once */
static uint64_t used[EMPTY_WORDS], full[EMPTY_SUMS];
static unsigned cursor; /* the block after the one that was taken last */

void empty_lock(void)
{
    lock_take(&lock);
}

void empty_unlock(void)
{
    lock_give(&lock);
}

static uintptr_t empty_range(void)
{
    uintptr_t start = atomic_load_explicit(&range, memory_order_relaxed);

    if (start || refused)
        return start;
    start = (uintptr_t)os_reserve(EMPTY_BYTES, 1);
    refused = !start;
    atomic_store_explicit(&range, start, memory_order_release);
    return start;
}

/* The first word from `from` on, around the end, that has a 0: EMPTY_SUMS + 1 turns. -1: there is
 * none. */
static int empty_word(unsigned from)
{
    for (unsigned i = 0; i <= EMPTY_SUMS; i++) {
        unsigned sum = (from / 64 + i) % EMPTY_SUMS;
        uint64_t open = ~full[sum];
        if (!i)
            open &= ~(uint64_t)0 << from % 64;
        if (open)
            return (int)(sum * 64 + (unsigned)__builtin_ctzll(open));
    }
    return -1;
}

/* The next free block from the cursor on; -1: there is none. */
static int empty_find(void)
{
    unsigned word = cursor / 64;
    uint64_t free_bits = ~used[word] & ~(uint64_t)0 << cursor % 64;
    int found;

    if (free_bits)
        return (int)(word * 64 + (unsigned)__builtin_ctzll(free_bits));
    found = empty_word((word + 1) % EMPTY_WORDS);
    return found < 0 ? -1 : found * 64 + __builtin_ctzll(~used[found]);
}

static void *empty_take_locked(void)
{
    uintptr_t start = empty_range();
    int index = start ? empty_find() : -1;
    unsigned word;

    if (index < 0)
        return NULL;
    word = (unsigned)index / 64;
    used[word] |= (uint64_t)1 << index % 64;
    if (used[word] == ~(uint64_t)0)
        full[word / 64] |= (uint64_t)1 << word % 64;
    cursor = ((unsigned)index + 1) % EMPTY_BLOCKS;
    return (void *)(start + (size_t)index * ALIGN);
}

void *empty_take(void)
{
    void *block;

    lock_take(&lock);
    block = empty_take_locked();
    lock_give(&lock);
    return block;
}

bool empty_has(const void *block)
{
    uintptr_t start = atomic_load_explicit(&range, memory_order_acquire);

    return start && (uintptr_t)block - start < EMPTY_BYTES;
}

void empty_give(const void *block)
{
    size_t offset = (uintptr_t)block - range, index = offset / ALIGN;
    uint64_t bit = (uint64_t)1 << index % 64;

    if (offset % ALIGN)
        os_fatal("free of a pointer into a block, not to its start", block);
    lock_take(&lock);
    if (!(used[index / 64] & bit))
        os_fatal("free of a block that is free already", block);
    used[index / 64] &= ~bit;
    full[index / 64 / 64] &= ~((uint64_t)1 << index / 64 % 64);
    lock_give(&lock);
}
