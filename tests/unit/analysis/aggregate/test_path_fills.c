/* Whose containers' fill is sure: by what functions are called, or by nearly all of a path's
 * blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include "aggregate/path_fills.h"

enum { MAIN = 1, CONTAINER, FUNCTIONS, PATH = 2, OTHER = 3 };

/* Node 1 is main, 2 below it the container, 3 another call of main's. */
static struct profile_function functions[FUNCTIONS] = {
    {.name = "?"}, {.name = "main"}, {.name = ""}};
static struct profile_line lines[FUNCTIONS] = {{0}, {MAIN, "a.cpp", 1}, {CONTAINER, "b.h", 2}};
static struct profile_code codes[FUNCTIONS] = {
    {.module = UINT32_MAX},
    {.module = UINT32_MAX, .first_line = 1, .line_count = 1},
    {.module = UINT32_MAX, .first_line = 2, .line_count = 1}};
static struct profile_node nodes[] = {{0, 0}, {0, MAIN}, {1, CONTAINER}, {1, MAIN}};
static struct profile_sample samples[2];
static struct profile_block_fill rows[8];
static bool hidden[FUNCTIONS];
static struct profile profile;

static int begin(void **state)
{
    (void)state;
    functions[CONTAINER].name = "operator new(unsigned long)";
    hidden[CONTAINER] = true;
    samples[0] = (struct profile_sample){.id = 1, .fill_count = FIGURE_OF(1)};
    profile = (struct profile){.node_count = 4,
                               .nodes = nodes,
                               .code_count = FUNCTIONS,
                               .codes = codes,
                               .line_count = FUNCTIONS,
                               .lines = lines,
                               .function_count = FUNCTIONS,
                               .functions = functions,
                               .samples = samples,
                               .sample_count = 1,
                               .block_fills = rows};
    return 0;
}

/* `count` of the path's `live` blocks, of 100 bytes each, of which 10 are used. */
static void row(uint32_t path, int shape, uint32_t unit, uint64_t count, uint64_t live)
{
    rows[profile.block_fill_count++] = (struct profile_block_fill){
        (uint32_t)profile.sample_count, path, shape, unit, count, 100 * count, 10 * count, live};
}

static void finds(uint64_t blocks)
{
    struct path_fills fills;
    assert_int_equal(path_fills_init(&fills, &profile, hidden, NULL), 0);
    assert_int_equal(fills.blocks, blocks);
    assert_int_equal(fills.bytes, 100 * blocks);
    assert_int_equal(fills.used_bytes, 10 * blocks);
    path_fills_release(&fills);
    profile.block_fill_count = 0;
}

static void a_name_says_it_of_few_blocks_too(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int shape;
    } named[] = {
        {"std::vector<int, std::allocator<int> >::reserve(unsigned long)", PROFILE_FILL_VECTOR},
        {"std::_Vector_base<Foo>::_M_allocate(unsigned long)", PROFILE_FILL_VECTOR},
        {"void std::vector<int>::_M_realloc_insert<int>(int&&)", PROFILE_FILL_VECTOR},
        {"std::__cxx11::basic_string<char>::_M_create(unsigned long&)", PROFILE_FILL_STRING},
        {"std::__detail::_Hashtable_alloc<std::allocator<int> >::_M_allocate_buckets(unsigned "
         "long)",
         PROFILE_FILL_HASH},
        {"<alloc::raw_vec::RawVecInner>::try_allocate_in", PROFILE_FILL_RUST_VEC},
        {"<alloc::vec::Vec<u64>>::with_capacity", PROFILE_FILL_RUST_VEC},
        {"alloc::raw_vec::RawVec<T,A>::grow_one", PROFILE_FILL_RUST_VEC},
        {"<hashbrown::raw::RawTable<(u64, u64)>>::reserve_rehash", PROFILE_FILL_RUST_HASH},
    };
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        functions[CONTAINER].name = named[i].name;
        row(PATH, named[i].shape, 0, 1, 1);
        finds(1);
        row(PATH, (named[i].shape + 1) % PROFILE_FILL_SHAPES, 0, 1, 1);
        finds(0);
    }
}

/* What is an argument of a template or of a function did not allocate. */
static void what_a_name_has_inside_says_nothing(void **state)
{
    (void)state;
    functions[CONTAINER].name = "std::list<std::vector<int> >::push_back(std::vector<int> const&)";
    row(PATH, PROFILE_FILL_VECTOR, 0, 1, 1);
    finds(0);
    functions[CONTAINER].name = "std::make_unique(std::vector<int> const&)";
    row(PATH, PROFILE_FILL_VECTOR, 0, 1, 1);
    finds(0);
}

/* The program's own function ends the search: its callers are other containers' business. */
static void callers_of_the_program_say_nothing(void **state)
{
    (void)state;
    functions[MAIN].name = "std::vector<int>::reserve(unsigned long)";
    row(PATH, PROFILE_FILL_VECTOR, 0, 1, 1);
    finds(1);
    hidden[CONTAINER] = false;
    row(PATH, PROFILE_FILL_VECTOR, 0, 1, 1);
    finds(0);
    functions[MAIN].name = "main";
}

static void nearly_all_of_a_paths_blocks_say_it_too(void **state)
{
    (void)state;
    row(PATH, PROFILE_FILL_VECTOR, 0, 16, 17);
    finds(16);
    row(PATH, PROFILE_FILL_VECTOR, 0, 15, 15);
    finds(0);
    row(PATH, PROFILE_FILL_STRING, 1, 90, 100);
    row(OTHER, PROFILE_FILL_STRING, 1, 89, 100);
    finds(90);
    row(PATH, PROFILE_FILL_RUST_VEC, 8, 100, 100); /* three small numbers are not enough */
    finds(0);
}

static void elements_are_of_one_size(void **state)
{
    (void)state;
    functions[CONTAINER].name = "alloc::raw_vec::RawVec<T,A>::grow_one";
    row(PATH, PROFILE_FILL_RUST_VEC, 8, 91, 100);
    row(PATH, PROFILE_FILL_RUST_VEC, 24, 9, 100);
    finds(91);
    row(PATH, PROFILE_FILL_RUST_VEC, 8, 50, 100);
    row(PATH, PROFILE_FILL_RUST_VEC, 24, 50, 100);
    finds(0);
}

static void the_last_look_counts(void **state)
{
    (void)state;
    struct path_fills fills;
    row(PATH, PROFILE_FILL_VECTOR, 0, 16, 16);
    profile.sample_count = 2;
    samples[1] = (struct profile_sample){.id = 2, .fill_count = FIGURE_OF(0)};
    finds(0);
    samples[0].fill_count = samples[1].fill_count = FIGURE_UNKNOWN;
    assert_int_equal(path_fills_init(&fills, &profile, hidden, NULL), 0);
    assert_null(fills.sample);
    path_fills_release(&fills);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_name_says_it_of_few_blocks_too, begin),
        cmocka_unit_test_setup(what_a_name_has_inside_says_nothing, begin),
        cmocka_unit_test_setup(callers_of_the_program_say_nothing, begin),
        cmocka_unit_test_setup(nearly_all_of_a_paths_blocks_say_it_too, begin),
        cmocka_unit_test_setup(elements_are_of_one_size, begin),
        cmocka_unit_test_setup(the_last_look_counts, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
