/* The table of live blocks, against a plain array: whatever is added and removed is found or is
 * not, also where many addresses have one home and a bucket does not count any more who passed it.
 */
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
    uint64_t addresses[ADDRESSES];
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

static void step(struct model *model, size_t i)
{
    uint64_t address = model->addresses[i], hash = live_hash(address);
    size_t guess = live_table_guess(&model->table, hash);
    struct live_block *block = live_table_find_near(&model->table, address, hash, guess);

    assert_ptr_equal(block, live_table_find(&model->table, address));
    assert_true(guess < (size_t)(live_table_end(&model->table) - model->table.slots));
    if (!model->lives[i]) {
        assert_null(block);
        block = live_table_place(&model->table, address);
        assert_int_equal(block->address, 0);
        *block = (struct live_block){.address = address, .birth_ticks = i};
    } else {
        assert_non_null(block);
        assert_int_equal(block->birth_ticks, i);
        assert_ptr_equal(live_table_place(&model->table, address), block);
        live_table_remove(&model->table, block);
    }
    model->lives[i] = !model->lives[i];
    model->count += model->lives[i] ? 1 : (size_t)-1;
}

static void assert_agrees(const struct model *model)
{
    size_t count = 0;

    for (size_t i = 0; i < ADDRESSES; i++)
        assert_int_equal(live_table_find(&model->table, model->addresses[i]) != NULL,
                         model->lives[i]);
    for (struct live_block *block = model->table.slots; block < live_table_end(&model->table);
         block++)
        count += block->address != 0;
    assert_int_equal(count, model->count);
    assert_int_equal(model->table.count, model->count);
}

static void play(uint64_t (*address_at)(size_t i), unsigned slots_log2, size_t steps)
{
    struct model *model = calloc(1, sizeof *model);

    live_table_init(&model->table, slots_log2);
    for (size_t i = 0; i < ADDRESSES; i++)
        model->addresses[i] = address_at(i);
    for (size_t i = 0; i < steps; i++) {
        step(model, random_u64() % ADDRESSES);
        if (i % 4096 == 0)
            assert_agrees(model);
    }
    for (size_t i = 0; i < ADDRESSES; i++)
        if (model->lives[i])
            step(model, i);
    assert_agrees(model);
    live_table_release(&model->table);
    free(model);
}

static void what_is_added_is_found_until_it_is_removed(void **state)
{
    (void)state;
    random_state = (uint64_t)time(NULL) * 2654435761u | 1;
    print_message("seed %llu\n", (unsigned long long)random_state);
    play(heap_address, 3, STEPS);
    play(heap_address, 10, STEPS);
    play(crowded_address, 10, STEPS / 4);
    play(last_address, 10, STEPS / 4);
}

/* When nobody passed a bucket any more, searches end in it again. To place a block that lives, as
 * its address is told twice, passes none. */
static void removing_takes_back_what_adding_counted(void **state)
{
    struct live_table table;

    (void)state;
    live_table_init(&table, 10);
    for (size_t i = 0; i < 100; i++)
        *live_table_place(&table, crowded_address(i)) =
            (struct live_block){.address = crowded_address(i)};
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(live_table_place(&table, crowded_address(i))->address, crowded_address(i));
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
    const struct live_block *block = live_table_find(table, address);

    assert_non_null(block);
    assert_int_equal(block->birth_ticks, birth_ticks);
}

/* Growth moves blocks within the array, some of them past each other and round the end. */
static void grow(uint64_t (*address_at)(size_t i), size_t blocks)
{
    struct live_table table;
    size_t growths = 0;

    live_table_init(&table, 3);
    for (size_t i = 0; i < blocks; i++) {
        size_t before = table.buckets;
        *live_table_place(&table, address_at(i)) =
            (struct live_block){.address = address_at(i), .birth_ticks = i};
        for (size_t k = 0; before != table.buckets && k <= i; k++)
            is_found(&table, address_at(k), k);
        growths += before != table.buckets;
    }
    assert_true(growths > 4);
    for (size_t i = 0; i < blocks; i++)
        assert_non_null(live_table_take_far(&table, address_at(i), live_hash(address_at(i))));
    for (const struct live_block *slot = table.slots; slot < live_table_end(&table); slot++)
        assert_int_equal(slot->address, 0);
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

/* A small table doubles, and has up to 89. */
static void a_large_table_has_at_most_48_bytes_for_a_block(void **state)
{
    struct live_table table;

    (void)state;
    live_table_init(&table, 10);
    for (size_t i = 0; i < 1000000; i++) {
        live_table_place(&table, heap_address(i))->address = heap_address(i);
        assert_true(table.count < 100000 || live_table_memory_bytes(&table) < 48 * table.count);
    }
    live_table_release(&table);
}

/* All buckets have been passed: a search for what is not there ends all the same. */
static void a_full_small_table_is_searched_once_round(void **state)
{
    struct live_table table;
    size_t count = 0;

    (void)state;
    live_table_init(&table, 3);
    for (size_t i = 0; count < table.limit; i++, count++)
        *live_table_place(&table, crowded_address(i)) =
            (struct live_block){.address = crowded_address(i)};
    for (size_t bucket = 0; bucket < table.buckets; bucket++)
        table.passed[bucket]++;
    assert_null(live_table_find(&table, heap_address(1)));
    live_table_release(&table);
}

static size_t far_from_home(const struct live_table *table)
{
    size_t far = 0;

    for (const struct live_block *block = table->slots; block < live_table_end(table); block++)
        if (block->address)
            far += live_table_home(table, live_hash(block->address)) !=
                   (size_t)(block - table->slots) / LIVE_PLACES;
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
            live_table_place(&table, 0x7f0000000010 + i * size)->address =
                0x7f0000000010 + i * size;
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
        cmocka_unit_test(a_large_table_has_at_most_48_bytes_for_a_block),
        cmocka_unit_test(a_full_small_table_is_searched_once_round),
        cmocka_unit_test(blocks_of_one_size_are_at_home_whatever_the_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
