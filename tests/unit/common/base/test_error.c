/* The sentence about what went wrong last. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/error.h"

static void the_last_sentence_is_kept(void **state)
{
    (void)state;
    assert_string_equal(error_text(), "");
    assert_int_equal(error_set(-ENOENT, "there is no %s", "profile"), -ENOENT);
    assert_int_equal(error_set(-EIO, "cannot read %d", 7), -EIO);
    assert_string_equal(error_text(), "cannot read 7");
}

static void the_last_sentence_may_be_a_part_of_the_next(void **state)
{
    (void)state;
    error_set(-EIO, "it is damaged");
    error_set(-EBADMSG, "job.tmk: %s", error_text());
    assert_string_equal(error_text(), "job.tmk: it is damaged");
}

static void a_sentence_without_end_is_cut(void **state)
{
    char *name = malloc(100001);
    (void)state;
    memset(name, 'x', 100000);
    name[100000] = 0;
    error_set(-EINVAL, "%s", name);
    assert_int_equal(strlen(error_text()), 4095);
    assert_memory_equal(error_text(), name, 4095);
    free(name);
}

static void *fail_elsewhere(void *unused)
{
    (void)unused;
    assert_string_equal(error_text(), "");
    error_set(-EPERM, "another's");
    return NULL;
}

static void each_thread_has_its_own(void **state)
{
    pthread_t thread;
    (void)state;
    error_set(-EIO, "mine");
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    assert_string_equal(error_text(), "mine");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_sentence_is_kept),
        cmocka_unit_test(the_last_sentence_may_be_a_part_of_the_next),
        cmocka_unit_test(a_sentence_without_end_is_cut),
        cmocka_unit_test(each_thread_has_its_own),
    };
    return cmocka_run_group_tests_name("base/error", tests, NULL, NULL);
}
