/* Giving free memory back goes through all heaps. However many ask for it, it takes a small part of
 * the time, and what was asked for too early is done later. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <malloc.h>
#include <time.h>
#include "base/allocator.h"

enum { PASS_MS = 3 };
static int passes;

int __wrap_malloc_trim(size_t pad);
int __wrap_malloc_trim(size_t pad)
{
    const struct timespec pass = {0, PASS_MS * 1000000};
    (void)pad;
    passes++;
    nanosleep(&pass, NULL);
    return 0;
}

static void wait_for_the_next(void)
{
    const struct timespec pause = {0, 500000000};
    nanosleep(&pause, NULL); /* 33 passes are 0.1 s */
}

static void many_who_ask_make_one_pass(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++)
        allocator_trim(0);
    assert_int_equal(passes, 1);
}

static void what_was_owed_is_done_later_once(void **state)
{
    (void)state;
    allocator_trim_owed();
    assert_int_equal(passes, 1); /* too early */
    wait_for_the_next();
    allocator_trim_owed();
    assert_int_equal(passes, 2);
    wait_for_the_next();
    allocator_trim_owed(); /* nothing is owed */
    assert_int_equal(passes, 2);
    allocator_trim(SIZE_MAX); /* too little is free */
    assert_int_equal(passes, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_who_ask_make_one_pass),
        cmocka_unit_test(what_was_owed_is_done_later_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
