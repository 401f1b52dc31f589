/* The live blocks, by address: a hash table of buckets with seven places each.
 *
 *   words   ┌─────────────────────────┬─────────────────────────┬────
 *           │ a b c . . . .  passed 0 │ d e f g h i j  passed 2 │ …      8 bytes a bucket
 *           └─────────────────────────┴─────────────────────────┴────
 *   slots   │ A │ B │ C │   │   │   │   │ D │ E │ F │ G │ H │ I │ J │ …   32 bytes each
 *
 * A bucket's word has a byte of the hash of each of its blocks, 0 where there is none, so that one look
 * at it says where a block lies: a million blocks have 1.3 MB of words, and a search touches one line of
 * slots. `passed` counts the blocks that would lie in the bucket, or in one before it, if it had not been
 * full: while it is 0 no search goes on to the next one.
 *
 * Invariants: a block lies in its home or behind it, and all buckets between have counted it (up to
 * LIVE_PASSED_MAX, from where a bucket does not count any more); no block is moved but by growing;
 * count <= 7/8 of the slots. The home is the top bits of a multiplicative hash, so a table of twice the
 * size has every block at about twice its place: growing reads and writes memory in order. */
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

enum { LIVE_PLACES = 7, LIVE_PASSED_SHIFT = 56, LIVE_PASSED_MAX = 255 };

struct live_table {
    uint64_t *words;
    struct live_block *slots;
    size_t mask;  /* buckets - 1 */
    size_t count; /* blocks */
    size_t limit; /* blocks that make it grow */
    unsigned shift;
    struct region memory, word_memory;
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

/* Behind the last slot, for who looks at all of them. */
static inline struct live_block *live_table_end(const struct live_table *table)
{
    return table->slots + (table->mask + 1) * LIVE_PLACES;
}

/* ---- Words ---- */

/* The byte of a hash that its bucket's word has; never 0. */
static inline uint64_t live_mark(uint64_t hash)
{
    uint64_t mark = hash & 0xff;

    return mark + !mark;
}

/* The top bit of each place with this mark (0: of each empty one), and perhaps of some above the lowest
 * that has it. */
static inline uint64_t live_places(uint64_t word, uint64_t mark)
{
    uint64_t differs = word ^ mark * 0x0101010101010101ull;

    return (differs - 0x0101010101010101ull) & ~differs & 0x0080808080808080ull;
}

static inline unsigned live_lowest(uint64_t places)
{
    return (unsigned)__builtin_ctzll(places) / 8;
}

/* ---- Blocks ---- */

/* Adds a block that is not there, with the table grown if need be; see live_table_place(). */
struct live_block *live_table_add(struct live_table *table, uint64_t address);

/* The block at `address` with such a hash in the bucket or one behind it, or NULL. */
static inline struct live_block *live_table_search(const struct live_table *table, uint64_t address,
                                                   uint64_t hash)
{
    size_t bucket = hash >> table->shift;

    for (;; bucket = (bucket + 1) & table->mask) {
        uint64_t word = table->words[bucket];
        for (uint64_t places = live_places(word, live_mark(hash)); places; places &= places - 1) {
            struct live_block *block = &table->slots[bucket * LIVE_PLACES + live_lowest(places)];
            if (block->address == address)
                return block;
        }
        if (__builtin_expect(!(word >> LIVE_PASSED_SHIFT), 1))
            return NULL;
    }
}

/* The live block at `address` (not 0), or NULL. */
static inline struct live_block *live_table_find(const struct live_table *table, uint64_t address)
{
    return live_table_search(table, address, hash_u64(address));
}

/* The slot of `address`, with the table grown if it must hold one more. A new slot has address 0
 * and must be filled. Growing moves blocks: earlier slot pointers are void. */
static inline struct live_block *live_table_place(struct live_table *table, uint64_t address)
{
    struct live_block *block = live_table_find(table, address);

    return block ? block : live_table_add(table, address);
}

/* Empties a slot that live_table_find() gave. */
void live_table_remove(struct live_table *table, struct live_block *slot);

/* ---- Ahead of a search ----
 * Neither has a branch that depends on what the table holds: a wrong guess would wait for memory, which
 * is what they are for. */

static inline void live_table_prefetch_word(const struct live_table *table, uint64_t hash)
{
    __builtin_prefetch(&table->words[hash >> table->shift], 1);
}

/* The slot where a block with such a hash most likely lies or else will; what is there may be nothing,
 * or another block. */
static inline size_t live_table_guess(const struct live_table *table, uint64_t hash)
{
    size_t bucket = hash >> table->shift;
    uint64_t word = table->words[bucket];
    uint64_t places = live_places(word, live_mark(hash)), empty = live_places(word, 0);
    uint64_t otherwise = 1ull << (8 * LIVE_PLACES - 1); /* the last one */

    return bucket * LIVE_PLACES + live_lowest((places ? places : empty) | otherwise);
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
