/* The rare operations of the live table (live.h): a block whose home bucket is full, the removal of
 * such a block, and growth. Growth makes a table of twice the size and inserts the old slots in
 * order. */
#include "blocks/live.h"

#include <assert.h>

static void live_table_set_geometry(struct live_table *table, unsigned buckets_log2)
{
    size_t buckets = (size_t)1 << buckets_log2;

    table->memory = table->word_memory = (struct arena){0};
    arena_grow(&table->memory, buckets * LIVE_PLACES * sizeof(struct live_block));
    arena_grow(&table->word_memory, buckets * sizeof(uint64_t));
    table->slots = table->memory.base;
    table->words = table->word_memory.base;
    table->mask = buckets - 1;
    table->limit = buckets * LIVE_PLACES / 8 * 7;
    table->shift = 64 - buckets_log2;
}

void live_table_init(struct live_table *table, unsigned slots_log2)
{
    assert(slots_log2 < 48);
    table->count = 0;
    live_table_set_geometry(table, slots_log2 > 4 ? slots_log2 - 3 : 2);
}

void live_table_release(struct live_table *table)
{
    size_t buckets = table->mask + 1;

    arena_release_used(&table->memory, buckets * LIVE_PLACES * sizeof(struct live_block));
    arena_release_used(&table->word_memory, buckets * sizeof(uint64_t));
}

size_t live_table_memory_bytes(const struct live_table *table)
{
    return (table->mask + 1) * (LIVE_PLACES * sizeof(struct live_block) + sizeof(uint64_t));
}

/* An empty slot for a block that is not there. */
static struct live_block *live_table_take_slot(struct live_table *table, uint64_t hash)
{
    size_t bucket = hash >> table->shift;
    uint64_t *word = &table->words[bucket], empty;

    while (!(empty = live_empty(*word))) {
        if (*word >> LIVE_PASSED_SHIFT < LIVE_PASSED_MAX)
            *word += 1ull << LIVE_PASSED_SHIFT;
        bucket = (bucket + 1) & table->mask;
        word = &table->words[bucket];
    }
    *word |= live_mark(hash) << 8 * live_lowest(empty);
    return &table->slots[bucket * LIVE_PLACES + live_lowest(empty)];
}

/* Apart from live_table_place_far(), whose calls would otherwise each pay for the stack guard of
 * this one. */
static void __attribute__((noinline, cold)) live_table_double_slots(struct live_table *table)
{
    struct live_table old = *table;

    live_table_set_geometry(table, 64 - old.shift + 1);
    for (struct live_block *block = old.slots; block < live_table_end(&old); block++)
        if (block->address)
            *live_table_take_slot(table, live_hash(block->address)) = *block;
    live_table_release(&old);
}

struct live_block *live_table_place_far(struct live_table *table, uint64_t address, uint64_t hash)
{
    struct live_block *block = live_table_search(table, address, hash);

    if (block)
        return block;
    if (table->count++ >= table->limit)
        live_table_double_slots(table);
    return live_table_take_slot(table, hash);
}

void live_table_remove_far(struct live_table *table, struct live_block *slot, uint64_t hash)
{
    size_t index = (size_t)(slot - table->slots), bucket = index / LIVE_PLACES;

    table->words[bucket] &= ~(0xffull << 8 * (index % LIVE_PLACES));
    slot->address = 0;
    table->count--;
    for (size_t home = hash >> table->shift; home != bucket; home = (home + 1) & table->mask)
        if (table->words[home] >> LIVE_PASSED_SHIFT < LIVE_PASSED_MAX)
            table->words[home] -= 1ull << LIVE_PASSED_SHIFT;
}
