/* Rows that are offered in no order come sorted, piece by piece: with pieces of any length they are
 * what one sort of all of them gives, each row once, equal ones in the order of their offers.
 * Prints its seed; SEED=n repeats it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "heap_at/block_pick.h"

enum { ROWS = 700 };

static struct block_row rows[ROWS];

/* Few different figures, so that many are equal. */
static void make_rows(size_t count)
{
    for (size_t i = 0; i < count; i++)
        rows[i] = (struct block_row){.block = {.address = (uint64_t)rand() % 200,
                                               .size_bytes = (uint64_t)rand() % 9,
                                               .birth_ticks = (uint64_t)rand() % 9,
                                               .node = (uint32_t)rand() % 9},
                                     .number = i};
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* By another writing of the orders than the room's. */
static int expected_order(enum blocks_order order, const struct block_row *a,
                          const struct block_row *b)
{
    int result = 0;
    if (order == BLOCKS_BY_PATH)
        result = compare(a->block.node, b->block.node);
    if (!result && (order == BLOCKS_BY_PATH || order == BLOCKS_BY_SIZE))
        result = compare(b->block.size_bytes, a->block.size_bytes);
    if (order == BLOCKS_BY_AGE)
        result = compare(a->block.birth_ticks, b->block.birth_ticks);
    if (!result)
        result = compare(a->block.address, b->block.address);
    return result ? result : compare(a->number, b->number);
}

static void sort_slowly(enum blocks_order order, struct block_row *sorted, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = i;
        for (; at > 0 && expected_order(order, &rows[i], &sorted[at - 1]) < 0; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = rows[i];
    }
}

static void pieces_follow_each_other(void **state)
{
    static struct block_row sorted[ROWS];
    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        enum blocks_order order = (enum blocks_order)(round % 4);
        size_t count = (size_t)rand() % ROWS, most = 1 + (size_t)rand() % (round % 3 ? 50 : ROWS);
        struct block_pick pick = {.order = order};
        make_rows(count);
        sort_slowly(order, sorted, count);
        for (size_t shown = 0; shown < count; shown += pick.count) {
            block_pick_begin(&pick, most);
            for (size_t i = 0; i < count; i++)
                block_pick_offer(&pick, &rows[i]);
            assert_int_equal(block_pick_end(&pick), 0);
            assert_int_equal(pick.count, count - shown < most ? count - shown : most);
            for (size_t i = 0; i < pick.count; i++)
                assert_int_equal(pick.rows[i].number, sorted[shown + i].number);
        }
        block_pick_release(&pick);
    }
}

/* However many are asked for, and offered. */
static void pieces_are_bounded(void **state)
{
    struct block_pick pick = {.order = BLOCKS_BY_ADDRESS};
    (void)state;
    block_pick_begin(&pick, UINT64_MAX);
    for (uint64_t i = 0; i < BLOCK_PICK_MOST + 1000; i++)
        block_pick_offer(&pick, &(struct block_row){.block.address = ~i, .number = i});
    assert_int_equal(block_pick_end(&pick), 0);
    assert_int_equal(pick.count, BLOCK_PICK_MOST);
    assert_true(pick.room <= BLOCK_PICK_MOST);
    assert_true(pick.rows[0].block.address == ~(BLOCK_PICK_MOST + 999ULL));
    block_pick_release(&pick);
}

static void nothing_is_offered(void **state)
{
    struct block_pick pick = {.order = BLOCKS_BY_SIZE};
    (void)state;
    block_pick_begin(&pick, 5);
    assert_int_equal(block_pick_end(&pick), 0);
    assert_int_equal(pick.count, 0);
    block_pick_release(&pick);
}

static void nodes_are_listed_once(void **state)
{
    static const uint32_t added[] = {7, UINT32_MAX, 0, 65536, 7, 65535, UINT32_MAX};
    static const uint32_t listed[] = {0, 7, 65535, 65536, UINT32_MAX};
    struct block_nodes nodes = {0};
    size_t count;
    (void)state;
    uint32_t *list = block_nodes_list(&nodes, &count);
    assert_non_null(list);
    assert_int_equal(count, 0);
    free(list);
    for (size_t i = 0; i < sizeof added / sizeof *added; i++)
        block_nodes_add(&nodes, added[i]);
    list = block_nodes_list(&nodes, &count);
    assert_int_equal(count, sizeof listed / sizeof *listed);
    assert_memory_equal(list, listed, sizeof listed);
    free(list);
    block_nodes_release(&nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_follow_each_other), cmocka_unit_test(pieces_are_bounded),
        cmocka_unit_test(nothing_is_offered), cmocka_unit_test(nodes_are_listed_once)};
    unsigned seed = getenv("SEED") ? (unsigned)atoi(getenv("SEED")) : (unsigned)time(NULL);
    printf("seed %u\n", seed);
    srand(seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
