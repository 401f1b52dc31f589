/* The live blocks, by address: an open-addressing table with linear probing.
 *
 *   slots   ┌────┬────┬────┬────┬────┬────┬────┬────
 *           │ A  │ B  │    │ C  │ D  │ E  │    │ …        32 bytes each, two per cache line
 *           └────┴────┴────┴────┴────┴────┴────┴────
 *             ▲ home of A and B
 *
 * Invariants: a block lies at its home slot or behind it with no empty slot between (removal moves
 * the followers up, so nothing decays and there are no tombstones); count <= 4/5 of the slots.
 * The home is the top bits of a multiplicative hash, so a table of twice the size has every block
 * at about twice its place: growing reads and writes memory in order. */
#ifndef TIDEMARK_REPLAY_LIVE_H
#define TIDEMARK_REPLAY_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/hash.h"
#include "replay/region.h"

#define LIVE_MAX_SIZE ((1ull << 48) - 1) /* no address space holds more; larger sizes saturate */
#define LIVE_NO_OWNER 0xffffffu          /* as are all threads from here on */

struct live_block {
    uint64_t address; /* 0: the slot is empty */
    uint64_t size_bytes : 48, owner_low : 16;
    uint64_t birth_ticks; /* the record's own time, late or not */
    uint32_t site;
    uint32_t slack_bytes : 24, owner_high : 8; /* owner: the thread that allocated it */
};
_Static_assert(sizeof(struct live_block) == 32, "two blocks per cache line");

struct live_table {
    struct live_block *slots;
    size_t mask;  /* slots - 1 */
    size_t count; /* blocks */
    size_t limit; /* blocks that make it grow */
    unsigned shift;
    struct region memory;
};

static inline void live_block_set_owner(struct live_block *block, uint32_t owner)
{
    if (owner > LIVE_NO_OWNER)
        owner = LIVE_NO_OWNER;
    block->owner_low = owner & 0xffff;
    block->owner_high = owner >> 16;
}

static inline uint32_t live_block_owner(const struct live_block *block)
{
    return (uint32_t)block->owner_high << 16 | block->owner_low;
}

void live_table_init(struct live_table *table, unsigned slots_log2);
void live_table_release(struct live_table *table);

size_t live_table_memory_bytes(const struct live_table *table);

/* The slot of `address`, with the table grown if it must hold one more. A new slot has address 0
 * and must be filled. Moves other blocks: earlier slot pointers are void. */
struct live_block *live_table_place(struct live_table *table, uint64_t address);

/* Empties a slot that live_table_find() gave. Moves other blocks. */
void live_table_remove(struct live_table *table, struct live_block *slot);

static inline struct live_block *live_table_home(const struct live_table *table, uint64_t address)
{
    return table->slots + (hash_u64(address) >> table->shift);
}

/* The live block at `address` (not 0), or NULL. */
static inline struct live_block *live_table_find(const struct live_table *table, uint64_t address)
{
    size_t i = hash_u64(address) >> table->shift;

    for (; table->slots[i].address; i = (i + 1) & table->mask)
        if (table->slots[i].address == address)
            return &table->slots[i];
    return NULL;
}

/* Empties the slot of `address` (not 0) if it has one. */
static inline bool live_table_drop(struct live_table *table, uint64_t address)
{
    struct live_block *slot = table->count ? live_table_find(table, address) : NULL;

    if (slot)
        live_table_remove(table, slot);
    return slot;
}

#endif
