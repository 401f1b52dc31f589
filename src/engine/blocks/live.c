/* The rare operations of the live table (live.h): a block whose home bucket is full, the removal of
 * such a block, and growth. */
#include "blocks/live.h"

#include <assert.h>

/* A table of up to 65,536 slots (2 MiB) is kept emptier and doubles. A larger one is fuller and
 * grows by a quarter: 38 to 47 bytes a block. */
enum { LARGE_BUCKETS = 8192 };

#ifdef __SSE2__
/* clang-format off */
const uint8_t live_lowest_beside[256] = {
    0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0, 4, 0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0, 5,
    0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0, 4, 0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0, 6,
    0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0, 4, 0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0, 5,
    0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0, 4, 0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0, 7,
    0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0, 4, 0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0, 5,
    0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0, 4, 0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0, 6,
    0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0, 4, 0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0, 5,
    0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0, 4, 0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0, 7,
};
/* clang-format on */
#endif

static size_t live_table_limit(size_t buckets)
{
    return buckets * LIVE_PLACES / 8 * (buckets > LARGE_BUCKETS ? 7 : 6);
}

static size_t live_table_grown(size_t buckets)
{
    return buckets + buckets / (buckets < LARGE_BUCKETS ? 1 : 4);
}

static void live_table_set_buckets(struct live_table *table, size_t buckets)
{
    arena_grow(&table->memory, buckets * LIVE_PLACES * sizeof(struct live_block));
    table->slots = table->memory.base;
    table->word_memory = (struct arena){0};
    arena_grow(&table->word_memory, buckets * (sizeof(uint64_t) + sizeof(uint8_t)));
    table->words = table->word_memory.base;
    table->passed = (uint8_t *)(table->words + buckets);
    table->buckets = buckets;
    table->limit = live_table_limit(buckets);
}

void live_table_init(struct live_table *table, unsigned slots_log2)
{
    assert(slots_log2 < 48);
    *table = (struct live_table){0};
    live_table_set_buckets(table, (size_t)1 << (slots_log2 > 4 ? slots_log2 - 3 : 2));
}

static void live_table_release_words(struct live_table *table)
{
    arena_release_used(&table->word_memory, table->buckets * (sizeof(uint64_t) + sizeof(uint8_t)));
}

void live_table_release(struct live_table *table)
{
    arena_release_used(&table->memory, table->buckets * LIVE_PLACES * sizeof(struct live_block));
    live_table_release_words(table);
}

size_t live_table_memory_bytes(const struct live_table *table)
{
    return table->buckets *
           (LIVE_PLACES * sizeof(struct live_block) + sizeof(uint64_t) + sizeof(uint8_t));
}

size_t live_table_growth_bytes(const struct live_table *table, size_t blocks)
{
    struct live_table grown = *table;

    while (blocks > live_table_limit(grown.buckets))
        grown.buckets = live_table_grown(grown.buckets);
    if (grown.buckets == table->buckets)
        return 0;
    return live_table_memory_bytes(&grown) - live_table_memory_bytes(table) +
           table->buckets * (sizeof(uint64_t) + sizeof(uint8_t)); /* the old words */
}

/* A block goes on to a later bucket. Returns how many had done so before. */
static inline unsigned live_table_pass(const struct live_table *table, size_t bucket)
{
    unsigned passed = table->passed[bucket];

    table->passed[bucket] = (uint8_t)(passed + (passed < LIVE_PASSED_MAX));
    return passed;
}

/* An empty slot in `bucket` or behind it, for a block that is not there. */
static inline struct live_block *live_table_take_slot_from(const struct live_table *table,
                                                           size_t bucket, unsigned mark)
{
    live_places empty;

    while (__builtin_expect(!(empty = live_empty(table->words[bucket])), 0)) {
        live_table_pass(table, bucket);
        bucket = live_table_next(table, bucket);
    }
    live_table_set_mark(table, bucket * LIVE_PLACES + live_lowest(empty), mark);
    return &table->slots[bucket * LIVE_PLACES + live_lowest(empty)];
}

static inline struct live_block *live_table_take_slot(struct live_table *table, uint64_t hash)
{
    return live_table_take_slot_from(table, live_table_home(table, hash), live_mark(hash));
}

/* ---- Growth --------------------------------------------------------------------------------
 * The array grows, and its blocks move up in it, the last ones first. Nearly all of them go to a
 * bucket from which all blocks have gone already, or to one that is new. Those for which only a
 * bucket further down has a place (their home was full, or they would go round) are put aside until
 * the end. */

struct live_aside {
    struct live_block *blocks;
    size_t count;
    struct arena memory;
};

static void live_aside_add(struct live_aside *aside, const struct live_block *block)
{
    arena_grow(&aside->memory, (aside->count + 1) * sizeof *block);
    aside->blocks = aside->memory.base;
    aside->blocks[aside->count++] = *block;
}

/* Is there a place for it between its home and the end of the table? */
static bool live_table_has_place_above(const struct live_table *table, size_t home)
{
    while (home < table->buckets && !live_empty(table->words[home]))
        home++;
    return home < table->buckets;
}

static void live_table_move(struct live_table *table, const struct live_block *block, size_t bucket,
                            struct live_aside *aside)
{
    uint64_t hash = live_hash(block->address);
    size_t home = live_table_home(table, hash);

    if (home > bucket && live_table_has_place_above(table, home))
        *live_table_take_slot(table, hash) = *block;
    else
        live_aside_add(aside, block);
}

/* `word`: the bucket's, as it was. */
static void live_table_move_bucket(struct live_table *table, size_t bucket, uint64_t word,
                                   struct live_aside *aside)
{
    for (live_places places = live_used(word); places; places &= places - 1) {
        struct live_block *slot = &table->slots[bucket * LIVE_PLACES + live_lowest(places)];
        live_table_move(table, slot, bucket, aside);
        slot->address = 0;
    }
}

/* Apart from live_table_place_far(), whose calls would otherwise each pay for the stack guard of
 * this one. */
static void __attribute__((noinline, cold)) live_table_grow(struct live_table *table)
{
    struct live_table old = *table;
    struct live_aside aside = {0};

    live_table_set_buckets(table, live_table_grown(old.buckets));
    for (size_t bucket = old.buckets; bucket-- > 0;)
        live_table_move_bucket(table, bucket, old.words[bucket], &aside);
    for (size_t i = 0; i < aside.count; i++)
        *live_table_take_slot(table, live_hash(aside.blocks[i].address)) = aside.blocks[i];
    arena_release_used(&aside.memory, aside.count * sizeof *aside.blocks);
    live_table_release_words(&old);
}

/* ---- Blocks that are not at home, or may not be ---------------------------------------------- */

struct live_block *live_table_place_full(struct live_table *table, uint64_t address, uint64_t hash)
{
    struct live_block *block = live_table_search(table, address, hash);

    if (block)
        return block;
    live_table_grow(table);
    table->count++;
    return live_table_take_slot(table, hash);
}

void live_table_discount(struct live_table *table, size_t home, size_t bucket)
{
    uint8_t *passed = table->passed;
    size_t buckets = table->buckets;

    while (home != bucket) {
        passed[home] = (uint8_t)(passed[home] - (passed[home] < LIVE_PASSED_MAX));
        if (++home == buckets)
            home = 0;
    }
}

/* The slot of `address` in a bucket, or NULL. */
static inline struct live_block *live_table_look(const struct live_table *table, size_t bucket,
                                                 uint64_t address, unsigned mark)
{
    live_places places = live_marked(table->words[bucket], mark);

    for (; places; places &= places - 1) {
        struct live_block *block = &table->slots[bucket * LIVE_PLACES + live_lowest(places)];
        if (block->address == address)
            return block;
    }
    return NULL;
}

/* The slot of `address` in a bucket behind `bucket`, or NULL. */
static struct live_block *__attribute__((noinline, cold))
live_table_look_behind(const struct live_table *table, size_t home, size_t bucket, uint64_t address,
                       unsigned mark)
{
    struct live_block *block = NULL;

    while (!block && table->passed[bucket]) {
        bucket = live_table_next(table, bucket);
        if (bucket == home) /* once round: in a small table all may have been passed */
            break;
        block = live_table_look(table, bucket, address, mark);
    }
    return block;
}

/* Nearly always no block is found, so the search passes the full buckets that it meets. `words`:
 * of the table, which nothing here changes. */
struct live_block *live_table_place_far(struct live_table *table, uint64_t address, uint64_t hash,
                                        size_t home)
{
    const uint64_t *words = table->words;
    size_t bucket = home;
    unsigned mark = live_mark(hash), passed = 1;
    struct live_block *block = live_table_look(table, home, address, mark);

    while (!block && passed && !live_empty(words[bucket])) {
        passed = live_table_pass(table, bucket);
        bucket = live_table_next(table, bucket);
        if (passed)
            block = live_table_look(table, bucket, address, mark);
    }
    if (!block && passed && table->passed[bucket])
        block = live_table_look_behind(table, home, bucket, address, mark);
    if (__builtin_expect(block != NULL, 0)) {
        live_table_discount(table, home, bucket);
        return block;
    }
    table->count++;
    return live_table_take_slot_from(table, bucket, mark);
}

/* A block that has been counted in its home, or in a bucket behind it, seldom is nowhere. */
struct live_block *live_table_take_far(struct live_table *table, uint64_t address, uint64_t hash)
{
    size_t home = live_table_home(table, hash), bucket = home;
    struct live_block *block = live_table_look(table, home, address, live_mark(hash));

    for (size_t left = table->buckets; !block && --left && table->passed[bucket];) {
        bucket = live_table_next(table, bucket);
        block = live_table_look(table, bucket, address, live_mark(hash));
    }
    if (!block)
        return NULL;
    live_table_remove_at(table, block, (size_t)(block - table->slots), home);
    return block;
}
