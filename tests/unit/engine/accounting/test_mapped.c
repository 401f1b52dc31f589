/* Ranges that the program has mapped, against a map of pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "accounting/mapped.h"

enum { PAGE = 4096, PAGES = 200 };
#define BASE 0x7f0000000000ull

static bool is_mapped(const struct mapped *mapped, uint64_t address)
{
    for (size_t i = 0; i < mapped->count; i++)
        if (mapped->ranges[i].start <= address && address < mapped->ranges[i].end)
            return true;
    return false;
}

static void assert_agrees(const struct mapped *mapped, const bool pages[PAGES])
{
    for (size_t page = 0; page < PAGES; page++)
        assert_int_equal(is_mapped(mapped, BASE + page * PAGE), pages[page]);
    for (size_t i = 0; i < mapped->count; i++) {
        assert_true(mapped->ranges[i].start < mapped->ranges[i].end);
        assert_true(!i || mapped->ranges[i - 1].end <= mapped->ranges[i].start);
    }
}

static void any_sequence_agrees_with_pages(void **state)
{
    (void)state;
    unsigned seed = (unsigned)time(NULL);
    print_message("seed %u\n", seed);
    srand(seed);
    for (unsigned trial = 0; trial < 200; trial++) {
        struct mapped mapped = {0};
        bool pages[PAGES] = {false};
        uint64_t born[PAGES] = {0};
        for (unsigned step = 0; step < 100; step++) {
            size_t first = (size_t)rand() % PAGES, count = (size_t)rand() % 20;
            uint64_t bytes = count * PAGE - (count ? (uint64_t)rand() % PAGE : 0);
            bool add = rand() % 2;
            if (first + count > PAGES)
                continue;
            uint64_t ticks = 2 * step;
            uint64_t before = add || rand() % 2 ? ticks : (uint64_t)rand() % (ticks + 1);
            (add ? mapped_add : mapped_remove)(&mapped, BASE + first * PAGE, bytes, before);
            for (size_t page = first; page < first + count; page++) {
                if (add)
                    born[page] = ticks;
                pages[page] = add || (pages[page] && born[page] > before);
            }
            assert_agrees(&mapped, pages);
        }
        mapped_release(&mapped);
    }
}

/* An mremap that began at 100 and was told of at 200; another thread was given the middle of what
 * it left, and told of that first. */
static void what_came_meanwhile_stays(void **state)
{
    (void)state;
    struct mapped mapped = {0};
    mapped_add(&mapped, BASE, 30 * PAGE, 50);
    mapped_add(&mapped, BASE + 10 * PAGE, 5 * PAGE, 150);
    mapped_remove(&mapped, BASE, 30 * PAGE, 100);
    assert_int_equal(mapped.count, 1);
    assert_int_equal(mapped.ranges[0].start, BASE + 10 * PAGE);
    assert_int_equal(mapped.ranges[0].end, BASE + 15 * PAGE);
    mapped_remove(&mapped, BASE, 30 * PAGE, 150); /* what is as old as the call was there */
    assert_int_equal(mapped.count, 0);
    mapped_release(&mapped);
}

static void mad_ranges_do_no_harm(void **state)
{
    (void)state;
    struct mapped mapped = {0};
    mapped_add(&mapped, UINT64_MAX - 10, UINT64_MAX, 0);
    mapped_add(&mapped, BASE, UINT64_MAX, 0);
    mapped_add(&mapped, 0, UINT64_MAX, 0);
    mapped_remove(&mapped, UINT64_MAX, UINT64_MAX, 0);
    mapped_remove(&mapped, 0, UINT64_MAX, 0);
    assert_int_equal(mapped.count, 0);
    mapped_release(&mapped);
}

static void too_many_are_given_up(void **state)
{
    (void)state;
    struct mapped mapped = {0};
    for (uint64_t i = 0; i < MAPPED_MAX; i++)
        mapped_add(&mapped, BASE + 2 * i * PAGE, PAGE, 0);
    assert_false(mapped.overflowed);
    mapped_add(&mapped, BASE - 2 * PAGE, PAGE, 0);
    assert_true(mapped.overflowed);
    assert_int_equal(mapped.count, 0);
    mapped_add(&mapped, BASE, PAGE, 0);
    mapped_remove(&mapped, BASE, PAGE, 0);
    assert_int_equal(mapped.count, 0);
    mapped_release(&mapped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_sequence_agrees_with_pages),
        cmocka_unit_test(what_came_meanwhile_stays),
        cmocka_unit_test(mad_ranges_do_no_harm),
        cmocka_unit_test(too_many_are_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
