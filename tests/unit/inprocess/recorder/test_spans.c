/* Spans of addresses against an array that says of each address which span it is in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "recorder/spans.h"

enum { PLACES = 512, ROUNDS = 100000 };

static struct spans spans;
static uint32_t root;
static uintptr_t tags[PLACES + 1]; /* 0: no span */

static void clear(size_t from, size_t to)
{
    spans_clear(&spans, &root, from, to);
    memset(tags + from, 0, (to - from) * sizeof *tags);
}

static void put(size_t from, size_t to, uintptr_t tag)
{
    uint32_t number = spans_new(&spans, &(struct span){from, to - from, tag});
    assert_true(number > 0);
    spans_insert(&spans, &root, number);
    for (size_t i = from; i < to; i++)
        tags[i] = tag;
}

static uintptr_t tag_at(size_t address)
{
    uint32_t number = spans_floor(&spans, root, address);
    const struct span *span = number ? &spans_node(&spans, number)->span : NULL;
    return span && address - span->address < span->bytes ? span->tag : 0;
}

/* All of them in order: none overlaps the next, and each place has the tag that the array says. */
static void check(void)
{
    size_t covered = 0;
    for (uint32_t number; (number = spans_ceiling(&spans, root, covered)) != 0;) {
        const struct span *span = &spans_node(&spans, number)->span;
        for (; covered < span->address; covered++)
            assert_int_equal(tags[covered], 0);
        for (; covered < span->address + span->bytes; covered++)
            assert_int_equal(tags[covered], span->tag);
    }
    for (; covered <= PLACES; covered++)
        assert_int_equal(tags[covered], 0);
}

static void any_spans_are_as_an_array_has_them(void **unused)
{
    (void)unused;
    srand(1);
    for (uintptr_t round = 1; round <= ROUNDS; round++) {
        size_t from = (size_t)rand() % PLACES, to = from + 1 + (size_t)rand() % 40;
        to = to < PLACES ? to : PLACES;
        clear(from, to);
        if (rand() % 3)
            put(from, to, round);
        size_t at = (size_t)rand() % PLACES;
        assert_int_equal(tag_at(at), tags[at]);
        if (round % 1000 == 0)
            check();
    }
    check();
    assert_true(spans.count <= PLACES); /* nodes are used again */
}

static void what_is_left_of_a_chunk_is_one(void **unused)
{
    (void)unused;
    spans_forget(&spans);
    root = 0;
    memset(tags, 0, sizeof tags);
    put(100, 200, 7);
    spans_node(&spans, spans_floor(&spans, root, 100))->is_chunk = true;
    clear(120, 150);
    assert_true(spans_node(&spans, spans_floor(&spans, root, 119))->is_chunk);
    assert_true(spans_node(&spans, spans_floor(&spans, root, 150))->is_chunk);
    assert_int_equal(spans_overlapping(&spans, root, 120, 150), 0);
    check();
}

static void a_child_forgets_what_was_half_done(void **unused)
{
    struct thread *thread = (struct thread *)&spans; /* whoever */
    (void)unused;
    assert_false(spans_begin_in_child(&spans));
    assert_true(spans_lock(&spans, thread));
    assert_false(spans_lock(&spans, thread)); /* its signal handler */
    assert_true(spans_begin_in_child(&spans));
    assert_true(spans_lock(&spans, thread));
    spans_unlock(&spans);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_spans_are_as_an_array_has_them),
        cmocka_unit_test(what_is_left_of_a_chunk_is_one),
        cmocka_unit_test(a_child_forgets_what_was_half_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
