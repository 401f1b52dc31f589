#include "fixture.h"

#include <stdlib.h>
#include "symbols/range_map.h"

static void later_ranges_cover_earlier_ones(void **state)
{
    (void)state;
    struct range_map map = {0};
    assert_int_equal(range_map_find(&map, 5), RANGE_NONE);
    range_map_add(&map, 10, 100, 1);
    range_map_add(&map, 20, 50, 2);
    range_map_add(&map, 30, 40, 3);
    range_map_add(&map, 70, 70, 4);
    range_map_add(&map, 90, 80, 5);
    assert_int_equal(range_map_find(&map, 9), RANGE_NONE);
    assert_int_equal(range_map_find(&map, 10), 1);
    assert_int_equal(range_map_find(&map, 20), 2);
    assert_int_equal(range_map_find(&map, 39), 3);
    assert_int_equal(range_map_find(&map, 40), 2);
    assert_int_equal(range_map_find(&map, 85), 1);
    assert_int_equal(range_map_find(&map, 100), RANGE_NONE);
    range_map_add(&map, 0, UINT64_MAX, 6);
    assert_int_equal(range_map_find(&map, 35), 6);
    range_map_release(&map);
}

/* Against painting an array. */
static void any_ranges_give_what_painting_gives(void **state)
{
    (void)state;
    srand(1);
    for (int round = 0; round < 500; round++) {
        struct range_map map = {0};
        uint32_t painted[256];
        memset(painted, 0xff, sizeof painted);
        for (uint32_t i = 0; i < 60; i++) {
            unsigned low = (unsigned)rand() % 256, high = low + (unsigned)rand() % 40;
            range_map_add(&map, low, high, i % 7);
            for (unsigned at = low; at < high && at < 256; at++)
                painted[at] = i % 7;
            if (rand() % 8 == 0)
                range_map_seal(&map);
        }
        for (unsigned at = 0; at < 256; at++)
            assert_int_equal(range_map_find(&map, at), painted[at]);
        range_map_release(&map);
    }
}

/* So many that their ends are sorted by digits; addresses of a file, and of the kernel's half. */
static void many_ranges_give_what_painting_gives(void **state)
{
    (void)state;
    enum { ADDRESSES = 5000 };
    static const uint64_t bases[] = {0, 0x401000, 0xffffffff81000000, UINT64_MAX - ADDRESSES};
    static uint32_t painted[ADDRESSES];
    srand(2);
    for (int round = 0; round < 40; round++) {
        struct range_map map = {0};
        uint64_t base = bases[round % 4];
        memset(painted, 0xff, sizeof painted);
        for (uint32_t i = 0; i < 200u + 100u * (unsigned)round; i++) {
            unsigned low = (unsigned)rand() % ADDRESSES, high = low + (unsigned)rand() % 40;
            high = high > ADDRESSES ? ADDRESSES : high;
            range_map_add(&map, base + low, base + high, i);
            for (unsigned at = low; at < high; at++)
                painted[at] = i;
        }
        for (unsigned at = 0; at < ADDRESSES; at++)
            assert_int_equal(range_map_find(&map, base + at), painted[at]);
        range_map_release(&map);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(later_ranges_cover_earlier_ones),
        cmocka_unit_test(any_ranges_give_what_painting_gives),
        cmocka_unit_test(many_ranges_give_what_painting_gives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
