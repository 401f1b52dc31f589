/* The parts by themselves: the table of classes, the page map's runs of bits, red-black trees
 * against sorted arrays, what the tracer draws. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>
#include "bfm/bins.h"
#include "bfm/classes.h"
#include "bfm/mark.h"
#include "bfm/rb.h"

static void each_request_gets_the_smallest_class_that_holds_it(void **unused)
{
    (void)unused;
    for (size_t bytes = 0; bytes <= SMALL_MAX; bytes++) {
        unsigned code = class_code(bytes);
        assert_in_range(code, 1, CLASS_COUNT);
        assert_true(bfm_class_bytes[code] >= bytes);
        assert_true(code == 1 || bfm_class_bytes[code - 1] < (bytes ? bytes : 1));
        assert_true(bfm_class_bytes[code] - bytes <= (bytes > 416 ? 31 : 15) || bytes == 0);
    }
}

static void classes_fill_their_records(void **unused)
{
    (void)unused;
    for (unsigned code = 1; code < CLASS_CODES; code++) {
        assert_int_equal(bfm_class_bytes[code] % ALIGN, 0);
        assert_int_equal(bfm_class_blocks[code], PAGE_BYTES / bfm_class_bytes[code]);
        assert_true(PAGE_BYTES % bfm_class_bytes[code] <= PAGE_BYTES / 27);
        /* A class that fits no more often than a larger one would only waste. */
        assert_true(code == CLASS_COUNT || bfm_class_blocks[code] > bfm_class_blocks[code + 1]);
        for (size_t offset = 0; offset < PAGE_BYTES; offset++)
            assert_int_equal(class_index(code, offset), offset / bfm_class_bytes[code]);
    }
}

static void bins_are_in_the_order_of_sizes(void **unused)
{
    (void)unused;
    for (size_t size = TREE_MIN; size < (size_t)1 << 21; size += ALIGN) {
        assert_true(bin_of(size) >= bin_of(size - ALIGN));
        assert_true(bin_of(size) <= bin_of(size - ALIGN) + 1);
    }
    assert_true(bin_of(((size_t)1 << 31) - ALIGN) < BIN_COUNT);
}

/* One of u bytes with the probability 1 - exp(-u / mean), whatever came before, at each level, also
 * while the level changes: what the tracer's estimates rest on. Five deviations. */
static void chunks_are_marked_by_their_bytes(void **unused)
{
    static const size_t sizes[] = {520, 1000, 5000, 30000};
    enum { DRAWS = 1000000 };
    double bytes = 0, estimate = 0, variance = 0;

    (void)unused;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int draw = 0; draw < DRAWS; draw++) {
            enum mark_source source = draw % 3 ? MARK_SHELF : MARK_TREE;
            bytes += (double)sizes[i];
            if (mark_bytes_draw(sizes[i], source)) {
                double p = 1 - exp(-(double)sizes[i] / (double)bfm_mark_bytes.drawn_mean);
                estimate += (double)sizes[i] / p;
                variance += (double)sizes[i] * (double)sizes[i] * (1 - p) / (p * p);
            }
        }
    assert_true(bfm_mark_bytes.pace.level > 0); /* this thread does nothing else */
    assert_true(fabs(estimate - bytes) < 5 * sqrt(variance));
    assert_true(mark_bytes_draw(MARK_SURE, MARK_TREE));
}

static void each_level_doubles_a_mean(void **unused)
{
    (void)unused;
    for (unsigned level = 0; level < MARK_LEVELS; level++)
        for (int source = MARK_TREE; source <= MARK_SHELF; source++) {
            size_t mean = mark_mean(level, source);
            assert_true(mean >= MARK_BYTES && mean <= 8 * MARK_BYTES);
            assert_true(!level || mean >= mark_mean(level - 1, source));
        }
    assert_int_equal(mark_mean(MARK_LEVELS - 1, MARK_TREE), 4 * MARK_BYTES);
    assert_int_equal(mark_mean(0, MARK_SHELF), MARK_BYTES);
    assert_int_equal(mark_mean(3, MARK_TREE), MARK_BYTES);
    assert_int_equal(mark_mean(3, MARK_SHELF), 8 * MARK_BYTES);
}

/* Lets marks pass at this distance. Returns the level in the end. */
static unsigned pace_after(struct mark_pace *pace, unsigned marks, uint64_t ns_each)
{
    for (unsigned i = 0; i < marks; i += MARK_WINDOW)
        mark_pace_note(pace, pace->cpu_ns + MARK_WINDOW * ns_each);
    return pace->level;
}

static void the_pace_bounds_marks_by_processor_time(void **unused)
{
    struct mark_pace pace = {0, 0, (int64_t)MARK_CREDIT * MARK_NS};

    (void)unused;
    assert_int_equal(pace_after(&pace, 100000, MARK_NS), 0);
    assert_int_equal(pace_after(&pace, MARK_CREDIT, 1000), 0); /* a heap that is being built */
    assert_int_equal(pace_after(&pace, MARK_CREDIT / 8, 1000), 1);
    assert_int_equal(pace_after(&pace, 100000, MARK_NS / 8), MARK_LEVELS - 1);
    assert_int_equal(pace_after(&pace, 100000, MARK_NS * 2), 0);
    /* In the child of a fork the time of the thread begins again. */
    pace.cpu_ns = UINT64_MAX / 2;
    mark_pace_note(&pace, 5);
    assert_int_equal(pace.level, 0);
    assert_int_equal(pace.cpu_ns, 5);
}

enum { NODES = 3000 };

static struct rb_node nodes[NODES];
static struct rb_node *root;

/* The tree's order is that of the nodes' addresses. Returns the black height. */
static unsigned check(const struct rb_node *node, const struct rb_node *low,
                      const struct rb_node *high)
{
    unsigned left, right;

    if (!node)
        return 1;
    assert_true((!low || low < node) && (!high || node < high));
    if (!rb_is_black(node))
        assert_true(rb_parent(node) && rb_is_black(rb_parent(node)));
    left = check(node->left, low, node);
    right = check(node->right, node, high);
    assert_int_equal(left, right);
    return left + rb_is_black(node);
}

static void insert(struct rb_node *node)
{
    struct rb_node **link = &root, *parent = NULL;

    while (*link) {
        parent = *link;
        link = node < parent ? &parent->left : &parent->right;
    }
    rb_insert(&root, parent, link, node);
}

static size_t count(const struct rb_node *node)
{
    return node ? 1 + count(node->left) + count(node->right) : 0;
}

static void trees_stay_balanced(void **unused)
{
    static bool inside[NODES];
    unsigned live = 0;

    (void)unused;
    srand(42);
    for (int i = 0; i < 40000; i++) {
        /* Runs in order, runs backwards, and anything. */
        int which = i % 9000 < 3000   ? i % NODES
                    : i % 9000 < 6000 ? NODES - 1 - i % NODES
                                      : rand() % NODES;
        if (inside[which])
            rb_remove(&root, &nodes[which]);
        else
            insert(&nodes[which]);
        live += inside[which] ? -1u : 1;
        inside[which] = !inside[which];
        if (i % 97 == 0 || i < 300) {
            check(root, NULL, NULL);
            assert_int_equal(count(root), live);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_request_gets_the_smallest_class_that_holds_it),
        cmocka_unit_test(classes_fill_their_records),
        cmocka_unit_test(bins_are_in_the_order_of_sizes),
        cmocka_unit_test(chunks_are_marked_by_their_bytes),
        cmocka_unit_test(each_level_doubles_a_mean),
        cmocka_unit_test(the_pace_bounds_marks_by_processor_time),
        cmocka_unit_test(trees_stay_balanced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
