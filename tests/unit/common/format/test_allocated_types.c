/* The type of what a library's function allocates: known where nothing else can be meant. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "format/allocated_types.h"

#define STRING "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"

struct example {
    const char *function, *type; /* NULL: not known; "^": the caller says */
    bool has_lines;
};

static void check(const struct example *example)
{
    struct strbuf type = STRBUF_INIT;
    enum allocated_type found = allocated_type(&type, example->function, example->has_lines);
    if (!example->type)
        assert_int_equal(found, ALLOCATED_UNKNOWN);
    else if (*example->type == '^')
        assert_int_equal(found, ALLOCATED_BY_NEXT);
    else
        assert_string_equal(found == ALLOCATED_FOUND ? type.data : "", example->type);
    strbuf_release(&type);
}

static void an_allocator_says_its_type(void **state)
{
    static const struct example examples[] = {
        {"std::__new_allocator<int>::allocate(unsigned long, void const*)", "int", false},
        {"__gnu_cxx::new_allocator<std::_List_node<Foo> >::allocate(unsigned long, void const*)",
         "std::_List_node<Foo>", true},
        {"std::allocator<a::B<1, 'c'> >::allocate(unsigned long)", "a::B<1, 'c'>", true},
        {"std::__1::allocator<Foo>::allocate[abi:v160006](unsigned long)", "Foo", true},
        {"std::allocator_traits<std::allocator<Foo*> >::allocate(std::allocator<Foo*>&, unsigned "
         "long)",
         "Foo*", true},
        {"std::_Vector_base<Foo, std::allocator<Foo> >::_M_allocate(unsigned long)", "Foo", false},
        {"mine::allocator<Foo>::allocate(unsigned long)", NULL, true},
        {"std::allocator<Foo>::deallocate(Foo*, unsigned long)", NULL, true},
        {"std::_Vector_base<Foo, mine::pool<Foo> >::_M_allocate(unsigned long)", NULL, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        check(&examples[i]);
}

static void a_maker_says_it_where_its_constructors_are_known(void **state)
{
    static const struct example examples[] = {
        {"std::_MakeUniq<Foo>::__single_object std::make_unique<Foo, int>(int&&)", "Foo", true},
        {"std::_MakeUniq<Foo>::__single_object std::make_unique<Foo, int>(int&&)", NULL, false},
        {"std::_MakeUniq<char []>::__array std::make_unique<char []>(unsigned long)", "char", true},
        {"std::shared_ptr<Foo> std::make_shared<Foo>()", NULL, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        check(&examples[i]);
}

static void without_lines_elements_must_be_plain(void **state)
{
    static const struct example examples[] = {
        {"void std::vector<int, std::allocator<int> >::_M_realloc_insert<int const&>(int const&)",
         "int", false},
        {"std::vector<Foo*, std::allocator<Foo*> >::reserve(unsigned long)", "Foo*", false},
        {"void std::vector<Foo, std::allocator<Foo> >::_M_realloc_insert<Foo>(Foo&&)", NULL, false},
        {"std::vector<bool, std::allocator<bool> >::reserve(unsigned long)", NULL, false},
        {"std::vector<int, std::allocator<int> >::assign(my::iterator, my::iterator)", NULL, false},
        {STRING "::_M_create(unsigned long&, unsigned long)", "char", false},
        {"std::deque<int, std::allocator<int> >::push_back(int&&)", NULL, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        check(&examples[i]);
}

static void some_functions_hand_the_call_on(void **state)
{
    static const struct example examples[] = {
        {"operator new(unsigned long)", "^", true},
        {"operator new[](unsigned long, std::nothrow_t const&)", "^", false},
        {"Foo::operator new(unsigned long)", NULL, true},
        {"std::__1::__libcpp_allocate[abi:v160006](unsigned long, unsigned long)", "^", true},
        {"<alloc::alloc::Global as core::alloc::Allocator>::allocate", "^", true},
        {"<alloc::raw_vec::RawVecInner>::try_allocate_in", "^", true},
        {"main", NULL, true},
        {"", NULL, true},
        {"std::", NULL, true},
        {"std::allocator<", NULL, true},
        {"std::allocator<Foo", NULL, true},
        {"std::allocator<>::allocate", NULL, true},
        {">>>", NULL, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        check(&examples[i]);
}

static void rust_says_it_in_newer_names(void **state)
{
    static const struct example examples[] = {
        {"<alloc::boxed::Box<app::Foo>>::new", "app::Foo", true},
        {"<alloc::boxed::Box<app::Foo> as core::clone::Clone>::clone", "app::Foo", true},
        {"<alloc::boxed::Box<app::Foo> as core::clone::Clone>::clone", NULL, false},
        {"<alloc::raw_vec::RawVec<(u32, app::Foo)>>::grow_one", "(u32, app::Foo)", true},
        {"<alloc::raw_vec::RawVec<T>>::grow_one", NULL, true},
        {"<alloc::vec::Vec<u8> as core::clone::Clone>::clone", NULL, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        check(&examples[i]);
}

static void copies_of_texts_are_characters(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {"strdup", "char", false},  {"__strdup", "char", false}, {"strndup", "char", false},
        {"my_strdup", NULL, false}, {"a::strdup", NULL, false},  {"xmalloc", NULL, false}};
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        check(&examples[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_allocator_says_its_type),
        cmocka_unit_test(a_maker_says_it_where_its_constructors_are_known),
        cmocka_unit_test(without_lines_elements_must_be_plain),
        cmocka_unit_test(some_functions_hand_the_call_on),
        cmocka_unit_test(rust_says_it_in_newer_names),
        cmocka_unit_test(copies_of_texts_are_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
