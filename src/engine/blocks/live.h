/* The live blocks, by address: a hash table of buckets with seven places each.
 *
 *   words   ┌─────────────────────────┬─────────────────────────┬────
 *           │ a b c . . . .  passed 0 │ d e f g h i j  passed 2 │ …      8 bytes a bucket
 *           └─────────────────────────┴─────────────────────────┴────
 *   slots   │ A │ B │ C │   │   │   │   │ D │ E │ F │ G │ H │ I │ J │ …   32 bytes each
 *
 * The word of a bucket holds one byte for each of its seven places: 0, or 0x80 | 7 bits of the
 * block's hash. One word shows in which place a block can be. A million blocks have 1.3 MB of
 * words, and a search touches one cache line of slots. The eighth byte, `passed`, counts the blocks
 * that did not fit into this bucket and went on to a later one. A search stops at a bucket with
 * passed = 0.
 *
 * Invariants
 *   count <= limit = capacity * 7/8         capacity = (mask + 1) * LIVE_PLACES
 *   home(block) = hash >> shift             shift = 64 - log2(mask + 1)
 *   byte p of words[b] != 0            <=>  slots[b * LIVE_PLACES + p].address != 0
 *   block in bucket b                   =>  each bucket in [home, b) has counted it in `passed`;
 *                                           a bucket that has reached LIVE_PASSED_MAX stays there
 *   a block changes its slot only when the table grows
 *
 * The home is the top bits of the folded address's product. In a table of twice the size a block
 * lies at about twice its place, so growing reads and writes memory in order. */
#ifndef TIDEMARK_BLOCKS_LIVE_H
#define TIDEMARK_BLOCKS_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/hash.h"
#include "blocks/arena.h"

#define LIVE_MAX_SIZE ((1ull << 48) - 1) /* larger sizes are cut to it */
#define LIVE_NO_OWNER 0xffffffu          /* also kept for every thread number above it */

struct live_block {
    uint64_t address; /* 0: the slot is empty */
    uint64_t size_bytes : 48, owner_low : 16;
    uint64_t birth_ticks; /* the record's own time, late or not */
    uint32_t site;
    uint32_t slack_bytes : 24, owner_high : 8; /* owner: the thread that allocated it */
};
_Static_assert(sizeof(struct live_block) == 32, "two blocks per cache line");

enum { LIVE_PLACES = 7, LIVE_PASSED_SHIFT = 56, LIVE_PASSED_MAX = 255 };

struct live_table {
    uint64_t *words;
    struct live_block *slots;
    size_t mask;  /* buckets - 1 */
    size_t count; /* blocks */
    size_t limit; /* blocks that make it grow */
    unsigned shift;
    struct arena memory, word_memory;
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

/* Behind the last slot: the end of a loop over all slots. */
static inline struct live_block *live_table_end(const struct live_table *table)
{
    return table->slots + (table->mask + 1) * LIVE_PLACES;
}

/* ---- Words ---- */

#define LIVE_BYTES    0x0101010101010101ull
#define LIVE_TOP_BITS 0x0080808080808080ull /* of the places */

/* The byte of a hash that its bucket's word has; its top bit says that there is a block. */
static inline uint64_t live_mark(uint64_t hash)
{
    return (hash & 0x7f) | 0x80;
}

/* The top bit of each place with this mark, and perhaps of some above the lowest that has it. */
static inline uint64_t live_marked(uint64_t word, uint64_t mark)
{
    uint64_t differs = word ^ mark * LIVE_BYTES;

    return (differs - LIVE_BYTES) & ~differs & LIVE_TOP_BITS;
}

static inline uint64_t live_empty(uint64_t word)
{
    return ~word & LIVE_TOP_BITS;
}

static inline unsigned live_lowest(uint64_t places)
{
    return (unsigned)__builtin_ctzll(places) / 8;
}

/* Blocks of one size lie at equal steps, and a product alone maps equal steps to equal steps: one
 * step in ten then leaves most buckets empty and most blocks far from home. The folded address has
 * no equal steps. */
static inline uint64_t live_hash(uint64_t address)
{
    return hash_u64(address ^ address >> 8);
}

/* ---- Blocks. `hash`: live_hash() of the address, which is not 0. ---- */

/* The number of the slot where the block most likely lies, or will lie. The slot can be empty or
 * hold another block. The number stays within the table when the table grows. No branch depends on
 * the table's contents: the function is called long before the block is needed, and a mispredicted
 * branch would wait for memory. */
static inline size_t live_table_guess(const struct live_table *table, uint64_t hash)
{
    size_t bucket = hash >> table->shift;
    uint64_t word = table->words[bucket], places = live_marked(word, live_mark(hash));
    uint64_t otherwise = 1ull << (8 * LIVE_PLACES - 1); /* the last one */

    return bucket * LIVE_PLACES + live_lowest((places ? places : live_empty(word)) | otherwise);
}

/* The live block at `address`, or NULL. */
static inline struct live_block *live_table_search(const struct live_table *table, uint64_t address,
                                                   uint64_t hash)
{
    size_t bucket = hash >> table->shift;

    /* Once round at most: in a small table all buckets may have been passed. */
    for (size_t left = table->mask + 1; left; left--, bucket = (bucket + 1) & table->mask) {
        uint64_t word = table->words[bucket], places = live_marked(word, live_mark(hash));
        for (; places; places &= places - 1) {
            struct live_block *block = &table->slots[bucket * LIVE_PLACES + live_lowest(places)];
            if (block->address == address)
                return block;
        }
        if (__builtin_expect(!(word >> LIVE_PASSED_SHIFT), 1))
            return NULL;
    }
    return NULL;
}

static inline struct live_block *live_table_find(const struct live_table *table, uint64_t address)
{
    return live_table_search(table, address, live_hash(address));
}

/* The same with a guess by live_table_guess(), which is tried first. */
static inline struct live_block *live_table_find_near(const struct live_table *table,
                                                      uint64_t address, uint64_t hash, size_t guess)
{
    struct live_block *block = &table->slots[guess];

    return block->address == address ? block : live_table_search(table, address, hash);
}

/* The rare cases of live_table_place(): the home is full or was full, a mark in the home's word
 * matches, or the table is full. */
struct live_block *live_table_place_far(struct live_table *table, uint64_t address, uint64_t hash);

/* The slot of `address`, with the table grown if it must hold one more. A new slot has address 0
 * and must be filled. Growing moves blocks: earlier slot pointers are void. */
static inline struct live_block *live_table_place_hashed(struct live_table *table, uint64_t address,
                                                         uint64_t hash)
{
    size_t bucket = hash >> table->shift;
    uint64_t word = table->words[bucket], mark = live_mark(hash), empty = live_empty(word);

    if (__builtin_expect(live_marked(word, mark) || !empty || word >> LIVE_PASSED_SHIFT ||
                             table->count >= table->limit,
                         0))
        return live_table_place_far(table, address, hash);
    table->count++;
    table->words[bucket] = word | mark << (__builtin_ctzll(empty) - 7);
    return &table->slots[bucket * LIVE_PLACES + live_lowest(empty)];
}

static inline struct live_block *live_table_place(struct live_table *table, uint64_t address)
{
    return live_table_place_hashed(table, address, live_hash(address));
}

/* live_table_remove() of a block that is not at home. */
void live_table_remove_far(struct live_table *table, struct live_block *slot, uint64_t hash);

/* Empties the slot of a block. */
static inline void live_table_remove_hashed(struct live_table *table, struct live_block *slot,
                                            uint64_t hash)
{
    size_t bucket = hash >> table->shift;
    size_t place = (size_t)(slot - table->slots) - bucket * LIVE_PLACES;

    if (__builtin_expect(place >= LIVE_PLACES, 0)) {
        live_table_remove_far(table, slot, hash);
        return;
    }
    table->words[bucket] &= ~(0xffull << 8 * place);
    slot->address = 0;
    table->count--;
}

static inline void live_table_remove(struct live_table *table, struct live_block *slot)
{
    live_table_remove_hashed(table, slot, live_hash(slot->address));
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
