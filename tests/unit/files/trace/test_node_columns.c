/* Call-path nodes come back as they were, whatever tree they make; blocks rest on those before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "trace/trace_format.h"
#include "trace/node_columns.h"
#include <cmocka.h>

enum { ADDRESSES = 3000, MANY = NODES_RESTART + 3 * FORMAT_BLOCK_NODES };

static uint64_t random_state;

static uint32_t dice(uint32_t sides)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % sides;
}

static int seed(void **state)
{
    (void)state;
    random_state = (uint64_t)time(NULL) ^ (uint64_t)getpid() << 20;
    print_message("seed %llu\n", (unsigned long long)random_state);
    return 0;
}

static struct trace_node random_node(uint32_t number)
{
    struct trace_node node = {.ip = 0x555500000000u + dice(ADDRESSES) * 17u, .parent = number - 1};

    if (!number)
        return (struct trace_node){0};
    if (dice(6) == 0)
        node.parent = dice(number);
    if (dice(50) == 0) /* marks, and what no program has */
        node.ip = dice(2) ? dice(16) : (uint64_t)dice(1u << 30) << 34 | dice(7);
    return node;
}

/* Writes so many nodes, block by block; reads them with one model. A block for which `lost` says so
 * is not read. Returns how many blocks could not be; `last`: the last one could. */
static unsigned round_trip(uint32_t count, const struct trace_node *nodes,
                           bool (*lost)(unsigned block), bool *last)
{
    struct node_columns_encoder encoder;
    struct node_columns_model *model = node_columns_model_new();
    struct trace_node *got = malloc(FORMAT_BLOCK_NODES * sizeof *got);
    unsigned sound = 0, block = 0;

    assert_int_equal(node_columns_encoder_init(&encoder), 0);
    assert_non_null(model);
    for (uint32_t at = 0; at < count; block++) {
        struct byte_source columns[NODES_COLUMNS];
        uint32_t size = 1 + dice(FORMAT_BLOCK_NODES);
        for (uint32_t i = 0; i < size && at + i < count; i++)
            assert_int_equal(node_columns_add(&encoder, &nodes[at + i]), 0);
        for (unsigned i = 0; i < NODES_COLUMNS; i++)
            columns[i] = (struct byte_source){
                encoder.columns[i].data, encoder.columns[i].data + encoder.columns[i].count, false};
        *last = !lost(block) &&
                node_columns_decode(model, columns, encoder.first, encoder.count, got) == 0;
        if (*last) {
            for (uint32_t i = 0; i < encoder.count; i++)
                assert_true(got[i].ip == nodes[at + i].ip && got[i].parent == nodes[at + i].parent);
            sound++;
        }
        at += encoder.count;
        node_columns_begin_block(&encoder);
    }
    node_columns_encoder_release(&encoder);
    node_columns_model_free(model);
    free(got);
    print_message("%u of %u blocks\n", sound, block);
    return block - sound;
}

static struct trace_node *random_tree(uint32_t count)
{
    struct trace_node *nodes = malloc(count * sizeof *nodes);

    for (uint32_t i = 0; i < count; i++)
        nodes[i] = random_node(i);
    return nodes;
}

static bool none(unsigned block)
{
    (void)block;
    return false;
}

static bool the_second(unsigned block)
{
    return block == 1;
}

static void any_tree_comes_back(void **state)
{
    struct trace_node *nodes = random_tree(MANY);
    bool last;

    (void)state;
    assert_int_equal(round_trip(MANY, nodes, none, &last), 0);
    free(nodes);
}

/* A recursion so deep that no ancestor is looked for at its beginning, and one address only. */
static void a_deep_recursion_comes_back(void **state)
{
    enum { DEPTH = 100000 };
    struct trace_node *nodes = calloc(2 * DEPTH, sizeof *nodes);
    bool last;

    (void)state;
    for (uint32_t i = 1; i < 2 * DEPTH; i++)
        nodes[i] = (struct trace_node){0x400000, i < DEPTH ? i - 1 : i - DEPTH};
    assert_int_equal(round_trip(2 * DEPTH, nodes, none, &last), 0);
    free(nodes);
}

/* What rests on a block that is lost is not read as something else; from the restart on all is. */
static void after_a_lost_block_the_next_restart_is_read(void **state)
{
    struct trace_node *nodes = random_tree(MANY);
    unsigned missing;
    bool last;

    (void)state;
    missing = round_trip(MANY, nodes, the_second, &last);
    assert_true(missing >= NODES_RESTART / FORMAT_BLOCK_NODES - 1);
    assert_true(last);
    free(nodes);
}

/* A parent that does not come before its child is the root. */
static void parents_that_cannot_be_are_the_root(void **state)
{
    struct node_columns_encoder encoder;
    struct byte_source columns[NODES_COLUMNS];
    struct node_columns_model *model = node_columns_model_new();
    struct trace_node got[3];

    (void)state;
    assert_int_equal(node_columns_encoder_init(&encoder), 0);
    node_columns_add(&encoder, &(struct trace_node){0, 0});
    node_columns_add(&encoder, &(struct trace_node){0x1000, 1});
    node_columns_add(&encoder, &(struct trace_node){0x2000, UINT32_MAX});
    for (unsigned i = 0; i < NODES_COLUMNS; i++)
        columns[i] = (struct byte_source){
            encoder.columns[i].data, encoder.columns[i].data + encoder.columns[i].count, false};
    assert_int_equal(node_columns_decode(model, columns, 0, 3, got), 0);
    assert_int_equal(got[1].parent, 0);
    assert_int_equal(got[2].parent, 0);
    assert_int_equal(got[2].ip, 0x2000);
    node_columns_encoder_release(&encoder);
    node_columns_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_tree_comes_back),
        cmocka_unit_test(a_deep_recursion_comes_back),
        cmocka_unit_test(after_a_lost_block_the_next_restart_is_read),
        cmocka_unit_test(parents_that_cannot_be_are_the_root),
    };
    return cmocka_run_group_tests(tests, seed, NULL);
}
