/* Inclusive and exclusive metrics against path-by-path counting. The seed is printed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "random_profile.h"
#include "aggregate/functions_top.h"
#include "aggregate/order.h"
#include "aggregate/metric_choice.h"
#include "aggregate/top_down.h"

/* ---- By brute force: every path on its own ------------------------------------------------- */

struct expected {
    struct merged_metrics *exclusive, *inclusive; /* by key */
};

static bool by_library; /* what `keys_of` gives */

/* The first module of that path; behind all modules come those of no module, as functions have
 * them. */
static uint32_t library_key(const struct profile *profile, uint32_t code)
{
    uint32_t function = function_key(profile, code, profile->codes[code].first_line), index;
    uint32_t module = profile->codes[code].module, first = 0;
    if (!code || profile->codes[code].mark || module == UINT32_MAX) {
        enum function_key_kind kind = code && !profile->codes[code].mark
                                          ? FUNCTION_KEY_ANONYMOUS
                                          : function_key_kind(profile, function, &index);
        return (uint32_t)profile->module_count + kind - FUNCTION_KEY_ANONYMOUS;
    }
    while (strcmp(profile->modules[first].path, profile->modules[module].path) != 0)
        first++;
    return first;
}

static uint32_t key_of(const struct profile *profile, uint32_t code, uint32_t line)
{
    return by_library ? library_key(profile, code) : function_key(profile, code, line);
}

static size_t key_count(const struct profile *profile)
{
    return by_library ? functions_library_key_count(profile) : function_key_count(profile);
}

/* Keys of a path's frames that are not hidden, innermost first. */
static size_t keys_of(const struct profile *profile, const bool *hidden, uint32_t node,
                      uint32_t *keys)
{
    size_t count = 0;
    for (uint32_t at = node; at; at = profile->nodes[at].parent) {
        uint32_t location = profile->nodes[at].location;
        const struct profile_code *code = &profile->codes[location];
        for (uint32_t i = 0; i < code->line_count; i++)
            if (!hidden || !hidden[code->first_line + i])
                keys[count++] = key_of(profile, location, code->first_line + i);
    }
    if (!count) {
        uint32_t location = profile->nodes[node].location;
        keys[count++] = key_of(profile, location, profile->codes[location].first_line);
    }
    return count;
}

static struct expected count_paths(const struct profile *profile, const bool *hidden,
                                   const bool *wanted)
{
    size_t keys = key_count(profile);
    struct expected expected = {calloc(keys, sizeof *expected.exclusive),
                                calloc(keys, sizeof *expected.inclusive)};
    uint32_t *path = calloc(4 * profile->node_count + 4, sizeof *path);
    for (size_t i = 0; i < profile->site_count; i++) {
        const struct profile_site *site = &profile->sites[i];
        if (wanted && !wanted[site->path])
            continue;
        size_t count = keys_of(profile, hidden, site->path, path);
        merged_add_path(&expected.exclusive[path[0]], &site->metrics);
        for (size_t j = 0; j < count; j++) {
            bool before = false;
            for (size_t k = 0; k < j; k++)
                before |= path[k] == path[j];
            if (!before)
                merged_add_path(&expected.inclusive[path[j]], &site->metrics);
        }
    }
    free(path);
    return expected;
}

static void assert_same(const struct merged_metrics *is, const struct merged_metrics *should)
{
    assert_int_equal(is->paths, should->paths);
    if (is->paths)
        assert_memory_equal(&is->metrics, &should->metrics, sizeof is->metrics);
}

static void check(const struct profile *profile, const bool *hidden, const bool *wanted)
{
    struct functions functions;
    struct expected expected = count_paths(profile, hidden, wanted);
    assert_int_equal((by_library ? functions_init_libraries : functions_init)(&functions, profile,
                                                                              hidden, wanted),
                     0);
    size_t seen = 0;
    for (size_t key = 0; key < key_count(profile); key++) {
        if (!expected.inclusive[key].paths)
            continue;
        assert_true(seen < functions.count);
        const struct function_row *row = &functions.rows[seen++];
        assert_int_equal(row->key, key);
        assert_int_equal(key_of(profile, row->code, row->line), key);
        assert_same(&row->inclusive, &expected.inclusive[key]);
        assert_same(&row->exclusive, &expected.exclusive[key]);
    }
    assert_int_equal(seen, functions.count);
    functions_release(&functions);
    free(expected.exclusive);
    free(expected.inclusive);
}

/* The way of functions from the root to a node of the tree is the way of a path. */
static void check_tree(const struct profile *profile, const bool *hidden, const bool *wanted)
{
    struct top_down tree;
    const struct metric_row *row = METRIC_ROW(alloc_bytes);
    assert_int_equal(top_down_init(&tree, profile, row, hidden, wanted), 0);
    uint64_t *exclusive = calloc(tree.count, sizeof *exclusive);
    uint64_t *inclusive = calloc(tree.count, sizeof *inclusive);
    uint32_t *path = calloc(4 * profile->node_count + 4, sizeof *path);
    for (size_t i = 0; i < profile->site_count; i++) {
        const struct profile_site *site = &profile->sites[i];
        uint64_t bytes = figure_or(site->metrics.alloc_bytes, 0);
        if (!bytes || (wanted && !wanted[site->path]))
            continue;
        size_t count = keys_of(profile, hidden, site->path, path);
        uint32_t at = 0;
        inclusive[0] += bytes;
        while (count--) {
            uint32_t child = tree.nodes[at].first_child;
            while (child && tree.nodes[child].key != path[count])
                child = tree.nodes[child].next;
            assert_true(child != 0);
            inclusive[at = child] += bytes;
        }
        exclusive[at] += bytes;
    }
    for (size_t i = 0; i < tree.count; i++) {
        assert_true(figure_equal(tree.nodes[i].inclusive, figure_of(inclusive[i])));
        assert_true(figure_equal(tree.nodes[i].exclusive, figure_of(exclusive[i])));
        assert_true(!i || figure_positive(tree.nodes[i].inclusive));
    }
    for (size_t i = 0; i < tree.count; i++) {
        top_down_sort(&tree, (uint32_t)i);
        struct figure last = figure_of(UINT64_MAX), sum = tree.nodes[i].exclusive;
        for (uint32_t at = tree.nodes[i].first_child; at; at = tree.nodes[at].next) {
            assert_false(figure_less(last, tree.nodes[at].inclusive));
            last = tree.nodes[at].inclusive;
            sum = figure_add(sum, last);
        }
        assert_true(figure_equal(sum, tree.nodes[i].inclusive));
    }
    free(exclusive);
    free(inclusive);
    free(path);
    top_down_release(&tree);
}

/* What top_down_visit_frames() has told, each function once. */
struct told {
    const struct profile *profile;
    bool *has_key;
    uint32_t frames[512][2];
    size_t count;
};

static void tell(void *context, uint32_t code, uint32_t line)
{
    struct told *told = context;
    uint32_t key = function_key(told->profile, code, line);
    if (told->has_key[key])
        return;
    told->has_key[key] = true;
    told->frames[told->count][0] = code;
    told->frames[told->count++][1] = line;
}

/* Without a tree its frames are told as the tree has them, and in its order. */
static void check_frames(const struct profile *profile, const bool *hidden, const bool *wanted)
{
    static struct told told;
    struct top_down tree;
    const struct metric_row *row = METRIC_ROW(alloc_bytes);
    bool *has_key = calloc(function_key_count(profile), sizeof *has_key);
    told = (struct told){.profile = profile, .has_key = has_key};
    assert_int_equal(top_down_visit_frames(profile, row, hidden, wanted, tell, &told), 0);
    assert_int_equal(top_down_init(&tree, profile, row, hidden, wanted), 0);
    size_t next = 0;
    for (size_t i = 1; i < tree.count; i++) {
        const struct top_down_node *node = &tree.nodes[i];
        if (!has_key[node->key])
            continue;
        has_key[node->key] = false;
        assert_true(next < told.count);
        assert_int_equal(told.frames[next][0], node->code);
        assert_int_equal(told.frames[next++][1], node->line);
    }
    assert_int_equal(next, told.count);
    top_down_release(&tree);
    free(has_key);
}

static void as_counted_path_by_path(void **state)
{
    (void)state;
    random_state = (uint64_t)time(NULL) ^ (uint64_t)clock() << 32;
    print_message("seed %llu\n", (unsigned long long)random_state);
    for (int round = 0; round < 300; round++) {
        uint32_t nodes = 1 + random_below(round % 10 ? 60 : 600);
        struct profile *profile = random_profile(
            (struct random_size){1 + random_below(12), random_below(3), 2 + random_below(40), nodes,
                                 random_below(nodes + 1), 1 + random_below(20)});
        bool *hidden = calloc(profile->line_count, 1), *wanted = calloc(profile->node_count, 1);
        for (size_t i = 0; i < profile->line_count; i++)
            hidden[i] = !random_below(3);
        for (size_t i = 0; i < profile->node_count; i++)
            wanted[i] = random_below(4);
        check(profile, NULL, NULL);
        check(profile, hidden, NULL);
        check(profile, hidden, wanted);
        by_library = true;
        check(profile, NULL, NULL);
        check(profile, hidden, NULL);
        check(profile, hidden, wanted);
        by_library = false;
        check_tree(profile, NULL, NULL);
        check_tree(profile, hidden, wanted);
        check_frames(profile, NULL, NULL);
        check_frames(profile, hidden, wanted);
        free(hidden);
        free(wanted);
        random_profile_free(profile);
    }
}

/* One long recursion: no stack of ours is as deep, and every level has a site. */
static void a_recursion_of_any_depth(void **state)
{
    (void)state;
    struct profile *profile = random_profile((struct random_size){4, 0, 8, 300000, 300000, 1});
    struct functions functions;
    assert_int_equal(functions_init(&functions, profile, NULL, NULL), 0);
    struct figure exclusive = figure_of(0), total = figure_of(0);
    for (size_t i = 0; i < profile->site_count; i++)
        total = figure_add(total, profile->sites[i].metrics.alloc_count);
    for (size_t i = 0; i < functions.count; i++) {
        exclusive = figure_add(exclusive, functions.rows[i].exclusive.metrics.alloc_count);
        assert_false(figure_less(total, functions.rows[i].inclusive.metrics.alloc_count));
    }
    assert_true(figure_equal(exclusive, total));
    functions_release(&functions);
    random_profile_free(profile);
}

/* A chain with a leaf at every node, before or behind the chain's next one: whichever is entered
 * first, only a few sums may be kept. */
static void a_comb(void **state)
{
    (void)state;
    for (uint32_t leaf_first = 0; leaf_first < 2; leaf_first++) {
        struct profile *profile = random_profile((struct random_size){40, 1, 60, 400, 400, 1});
        profile->site_count = 0;
        for (uint32_t i = 1; i < profile->node_count; i++) {
            bool leaf = i % 2 == leaf_first;
            profile->nodes[i].parent = i < 4 ? 0 : leaf_first ? (i - 2) & ~1u : (i - 2) | 1;
            if (!leaf && i + 2 < profile->node_count)
                continue;
            profile->sites[profile->site_count].path = i;
            profile->sites[profile->site_count++].metrics = random_metrics();
        }
        check(profile, NULL, NULL);
        random_profile_free(profile);
    }
}

static void nothing_in_it(void **state)
{
    (void)state;
    struct profile *profile = random_profile((struct random_size){1, 0, 2, 1, 0, 1});
    profile->site_count = 0;
    struct functions functions;
    struct top_down tree;
    assert_int_equal(functions_init(&functions, profile, NULL, NULL), 0);
    assert_int_equal(functions.count, 0);
    assert_int_equal(top_down_init(&tree, profile, 0, NULL, NULL), 0);
    assert_int_equal(tree.count, 1);
    functions_release(&functions);
    top_down_release(&tree);
    random_profile_free(profile);
}

/* What one path does not know is unknown of every function on it, and no 0. */
static void what_is_unknown_stays_unknown(void **state)
{
    (void)state;
    struct profile *profile = random_profile((struct random_size){4, 0, 8, 60, 60, 3});
    struct functions functions;
    struct top_down tree;
    assert_true(profile->site_count > 0);
    for (size_t i = 0; i < profile->site_count; i++)
        profile->sites[i].metrics.alloc_bytes = FIGURE_UNKNOWN;
    assert_int_equal(functions_init(&functions, profile, NULL, NULL), 0);
    for (size_t i = 0; i < functions.count; i++)
        assert_false(figure_known(functions.rows[i].inclusive.metrics.alloc_bytes));
    functions_release(&functions);
    assert_int_equal(top_down_init(&tree, profile, METRIC_ROW(alloc_bytes), NULL, NULL), 0);
    assert_false(figure_known(tree.nodes[0].inclusive));
    top_down_release(&tree);
    random_profile_free(profile);
}

static const struct function_row *row_of(const struct functions *functions, uint32_t key)
{
    for (size_t i = 0; i < functions->count; i++)
        if (functions->rows[i].key == key)
            return &functions->rows[i];
    return NULL;
}

/* What is asked for alone is what it is among all, and below the first ones too. `most`: of more
 * than 64 functions, what is below them is looked for in several passes. */
static void the_first_are_as_among_all(struct random_size size, size_t most)
{
    const struct metric *const only[] = {&metrics[3], &metrics[0]};
    struct functions top, all;
    struct profile *profile = random_profile(size);
    bool *hidden = calloc(profile->line_count, 1);
    for (size_t i = 0; i < profile->line_count; i++)
        hidden[i] = !random_below(3);
    assert_int_equal(functions_init(&all, profile, hidden, NULL), 0);
    assert_int_equal(functions_init_top(&top, profile, hidden, only, 2, most), 0);
    for (size_t j = 0; j < 2; j++) {
        size_t metric = (size_t)(only[j] - metrics);
        uint32_t *order = order_functions(&all, metric, false),
                 *order_top = order_functions(&top, metric, false);
        for (size_t i = 0; i < top.count; i++) {
            const struct function_row *row = &top.rows[order_top[i]],
                                      *wanted = row_of(&all, row->key);
            assert_non_null(wanted);
            assert_int_equal(row->exclusive.paths, wanted->exclusive.paths);
            assert_true(figure_equal(metric_of(only[j], &row->exclusive.metrics),
                                     metric_of(only[j], &wanted->exclusive.metrics)));
            assert_false(figure_known(row->exclusive.metrics.size_max));
            if (i >= most)
                continue;
            assert_true(figure_equal(metric_of(only[j], &row->exclusive.metrics),
                                     metric_of(only[j], &all.rows[order[i]].exclusive.metrics)));
            assert_int_equal(row->inclusive.paths, wanted->inclusive.paths);
            assert_true(figure_equal(metric_of(only[j], &row->inclusive.metrics),
                                     metric_of(only[j], &wanted->inclusive.metrics)));
        }
        free(order);
        free(order_top);
    }
    functions_release(&top);
    functions_release(&all);
    free(hidden);
    random_profile_free(profile);
}

static void some_metrics_are_as_among_all(void **state)
{
    (void)state;
    random_state = (uint64_t)time(NULL) ^ (uint64_t)clock() << 32;
    print_message("seed %llu\n", (unsigned long long)random_state);
    for (int round = 0; round < 50; round++)
        the_first_are_as_among_all((struct random_size){8, 1, 20, 60, 40, 3}, 1 + random_below(9));
    for (int round = 0; round < 5; round++)
        the_first_are_as_among_all((struct random_size){300, 1, 500, 3000, 2000, 3}, 150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_counted_path_by_path),
        cmocka_unit_test(some_metrics_are_as_among_all),
        cmocka_unit_test(a_recursion_of_any_depth),
        cmocka_unit_test(what_is_unknown_stays_unknown),
        cmocka_unit_test(a_comb),
        cmocka_unit_test(nothing_in_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
