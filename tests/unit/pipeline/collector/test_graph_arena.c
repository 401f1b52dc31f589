/* glibc's main arena is found among other words, and nothing else is taken for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <string.h>
#include "collector/graph_arena.h"

enum { COUNT = 400, FIRST = 50, BINS = 254 }; /* words */
static const uint64_t start = 0x7f0000001000;
static uint64_t words[COUNT];

static void make_arena(void)
{
    for (size_t i = 0; i < COUNT; i++)
        words[i] = 0x5000 + i;
    for (size_t i = FIRST; i < FIRST + BINS; i += 2)
        words[i] = words[i + 1] = start + i * 8 - 16;
    words[FIRST] = words[FIRST + 1] = 0x561000; /* a list of two chunks */
    words[FIRST + 20] = 0x562000;
    words[FIRST + 21] = 0x563000;
}

static void bins_top_and_remainder_hold_nothing(void **state)
{
    (void)state;
    make_arena();
    graph_arena_forget(start, words, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        bool is_arena = i >= FIRST - 2 && i < FIRST + BINS;
        assert_int_equal(words[i], is_arena ? 0 : 0x5000 + i);
    }
}

static void what_is_not_whole_or_no_arena_stays(void **state)
{
    uint64_t before[COUNT];
    (void)state;
    make_arena();
    words[FIRST + 7] = 0; /* no list has such a word */
    memcpy(before, words, sizeof words);
    graph_arena_forget(start, words, COUNT);
    assert_memory_equal(words, before, sizeof words);

    make_arena();
    memcpy(before, words, sizeof words);
    graph_arena_forget(start + (FIRST - 1) * 8, words + FIRST - 1, COUNT - FIRST + 1);
    graph_arena_forget(start, words, FIRST + BINS - 2);
    graph_arena_forget(start, words, 1);
    graph_arena_forget(start, words, 0);
    graph_arena_forget(start + 8, words, COUNT); /* at another place they are no bins */
    assert_memory_equal(words, before, sizeof words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bins_top_and_remainder_hold_nothing),
        cmocka_unit_test(what_is_not_whole_or_no_arena_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
