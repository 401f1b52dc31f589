/* The ledger of requested sizes against a plain list of what was put. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#include "counters/ledger.h"

#define LEAF (1ul << LEDGER_LEAF_SHIFT)
#define BASE (LEAF * 5)

static void *at(uintptr_t address)
{
    return (void *)address;
}

static void nothing_is_known_of_what_was_not_put(void **state)
{
    (void)state;
    assert_true(ledger_size(at(BASE)) == LEDGER_UNKNOWN);
    assert_true(ledger_take(at(BASE)) == LEDGER_UNKNOWN);
    assert_true(ledger_take(at(UINTPTR_MAX - 7)) == LEDGER_UNKNOWN);
    assert_true(ledger_put(at(BASE), 24));
    assert_int_equal(ledger_take(at(BASE)), 24);
    assert_true(ledger_size(at(BASE)) == LEDGER_UNKNOWN);
}

static void every_size_around_the_borders_comes_back(void **state)
{
    (void)state;
    static const uint64_t borders[] = {0,     8,         16,       256, 2560, LEDGER_TWO_BYTES_MOST,
                                       65536, 1ul << 32, 1ul << 46};
    for (size_t i = 0; i < sizeof borders / sizeof *borders; i++)
        for (uint64_t size = borders[i] > 20 ? borders[i] - 20 : 0; size < borders[i] + 20;
             size++) {
            assert_true(ledger_put(at(BASE), size));
            assert_int_equal(ledger_size(at(BASE)), size);
            assert_int_equal(ledger_take(at(BASE)), size);
            for (uintptr_t granule = 0; granule < 16; granule++)
                assert_true(ledger_size(at(BASE + granule * 8)) == LEDGER_UNKNOWN);
        }
}

static void a_large_block_may_begin_at_the_end_of_a_leaf(void **state)
{
    (void)state;
    uintptr_t address = BASE + LEAF - 8;
    assert_true(ledger_put(at(address), 1ul << 40));
    assert_true(ledger_put(at(BASE + LEAF + (1ul << 40)), 5));
    assert_int_equal(ledger_take(at(address)), 1ul << 40);
    assert_int_equal(ledger_take(at(BASE + LEAF + (1ul << 40))), 5);
}

/* Blocks side by side as the tightest of allocators would lay them, freed and laid anew at
 * random. */
static void neighbours_do_not_disturb_each_other(void **state)
{
    enum { PLACES = 4096, STEPS = 400000 };
    static uint64_t sizes[PLACES]; /* of the block that begins at a granule; LEDGER_UNKNOWN: none */
    static unsigned owner[PLACES]; /* granule + 1 where the block that covers it begins */
    unsigned seed = (unsigned)time(NULL);
    (void)state;
    print_message("seed %u\n", seed);
    for (unsigned i = 0; i < PLACES; i++)
        sizes[i] = LEDGER_UNKNOWN;
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned place = (unsigned)rand_r(&seed) % PLACES;
        uint64_t size = (unsigned)rand_r(&seed) % (step % 3 ? 24 : 500);
        unsigned granules = size ? (unsigned)(size + 7) / 8 : 1;
        if (owner[place]) {
            place = owner[place] - 1;
            assert_int_equal(ledger_take(at(BASE + place * 8)), sizes[place]);
            for (unsigned i = place; i < PLACES && owner[i] == place + 1; i++)
                owner[i] = 0;
            sizes[place] = LEDGER_UNKNOWN;
            continue;
        }
        bool is_free = place + granules <= PLACES;
        for (unsigned i = 0; is_free && i < granules; i++)
            is_free = !owner[place + i];
        if (!is_free)
            continue;
        assert_true(ledger_put(at(BASE + place * 8), size));
        sizes[place] = size;
        for (unsigned i = 0; i < granules; i++)
            owner[place + i] = place + 1;
        unsigned other = (unsigned)rand_r(&seed) % PLACES;
        if (sizes[other] != LEDGER_UNKNOWN)
            assert_int_equal(ledger_size(at(BASE + other * 8)), sizes[other]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_of_what_was_not_put),
        cmocka_unit_test(every_size_around_the_borders_comes_back),
        cmocka_unit_test(a_large_block_may_begin_at_the_end_of_a_leaf),
        cmocka_unit_test(neighbours_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
