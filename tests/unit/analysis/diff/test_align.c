/* Calls in line: what people would say, and against all ways there are. The seed is printed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "diff/align.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void expect(const struct align_call *before, size_t before_count,
                   const struct align_call *after, size_t after_count, const int32_t *partners)
{
    int32_t got[64];
    assert_int_equal(align_calls(before, before_count, after, after_count, got), 0);
    for (size_t i = 0; i < before_count; i++)
        assert_int_equal(got[i], partners[i]);
}
#define EXPECT(before, after, ...)                                                                 \
    expect(before, COUNT(before), after, COUNT(after), (const int32_t[]){__VA_ARGS__})

static void a_function_that_moved_as_a_whole_is_the_same(void **state)
{
    (void)state;
    const struct align_call before[] = {{10, 1}, {12, 2}, {20, 2}},
                            after[] = {{110, 1}, {112, 2}, {120, 2}};
    EXPECT(before, after, 0, 1, 2);
}

static void a_call_in_between_is_new(void **state)
{
    (void)state;
    const struct align_call before[] = {{10, 1}, {12, 2}, {20, 2}},
                            after[] = {{15, 1}, {17, 2}, {21, 2}, {25, 2}};
    EXPECT(before, after, 0, 1, 3);
}

static void a_call_that_went_has_no_partner(void **state)
{
    (void)state;
    const struct align_call before[] = {{10, 1}, {14, 2}, {15, 2}, {16, 3}},
                            after[] = {{10, 1}, {14, 2}, {15, 3}};
    EXPECT(before, after, 0, 1, ALIGN_NONE, 2);
}

static void calls_of_others_are_never_the_same(void **state)
{
    (void)state;
    const struct align_call before[] = {{10, 1}}, after[] = {{10, 2}};
    EXPECT(before, after, ALIGN_NONE);
}

static void thousands_of_calls_go_by_their_rank(void **state)
{
    (void)state;
    enum { MANY = 500 };
    struct align_call calls[MANY];
    int32_t partner[MANY];
    for (uint32_t i = 0; i < MANY; i++)
        calls[i] = (struct align_call){i, 1};
    assert_int_equal(align_calls(calls, MANY, calls, MANY - 1, partner), 0);
    for (int32_t i = 0; i < MANY; i++)
        assert_int_equal(partner[i], i < MANY - 1 ? i : ALIGN_NONE);
}

/* ---- All ways ------------------------------------------------------------------------------ */

static uint64_t state_of_random;
static uint32_t below(uint32_t limit)
{
    state_of_random = state_of_random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state_of_random >> 33) % limit);
}

struct all {
    const struct align_call *before, *after;
    size_t before_count, after_count;
    int32_t partner[8];
    int64_t best;
};

static void try_all(struct all *all, size_t at, int32_t from)
{
    if (at == all->before_count) {
        int64_t score = align_score(all->before, at, all->after, all->partner);
        all->best = score > all->best ? score : all->best;
        return;
    }
    all->partner[at] = ALIGN_NONE;
    try_all(all, at + 1, from);
    for (int32_t j = from; (size_t)j < all->after_count; j++)
        if (all->before[at].callee == all->after[j].callee) {
            all->partner[at] = j;
            try_all(all, at + 1, j + 1);
        }
}

static size_t random_calls(struct align_call *calls)
{
    size_t count = below(7);
    uint32_t line = 1 + below(30);
    for (size_t i = 0; i < count; i++) {
        line += 1 + below(12);
        calls[i] = (struct align_call){line, 1 + below(3)};
    }
    return count;
}

static void no_way_is_better(void **state)
{
    (void)state;
    uint64_t seed = state_of_random = (uint64_t)time(NULL);
    for (int round = 0; round < 3000; round++) {
        struct align_call before[8], after[8];
        struct all all = {before, after, random_calls(before), random_calls(after), {0}, 0};
        int32_t partner[8];
        try_all(&all, 0, 0);
        assert_int_equal(align_calls(before, all.before_count, after, all.after_count, partner), 0);
        int32_t last = -1;
        for (size_t i = 0; i < all.before_count; i++) {
            if (partner[i] == ALIGN_NONE)
                continue;
            assert_true(partner[i] > last && (size_t)partner[i] < all.after_count);
            assert_int_equal(before[i].callee, after[partner[i]].callee);
            last = partner[i];
        }
        int64_t score = align_score(before, all.before_count, after, partner);
        if (score != all.best)
            printf("seed %llu, round %d\n", (unsigned long long)seed, round);
        assert_int_equal(score, all.best);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_that_moved_as_a_whole_is_the_same),
        cmocka_unit_test(a_call_in_between_is_new),
        cmocka_unit_test(a_call_that_went_has_no_partner),
        cmocka_unit_test(calls_of_others_are_never_the_same),
        cmocka_unit_test(thousands_of_calls_go_by_their_rank),
        cmocka_unit_test(no_way_is_better),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
