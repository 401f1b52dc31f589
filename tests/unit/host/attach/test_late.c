/* The preload library, loaded late: inert until told, and what cannot be done is said and
 * undone. */
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "recorder/late.h"

static struct {
    int (*begin)(const char *);
    const void *(*end)(void);
    int (*renew)(void);
    void *(*malloc)(size_t);
} library;

/* Through our own table: what a patched program would call. */
static void *(*volatile the_malloc)(size_t) = malloc;

static int load(void **state)
{
    void *handle = dlopen(LIBRARY, RTLD_NOW);
    (void)state;
    if (!handle)
        return -1;
    *(void **)&library.begin = dlsym(handle, "tidemark_late_begin");
    *(void **)&library.end = dlsym(handle, "tidemark_late_end");
    *(void **)&library.renew = dlsym(handle, "tidemark_late_renew");
    *(void **)&library.malloc = dlsym(handle, "malloc");
    return library.begin && library.end && library.renew && library.malloc ? 0 : -1;
}

static void test_its_functions_pass_on(void **state)
{
    (void)state;
    void *block = library.malloc(100);
    assert_non_null(block);
    free(block);
    assert_ptr_not_equal((uintptr_t)library.malloc, (uintptr_t)malloc);
    assert_ptr_equal((uintptr_t)the_malloc, (uintptr_t)malloc);
}

static void test_without_a_collector_nothing_changes(void **state)
{
    void *(*before)(size_t) = the_malloc;
    (void)state;
    errno = 11;
    assert_int_equal(library.begin("tidemark-nobody-listens-here"), -ECONNREFUSED);
    assert_int_equal(errno, 11);
    assert_ptr_equal((uintptr_t)the_malloc, (uintptr_t)before);
    free(malloc(10));
}

static void test_a_name_that_is_too_long_is_refused(void **state)
{
    char name[400];
    (void)state;
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(library.begin(name), -ECONNREFUSED);
}

static void test_there_is_nothing_to_end_or_to_forget(void **state)
{
    (void)state;
    assert_null(library.end());
    assert_int_equal(library.renew(), 0);
    assert_int_equal(library.renew(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_its_functions_pass_on),
        cmocka_unit_test(test_without_a_collector_nothing_changes),
        cmocka_unit_test(test_a_name_that_is_too_long_is_refused),
        cmocka_unit_test(test_there_is_nothing_to_end_or_to_forget),
    };
    return cmocka_run_group_tests(tests, load, NULL);
}
