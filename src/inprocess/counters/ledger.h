/* How many bytes the program requested for a block: known at its free, without touching the block.
 * malloc_usable_size() gives a larger number. A header in front of each block (as malloc_count has)
 * moves the program's blocks, and misreads a block that another allocator made.
 *
 * One byte of shadow for eight bytes of address space, mapped when first used:
 *
 *   root[address / 64 MiB] ─▶ leaf[address % 64 MiB / 8]
 *       0            nothing known of a block that begins here
 *       1 … 9        one of 0 … 8 bytes
 *       10 … 254     with the next byte: one of 9 … 62719 bytes
 *       255          its size stands in the next eight bytes
 *
 * Blocks begin at multiples of 8, so a block's own granules have room for its entry, and only the
 * block's owner writes there. So there are no locks and no atomic operations, and sizes are exact
 * for any number of threads. Memory: at most an eighth of the pages that blocks begin in.
 *
 * Runs inside other programs: no malloc, no stdio, errno kept. memcpy() and memset() are called as
 * __builtin_…, so that copies of a word are no calls with -fno-builtin either. */
#ifndef TIDEMARK_COUNTERS_LEDGER_H
#define TIDEMARK_COUNTERS_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "unwind/arch.h"

#define LEDGER_LEAF_SHIFT   26 /* addresses of a leaf: 64 MiB */
#define LEDGER_ADDRESS_BITS 48
#define LEDGER_LEAVES       (1u << (LEDGER_ADDRESS_BITS - LEDGER_LEAF_SHIFT))
#define LEDGER_GUARD        16 /* an entry may extend beyond the end of its leaf */

enum { LEDGER_ONE_BYTE_MOST = 8, LEDGER_TWO_BYTES_FIRST = 10, LEDGER_LARGE = 255 };
#define LEDGER_TWO_BYTES_MOST ((LEDGER_LARGE - LEDGER_TWO_BYTES_FIRST) * 256u - 1)

#define LEDGER_UNKNOWN UINT64_MAX

extern unsigned char *ledger_root[LEDGER_LEAVES];

/* The leaf for an address that has none yet; NULL if there is no memory for it. */
unsigned char *ledger_make_leaf(uintptr_t address);
/* From now on new leaves are not locked, although mlockall(MCL_FUTURE) locks new mappings. */
void ledger_keep_unlocked(void);
void ledger_each_leaf(void (*visit)(void *context, uintptr_t start, uint64_t bytes), void *context);

static inline unsigned char *ledger_leaf(uintptr_t address)
{
    return __atomic_load_n(&ledger_root[address >> LEDGER_LEAF_SHIFT & (LEDGER_LEAVES - 1)],
                           __ATOMIC_ACQUIRE);
}

static inline size_t ledger_index(uintptr_t address)
{
    return (address & ((1u << LEDGER_LEAF_SHIFT) - 1)) >> 3;
}

static inline uint64_t ledger_read(const unsigned char *entry)
{
    unsigned first = entry[0];
    uint64_t size;
    if (first == 0)
        return LEDGER_UNKNOWN;
    if (first < LEDGER_TWO_BYTES_FIRST)
        return first - 1;
    if (likely(first < LEDGER_LARGE))
        return (first - LEDGER_TWO_BYTES_FIRST) << 8 | entry[1];
    __builtin_memcpy(&size, entry + 1, sizeof size);
    return size;
}

/* Most entries have two bytes, and take one load or store. Our processors are little endian. */
static inline bool ledger_fits_two(uint64_t size)
{
    return size - (LEDGER_ONE_BYTE_MOST + 1) < LEDGER_TWO_BYTES_MOST - LEDGER_ONE_BYTE_MOST;
}

static inline void ledger_put_two(unsigned char *entry, uint64_t size)
{
    uint16_t both = (uint16_t)(LEDGER_TWO_BYTES_FIRST + (size >> 8) + ((size & 0xff) << 8));
    __builtin_memcpy(entry, &both, sizeof both);
}

/* The size in an entry of two bytes; LEDGER_UNKNOWN if it is of another kind. The load may also
 * read a byte of the next block's entry. */
static inline uint64_t ledger_read_two(const unsigned char *entry)
{
    uint16_t both;
    __builtin_memcpy(&both, entry, sizeof both);
    uint64_t high = (uint64_t)(both & 0xff) - LEDGER_TWO_BYTES_FIRST;
    return likely(high < LEDGER_LARGE - LEDGER_TWO_BYTES_FIRST) ? high << 8 | both >> 8
                                                                : LEDGER_UNKNOWN;
}

/* Notes the size of a block. False: no memory. */
static inline bool ledger_put(const void *block, uint64_t size)
{
    unsigned char *leaf = ledger_leaf((uintptr_t)block);
    if (unlikely(!leaf) && !(leaf = ledger_make_leaf((uintptr_t)block)))
        return false;
    unsigned char *entry = leaf + ledger_index((uintptr_t)block);
    if (likely(ledger_fits_two(size))) {
        ledger_put_two(entry, size);
    } else if (size <= LEDGER_ONE_BYTE_MOST) {
        entry[0] = (unsigned char)(size + 1);
    } else {
        entry[0] = LEDGER_LARGE;
        __builtin_memcpy(entry + 1, &size, sizeof size);
    }
    return true;
}

/* The size of a block, or LEDGER_UNKNOWN. */
static inline uint64_t ledger_size(const void *block)
{
    const unsigned char *leaf = ledger_leaf((uintptr_t)block);
    return likely(leaf) ? ledger_read(leaf + ledger_index((uintptr_t)block)) : LEDGER_UNKNOWN;
}

/* The same, and removes the entry. To be called before the block is freed. */
static inline uint64_t ledger_take(const void *block)
{
    unsigned char *leaf = ledger_leaf((uintptr_t)block);
    if (unlikely(!leaf))
        return LEDGER_UNKNOWN;
    unsigned char *entry = leaf + ledger_index((uintptr_t)block);
    uint64_t size = ledger_read(entry);
    if (likely(entry[0] >= LEDGER_TWO_BYTES_FIRST && entry[0] < LEDGER_LARGE))
        __builtin_memset(entry, 0, 2);
    else if (entry[0] != LEDGER_LARGE)
        entry[0] = 0;
    else
        __builtin_memset(entry, 0, 1 + sizeof size);
    return size;
}

#endif
