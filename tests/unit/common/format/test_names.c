/* Names that fit, and frames that are not the program's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "format/names.h"

/* A frame with all that is known of it. */
static bool name_is_library(const char *function, const char *linkage, const char *file,
                            const char *module)
{
    return name_is_library_module(module) || name_is_library_function(function, linkage, file);
}

static void assert_short(const char *name, size_t columns, const char *expected)
{
    struct strbuf out = STRBUF_INIT;
    name_add_short(&out, name, columns);
    assert_string_equal(out.data, expected);
    strbuf_release(&out);
}

static void return_types_and_parameters_go_first(void **state)
{
    (void)state;
    assert_short("main", 40, "main");
    assert_short("int ns::f<int>(char, long)", 40, "ns::f<int>");
    assert_short("std::vector<int> make<int>(int)", 40, "make<int>");
    assert_short("ns::C::operator()(int) const", 40, "ns::C::operator()");
    assert_short("std::ostream& ns::operator<< <int>(std::ostream&, int)", 40,
                 "ns::operator<< <int>");
    assert_short("std::string std::operator+<char, std::char_traits<char> >(char const*)", 40,
                 "std::operator+<…>");
    assert_short("bool ns::operator><int>(A<int> const&)", 40, "ns::operator><int>");
    assert_short("A ns::operator-><int, A<b::c, long> >(int)", 20, "ns::operator-><…>");
    assert_short("auto ns::operator<=><int>(int)", 40, "ns::operator<=><int>");
    assert_short("operator new(unsigned long)", 40, "operator new");
    assert_short("(anonymous namespace)::run(int)", 40, "(anonymous)::run");
    assert_short("main::{lambda(int)#1}::operator()(int) const", 60,
                 "main::{lambda(int)#1}::operator()");
    assert_short("f(int)::g::h()", 40, "f(int)::g::h");
    assert_short("build_table [clone .cold]", 40, "build_table");
    assert_short("main program [clone .cold]", 40, "main program"); /* gfortran's */
    assert_short("main programs(int)", 40, "programs");
    assert_short("[file] libc.so.6", 40, "[file] libc.so.6"); /* ours, and no return type */
    assert_short("C::name[abi:cxx11]() const", 40, "C::name");
    assert_short("C::operator std::string() const", 40, "C::operator std::string");
}

static void methods_of_go_keep_their_receivers(void **state)
{
    (void)state;
    assert_short("runtime.(*mheap).grow", 40, "runtime.(*mheap).grow");
    assert_short("github.com/evanw/esbuild/internal/js_parser.(*parser).visitStmts", 60,
                 "js_parser.(*parser).visitStmts");
    assert_short("github.com/evanw/esbuild/internal/js_parser.Parse", 60, "js_parser.Parse");
    assert_short("gopkg.in/yaml.v3.(*Node).Decode.func1", 60, "yaml.v3.(*Node).Decode.func1");
    assert_short("net/http.(*Server).Serve", 40, "net/http.(*Server).Serve");
    assert_short("main.main.func1", 40, "main.main.func1");
    assert_short("main.Map[github.com/user/pkg.T]", 60, "main.Map[github.com/user/pkg.T]");
    assert_short("gopkg.in/yaml.v3.Map[...]", 60, "yaml.v3.Map[...]");
    assert_short("/srv/a/main.php", 40, "/srv/a/main.php");
    assert_short("a.b::f(c/d)", 40, "a.b::f");
}

static void outlined_functions_keep_whose_part_they_are(void **state)
{
    (void)state;
    assert_short("solve [OpenMP region 0]", 40, "solve [OpenMP region 0]");
    assert_short("ns::Mesh<double>::solve(int) [OpenMP region 12] [clone .cold]", 40,
                 "ns::Mesh<…>::solve [OpenMP region 12]");
    assert_short("solve [OpenMP region 0]", 12, "solve"); /* who it is goes first */
    assert_short("evil [OpenMP \033[2J]", 40, "evil [OpenMP \\x1b[2J]");
    assert_short("solve [OpenMP region", 40, "solve");
    assert_int_equal(name_short_bytes("int solve(int) [OpenMP region 0]"),
                     strlen("solve [OpenMP region 0]"));
    assert_int_equal(name_short_bytes("int solve(int)"), strlen("solve"));
}

static void template_arguments_go_from_the_inside_out(void **state)
{
    (void)state;
    static const char name[] = "void a::Field<double, b::Layout<c::Major, 64> >::resize<int>(long)";
    assert_short(name, 60, "a::Field<double, b::Layout<c::Major, 64>>::resize<int>");
    assert_short(name, 45, "a::Field<double, b::Layout<…>>::resize<int>");
    assert_short(name, 30, "a::Field<…>::resize<…>");
    assert_short(name, 15, "a::Fiel…size<…>");
    assert_short("std::_Vector_base<A<int>, std::allocator<A<int> > >::_M_allocate", 28,
                 "std::_Vector_b…::_M_allocate");
    assert_short("f<std::__cxx11::basic_string<char, std::char_traits<char>, "
                 "std::allocator<char> > >()",
                 40, "f<std::string>");
}

static void brackets_of_python_are_part_of_a_name(void **state)
{
    (void)state;
    assert_short("<module>", 40, "<module>");
    assert_short("<module>", 7, "<mo…le>");
    assert_short("Parser.read_all_of_it.<locals>.<listcomp>", 38,
                 "Parser.read_all_of_…locals>.<listcomp>");
    assert_short("<alloc::vec::Vec<T> as core::clone::Clone>::clone", 20, "<…>::clone");
    assert_short("<alpha>::clone_into_another", 25, "<…>::clone_into_another");
    assert_short("Field.<alpha, beta, gamma>", 12, "Field.<…>");
}

static void a_file_with_blanks_is_a_whole_name(void **state)
{
    (void)state;
    assert_short("/srv/my scripts/a b.php", 40, "/srv/my scripts/a b.php");
    assert_short("/srv/my (old) script.php", 40, "/srv/my (old) script.php");
}

static void names_are_safe_on_a_terminal(void **state)
{
    (void)state;
    assert_short("evil\033[2J()", 40, "evil\\x1b[2J");
}

static void places_lose_their_leading_directories(void **state)
{
    (void)state;
    struct strbuf out = STRBUF_INIT;
    name_add_place(&out, "/home/ann/solver/src/mesh.cpp", 118, 22);
    assert_string_equal(out.data, "…/src/mesh.cpp:118");
    strbuf_reset(&out);
    name_add_place(&out, "mesh.cpp", 0, 22);
    assert_string_equal(out.data, "mesh.cpp");
    strbuf_release(&out);
}

static void library_frames_are_known(void **state)
{
    (void)state;
    assert_true(name_is_library("runtime.mallocgc", NULL, "runtime/malloc.go", "/usr/bin/x"));
    assert_true(name_is_library("main._Cfunc__CMalloc", NULL, "_cgo_gotypes.go", "/usr/bin/x"));
    assert_true(name_is_library("x_cgo_mmap", NULL, NULL, "/usr/bin/x"));
    assert_false(name_is_library("runtime.main", NULL, "/srv/x.cc", "/usr/bin/x"));
    assert_false(name_is_library("main.(*store).fill", NULL, "/srv/x.go", "/usr/bin/x"));
    assert_true(name_is_library("std::vector<int>::push_back(int)", NULL, NULL, NULL));
    assert_true(name_is_library("void std::__sort<int*>(int*, int*)", NULL, NULL, NULL));
    assert_true(name_is_library("operator new(unsigned long)", NULL, NULL, NULL));
#define NEW(name, libraries, demangled, ...)                                                       \
    assert_true(name_is_library(demangled, NULL, NULL, NULL));                                     \
    assert_true(name_is_library(#name, #name, NULL, NULL));
#define DELETE NEW
#include "interpose/functions.def"
    assert_true(name_is_library("__gnu_cxx::new_allocator<int>::allocate(unsigned long)", NULL,
                                NULL, NULL));
    assert_true(
        name_is_library("<alloc::vec::Vec<T> as core::clone::Clone>::clone", NULL, NULL, NULL));
    assert_true(name_is_library("loads", NULL, "/usr/lib/python3.11/json/__init__.py", NULL));
    assert_true(name_is_library("_find_and_load", NULL, "<frozen importlib._bootstrap>", NULL));
    assert_false(
        name_is_library("read", NULL, "/usr/lib/python3/dist-packages/yaml/reader.py", NULL));
    assert_false(
        name_is_library("read", NULL, "/opt/lib/python3.12/site-packages/pandas/io.py", NULL));
    assert_false(name_is_library("load", NULL, "leak.py", NULL));
    assert_true(name_is_library("PyArray_NewFromDescr_int", NULL, NULL,
                                "/x/_multiarray_umath.cpython-311-x86_64-linux-gnu.so"));
    /* Perl's modules, as Debian and others install them; and what is installed beside them. */
    assert_true(name_is_library("croak", NULL, "/usr/share/perl/5.36/Carp.pm", NULL));
    assert_true(
        name_is_library("min", NULL, "/usr/lib/x86_64-linux-gnu/perl-base/List/Util.pm", NULL));
    assert_true(name_is_library("min", NULL, "/opt/perls/5.40/lib/5.40.0/List/Util.pm", NULL));
    assert_true(name_is_library("x", NULL, NULL,
                                "/usr/lib/x86_64-linux-gnu/perl/5.36/auto/POSIX/POSIX.so"));
    assert_false(name_is_library("x", NULL, "/usr/share/perl5/JSON.pm", NULL));
    assert_false(name_is_library("x", NULL, "/opt/lib/perl5/site_perl/5.36/JSON.pm", NULL));
    assert_false(name_is_library("x", NULL, NULL, "/home/u/auto/perl/x.so"));
    /* PHP's own functions, and what Debian installs; not an application's vendors. */
    assert_true(name_is_library("str_repeat", NULL, "[internal function]", NULL));
    assert_true(
        name_is_library("x", NULL, "/usr/share/php/Symfony/Component/Yaml/Parser.php", NULL));
    assert_false(name_is_library("x", NULL, "/srv/www/vendor/a/b.php", NULL));
    /* Lua's native functions and extensions; not packages. */
    assert_true(name_is_library("gsub", NULL, "[C]", NULL));
    assert_true(name_is_library("x", NULL, NULL, "/usr/lib/x86_64-linux-gnu/lua/5.4/lpeg.so"));
    assert_false(name_is_library("f", NULL, "/usr/share/lua/5.4/pl/List.lua", NULL));
    /* Ruby's own, and what loads files; not gems. */
    assert_true(name_is_library("map", NULL, "[C function]", NULL));
    assert_true(name_is_library("tap", NULL, "<internal:kernel>", NULL));
    assert_true(name_is_library("parse", NULL, "/usr/lib/ruby/3.1.0/csv/parser.rb", NULL));
    assert_true(name_is_library(
        "require", NULL, "/usr/lib/ruby/vendor_ruby/rubygems/core_ext/kernel_require.rb", NULL));
    assert_true(name_is_library("x", NULL, NULL,
                                "/usr/lib/x86_64-linux-gnu/ruby/3.1.0/json/ext/parser.so"));
    assert_false(
        name_is_library("x", NULL, "/usr/local/lib/ruby/gems/3.3.0/gems/a-1/lib/a.rb", NULL));
    assert_false(name_is_library("x", NULL, "/usr/lib/ruby/vendor_ruby/nokogiri.rb", NULL));
    assert_false(name_is_library("f", NULL, NULL, "/home/me/ruby/libengine.so"));
    assert_true(name_is_library("strdup", NULL, NULL, "/lib/x86_64-linux-gnu/libc.so.6"));
    assert_true(
        name_is_library("_gfortran_internal_pack", NULL, NULL, "/usr/lib/libgfortran.so.5"));
    assert_true(name_is_library("_gfortrani_xmallocarray", NULL, NULL, "/home/ann/static"));
    assert_true(name_is_library("xmalloc", NULL, NULL, NULL));
    assert_true(name_is_library("zmalloc_usable", NULL, NULL, NULL));
    assert_false(name_is_library("zmalloc_usable_size", NULL, NULL, NULL));
    assert_true(name_is_library("_PyObject_Malloc", NULL, "Objects/obmalloc.c", NULL));
    assert_false(name_is_library("_PyObject_New", NULL, NULL, NULL));
    assert_true(name_is_library("__zend_malloc", NULL, NULL, "/usr/bin/php8.2"));
    assert_true(name_is_library("av_mallocz", NULL, NULL, NULL));
    assert_true(name_is_library("AcquireQuantumMemory", NULL, NULL, NULL));
    assert_true(
        name_is_library("allocate", NULL, "/usr/include/c++/12/bits/new_allocator.h", NULL));
    assert_false(name_is_library("std::vector<int> user::make<int>(int)", NULL, NULL, NULL));
    assert_false(name_is_library("standard::f()", NULL, NULL, NULL));
    assert_false(name_is_library("main", "main", "main.c", "/home/ann/libcurious"));
    assert_false(name_is_library(NULL, NULL, NULL, NULL));
}

static size_t measured_bytes;

size_t __real_text_width(const char *string);
size_t __wrap_text_width(const char *string);

size_t __wrap_text_width(const char *string)
{
    measured_bytes += strlen(string);
    return __real_text_width(string);
}

/* A path of a stranger's may be long. */
static void a_place_is_measured_in_linear_time(void **state)
{
    (void)state;
    enum { BYTES = 1 << 16 };
    struct strbuf path = STRBUF_INIT, out = STRBUF_INIT;
    strbuf_add_repeated(&path, "d/", BYTES / 2);
    strbuf_add_string(&path, "file.c");
    measured_bytes = 0;
    name_add_place(&out, path.data, 7, 20);
    assert_string_equal(out.data, "…/d/d/d/d/d/file.c:7");
    assert_true(measured_bytes < 8 * BYTES);
    strbuf_release(&path);
    strbuf_release(&out);
}

/* Symbols of a stranger's may have any brackets. */
static void open_brackets_are_read_in_linear_time(void **state)
{
    (void)state;
    enum { BYTES = 1 << 19, SECONDS = 60 };
    struct strbuf name = STRBUF_INIT;
    size_t length;
    assert_short("a{b[c](int)", 40, "a{b[c]");
    assert_short("a{b{c(int)", 40, "a{b{c");
    strbuf_add_repeated(&name, "{", BYTES);
    strbuf_add_repeated(&name, "a[", BYTES);
    alarm(SECONDS); /* each to the end: half an hour */
    assert_ptr_equal(name_core(name.data, &length), name.data);
    alarm(0);
    assert_int_equal(length, name.length);
    strbuf_release(&name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(return_types_and_parameters_go_first),
        cmocka_unit_test(methods_of_go_keep_their_receivers),
        cmocka_unit_test(outlined_functions_keep_whose_part_they_are),
        cmocka_unit_test(template_arguments_go_from_the_inside_out),
        cmocka_unit_test(brackets_of_python_are_part_of_a_name),
        cmocka_unit_test(a_file_with_blanks_is_a_whole_name),
        cmocka_unit_test(names_are_safe_on_a_terminal),
        cmocka_unit_test(places_lose_their_leading_directories),
        cmocka_unit_test(a_place_is_measured_in_linear_time),
        cmocka_unit_test(open_brackets_are_read_in_linear_time),
        cmocka_unit_test(library_frames_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
