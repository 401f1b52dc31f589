/* The live blocks, by address: a hash table of buckets with eight places each.
 *
 *   words   ┌─────────────────┬─────────────────┬────
 *           │ a b c . . . . . │ d e f g h i j k │ …      8 bytes a bucket
 *           └─────────────────┴─────────────────┴────
 *   passed  │        0        │        2        │ …      1 byte
 *   slots   │ A │ B │ C │ … │ D │ E │ F │ G │ H │ …      32 bytes each, eight a bucket
 *
 * The word of a bucket holds one byte for each of its places: 0, or 0x80 | 7 bits of the block's
 * hash. One word shows in which place a block can be. A million blocks have 1.2 MB of words, and a
 * search touches one cache line of slots. `passed` counts the blocks that did not fit into this
 * bucket and went on to a later one. A search stops at a bucket with passed = 0.
 *
 * Invariants
 *   count <= limit = slots * 7/8
 *   home(block) = hash * buckets / 2^64
 *   byte p of words[b] != 0            <=>  slots[b * LIVE_PLACES + p].address != 0
 *   block in bucket b                   =>  each bucket in [home, b) has counted it in `passed`;
 *                                           a bucket that has reached LIVE_PASSED_MAX stays there
 *   a block changes its slot only when the table grows
 *
 * The home is the top bits of the folded address's product. In a larger table a block lies at about
 * the same part of it, so growing reads and writes memory in order, and moves blocks within the one
 * array: the table grows by a quarter and is never in memory twice. */
#ifndef TIDEMARK_BLOCKS_LIVE_H
#define TIDEMARK_BLOCKS_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include "base/hash.h"
#include "blocks/arena.h"

#define LIVE_MAX_SIZE ((1ull << 48) - 1) /* larger sizes are cut to it */
#define LIVE_NO_OWNER 0xffffffu          /* also kept for every thread number above it */

/* `owner` is the thread that allocated the block. The words that hold a part of it can be read and
 * written as a whole (live_owner_words()). */
struct live_block {
    uint64_t address; /* 0: the slot is empty */
    union {
        struct {
            uint64_t size_bytes : 48, owner_low : 16;
        };
        uint64_t size_word;
    };
    uint64_t birth_ticks; /* the record's own time, late or not */
    uint32_t site;
    union {
        struct {
            uint32_t slack_bytes : 24, owner_high : 8;
        };
        uint32_t slack_word;
    };
};
_Static_assert(sizeof(struct live_block) == 32, "two blocks per cache line");

enum { LIVE_PLACES = 8, LIVE_PASSED_MAX = 255 };

struct live_table {
    uint64_t *words;
    uint8_t *passed; /* behind the words */
    struct live_block *slots;
    size_t buckets;
    size_t count; /* blocks */
    size_t limit; /* blocks that make it grow */
    struct arena memory, word_memory;
};

static inline void live_block_set_owner(struct live_block *block, uint32_t owner)
{
    if (owner > LIVE_NO_OWNER)
        owner = LIVE_NO_OWNER;
    block->owner_low = owner & 0xffff;
    block->owner_high = owner >> 16;
}

/* The two words of a block of an owner's with size and slack 0. size_word ^ these is the size, and
 * slack_word ^ these the slack, if and only if the block is of that owner. */
struct live_owner_words {
    uint64_t size_word;
    uint32_t slack_word;
};

static inline struct live_owner_words live_owner_words(uint32_t owner)
{
    struct live_block block = {0};

    live_block_set_owner(&block, owner);
    return (struct live_owner_words){block.size_word, block.slack_word};
}

static inline uint32_t live_block_owner(const struct live_block *block)
{
    return (uint32_t)block->owner_high << 16 | block->owner_low;
}

void live_table_init(struct live_table *table, unsigned slots_log2);
void live_table_release(struct live_table *table);

size_t live_table_memory_bytes(const struct live_table *table);
/* How much more it needs, for a moment, before it holds so many blocks; 0: it has room for them. */
size_t live_table_growth_bytes(const struct live_table *table, size_t blocks);

/* Behind the last slot: the end of a loop over all slots. */
static inline struct live_block *live_table_end(const struct live_table *table)
{
    return table->slots + table->buckets * LIVE_PLACES;
}

/* ---- Words ----
 * A set of a bucket's places has LIVE_STRIDE bits for each place, of which one can be set. */

/* The byte of a hash that its bucket's word has; its top bit says that there is a block. It comes
 * from bits of the product that are not those of the home, nor the lowest, which are poor. Only the
 * lowest byte counts: what lies above it is not cleared. */
static inline unsigned live_mark(uint64_t hash)
{
    return (unsigned)(hash >> 32) | 0x80;
}

#ifdef __SSE2__
enum { LIVE_STRIDE = 1 };
typedef unsigned live_places;

/* The places that have a block. */
static inline live_places live_used(uint64_t word)
{
    return (unsigned)_mm_movemask_epi8(_mm_cvtsi64_si128((long long)word));
}

static inline live_places live_empty(uint64_t word)
{
    return live_used(word) ^ 0xff;
}

/* The places with this mark, and any bits behind the last place. */
static inline live_places live_marked_or_beyond(uint64_t word, unsigned mark)
{
    __m128i marks = _mm_cvtsi32_si128((int)mark);

    marks = _mm_shufflelo_epi16(_mm_unpacklo_epi8(marks, marks), 0);
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(marks, _mm_cvtsi64_si128((long long)word)));
}

static inline live_places live_marked(uint64_t word, unsigned mark)
{
    return (uint8_t)live_marked_or_beyond(word, mark);
}

static inline unsigned live_lowest(live_places places)
{
    return (unsigned)__builtin_ctz(places);
}

/* The lowest place that is in none of these sets; the last place if all are. */
extern const uint8_t live_lowest_beside[256];

/* The lowest place without a block, or the last place. */
static inline size_t live_lowest_empty(uint64_t word)
{
    return live_lowest_beside[live_used(word)];
}
#else
enum { LIVE_STRIDE = 8 };
typedef uint64_t live_places;
#define LIVE_BYTES    0x0101010101010101ull
#define LIVE_TOP_BITS 0x8080808080808080ull

static inline live_places live_used(uint64_t word)
{
    return word & LIVE_TOP_BITS;
}

static inline live_places live_empty(uint64_t word)
{
    return ~word & LIVE_TOP_BITS;
}

/* The places with this mark, and perhaps some above the lowest that has it. */
static inline live_places live_marked(uint64_t word, unsigned mark)
{
    uint64_t differs = word ^ (uint8_t)mark * LIVE_BYTES;

    return (differs - LIVE_BYTES) & ~differs & LIVE_TOP_BITS;
}

static inline live_places live_marked_or_beyond(uint64_t word, unsigned mark)
{
    return live_marked(word, mark);
}

static inline unsigned live_lowest(live_places places)
{
    return (unsigned)__builtin_ctzll(places) / LIVE_STRIDE;
}

static inline size_t live_lowest_empty(uint64_t word)
{
    return live_lowest(live_empty(word) | 1ull << 63);
}
#endif

/* Blocks of one size lie at equal steps, and a product alone maps equal steps to equal steps: one
 * step in ten then leaves most buckets empty and most blocks far from home. The folded address has
 * no equal steps. */
static inline uint64_t live_hash(uint64_t address)
{
    return (address ^ address >> 8) * HASH_GOLDEN;
}

static inline size_t live_table_home(const struct live_table *table, uint64_t hash)
{
    return (size_t)((unsigned __int128)hash * table->buckets >> 64);
}

static inline size_t live_table_next(const struct live_table *table, size_t bucket)
{
    return bucket + 1 < table->buckets ? bucket + 1 : 0;
}

/* Byte p of a word is that of place p, as bytes lie in memory: the lowest first. */
static inline void live_table_set_mark(const struct live_table *table, size_t number, unsigned mark)
{
    ((uint8_t *)table->words)[number] = (uint8_t)mark;
}

/* ---- Blocks. `hash`: live_hash() of the address, which is not 0. ---- */

/* The place in `bucket` of the lowest of these bits, its last place if there is none. */
static inline size_t live_table_lowest(size_t bucket, live_places places)
{
    return bucket * LIVE_PLACES +
           live_lowest(places | (live_places)1 << (LIVE_STRIDE * LIVE_PLACES - 1));
}

/* The number of the slot where the block most likely lies. The slot can be empty or hold another
 * block. The number stays within the table when the table grows. No branch depends on the table's
 * contents: the function is called long before the block is needed, and a mispredicted branch would
 * wait for memory. */
static inline size_t live_table_guess(const struct live_table *table, uint64_t hash)
{
    size_t bucket = live_table_home(table, hash);

    return live_table_lowest(bucket, live_marked_or_beyond(table->words[bucket], live_mark(hash)));
}

/* The same of a block that is not in the table: where it will most likely lie. */
static inline size_t live_table_guess_new(const struct live_table *table, uint64_t hash)
{
    size_t bucket = live_table_home(table, hash);

    return bucket * LIVE_PLACES + live_lowest_empty(table->words[bucket]);
}

/* The live block at `address`, or NULL. */
static inline struct live_block *live_table_search(const struct live_table *table, uint64_t address,
                                                   uint64_t hash)
{
    size_t bucket = live_table_home(table, hash);

    /* Once round at most: in a small table all buckets may have been passed. */
    for (size_t left = table->buckets; left; left--, bucket = live_table_next(table, bucket)) {
        live_places places = live_marked(table->words[bucket], live_mark(hash));
        for (; places; places &= places - 1) {
            struct live_block *block = &table->slots[bucket * LIVE_PLACES + live_lowest(places)];
            if (block->address == address)
                return block;
        }
        if (__builtin_expect(!table->passed[bucket], 1))
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

/* The rare cases of live_table_place(): the home is full or was full, or a mark in the home's word
 * matches. */
struct live_block *live_table_place_far(struct live_table *table, uint64_t address, uint64_t hash,
                                        size_t home);
/* The same in a table that is full, and grows unless the block is in it. */
struct live_block *live_table_place_full(struct live_table *table, uint64_t address, uint64_t hash);
/* Removes the block at `address`, and returns the slot where it was: that has all but its address
 * until the next block is placed. NULL: there is none. */
struct live_block *live_table_take_far(struct live_table *table, uint64_t address, uint64_t hash);

/* An empty slot in `bucket` for a block of this hash, whose home is `bucket`; the table must not be
 * full. NULL: there is none, or the block may be in the table already. */
static inline struct live_block *live_table_place_at_home(struct live_table *table, uint64_t hash,
                                                          size_t bucket)
{
    uint64_t word = table->words[bucket];
    unsigned mark = live_mark(hash);
    size_t number;

    if (__builtin_expect(live_marked(word, mark) || !live_empty(word) || table->passed[bucket], 0))
        return NULL;
    number = bucket * LIVE_PLACES + live_lowest_empty(word);
    table->count++;
    live_table_set_mark(table, number, mark);
    return &table->slots[number];
}

/* The slot of `address`, whose home is `bucket`; the table must not be full. A new slot has address
 * 0 and must be filled. */
static inline struct live_block *live_table_place_in(struct live_table *table, uint64_t address,
                                                     uint64_t hash, size_t bucket)
{
    struct live_block *slot = live_table_place_at_home(table, hash, bucket);

    return slot ? slot : live_table_place_far(table, address, hash, bucket);
}

/* The same, with the table grown if it must hold one more. Growing moves blocks: earlier slot
 * pointers are void. */
static inline struct live_block *live_table_place_hashed(struct live_table *table, uint64_t address,
                                                         uint64_t hash)
{
    if (__builtin_expect(table->count >= table->limit, 0))
        return live_table_place_full(table, address, hash);
    return live_table_place_in(table, address, hash, live_table_home(table, hash));
}

static inline struct live_block *live_table_place(struct live_table *table, uint64_t address)
{
    return live_table_place_hashed(table, address, live_hash(address));
}

/* A block has been removed from `bucket`, which is not its home: all buckets between have counted
 * it. */
void live_table_discount(struct live_table *table, size_t home, size_t bucket);

/* Empties a slot in its block's home. */
static inline void live_table_remove_near(struct live_table *table, struct live_block *slot,
                                          size_t number)
{
    live_table_set_mark(table, number, 0);
    slot->address = 0;
    table->count--;
}

/* Empties the slot of this number, whose block's home is `home`. */
static inline void live_table_remove_at(struct live_table *table, struct live_block *slot,
                                        size_t number, size_t home)
{
    live_table_remove_near(table, slot, number);
    if (__builtin_expect(number / LIVE_PLACES != home, 0))
        live_table_discount(table, home, number / LIVE_PLACES);
}

/* Empties the slot of a block. */
static inline void live_table_remove_hashed(struct live_table *table, struct live_block *slot,
                                            uint64_t hash)
{
    live_table_remove_at(table, slot, (size_t)(slot - table->slots), live_table_home(table, hash));
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
