/* Which functions are the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "diff/identity.h"

static void clones_are_their_function(void **state)
{
    (void)state;
    /* clang-format off */
    static const char *const names[][2] = {
        {"f(int) [clone .constprop.0]", "f(int)"}, {"f.part.0", "f"},
        {"f.isra.0.cold", "f"},                    {"f.constprop.3.isra.1", "f"},
        {"f.lto_priv.0", "f"},                     {"f.llvm.123456", "f"},
        {"f.7", "f.7"},                            {"operator new(unsigned long)",
                                                    "operator new(unsigned long)"},
        {"f.partly", "f.partly"},                  {".cold", ".cold"},
        {"", ""},                                  {"f(int) [clone .a] [clone .b]", "f(int)"},
        {"[stack] cc1plus 4711", "[stack] cc1plus"}, {"[stack] worker 2 815", "[stack] worker 2"},
        {"[stack] 815", "[stack] 815"},            {"[file] libgmp.so.10.4.1", "[file] libgmp.so"},
        {"[file] cc1plus", "[file] cc1plus"},      {"[stack] ", "[stack] "},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct strbuf out = STRBUF_INIT;
        identity_add_name(&out, names[i][0]);
        assert_string_equal(out.data, names[i][1]);
        strbuf_release(&out);
    }
}

static void of_modules_the_version_does_not_count(void **state)
{
    (void)state;
    static const char *const names[][2] = {{"/usr/lib/libstdc++.so.6.0.33", "libstdc++.so"},
                                           {"/lib/libc-2.36.so", "libc.so"},
                                           {"libx.so", "libx.so"},
                                           {"/opt/my-3d-tool", "my-3d-tool"},
                                           {"libgtk-3.so.0", "libgtk.so"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct strbuf out = STRBUF_INIT;
        identity_add_module(&out, names[i][0]);
        assert_string_equal(out.data, names[i][1]);
        strbuf_release(&out);
    }
}

/* Two profiles: in the first two functions are called init, in two files. */
static void of_one_name_in_two_files_each_is_its_own(void **state)
{
    (void)state;
    struct profile_function first[] = {{"?", NULL, NULL},
                                       {"init", NULL, "/a/x.c"},
                                       {"init", NULL, "/a/y.c"},
                                       {"main", NULL, "/a/m.c"},
                                       {"main.cold", NULL, "/a/m.c"}};
    struct profile_function second[] = {{"?", NULL, NULL},
                                        {"main", NULL, "/b/other.c"},
                                        {"init", NULL, "/b/y.c"},
                                        {"init", NULL, "/b/z.c"}};
    struct profile a = {.function_count = 5, .functions = first},
                   b = {.function_count = 4, .functions = second};
    const struct profile *profiles[] = {&a, &b};
    struct identities identities;
    assert_int_equal(identities_init(&identities, profiles, 2), 0);
    const uint32_t *of_a = identities.by_key[0], *of_b = identities.by_key[1];
    assert_int_not_equal(of_a[1], of_a[2]);
    assert_int_equal(of_a[2], of_b[2]);
    assert_int_not_equal(of_b[3], of_a[1]);
    assert_int_equal(of_a[3], of_a[4]);
    assert_int_equal(of_a[3], of_b[1]);
    assert_string_equal(identities.of[of_a[1]].name, "init");
    assert_string_equal(identities.of[of_a[3]].file, "/b/other.c");
    identities_release(&identities);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clones_are_their_function),
        cmocka_unit_test(of_modules_the_version_does_not_count),
        cmocka_unit_test(of_one_name_in_two_files_each_is_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
