/* The table of live blocks, against a plain array: whatever is added and removed is found or is
 * not, with all that was told of it, also where many addresses have one home, where a bucket does
 * not count any more who passed it, and where blocks do not fit into their slots. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "blocks/live.h"

enum { ADDRESSES = 1500, STEPS = 60000 };

struct model {
    struct live_table table;
    struct live_block blocks[ADDRESSES]; /* of the addresses */
    bool lives[ADDRESSES];
    size_t count;
};

static uint64_t random_state;

static uint64_t random_u64(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* live_hash() folds the address and multiplies: the address whose product this is. */
static uint64_t address_of_product(uint64_t product)
{
    uint64_t inverse = 1, factor = 0x9E3779B97F4A7C15ull, folded, address;

    for (int i = 0; i < 6; i++) /* Newton's */
        inverse *= 2 - factor * inverse;
    address = folded = product * inverse;
    for (int i = 0; i < 8; i++)
        address = folded ^ address >> 8;
    assert_int_equal(live_hash(address) >> 32, product >> 32);
    return address;
}

/* Of one home, whatever the size of the table. */
static uint64_t crowded_address(size_t i)
{
    return address_of_product(0x123ull << 52 | (i + 1) << 8);
}

/* Likewise: of the last home, so that most lie in the first ones. */
static uint64_t last_address(size_t i)
{
    return address_of_product(0xfffull << 52 | (i + 1) << 8);
}

static uint64_t heap_address(size_t i)
{
    return 0x555555a00000 + 48 * i;
}

/* Many have one home in a table of up to 4,096 buckets, and addresses of 48 bits as heaps do. */
static uint64_t narrow_address(size_t i)
{
    static uint64_t found[ADDRESSES], next = 1;
    static size_t count;

    assert_true(i < ADDRESSES);
    for (; count <= i; next++)
        if (live_hash(0x7f0000000000 + 8 * next) >> 52 == 0xfff)
            found[count++] = 0x7f0000000000 + 8 * next;
    return found[i];
}

static uint64_t mixed_address(size_t i)
{
    return i % 3 ? narrow_address(i) : i % 2 ? heap_address(i) : last_address(i);
}

static void put(struct live_table *table, struct live_block block)
{
    live_table_write(table, live_table_place(table, block.address), &block);
}

/* Now and then too much of each for a slot, by one or by far. */
static uint64_t around(unsigned bits, unsigned most)
{
    switch (random_u64() % 8) {
    case 0:
        return (1ull << bits) - 1;
    case 1:
        return 1ull << bits;
    case 2:
        return (1ull << most) - 1;
    default:
        return random_u64() & ((1ull << bits) - 1);
    }
}

static uint32_t any_owner(void)
{
    static const uint32_t owners[] = {0,        1,        0xff,     0x100,    0x7fff,
                                      0x8000,   0xffff,   0x200000, 0x200ffe, 0x200fff,
                                      0xe00ffe, 0xe00fff, 0xfffffe, 0xffffff};

    return random_u64() % 2 ? owners[random_u64() % (sizeof owners / sizeof *owners)]
                            : (uint32_t)random_u64() & 0xffffff;
}

static struct live_block any_block(uint64_t address)
{
    struct live_block block = {
        .address = address,
        .size_bytes = around(32, 48),
        .birth_ticks = random_u64() % 8 ? (1ull << 50) + random_u64() % 1000000 : random_u64(),
        .site = (uint32_t)random_u64(),
        .slack_bytes = (uint32_t)around(12, 24),
    };

    live_block_set_owner(&block, any_owner());
    return block;
}

static void assert_same(const struct live_block *left, const struct live_block *right)
{
    assert_int_equal(left->address, right->address);
    assert_int_equal(left->size_bytes, right->size_bytes);
    assert_int_equal(left->birth_ticks, right->birth_ticks);
    assert_int_equal(left->site, right->site);
    assert_int_equal(left->slack_bytes, right->slack_bytes);
    assert_int_equal(live_block_owner(left), live_block_owner(right));
}

static void add(struct model *model, size_t i)
{
    struct live_slot *slot = live_table_place(&model->table, model->blocks[i].address);

    assert_int_equal(slot->key, 0);
    model->blocks[i] = any_block(model->blocks[i].address);
    live_table_write(&model->table, slot, &model->blocks[i]);
}

/* A block that lives changes as a whole, and its site alone. */
static void change(struct model *model, size_t i, struct live_slot *slot)
{
    assert_ptr_equal(live_table_place(&model->table, model->blocks[i].address), slot);
    if (random_u64() % 2) {
        model->blocks[i] = any_block(model->blocks[i].address);
        live_table_write(&model->table, slot, &model->blocks[i]);
    } else {
        model->blocks[i].site = slot->site = (uint32_t)random_u64();
    }
}

static void take(struct model *model, size_t i, struct live_slot *slot)
{
    uint64_t address = model->blocks[i].address;

    if (random_u64() % 2) {
        live_table_remove(&model->table, slot);
    } else {
        struct live_block block;
        assert_ptr_equal(live_table_take_far(&model->table, address, live_hash(address)), slot);
        block = live_table_read(&model->table, slot);
        assert_same(&block, &model->blocks[i]);
        live_table_empty(&model->table, slot);
    }
}

static void step(struct model *model, size_t i)
{
    uint64_t address = model->blocks[i].address, hash = live_hash(address);
    size_t guess = live_table_guess(&model->table, hash);
    struct live_slot *slot = live_table_find_near(&model->table, address, hash, guess);

    assert_ptr_equal(slot, live_table_find(&model->table, address));
    assert_true(guess < (size_t)(live_table_end(&model->table) - model->table.slots));
    if (!model->lives[i]) {
        assert_null(slot);
        add(model, i);
    } else {
        struct live_block block = live_table_read(&model->table, slot);
        assert_same(&block, &model->blocks[i]);
        if (random_u64() % 4 == 0) {
            change(model, i, slot);
            return;
        }
        take(model, i, slot);
    }
    model->lives[i] = !model->lives[i];
    model->count += model->lives[i] ? 1 : (size_t)-1;
}

static void assert_agrees(const struct model *model)
{
    size_t count = 0;

    for (size_t i = 0; i < ADDRESSES; i++) {
        const struct live_slot *slot = live_table_find(&model->table, model->blocks[i].address);
        assert_int_equal(slot != NULL, model->lives[i]);
        if (slot) {
            struct live_block block = live_table_read(&model->table, slot);
            assert_same(&block, &model->blocks[i]);
            assert_int_equal(live_table_address(&model->table, slot), block.address);
        }
    }
    for (struct live_slot *slot = model->table.slots; slot < live_table_end(&model->table); slot++)
        count += slot->key != 0;
    assert_int_equal(count, model->count);
    assert_int_equal(model->table.count, model->count);
}

static void play(uint64_t (*address_at)(size_t i), unsigned slots_log2, bool owners, size_t steps)
{
    struct model *model = calloc(1, sizeof *model);

    live_table_init(&model->table, slots_log2);
    if (owners)
        live_table_keep_owners(&model->table);
    for (size_t i = 0; i < ADDRESSES; i++)
        model->blocks[i].address = address_at(i);
    for (size_t i = 0; i < steps; i++) {
        step(model, random_u64() % ADDRESSES);
        if (i % 4096 == 0)
            assert_agrees(model);
    }
    while (model->count)
        for (size_t i = 0; i < ADDRESSES; i++)
            if (model->lives[i])
                step(model, i);
    assert_agrees(model);
    assert_true(model->table.wide_count <= ADDRESSES); /* places are used again */
    live_table_release(&model->table);
    free(model);
}

static void what_is_added_is_found_until_it_is_removed(void **state)
{
    (void)state;
    random_state = (uint64_t)time(NULL) * 2654435761u | 1;
    print_message("seed %llu\n", (unsigned long long)random_state);
    for (int owners = 0; owners < 2; owners++) {
        play(heap_address, 3, owners, STEPS);
        play(heap_address, 10, owners, STEPS);
        play(crowded_address, 10, owners, STEPS / 4);
        play(last_address, 10, owners, STEPS / 4);
        play(narrow_address, 3, owners, STEPS / 4);
        play(mixed_address, 3, owners, STEPS);
    }
}

/* When nobody passed a bucket any more, searches end in it again. To place a block that lives, as
 * its address is told twice, passes none. */
static void removing_takes_back_what_adding_counted(void **state)
{
    struct live_table table;

    (void)state;
    live_table_init(&table, 10);
    for (size_t i = 0; i < 100; i++)
        live_table_note(&table, crowded_address(i));
    for (size_t i = 0; i < 100; i++)
        assert_true(live_table_place(&table, crowded_address(i))->key);
    for (size_t i = 0; i < 100; i++)
        assert_true(live_table_drop(&table, crowded_address(i)));
    for (size_t bucket = 0; bucket < table.buckets; bucket++) {
        assert_int_equal(table.words[bucket], 0);
        assert_int_equal(table.passed[bucket], 0);
    }
    live_table_release(&table);
}

static void is_found(const struct live_table *table, uint64_t address, uint64_t birth_ticks)
{
    const struct live_slot *slot = live_table_find(table, address);

    assert_non_null(slot);
    assert_int_equal(live_table_read(table, slot).birth_ticks, birth_ticks);
}

/* Growth moves blocks within the array, some of them past each other and round the end. */
static void grow(uint64_t (*address_at)(size_t i), size_t blocks)
{
    struct live_table table;
    size_t growths = 0;

    live_table_init(&table, 3);
    for (size_t i = 0; i < blocks; i++) {
        size_t before = table.buckets;
        put(&table, (struct live_block){.address = address_at(i), .birth_ticks = i});
        for (size_t k = 0; before != table.buckets && k <= i; k++)
            is_found(&table, address_at(k), k);
        growths += before != table.buckets;
    }
    assert_true(growths > 4);
    for (size_t i = 0; i < blocks; i++) {
        struct live_slot *slot =
            live_table_take_far(&table, address_at(i), live_hash(address_at(i)));
        assert_non_null(slot);
        live_table_empty(&table, slot);
    }
    for (const struct live_slot *slot = table.slots; slot < live_table_end(&table); slot++)
        assert_int_equal(slot->key, 0);
    for (size_t bucket = 0; bucket < table.buckets; bucket++) {
        assert_int_equal(table.words[bucket], 0);
        assert_true(!table.passed[bucket] || table.passed[bucket] == LIVE_PASSED_MAX);
    }
    live_table_release(&table);
}

static void growing_loses_no_block_and_leaves_none_behind(void **state)
{
    (void)state;
    grow(heap_address, 200000);
    grow(crowded_address, 600);
    grow(last_address, 600);
}

/* A small table doubles, and has up to 67. */
static void a_large_table_has_at_most_40_bytes_for_a_block(void **state)
{
    struct live_table table;

    (void)state;
    live_table_init(&table, 10);
    for (size_t i = 0; i < 1000000; i++) {
        put(&table, (struct live_block){.address = heap_address(i), .birth_ticks = i});
        assert_true(table.count < 60000 || live_table_memory_bytes(&table) < 40 * table.count);
    }
    assert_int_equal(table.wide_count, 0);
    live_table_release(&table);
}

/* One more than fits makes it grow, wherever that is, and one less does not. */
static void a_table_grows_where_it_says(void **state)
{
    struct live_table table;
    size_t blocks = 0;

    (void)state;
    live_table_init(&table, 3);
    for (int growth = 0; growth < 20; growth++) {
        size_t buckets = table.buckets, has = live_table_memory_bytes(&table), limit = table.limit;
        assert_int_equal(live_table_growth_bytes(&table, limit), 0);
        assert_true(live_table_growth_bytes(&table, limit + 1) > 0);
        for (; table.count < limit; blocks++)
            put(&table,
                (struct live_block){.address = heap_address(blocks), .birth_ticks = blocks});
        assert_int_equal(table.buckets, buckets);
        put(&table, (struct live_block){.address = heap_address(0), .birth_ticks = 0});
        assert_int_equal(table.buckets, buckets); /* it was there */
        put(&table, (struct live_block){.address = heap_address(blocks), .birth_ticks = blocks});
        blocks++;
        assert_true(table.buckets > buckets && live_table_memory_bytes(&table) > has);
        for (size_t i = 0; i < blocks; i++)
            is_found(&table, heap_address(i), i);
    }
    live_table_release(&table);
}

static void debts_are_paid_one_by_one(void **state)
{
    struct live_table debts;

    (void)state;
    live_table_init(&debts, 3);
    live_table_owe(&debts, heap_address(1), 100);
    live_table_owe(&debts, heap_address(1), 50);
    live_table_owe(&debts, heap_address(2), 1ull << 60);
    assert_false(live_table_settle_debt(&debts, heap_address(3), 10));
    assert_false(live_table_settle_debt(&debts, heap_address(1), 100));
    assert_true(live_table_settle_debt(&debts, heap_address(1), 99));
    assert_true(live_table_settle_debt(&debts, heap_address(1), 0));
    assert_false(live_table_settle_debt(&debts, heap_address(1), 0));
    assert_true(live_table_settle_debt(&debts, heap_address(2), (1ull << 60) - 1));
    assert_int_equal(debts.count, 0);
    live_table_release(&debts);
}

/* All buckets have been passed: a search for what is not there ends all the same. */
static void a_full_small_table_is_searched_once_round(void **state)
{
    struct live_table table;
    size_t count = 0;

    (void)state;
    live_table_init(&table, 3);
    for (size_t i = 0; count < table.limit; i++, count++)
        live_table_note(&table, crowded_address(i));
    for (size_t bucket = 0; bucket < table.buckets; bucket++)
        table.passed[bucket]++;
    assert_null(live_table_find(&table, heap_address(1)));
    live_table_release(&table);
}

static size_t far_from_home(const struct live_table *table)
{
    size_t far = 0;

    for (const struct live_slot *slot = table->slots; slot < live_table_end(table); slot++)
        if (slot->key)
            far += live_table_home(table, live_hash(live_table_address(table, slot))) !=
                   (size_t)(slot - table->slots) / LIVE_PLACES;
    return far;
}

/* At random addresses some 3 % of so many blocks are far from home. A product alone leaves more
 * than half of those of 112 bytes, and nearly all of those of 29,648 bytes. */
static void blocks_of_one_size_are_at_home_whatever_the_size(void **state)
{
    enum { BLOCKS = 20000 };

    (void)state;
    for (uint64_t size = 16; size <= 48000; size += 112) {
        struct live_table table;
        live_table_init(&table, 15);
        for (uint64_t i = 0; i < BLOCKS; i++)
            live_table_note(&table, 0x7f0000000010 + i * size);
        assert_int_equal(table.buckets, 4096);
        assert_true(far_from_home(&table) < BLOCKS / 8);
        live_table_release(&table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_added_is_found_until_it_is_removed),
        cmocka_unit_test(removing_takes_back_what_adding_counted),
        cmocka_unit_test(growing_loses_no_block_and_leaves_none_behind),
        cmocka_unit_test(a_large_table_has_at_most_40_bytes_for_a_block),
        cmocka_unit_test(a_table_grows_where_it_says),
        cmocka_unit_test(debts_are_paid_one_by_one),
        cmocka_unit_test(a_full_small_table_is_searched_once_round),
        cmocka_unit_test(blocks_of_one_size_are_at_home_whatever_the_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
