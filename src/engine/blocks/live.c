/* The rare operations of the live table (live.h): a block whose home bucket is full, the removal of
 * such a block, growth, and blocks that do not fit into their slots. */
#include "blocks/live.h"

#include <assert.h>

/* A table of up to 65,536 slots (2 MiB) is kept emptier and doubles. A larger one is fuller and
 * grows by a quarter: 31 to 40 bytes a block. */
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
    return buckets > LARGE_BUCKETS ? buckets * LIVE_PLACES / 5 * 4 : buckets * LIVE_PLACES / 4 * 3;
}

static size_t live_table_grown(size_t buckets)
{
    return buckets + buckets / (buckets < LARGE_BUCKETS ? 1 : 4);
}

static void live_table_set_buckets(struct live_table *table, size_t buckets)
{
    arena_grow(&table->memory, buckets * LIVE_PLACES * sizeof(struct live_slot));
    table->slots = table->memory.base;
    if (table->owners) {
        arena_grow(&table->owner_memory, buckets * LIVE_PLACES * sizeof *table->owners);
        table->owners = table->owner_memory.base;
    }
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
    arena_release_used(&table->memory, table->buckets * LIVE_PLACES * sizeof(struct live_slot));
    live_table_release_words(table);
    if (table->owners)
        arena_release_used(&table->owner_memory,
                           table->buckets * LIVE_PLACES * sizeof *table->owners);
    if (table->wide)
        arena_release_used(&table->wide_memory, table->wide_count * sizeof *table->wide);
}

void live_table_keep_owners(struct live_table *table)
{
    assert(!table->count);
    arena_grow(&table->owner_memory, table->buckets * LIVE_PLACES * sizeof *table->owners);
    table->owners = table->owner_memory.base;
}

size_t live_table_memory_bytes(const struct live_table *table)
{
    size_t owner = table->owners ? sizeof *table->owners : 0;

    return table->buckets * (LIVE_PLACES * (sizeof(struct live_slot) + owner) + sizeof(uint64_t) +
                             sizeof(uint8_t)) +
           table->wide_count * sizeof *table->wide;
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

/* The number of an empty slot in `bucket` or behind it, for a block that is not there. */
static inline size_t live_table_take_number(const struct live_table *table, size_t bucket,
                                            uint64_t hash)
{
    live_places empty;
    size_t number;

    while (__builtin_expect(!(empty = live_empty(table->words[bucket])), 0)) {
        live_table_pass(table, bucket);
        bucket = live_table_next(table, bucket);
    }
    number = bucket * LIVE_PLACES + live_lowest(empty);
    live_table_set_mark(table, number, live_mark(hash));
    return number;
}

/* ---- What is in a slot ---------------------------------------------------------------------- */

/* Births of before the first one: records come late, but not by 20 seconds. */
#define LIVE_LATE_TICKS (1ull << 36)

/* LIVE_WIDE_CODE: it has none. */
static uint32_t live_code_of(uint32_t owner)
{
    uint32_t high = owner >> 21, low = owner & ((1u << 21) - 1);

    if (owner < LIVE_PLAIN_OWNERS)
        return owner;
    return low < 0xfff ? LIVE_PLAIN_OWNERS | high << 12 | low : LIVE_WIDE_CODE;
}

static uint32_t live_owner_of(uint32_t code)
{
    return code < LIVE_PLAIN_OWNERS ? code : (code >> 12 & 7) << 21 | (code & 0xfff);
}

struct live_block live_table_read(const struct live_table *table, const struct live_slot *slot)
{
    struct live_block block;

    if (live_slot_is_wide(slot)) {
        block = table->wide[slot->birth_word];
        block.site = slot->site;
        return block;
    }
    block = (struct live_block){
        .address = slot->key & LIVE_ADDRESS_MASK,
        .size_bytes = slot->size_bytes,
        .birth_ticks = table->first_ticks + (slot->birth_word >> LIVE_SLACK_BITS),
        .site = slot->site,
        .slack_bytes = slot->birth_word & ((1u << LIVE_SLACK_BITS) - 1),
    };
    live_block_set_owner(&block, table->owners
                                     ? table->owners[slot - table->slots]
                                     : live_owner_of((uint32_t)(slot->key >> LIVE_ADDRESS_BITS)));
    return block;
}

static void live_table_write_wide(struct live_table *table, struct live_slot *slot,
                                  const struct live_block *block)
{
    bool is_high = block->address >> LIVE_ADDRESS_BITS;
    size_t place = table->wide_free;

    if (place) {
        table->wide_free = (size_t)table->wide[--place].address;
    } else {
        place = table->wide_count++;
        arena_grow(&table->wide_memory, table->wide_count * sizeof *table->wide);
        table->wide = table->wide_memory.base;
    }
    table->wide[place] = *block;
    *slot =
        (struct live_slot){LIVE_HIGH_KEY | (is_high ? 0 : block->address), place, block->site, 0};
}

void live_table_forget_wide(struct live_table *table, const struct live_slot *slot)
{
    size_t place = (size_t)slot->birth_word;

    table->wide[place].address = table->wide_free;
    table->wide_free = place + 1;
}

static uint32_t live_table_code(struct live_table *table, const struct live_slot *slot,
                                const struct live_block *block)
{
    if (!table->owners)
        return live_code_of(live_block_owner(block));
    table->owners[slot - table->slots] = live_block_owner(block);
    return 0;
}

void live_table_write(struct live_table *table, struct live_slot *slot,
                      const struct live_block *block)
{
    uint32_t code = live_table_code(table, slot, block);
    uint64_t birth;

    assert(block->address);
    if (slot->key)
        live_table_empty(table, slot);
    if (!table->has_first)
        table->first_ticks =
            block->birth_ticks > LIVE_LATE_TICKS ? block->birth_ticks - LIVE_LATE_TICKS : 0;
    table->has_first = true;
    birth = block->birth_ticks - table->first_ticks;
    if (code == LIVE_WIDE_CODE || birth >> LIVE_BIRTH_BITS || block->size_bytes > UINT32_MAX ||
        block->slack_bytes >> LIVE_SLACK_BITS || block->address >> LIVE_ADDRESS_BITS)
        live_table_write_wide(table, slot, block);
    else
        *slot = (struct live_slot){live_code_key(code) | block->address,
                                   birth << LIVE_SLACK_BITS | block->slack_bytes, block->site,
                                   (uint32_t)block->size_bytes};
}

/* ---- Growth --------------------------------------------------------------------------------
 * The array grows, and its blocks move up in it, the last ones first. Nearly all of them go to a
 * bucket from which all blocks have gone already, or to one that is new. Those for which only a
 * bucket further down has a place (their home was full, or they would go round) are put aside until
 * the end. */

struct live_aside {
    struct live_moved {
        struct live_slot slot;
        uint32_t owner;
    } * blocks;
    size_t count;
    struct arena memory;
};

static void live_aside_add(struct live_aside *aside, const struct live_table *table, size_t number)
{
    arena_grow(&aside->memory, (aside->count + 1) * sizeof *aside->blocks);
    aside->blocks = aside->memory.base;
    aside->blocks[aside->count++] =
        (struct live_moved){table->slots[number], table->owners ? table->owners[number] : 0};
}

static void live_aside_settle(const struct live_aside *aside, const struct live_table *table)
{
    for (size_t i = 0; i < aside->count; i++) {
        uint64_t hash = live_hash(live_table_address(table, &aside->blocks[i].slot));
        size_t number = live_table_take_number(table, live_table_home(table, hash), hash);
        table->slots[number] = aside->blocks[i].slot;
        if (table->owners)
            table->owners[number] = aside->blocks[i].owner;
    }
}

/* Is there a place for it between its home and the end of the table? */
static inline bool live_table_has_place_above(const struct live_table *table, size_t home)
{
    while (home < table->buckets && !live_empty(table->words[home]))
        home++;
    return home < table->buckets;
}

static inline void live_table_move_to(const struct live_table *table, size_t from, size_t to)
{
    table->slots[to] = table->slots[from];
    if (table->owners)
        table->owners[to] = table->owners[from];
}

static inline void live_table_move(const struct live_table *table, size_t number,
                                   struct live_aside *aside)
{
    uint64_t hash = live_hash(live_table_address(table, &table->slots[number]));
    size_t home = live_table_home(table, hash), to;

    if (home > number / LIVE_PLACES && live_empty(table->words[home])) {
        to = home * LIVE_PLACES + live_lowest_empty(table->words[home]);
        live_table_set_mark(table, to, live_mark(hash));
        live_table_move_to(table, number, to);
    } else if (home > number / LIVE_PLACES && live_table_has_place_above(table, home)) {
        live_table_move_to(table, number, live_table_take_number(table, home, hash));
    } else {
        live_aside_add(aside, table, number);
    }
    table->slots[number].key = 0;
}

/* `word`: the bucket's, as it was. */
static inline void live_table_move_bucket(const struct live_table *table, size_t bucket,
                                          uint64_t word, struct live_aside *aside)
{
    for (live_places places = live_used(word); places; places &= places - 1)
        live_table_move(table, bucket * LIVE_PLACES + live_lowest(places), aside);
}

/* Apart from live_table_place_far(), whose calls would otherwise each pay for the stack guard of
 * this one. */
static void __attribute__((noinline, cold)) live_table_grow(struct live_table *table)
{
    struct live_table old = *table, grown;
    struct live_aside aside = {0};

    live_table_set_buckets(table, live_table_grown(old.buckets));
    grown = *table; /* what is written cannot change a copy */
    for (size_t bucket = old.buckets; bucket-- > 0;)
        live_table_move_bucket(&grown, bucket, old.words[bucket], &aside);
    live_aside_settle(&aside, table);
    arena_release_used(&aside.memory, aside.count * sizeof *aside.blocks);
    live_table_release_words(&old);
}

/* ---- Blocks that are not at home, or may not be ---------------------------------------------- */

struct live_slot *live_table_place_full(struct live_table *table, uint64_t address, uint64_t hash)
{
    struct live_slot *slot = live_table_search(table, address, hash);

    if (slot)
        return slot;
    live_table_grow(table);
    table->count++;
    return &table->slots[live_table_take_number(table, live_table_home(table, hash), hash)];
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
static inline struct live_slot *live_table_look(const struct live_table *table, size_t bucket,
                                                uint64_t address, unsigned mark)
{
    live_places places = live_marked(table->words[bucket], mark);

    for (; places; places &= places - 1) {
        struct live_slot *slot = &table->slots[bucket * LIVE_PLACES + live_lowest(places)];
        if (live_table_is_at(table, slot, address))
            return slot;
    }
    return NULL;
}

/* The slot of `address` in a bucket behind `bucket`, or NULL. */
static struct live_slot *__attribute__((noinline, cold))
live_table_look_behind(const struct live_table *table, size_t home, size_t bucket, uint64_t address,
                       unsigned mark)
{
    struct live_slot *slot = NULL;

    while (!slot && table->passed[bucket]) {
        bucket = live_table_next(table, bucket);
        if (bucket == home) /* once round: in a small table all may have been passed */
            break;
        slot = live_table_look(table, bucket, address, mark);
    }
    return slot;
}

bool live_table_has_far(const struct live_table *table, uint64_t address, uint64_t hash,
                        size_t home)
{
    unsigned mark = live_mark(hash);

    return live_table_look(table, home, address, mark) ||
           live_table_look_behind(table, home, home, address, mark);
}

/* Nearly always no block is found, so the search passes the full buckets that it meets. `words`:
 * of the table, which nothing here changes. */
struct live_slot *live_table_place_far(struct live_table *table, uint64_t address, uint64_t hash,
                                       size_t home)
{
    const uint64_t *words = table->words;
    size_t bucket = home;
    unsigned mark = live_mark(hash), passed = 1;
    struct live_slot *slot = live_table_look(table, home, address, mark);

    while (!slot && passed && !live_empty(words[bucket])) {
        passed = live_table_pass(table, bucket);
        bucket = live_table_next(table, bucket);
        if (passed)
            slot = live_table_look(table, bucket, address, mark);
    }
    if (!slot && passed && table->passed[bucket])
        slot = live_table_look_behind(table, home, bucket, address, mark);
    if (__builtin_expect(slot != NULL, 0)) {
        live_table_discount(table, home, bucket);
        return slot;
    }
    table->count++;
    return &table->slots[live_table_take_number(table, bucket, hash)];
}

/* A block that has been counted in its home, or in a bucket behind it, seldom is nowhere. */
struct live_slot *live_table_take_far(struct live_table *table, uint64_t address, uint64_t hash)
{
    size_t home = live_table_home(table, hash), bucket = home;
    struct live_slot *slot = live_table_look(table, home, address, live_mark(hash));

    for (size_t left = table->buckets; !slot && --left && table->passed[bucket];) {
        bucket = live_table_next(table, bucket);
        slot = live_table_look(table, bucket, address, live_mark(hash));
    }
    if (!slot)
        return NULL;
    live_table_take_at(table, (size_t)(slot - table->slots), home);
    return slot;
}

/* ---- Tables of what is not a block ---------------------------------------------------------- */

void live_table_note(struct live_table *table, uint64_t address)
{
    live_table_write(table, live_table_place(table, address),
                     &(struct live_block){.address = address});
}

void live_table_owe(struct live_table *debts, uint64_t address, uint64_t until_ticks)
{
    struct live_slot *slot = live_table_place(debts, address);
    struct live_block debt = {.address = address};

    if (slot->key)
        debt = live_table_read(debts, slot);
    debt.size_bytes++;
    if (until_ticks > debt.birth_ticks)
        debt.birth_ticks = until_ticks;
    live_table_write(debts, slot, &debt);
}

bool live_table_settle_debt(struct live_table *debts, uint64_t address, uint64_t ticks)
{
    struct live_slot *slot = live_table_find(debts, address);
    struct live_block debt;

    if (!slot)
        return false;
    debt = live_table_read(debts, slot);
    if (ticks >= debt.birth_ticks)
        return false;
    if (--debt.size_bytes)
        live_table_write(debts, slot, &debt);
    else
        live_table_remove(debts, slot);
    return true;
}
