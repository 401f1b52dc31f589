/* Modules are told apart by path and build-id, which may be as long as a profile's: a trace holds a
 * profile of its names, and somebody else may have written both. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "profile_build/naming.h"

static const char path[] = "/no/such/library.so";

static int add(struct naming *naming, uint8_t filling, size_t bytes)
{
    uint8_t build_id[128];
    memset(build_id, filling, sizeof build_id);
    return naming_add_module(naming, path, build_id, bytes);
}

static void a_build_id_may_be_as_long_as_a_profiles(void **state)
{
    (void)state;
    struct naming *naming = naming_open(getpid());
    int module = add(naming, 1, 64);
    assert_true(module >= 0);
    assert_int_equal(add(naming, 1, 64), module);
    assert_int_not_equal(add(naming, 2, 64), module);
    assert_int_not_equal(add(naming, 1, 20), module);
}

/* Then it is not known whether it is the same file. */
static void a_longer_build_id_is_none(void **state)
{
    (void)state;
    struct naming *naming = naming_open(getpid());
    int module = add(naming, 3, 65);
    assert_true(module >= 0);
    assert_int_not_equal(add(naming, 3, 65), module);
    assert_int_equal(naming_module_quality(naming, module), SYMBOLS_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_build_id_may_be_as_long_as_a_profiles),
        cmocka_unit_test(a_longer_build_id_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
