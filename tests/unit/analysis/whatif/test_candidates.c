/* Allocators as people type them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "whatif/whatif.h"

static int add(struct whatif_candidates *candidates, const char *list, const char *about)
{
    struct strbuf sentence = STRBUF_INIT;
    int error = whatif_candidates_add(candidates, list, &sentence);

    assert_int_equal(error != 0, sentence.length != 0);
    if (about && !strstr(sentence.data, about))
        fail_msg("'%s' does not speak of '%s'", sentence.data, about);
    strbuf_release(&sentence);
    return error;
}

static void lists_are_taken_apart_at_commas(void **state)
{
    struct whatif_candidates candidates = {0};

    (void)state;
    assert_int_equal(add(&candidates, "glibc,A=1 B=x\\,y\\ z libc, system", NULL), 0);
    assert_int_equal(add(&candidates, "glibc", NULL), 0);
    assert_int_equal(candidates.count, 4);
    assert_string_equal(candidates.all[0].name, "glibc");
    assert_string_equal(candidates.all[0].library, "");
    assert_null(candidates.all[0].settings);
    assert_string_equal(candidates.all[1].name, "A=1 B=x,y z libc");
    assert_string_equal(candidates.all[1].settings[0], "A=1");
    assert_string_equal(candidates.all[1].settings[1], "B=x,y z");
    assert_null(candidates.all[1].settings[2]);
    assert_string_equal(candidates.all[2].name, "system");
    whatif_candidates_release(&candidates);
}

static void what_is_no_allocator_is_refused_with_a_sentence(void **state)
{
    struct whatif_candidates candidates = {0};

    (void)state;
    assert_int_equal(add(&candidates, "", "empty name"), -EINVAL);
    assert_int_equal(add(&candidates, "glibc,", "empty name"), -EINVAL);
    assert_int_equal(add(&candidates, "A=1", "without an allocator"), -EINVAL);
    assert_int_equal(add(&candidates, "=1", "without an allocator"), -EINVAL);
    assert_int_equal(add(&candidates, "glibc jemalloc", "comma"), -EINVAL);
    assert_int_equal(add(&candidates, "no*such?", "neither a name"), -EINVAL);
    assert_int_equal(add(&candidates, "no-such-allocator-at-all", "usual places"), -ENOENT);
    assert_int_equal(add(&candidates, "/no/such/library.so", "No such file"), -ENOENT);
    assert_int_equal(add(&candidates, "/dev/null", "no regular file"), -EINVAL);
    assert_int_equal(add(&candidates, "/", "no regular file"), -EINVAL);
    assert_int_equal(candidates.count, 1); /* "glibc," up to the comma */
    whatif_candidates_release(&candidates);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_taken_apart_at_commas),
        cmocka_unit_test(what_is_no_allocator_is_refused_with_a_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
