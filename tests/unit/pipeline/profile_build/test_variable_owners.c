/* Pieces of data over variables, against an oracle that asks each byte. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <setjmp.h>
#include <cmocka.h>
#include "../../model/numbers.h"

#include "profile_build/variable_owners.h"

enum { BYTES = 2000, MODULES = 2, MAX_PLACES = 40, MAX_PIECES = 30, STRETCHES = 3 };
#define BIAS 0x550000000000ull

static const char *const modules[] = {"/bin/a", "/lib/b.so"};

struct world {
    struct globals_place places[MODULES][MAX_PLACES];
    size_t place_count[MODULES];
    char names[MODULES][MAX_PLACES][8];
    struct globals_stretch stretches[MODULES][STRETCHES];
    struct proc_touched pieces[MAX_PIECES];
    size_t piece_count;
};

static unsigned below(unsigned limit)
{
    return (unsigned)rand() % limit;
}

/* Module m has [m * BYTES, (m + 1) * BYTES) above BIAS, where its file has [0, BYTES). */
static bool find_module(void *context, uint64_t address, struct variable_module *module)
{
    const struct world *world = context;
    size_t m = (size_t)(address - BIAS) / BYTES;
    *module = (struct variable_module){.start = BIAS + m * BYTES,
                                       .end = BIAS + (m + 1) * BYTES,
                                       .bias = BIAS + m * BYTES,
                                       .places = world->places[m],
                                       .place_count = world->place_count[m],
                                       .stretches = world->stretches[m],
                                       .stretch_count = STRETCHES};
    return true;
}

static void make_places(struct world *world, size_t m)
{
    for (uint64_t at = below(50); at < BYTES && world->place_count[m] < MAX_PLACES;) {
        uint64_t bytes = 1 + below(120);
        size_t i = world->place_count[m];
        if (at + bytes > BYTES)
            break;
        snprintf(world->names[m][i], sizeof world->names[m][i], "v%zu", i);
        world->places[m][world->place_count[m]++] =
            (struct globals_place){at, bytes, world->names[m][i]};
        at += bytes + (below(2) ? below(40) : 0);
    }
    /* with holes, which have no name of a section, and sections of no bytes */
    static const char *const names[STRETCHES] = {"(unnamed .data)", "(unnamed .bss)",
                                                 "(unnamed x)"};
    uint64_t at = below(100);
    for (size_t i = 0; i < STRETCHES; i++) {
        uint64_t bytes = below(3) ? below(BYTES / 3) : 0;
        world->stretches[m][i] = (struct globals_stretch){at, bytes, names[i]};
        at += bytes + below(80);
    }
}

static void make_pieces(struct world *world)
{
    for (uint64_t at = below(100); world->piece_count < MAX_PIECES; at += below(3) * 30) {
        uint64_t end = at + 1 + below(200);
        size_t m = (size_t)at / BYTES;
        if (m >= MODULES)
            break;
        end = end > (m + 1) * BYTES ? (m + 1) * BYTES : end;
        bool there = below(4);
        struct figure bytes = figure_of(end - at), none = figure_of(0);
        world->pieces[world->piece_count++] =
            (struct proc_touched){.start = BIAS + at,
                                  .end = BIAS + end,
                                  .module = modules[m],
                                  .resident_bytes = there ? bytes : none,
                                  .swapped_bytes = there ? none : bytes,
                                  .proportional_bytes = there ? figure_of((end - at) / 2) : none,
                                  .huge_bytes = there && below(2) ? bytes : none,
                                  .shared_bytes = there && below(2) ? bytes : none,
                                  .zero_bytes = FIGURE_UNKNOWN,
                                  .copy_bytes = there && below(2) ? bytes : none,
                                  .compressible_bytes = there ? figure_of((end - at) / 3) : none};
        at = end;
    }
}

/* By the plainest way. */
static const char *stretch_at(const struct world *world, size_t m, uint64_t offset)
{
    for (size_t k = 0; k < STRETCHES; k++)
        if (offset - world->stretches[m][k].address < world->stretches[m][k].bytes)
            return world->stretches[m][k].name;
    return "(unnamed)";
}

static uint64_t bytes_of(const struct world *world, const char *module, const char *name,
                         bool swapped)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < world->piece_count; i++)
        for (uint64_t at = world->pieces[i].start; at < world->pieces[i].end; at++) {
            size_t m = (size_t)(at - BIAS) / BYTES;
            const char *owner = stretch_at(world, m, at - BIAS - m * BYTES);
            for (size_t k = 0; k < world->place_count[m]; k++) {
                const struct globals_place *place = &world->places[m][k];
                uint64_t inside = at - BIAS - m * BYTES - place->address;
                owner = inside < place->bytes ? place->name : owner;
            }
            bool counts = figure_positive(swapped ? world->pieces[i].swapped_bytes
                                                  : world->pieces[i].resident_bytes);
            sum += counts && modules[m] == module && strcmp(owner, name) == 0;
        }
    return sum;
}

static void assert_sum_is_all(const struct world *world, const struct variable_owners *owners)
{
    uint64_t sum = 0, proportional = 0, huge = 0, copy = 0, won = 0, all_won = 0;
    for (size_t i = 0; i < owners->count; i++) {
        sum += number_of(owners->rows[i].resident_bytes);
        proportional += number_of(owners->rows[i].proportional_bytes);
        huge += number_of(owners->rows[i].huge_bytes);
        copy += number_of(owners->rows[i].copy_bytes);
        won += number_of(owners->rows[i].compressible_bytes);
        assert_false(figure_known(owners->rows[i].zero_bytes));
    }
    for (size_t i = 0; i < world->piece_count; i++) {
        sum -= number_of(world->pieces[i].resident_bytes);
        proportional -= number_of(world->pieces[i].proportional_bytes);
        huge -= number_of(world->pieces[i].huge_bytes);
        copy -= number_of(world->pieces[i].copy_bytes);
        all_won += number_of(world->pieces[i].compressible_bytes);
    }
    assert_int_equal(sum, 0);
    assert_int_equal(proportional, 0);
    assert_int_equal(huge, 0);
    assert_int_equal(copy, 0);
    assert_in_range(won, all_won / 2, all_won); /* small shares are rounded down */
}

static void each_byte_is_of_the_variable_that_lies_there(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        static struct world world;
        struct variable_owners owners = VARIABLE_OWNERS_INIT;
        memset(&world, 0, sizeof world);
        make_places(&world, 0);
        make_places(&world, 1);
        make_pieces(&world);
        variable_owners_divide(&owners, world.pieces, world.piece_count, find_module, &world);
        for (size_t i = 0; i < owners.count; i++) {
            const struct profile_owner *row = &owners.rows[i];
            assert_int_equal(row->kind, PROFILE_OWNER_GLOBALS);
            assert_int_equal(number_of(row->resident_bytes),
                             bytes_of(&world, row->module, row->name, false));
            assert_int_equal(number_of(row->swapped_bytes),
                             bytes_of(&world, row->module, row->name, true));
        }
        assert_sum_is_all(&world, &owners);
        size_t limit = below(6);
        uint64_t least = below(200);
        variable_owners_cut(&owners, limit, least);
        for (size_t i = 0, large = 0; i < owners.count; i++) {
            const struct profile_owner *row = &owners.rows[i];
            uint64_t bytes = number_of(row->resident_bytes) + number_of(row->swapped_bytes);
            large += strcmp(row->name, "(smaller variables)") != 0 && bytes >= least;
            assert_true(large <= limit + MODULES);
        }
        assert_sum_is_all(&world, &owners);
        variable_owners_release(&owners);
    }
}

static int compare_rows(const void *left, const void *right)
{
    const struct profile_owner *a = left, *b = right;
    int by_module = strcmp(a->module, b->module);
    return by_module ? by_module : strcmp(a->name, b->name);
}

static void assert_same_row(const struct profile_owner *a, const struct profile_owner *b)
{
    assert_string_equal(a->module, b->module);
    assert_string_equal(a->name, b->name);
    assert_true(figure_equal(a->count, b->count));
    assert_true(figure_equal(a->virtual_bytes, b->virtual_bytes));
    assert_true(figure_equal(a->resident_bytes, b->resident_bytes));
    assert_true(figure_equal(a->swapped_bytes, b->swapped_bytes));
    assert_true(figure_equal(a->proportional_bytes, b->proportional_bytes));
    assert_true(figure_equal(a->huge_bytes, b->huge_bytes));
    assert_true(figure_equal(a->huge_idle_bytes, b->huge_idle_bytes));
    assert_true(figure_equal(a->shared_bytes, b->shared_bytes));
    assert_true(figure_equal(a->zero_bytes, b->zero_bytes));
}

/* Those that can never have a row of their own are joined at once. */
static void small_variables_are_joined_while_pieces_are_divided(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        static struct world world;
        struct variable_owners late = VARIABLE_OWNERS_INIT, early = VARIABLE_OWNERS_INIT;
        uint64_t least = 1 + below(60);
        memset(&world, 0, sizeof world);
        make_places(&world, 0);
        make_places(&world, 1);
        make_pieces(&world);
        early.least_bytes = least;
        variable_owners_divide(&late, world.pieces, world.piece_count, find_module, &world);
        variable_owners_divide(&early, world.pieces, world.piece_count, find_module, &world);
        for (size_t i = 0, joined = 0; i < early.count; i++) {
            joined += strcmp(early.rows[i].name, "(smaller variables)") == 0;
            assert_true(joined <= MODULES);
        }
        variable_owners_cut(&late, SIZE_MAX, least);
        variable_owners_cut(&early, SIZE_MAX, least);
        assert_int_equal(early.count, late.count);
        if (late.count) {
            qsort(late.rows, late.count, sizeof *late.rows, compare_rows);
            qsort(early.rows, early.count, sizeof *early.rows, compare_rows);
        }
        for (size_t i = 0; i < late.count; i++)
            assert_same_row(&early.rows[i], &late.rows[i]);
        variable_owners_release(&late);
        variable_owners_release(&early);
    }
}

static bool find_none(void *context, uint64_t address, struct variable_module *module)
{
    (void)context, (void)address, (void)module;
    return false;
}

static void what_lies_in_no_known_module_has_no_name(void **state)
{
    (void)state;
    struct variable_owners owners = VARIABLE_OWNERS_INIT;
    const struct proc_touched piece = {
        .start = BIAS, .end = BIAS + 4096, .module = modules[1], .resident_bytes = FIGURE_OF(4096)};
    variable_owners_divide(&owners, &piece, 1, find_none, NULL);
    assert_int_equal(owners.count, 1);
    assert_string_equal(owners.rows[0].name, "(unnamed)");
    assert_string_equal(owners.rows[0].module, "/lib/b.so");
    assert_int_equal(number_of(owners.rows[0].resident_bytes), 4096);
    variable_owners_release(&owners);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_byte_is_of_the_variable_that_lies_there),
        cmocka_unit_test(small_variables_are_joined_while_pieces_are_divided),
        cmocka_unit_test(what_lies_in_no_known_module_has_no_name),
    };
    const char *given = getenv("SEED");
    unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : (unsigned)time(NULL);
    printf("SEED=%u\n", seed);
    srand(seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
