/* The live blocks, by address: a hash table of buckets with eight places each.
 *
 *   words   ┌─────────────────┬─────────────────┬────
 *           │ a b c . . . . . │ d e f g h i j k │ …      8 bytes a bucket
 *           └─────────────────┴─────────────────┴────
 *   passed  │        0        │        2        │ …      1 byte
 *   slots   │ A │ B │ C │ … │ D │ E │ F │ G │ H │ …      24 bytes each, eight a bucket
 *   owners  │   │   │   │   │   │   │   │   │   │ …      4 bytes each, if the table keeps them apart
 *   wide    │ what does not fit into its slot │ …        32 bytes, few blocks
 *
 * The word of a bucket holds one byte for each of its places: 0, or 0x80 | 7 bits of the block's
 * hash. One word shows in which place a block can be. A million blocks have 1.2 MB of words, and a
 * search touches one cache line of slots, or two. `passed` counts the blocks that did not fit into
 * this bucket and went on to a later one. A search stops at a bucket with passed = 0.
 *
 *   slot    │ owner 16 · address 48 │ birth 52 · slack 12 │ site 32 │ size 32 │
 *
 * The birth is told from `first_ticks` on, so 52 bits are 17 days at 3 GHz. A block of 4 GiB or
 * more, or with slack of 4 KiB or more, or born before or long after, or of an owner without a code
 * of 16 bits, or above 256 TiB, is *wide*: its slot has its address, if that has 48 bits, and its
 * site, and where in `wide` the rest is.
 *
 * Invariants
 *   count <= limit = slots * 4/5
 *   home(block) = hash * buckets / 2^64
 *   byte p of words[b] != 0            <=>  slots[b * LIVE_PLACES + p].key != 0
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
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include "base/hash.h"
#include "blocks/arena.h"

#define LIVE_MAX_SIZE ((1ull << 48) - 1) /* larger sizes are cut to it */
#define LIVE_NO_OWNER 0xffffffu          /* also kept for every thread number above it */

/* A block as it is told; `owner` is the thread that allocated it. */
struct live_block {
    uint64_t address; /* of 56 bits; 0: none */
    uint64_t size_bytes : 48, owner_low : 16;
    uint64_t birth_ticks; /* the record's own time, late or not */
    uint32_t site;
    uint32_t slack_bytes : 24, owner_high : 8;
};
_Static_assert(sizeof(struct live_block) == 32, "a power of two");

/* A block as the table has it. */
enum { LIVE_ADDRESS_BITS = 48, LIVE_SLACK_BITS = 12, LIVE_BIRTH_BITS = 64 - LIVE_SLACK_BITS };
#define LIVE_ADDRESS_MASK ((1ull << LIVE_ADDRESS_BITS) - 1)
struct live_slot {
    uint64_t key;        /* the owner's code << 48 | address; 0: the slot is empty */
    uint64_t birth_word; /* birth << 12 | slack; a wide block's: its place in `wide` */
    uint32_t site, size_bytes;
};
_Static_assert(sizeof(struct live_slot) == 24, "no room between the words");

enum { LIVE_PLACES = 8, LIVE_PASSED_MAX = 255 };

struct live_table {
    uint64_t *words;
    uint8_t *passed; /* behind the words */
    struct live_slot *slots;
    uint64_t first_ticks; /* of births; set by the first block */
    size_t buckets;
    size_t count;     /* blocks */
    size_t limit;     /* blocks that make it grow */
    uint32_t *owners; /* NULL: in the slots. By slot: all 24 bits */
    struct live_block *wide;
    size_t wide_count, wide_free; /* places made, the last one that is free + 1 */
    bool has_first;
    struct arena memory, word_memory, owner_memory, wide_memory;
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

/* ---- Slots ---- */

/* Owners below this are their own code. Above, a code has the owner's highest 3 bits, and its low
 * 12 where those between are 0. */
#define LIVE_PLAIN_OWNERS 0x8000u
#define LIVE_WIDE_CODE    0xffffu

/* The key of a wide block whose address has more than 48 bits. */
#define LIVE_HIGH_KEY ((uint64_t)LIVE_WIDE_CODE << LIVE_ADDRESS_BITS)

/* A slot's key with address 0. */
static inline uint64_t live_code_key(uint32_t code)
{
    return (uint64_t)code << LIVE_ADDRESS_BITS;
}

static inline bool live_slot_is_wide(const struct live_slot *slot)
{
    return slot->key >= LIVE_HIGH_KEY;
}

/* 0: the slot is empty. */
static inline uint64_t live_table_address(const struct live_table *table,
                                          const struct live_slot *slot)
{
    return __builtin_expect(slot->key == LIVE_HIGH_KEY, 0) ? table->wide[slot->birth_word].address
                                                           : slot->key & LIVE_ADDRESS_MASK;
}

/* `address` is not 0. */
static inline bool live_table_is_at(const struct live_table *table, const struct live_slot *slot,
                                    uint64_t address)
{
    return (slot->key & LIVE_ADDRESS_MASK) == address ||
           (__builtin_expect(slot->key == LIVE_HIGH_KEY, 0) &&
            table->wide[slot->birth_word].address == address);
}

/* The block of a slot, which may have been taken out of the table but not written since. */
struct live_block live_table_read(const struct live_table *table, const struct live_slot *slot);
/* Gives the slot, which live_table_place() has found for the address, this block. */
void live_table_write(struct live_table *table, struct live_slot *slot,
                      const struct live_block *block);
/* Owners are kept with all their 24 bits, apart. The table is empty. */
void live_table_keep_owners(struct live_table *table);

void live_table_init(struct live_table *table, unsigned slots_log2);
void live_table_release(struct live_table *table);

size_t live_table_memory_bytes(const struct live_table *table);
/* How much more it needs, for a moment, before it holds so many blocks; 0: it has room for them. */
size_t live_table_growth_bytes(const struct live_table *table, size_t blocks);

/* Behind the last slot: the end of a loop over all slots. */
static inline struct live_slot *live_table_end(const struct live_table *table)
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

/* The bucket that has this slot: the number of its first slot, and its word. The word's bytes begin
 * at that number, too. */
static inline size_t live_first_place(size_t number)
{
    return number & ~(size_t)(LIVE_PLACES - 1);
}

static inline uint64_t live_table_word_of(const struct live_table *table, size_t number)
{
    uint64_t word;

    memcpy(&word, (const uint8_t *)table->words + live_first_place(number), sizeof word);
    return word;
}

/* The number of the slot where the block most likely lies. The slot can be empty or hold another
 * block. The number stays within the table when the table grows. No branch depends on the table's
 * contents: the function is called long before the block is needed, and a mispredicted branch would
 * wait for memory. */
static inline size_t live_table_guess_at(const struct live_table *table, size_t home, uint64_t hash)
{
    return live_table_lowest(home, live_marked_or_beyond(table->words[home], live_mark(hash)));
}

/* The same of a block whose home has the slot of this number. */
static inline size_t live_table_guess_beside(const struct live_table *table, size_t number,
                                             uint64_t hash)
{
    uint64_t word = live_table_word_of(table, number);

    return live_first_place(number) +
           live_table_lowest(0, live_marked_or_beyond(word, live_mark(hash)));
}

static inline size_t live_table_guess(const struct live_table *table, uint64_t hash)
{
    return live_table_guess_at(table, live_table_home(table, hash), hash);
}

/* The same of a block that is not in the table: where it will most likely lie. */
static inline size_t live_table_guess_new(const struct live_table *table, uint64_t hash)
{
    size_t bucket = live_table_home(table, hash);

    return bucket * LIVE_PLACES + live_lowest_empty(table->words[bucket]);
}

/* The slot of the live block at `address`, or NULL. */
static inline struct live_slot *live_table_search(const struct live_table *table, uint64_t address,
                                                  uint64_t hash)
{
    size_t bucket = live_table_home(table, hash);

    /* Once round at most: in a small table all buckets may have been passed. */
    for (size_t left = table->buckets; left; left--, bucket = live_table_next(table, bucket)) {
        live_places places = live_marked(table->words[bucket], live_mark(hash));
        for (; places; places &= places - 1) {
            struct live_slot *slot = &table->slots[bucket * LIVE_PLACES + live_lowest(places)];
            if (live_table_is_at(table, slot, address))
                return slot;
        }
        if (__builtin_expect(!table->passed[bucket], 1))
            return NULL;
    }
    return NULL;
}

static inline struct live_slot *live_table_find(const struct live_table *table, uint64_t address)
{
    return live_table_search(table, address, live_hash(address));
}

/* The same with a guess by live_table_guess(), which is tried first. */
static inline struct live_slot *live_table_find_near(const struct live_table *table,
                                                     uint64_t address, uint64_t hash, size_t guess)
{
    struct live_slot *slot = &table->slots[guess];

    return live_table_is_at(table, slot, address) ? slot : live_table_search(table, address, hash);
}

/* The rare cases of live_table_place(): the home is full or was full, or a mark in the home's word
 * matches. */
struct live_slot *live_table_place_far(struct live_table *table, uint64_t address, uint64_t hash,
                                       size_t home);
/* The same in a table that is full, and grows unless the block is in it. */
struct live_slot *live_table_place_full(struct live_table *table, uint64_t address, uint64_t hash);
/* Takes the block at `address` out of the table, but leaves it in the slot that is returned: the
 * caller reads it and calls live_table_empty(). NULL: there is none. */
struct live_slot *live_table_take_far(struct live_table *table, uint64_t address, uint64_t hash);

/* Can the table have a block of this hash, whose home has the slot of this number? */
static inline bool live_table_may_have(const struct live_table *table, uint64_t hash, size_t number)
{
    return live_marked(live_table_word_of(table, number), live_mark(hash)) ||
           table->passed[number / LIVE_PLACES];
}

/* Does the table have a block at `address`, if it may have one? */
bool live_table_has_far(const struct live_table *table, uint64_t address, uint64_t hash,
                        size_t home);

/* Takes an empty slot for a block of this hash, whose home has the slot of this number; the table
 * must not be full. False: there is none, or the block may be in the table already. */
static inline bool live_table_place_at_home(struct live_table *table, uint64_t hash, size_t number,
                                            struct live_slot **slot)
{
    uint64_t word = live_table_word_of(table, number);
    unsigned mark = live_mark(hash);

    if (__builtin_expect(
            live_marked(word, mark) || !live_empty(word) || table->passed[number / LIVE_PLACES], 0))
        return false;
    number = live_first_place(number) + live_lowest_empty(word);
    table->count++;
    live_table_set_mark(table, number, mark);
    *slot = &table->slots[number];
    return true;
}

/* The slot of `address`, whose home is `bucket`; the table must not be full. A new slot has key 0
 * and must be filled. */
static inline struct live_slot *live_table_place_in(struct live_table *table, uint64_t address,
                                                    uint64_t hash, size_t bucket)
{
    struct live_slot *slot;

    return live_table_place_at_home(table, hash, bucket * LIVE_PLACES, &slot)
               ? slot
               : live_table_place_far(table, address, hash, bucket);
}

/* The same, with the table grown if it must hold one more. Growing moves blocks: earlier slot
 * pointers are void. */
static inline struct live_slot *live_table_place_hashed(struct live_table *table, uint64_t address,
                                                        uint64_t hash)
{
    if (__builtin_expect(table->count >= table->limit, 0))
        return live_table_place_full(table, address, hash);
    return live_table_place_in(table, address, hash, live_table_home(table, hash));
}

static inline struct live_slot *live_table_place(struct live_table *table, uint64_t address)
{
    return live_table_place_hashed(table, address, live_hash(address));
}

/* A block has been removed from `bucket`, which is not its home: all buckets between have counted
 * it. */
void live_table_discount(struct live_table *table, size_t home, size_t bucket);

/* Gives back a wide block's place. */
void live_table_forget_wide(struct live_table *table, const struct live_slot *slot);

/* A block that has been taken out has been read. */
static inline void live_table_empty(struct live_table *table, struct live_slot *slot)
{
    if (__builtin_expect(live_slot_is_wide(slot), 0))
        live_table_forget_wide(table, slot);
    slot->key = 0;
}

/* Takes the block of the slot of this number, its home, out of the table: see
 * live_table_take_far(). */
static inline void live_table_take_near(struct live_table *table, size_t number)
{
    live_table_set_mark(table, number, 0);
    table->count--;
}

/* The same of a slot whose block's home is `home`. */
static inline void live_table_take_at(struct live_table *table, size_t number, size_t home)
{
    live_table_take_near(table, number);
    if (__builtin_expect(number / LIVE_PLACES != home, 0))
        live_table_discount(table, home, number / LIVE_PLACES);
}

/* Empties the slot of a block. */
static inline void live_table_remove_hashed(struct live_table *table, struct live_slot *slot,
                                            uint64_t hash)
{
    live_table_take_at(table, (size_t)(slot - table->slots), live_table_home(table, hash));
    live_table_empty(table, slot);
}

static inline void live_table_remove(struct live_table *table, struct live_slot *slot)
{
    live_table_remove_hashed(table, slot, live_hash(live_table_address(table, slot)));
}

/* Empties the slot of `address` (not 0) if it has one. */
static inline bool live_table_drop(struct live_table *table, uint64_t address)
{
    struct live_slot *slot = table->count ? live_table_find(table, address) : NULL;

    if (slot)
        live_table_remove(table, slot);
    return slot;
}

/* ---- Tables of what is not a block ---- */

/* The table has this address, and nothing else is told of it. */
void live_table_note(struct live_table *table, uint64_t address);

/* A table of debts: by address, size_bytes is how many frees are owed, and birth_ticks the latest
 * time until when. */
void live_table_owe(struct live_table *debts, uint64_t address, uint64_t until_ticks);
/* Is something at this time one of the frees that are owed? Then it is owed no more. */
bool live_table_settle_debt(struct live_table *debts, uint64_t address, uint64_t ticks);

#endif
