/* How full blocks are said to be by the words beside pointers to them: each shape, what nearly is
 * one, and owners that do not agree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include "graph/graph.h"

enum { BLOCKS = 4, NOTHING = GRAPH_FILL_SHAPES };
#define AT(number) (0x100000ull + 0x10000 * (number))

static struct graph_block blocks[BLOCKS];
static struct graph graph;

static bool read_nothing(void *context, uint64_t address, uint64_t *words, size_t count)
{
    (void)context, (void)address, (void)words, (void)count;
    return false;
}

static bool is_no_vtable(void *context, uint64_t address)
{
    (void)context, (void)address;
    return false;
}

/* Of so many bytes each. */
static void begin(uint64_t bytes)
{
    struct graph_memory memory = {read_nothing, is_no_vtable, NULL, NULL};
    for (uint64_t i = 0; i < BLOCKS; i++)
        blocks[i] = (struct graph_block){AT(i), bytes};
    assert_int_equal(graph_begin(&graph, blocks, BLOCKS, &memory), 0);
    graph.finds_fill = true;
}

static void end(void)
{
    graph_release(&graph);
}

#define ROOTS(...)                                                                                 \
    graph_add_roots(&graph, 0x1000, (uint64_t[]){__VA_ARGS__},                                     \
                    sizeof((uint64_t[]){__VA_ARGS__}) / 8)

/* All that is found is of block 0. */
static void finds(unsigned shape, uint32_t unit, uint64_t used_bytes)
{
    graph_fill_settle(&graph);
    assert_int_equal(graph.fill_count, shape != NOTHING);
    if (shape != NOTHING) {
        assert_int_equal(graph.fills[0].block, 0);
        assert_int_equal(graph.fills[0].shape, shape);
        assert_int_equal(graph.fills[0].unit, unit);
        assert_int_equal(graph.fills[0].used_bytes, used_bytes);
    }
    end();
}

static uint64_t load_of(float load)
{
    uint64_t word = 0xdeadbeef00000000u; /* what lies behind it says nothing */
    memcpy(&word, &load, sizeof load);
    return word;
}

static void a_vector_ends_where_its_block_does(void **state)
{
    (void)state;
    begin(800);
    ROOTS(1, AT(0), AT(0) + 80, AT(0) + 800, 1);
    finds(GRAPH_FILL_VECTOR, 0, 80);
    begin(800);
    ROOTS(AT(0), AT(0), AT(0) + 800); /* empty; the first word is no begin of three */
    finds(GRAPH_FILL_VECTOR, 0, 0);
    begin(800);
    ROOTS(AT(0), AT(0) + 80, AT(0) + 792);
    finds(NOTHING, 0, 0);
    begin(800);
    ROOTS(AT(0), AT(0) + 801, AT(0) + 800);
    finds(NOTHING, 0, 0);
    begin(800);
    ROOTS(AT(0), AT(0) + 80); /* cut off */
    finds(NOTHING, 0, 0);
}

static void a_string_has_room_for_one_more(void **state)
{
    (void)state;
    begin(301);
    ROOTS(AT(0), 20, 300);
    finds(GRAPH_FILL_STRING, 1, 21);
    begin(302);
    ROOTS(AT(0), 20, 300);
    finds(NOTHING, 0, 0);
    begin(301);
    ROOTS(AT(0), 302, 300);
    finds(NOTHING, 0, 0);
    begin(16); /* lies in the string itself */
    ROOTS(AT(0), 3, 15);
    finds(NOTHING, 0, 0);
}

static void a_hash_table_says_when_it_will_grow(void **state)
{
    (void)state;
    enum { FIRST = 0x5000 };
    begin(103 * 8);
    ROOTS(AT(0), 103, FIRST, 50, load_of(1.0f), 103, 0);
    finds(GRAPH_FILL_HASH, 8, 400);
    begin(103 * 8);
    ROOTS(AT(0), 103, FIRST, 150, load_of(2.0f), 206, 0); /* two in a bucket */
    finds(GRAPH_FILL_HASH, 8, 824);
    begin(103 * 8);
    ROOTS(AT(0), 103, FIRST, 0, load_of(1.0f), 103, 0); /* a first one, and no elements */
    finds(NOTHING, 0, 0);
    begin(103 * 8);
    ROOTS(AT(0), 103, FIRST, 50, load_of(1.0f), 104, 0);
    finds(NOTHING, 0, 0);
}

static void rusts_vec_says_capacity_and_length(void **state)
{
    (void)state;
    begin(2400);
    ROOTS(100, AT(0), 7);
    finds(GRAPH_FILL_RUST_VEC, 24, 168);
    begin(2400);
    ROOTS(AT(0), 100, 7); /* of older compilers */
    finds(GRAPH_FILL_RUST_VEC, 24, 168);
    begin(2400);
    ROOTS(7777, AT(0), 7);
    finds(NOTHING, 0, 0);
    begin(2400);
    ROOTS(100, AT(0), 101);
    finds(NOTHING, 0, 0);
}

static void rusts_map_points_behind_its_elements(void **state)
{
    (void)state;
    begin(128 * 16 + 128 + 16);
    ROOTS(AT(0) + 128 * 16, 127, 52, 60);
    finds(GRAPH_FILL_RUST_HASH, 17, 60 * 17);
    begin(128 * 16 + 128 + 16);
    ROOTS(AT(0) + 128 * 16, 127, 53, 60); /* more than seven eighths */
    finds(NOTHING, 0, 0);
    begin(128 * 16 + 128 + 16);
    ROOTS(AT(0) + 127 * 16, 127, 52, 60);
    finds(NOTHING, 0, 0);
}

static void owners_that_differ_are_not_believed(void **state)
{
    (void)state;
    begin(800);
    ROOTS(AT(0), AT(0) + 80, AT(0) + 800);
    ROOTS(AT(0), AT(0) + 80, AT(0) + 800); /* a copy */
    finds(GRAPH_FILL_VECTOR, 0, 80);
    begin(800);
    ROOTS(AT(0), AT(0) + 80, AT(0) + 800);
    ROOTS(AT(0), AT(0) + 88, AT(0) + 800); /* what is left of one that was moved from */
    finds(NOTHING, 0, 0);
    begin(800);
    ROOTS(100, AT(0), 7);
    ROOTS(AT(0), AT(0) + 80, AT(0) + 800);
    finds(GRAPH_FILL_VECTOR, 0, 80);
}

static void a_block_does_not_own_itself(void **state)
{
    (void)state;
    begin(800);
    graph_add_words(&graph, 0, (uint64_t[]){AT(0), AT(0) + 80, AT(0) + 800}, 3);
    finds(NOTHING, 0, 0);
    begin(800);
    graph_add_words(&graph, 1, (uint64_t[]){AT(0), AT(0) + 80, AT(0) + 800}, 3);
    finds(GRAPH_FILL_VECTOR, 0, 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_vector_ends_where_its_block_does),
        cmocka_unit_test(a_string_has_room_for_one_more),
        cmocka_unit_test(a_hash_table_says_when_it_will_grow),
        cmocka_unit_test(rusts_vec_says_capacity_and_length),
        cmocka_unit_test(rusts_map_points_behind_its_elements),
        cmocka_unit_test(owners_that_differ_are_not_believed),
        cmocka_unit_test(a_block_does_not_own_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
