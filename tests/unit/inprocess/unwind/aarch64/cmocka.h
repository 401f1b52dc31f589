/* As much of cmocka as the walk test needs: Debian has none to link with for aarch64 on x86-64. */
#ifndef TIDEMARK_TESTS_AARCH64_CMOCKA_H
#define TIDEMARK_TESTS_AARCH64_CMOCKA_H

#include <stdio.h>
#include <stdlib.h>

#define print_error(...) fprintf(stderr, __VA_ARGS__)
#define assert_true(condition)                                                                     \
    ((condition) ? (void)0                                                                         \
                 : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), exit(1)))
#define assert_int_equal(a, b) assert_true((a) == (b))
#define assert_non_null(a)     assert_true((a) != NULL)

struct CMUnitTest {
    const char *name;
    void (*function)(void **);
    int (*setup)(void **);
};
#define cmocka_unit_test_setup(function, setup)                                                    \
    {                                                                                              \
#function, function, setup                                                                 \
    }
#define cmocka_run_group_tests(tests, setup, teardown)                                             \
    cmocka_run(tests, sizeof tests / sizeof *tests)

static int cmocka_run(const struct CMUnitTest *tests, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *state = NULL;
        tests[i].setup(&state);
        tests[i].function(&state);
        printf("ok %s\n", tests[i].name);
    }
    return 0;
}

#endif
