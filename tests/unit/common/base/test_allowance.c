/* Memory for reading: the limit holds while somebody reads, adds up, and goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include "base/allowance.h"
#include "base/error.h"

static rlim_t limit_now(void)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_DATA, &limit), 0);
    return limit.rlim_cur;
}

static bool can_map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED)
        munmap(memory, bytes);
    return memory != MAP_FAILED;
}

static void what_is_asked_beyond_it_fails(void **state)
{
    (void)state;
    rlim_t before = limit_now();
    setenv("TIDEMARK_READ_MEMORY", "64M", 1);
    assert_true(can_map(200 << 20));
    allowance_begin("some.tmk", 1000);
    assert_true(can_map(32 << 20));
    assert_false(can_map(200 << 20));
    assert_int_equal(allowance_explain(-EIO), -EIO);
    assert_int_equal(allowance_explain(-ENOMEM), -ENOMEM);
    assert_non_null(strstr(error_text(), "some.tmk"));
    assert_non_null(strstr(error_text(), "64.0 MiB"));
    allowance_end();
    assert_true(limit_now() == before);
    assert_true(can_map(200 << 20));
    assert_null(allowance_sentence());
}

static void readers_add_up(void **state)
{
    (void)state;
    rlim_t before = limit_now();
    setenv("TIDEMARK_READ_MEMORY", "64M", 1);
    allowance_begin("one", 0);
    rlim_t one = limit_now();
    allowance_begin("two", 0);
    assert_true(limit_now() == one + (64 << 20));
    allowance_end();
    assert_true(limit_now() < before);
    allowance_end();
    assert_true(limit_now() == before);
}

static void it_grows_with_the_file_and_ends_with_the_machine(void **state)
{
    (void)state;
    unsetenv("TIDEMARK_READ_MEMORY");
    allowance_begin("small", 0);
    rlim_t small = limit_now();
    allowance_end();
    allowance_begin("larger", 1 << 20);
    rlim_t larger = limit_now();
    allowance_end();
    assert_true(larger > small + (400 << 20));
    allowance_begin("no file is so large", UINT64_MAX);
    assert_false(can_map((size_t)1 << 44));
    allowance_end();
}

static void a_lower_limit_of_the_users_stays(void **state)
{
    (void)state;
    struct rlimit before, low;
    setenv("TIDEMARK_READ_MEMORY", "64M", 1);
    allowance_begin("first", 0);
    low.rlim_cur = limit_now() - (32 << 20);
    allowance_end();
    assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
    low.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_DATA, &low), 0);
    allowance_begin("second", 0);
    assert_true(limit_now() == low.rlim_cur);
    allowance_end();
    assert_true(limit_now() == low.rlim_cur);
    assert_int_equal(setrlimit(RLIMIT_DATA, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_asked_beyond_it_fails),
        cmocka_unit_test(readers_add_up),
        cmocka_unit_test(it_grows_with_the_file_and_ends_with_the_machine),
        cmocka_unit_test(a_lower_limit_of_the_users_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
