/* Numbers found by what they stand for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "base/map.h"

static bool find(const struct map *map, uint64_t hash, uint32_t wanted)
{
    uint32_t number;
    for (struct map_probe probe = map_probe(map, hash); map_next(&probe, &number);)
        if (number == wanted)
            return true;
    return false;
}

static void what_was_added_is_found_and_nothing_else(void **state)
{
    struct map map = {0};
    (void)state;
    assert_false(find(&map, 7, 0));
    for (uint32_t i = 0; i < 100000; i++) {
        map_add(&map, i * 3ull, i);
        assert_true(map.count * 2 <= map.slot_count);
    }
    for (uint32_t i = 0; i < 100000; i++) {
        assert_true(find(&map, i * 3ull, i));
        assert_false(find(&map, i * 3ull, i + 1));
        assert_false(find(&map, i * 3ull + 1, i));
    }
    map_release(&map);
    assert_false(find(&map, 0, 0));
    map_release(&map);
}

static void all_of_one_hash_come_once(void **state)
{
    struct map map = {0};
    uint32_t number, seen = 0;
    bool is_seen[500] = {false};
    (void)state;
    for (uint32_t i = 0; i < 500; i++)
        map_add(&map, 42, i);
    for (struct map_probe probe = map_probe(&map, 42); map_next(&probe, &number); seen++) {
        assert_in_range(number, 0, 499);
        assert_false(is_seen[number]);
        is_seen[number] = true;
    }
    assert_int_equal(seen, 500);
    map_release(&map);
}

static void hashes_that_differ_in_high_bits_only_are_spread(void **state)
{
    struct map map = {0};
    (void)state;
    for (uint32_t i = 0; i < 4096; i++)
        map_add(&map, (uint64_t)i << 48, i);
    size_t longest = 0, run = 0;
    for (size_t i = 0; i < map.slot_count; i++) {
        run = map.slots[i].number ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    assert_in_range(longest, 1, 64);
    map_release(&map);
}

static void without_memory_all_stays(void **state)
{
    struct map map = {0};
    (void)state;
    assert_true(map_try_add(&map, 1, 5));
    size_t had = map.slot_count;
    assert_false(map_reserve(&map, SIZE_MAX / 2));
    assert_int_equal(map.slot_count, had);
    assert_true(find(&map, 1, 5));
    map_release(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_added_is_found_and_nothing_else),
        cmocka_unit_test(all_of_one_hash_come_once),
        cmocka_unit_test(hashes_that_differ_in_high_bits_only_are_spread),
        cmocka_unit_test(without_memory_all_stays),
    };
    return cmocka_run_group_tests_name("base/map", tests, NULL, NULL);
}
