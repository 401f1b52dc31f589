/* Trees and call paths of random dominators, against the plainest sums: for each block all that is
 * above it. Dominators themselves are test_graph.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include "graph/holder_tree.h"

enum { HOLDERS = 3, BLOCKS = 50, RANGES = 2, ORDERS = 1 + HOLDERS + BLOCKS + RANGES };
enum { GROUPS = 3, PATHS = 6, ROUNDS = 2000 };

struct sample {
    struct graph graph;
    struct graph_block blocks[BLOCKS];
    uint32_t nodes[ORDERS], orders[ORDERS], dominators[ORDERS];
    struct graph_dominators found;
    uint32_t groups[ORDERS];
    struct graph_shares shares;
    uint32_t paths[BLOCKS];
};

static uint64_t random_state = 0x7654321;

static uint32_t random_below(uint32_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state % limit);
}

/* Holders come first in their rank, blocks and ranges after them in any order. */
static void sample_make(struct sample *sample)
{
    memset(sample, 0, sizeof *sample);
    sample->graph = (struct graph){
        .blocks = sample->blocks, .count = BLOCKS, .range_count = RANGES, .keeps_holders = true};
    uint32_t count = 1, used = 1 + HOLDERS;
    for (uint32_t i = 0; i < BLOCKS; i++) {
        sample->blocks[i] = (struct graph_block){0x1000 + 64 * i, random_below(60)};
        sample->paths[i] = 1 + random_below(PATHS);
    }
    for (uint32_t holder = 0; holder < HOLDERS; holder++) {
        sample->nodes[count] = 1 + holder;
        sample->dominators[count++] = 0;
        for (uint32_t left = random_below(20); left && used < ORDERS; left--) {
            sample->nodes[count] = used++;
            sample->dominators[count] = random_below(8) ? count - 1 - random_below(count - 1) : 0;
            count++;
        }
    }
    sample->found = (struct graph_dominators){.holder_count = HOLDERS,
                                              .node_count = ORDERS,
                                              .count = count,
                                              .unheld = GRAPH_NONE,
                                              .nodes = sample->nodes,
                                              .orders = sample->orders,
                                              .dominators = sample->dominators};
    for (uint32_t order = 0; order < ORDERS; order++)
        sample->groups[order] = random_below(GROUPS);
    sample->shares = (struct graph_shares){.group_of = sample->groups};
}

static uint32_t sample_path(void *context, uint32_t block)
{
    const struct sample *sample = context;
    return sample->paths[block];
}

static uint32_t sample_range(void *context, uint32_t range)
{
    (void)context;
    return range;
}

static uint32_t sample_block(const struct sample *sample, uint32_t order)
{
    uint32_t node = sample->nodes[order];
    return node > HOLDERS && node <= HOLDERS + BLOCKS ? node - 1 - HOLDERS : GRAPH_NONE;
}

/* What the path retains, by asking each block for all that is above it. */
static void check_path(const struct sample *sample, const struct holder_path *row)
{
    uint64_t bytes = 0, count = 0;
    for (uint32_t order = 1; order < sample->found.count; order++) {
        uint32_t block = sample_block(sample, order), at = order;
        if (block == GRAPH_NONE)
            continue;
        for (; at; at = sample->dominators[at])
            if (sample_block(sample, at) != GRAPH_NONE &&
                sample->paths[sample_block(sample, at)] == row->path)
                break;
        bytes += at ? sample->blocks[block].size_bytes : 0;
        count += at != 0;
    }
    assert_int_equal(row->retained_bytes, bytes);
    assert_int_equal(row->retained_count, count);
}

static void check_tree(const struct sample *sample, const struct holder_tree *tree)
{
    uint64_t own = 0, all = 0, top = 0;
    for (uint32_t order = 1; order < sample->found.count; order++)
        if (sample_block(sample, order) != GRAPH_NONE)
            all += sample->blocks[sample_block(sample, order)].size_bytes;
    for (size_t i = 0; i < tree->count; i++) {
        const struct holder_group *group = &tree->groups[i];
        uint64_t below = group->own_bytes;
        assert_true(group->parent == GRAPH_NONE || group->parent < i);
        for (size_t k = i + 1; k < tree->count; k++)
            below += tree->groups[k].parent == i ? tree->groups[k].retained_bytes : 0;
        assert_int_equal(group->retained_bytes, below);
        own += group->own_bytes;
        top += group->parent == GRAPH_NONE ? group->retained_bytes : 0;
    }
    assert_int_equal(own, all);
    assert_int_equal(top, all);
}

/* What a holder retains is what it dominates. */
static void check_holders(const struct sample *sample, const struct holder_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++) {
        uint64_t bytes = 0;
        if (tree->groups[i].kind != HOLDER_ROOT)
            continue;
        for (uint32_t order = 1; order < sample->found.count; order++) {
            uint32_t at = order, block = sample_block(sample, order);
            while (sample->dominators[at])
                at = sample->dominators[at];
            if (block != GRAPH_NONE && sample->nodes[at] == 1 + tree->groups[i].key)
                bytes += sample->blocks[block].size_bytes;
        }
        assert_int_equal(tree->groups[i].retained_bytes, bytes);
    }
}

static void random_trees(void **state)
{
    (void)state;
    static struct sample sample;
    for (int round = 0; round < ROUNDS; round++) {
        sample_make(&sample);
        const struct holder_names names = {sample_path, sample_range, &sample};
        struct holder_tree tree;
        struct holder_path *paths;
        size_t count;
        assert_int_equal(
            holder_tree_make(&tree, &sample.graph, &sample.found, &sample.shares, &names), 0);
        check_tree(&sample, &tree);
        check_holders(&sample, &tree);
        assert_int_equal(holder_tree_cut(&tree, random_below(200), random_below(4)), 0);
        check_tree(&sample, &tree);
        holder_tree_release(&tree);
        assert_int_equal(holder_paths_make(&paths, &count, &sample.graph, &sample.found, &names),
                         0);
        for (size_t i = 0; i < count; i++)
            check_path(&sample, &paths[i]);
        free(paths);
    }
}

/* A list whose nodes have names: two groups, however long. */
static void a_list_is_one_group(void **state)
{
    (void)state;
    static struct sample sample;
    sample_make(&sample);
    sample.nodes[1] = 1;
    for (uint32_t i = 0; i < 40; i++) {
        sample.nodes[2 + i] = 1 + HOLDERS + i;
        sample.paths[i] = 1 + i % 2;
        sample.dominators[2 + i] = i % 2 ? 1 + i : i < 2 ? 1 : i; /* a name hangs below its node */
        sample.blocks[i].size_bytes = 10;
    }
    sample.found.count = 42;
    const struct holder_names names = {sample_path, sample_range, &sample};
    struct holder_tree tree;
    assert_int_equal(holder_tree_make(&tree, &sample.graph, &sample.found, &sample.shares, &names),
                     0);
    assert_int_equal(tree.count, 3);
    assert_int_equal(tree.groups[0].retained_bytes, 400);
    assert_int_equal(tree.groups[1].own_count, 20);
    assert_int_equal(tree.groups[2].parent, 1);
    assert_int_equal(tree.groups[2].retained_count, 20);
    holder_tree_release(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_list_is_one_group),
                                       cmocka_unit_test(random_trees)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
