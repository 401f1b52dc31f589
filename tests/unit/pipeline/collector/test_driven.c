/* Which program is meant: what a driver drives, and of a server the server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "collector/driven.h"

#define KIB ((uint64_t)1024)
#define MIB (1024 * KIB)

/* An image that lives from `start` to `end`, in ms. */
#define IMAGE(name, id, of, from, to, peak)                                                        \
    {                                                                                              \
        .program = (char[]){name}, .path = (char[]){name}, .pid = (id), .parent = (of),            \
        .start_unix_ns = INT64_C(1000000) * (1 + (from)),                                          \
        .end_unix_ns = INT64_C(1000000) * (1 + (to)), .peak_bytes = (peak)                         \
    }
#define STUB(name, id, of, from, to)                                                               \
    {                                                                                              \
        .program = (char[]){name}, .replaced = true, .pid = (id), .parent = (of),                  \
        .start_unix_ns = INT64_C(1000000) * (1 + (from)),                                          \
        .end_unix_ns = INT64_C(1000000) * (1 + (to))                                               \
    }

/* Of `named` the program `expected` is meant. The results come in any order. */
static void assert_meant(struct process_image_result *results, size_t count, pid_t named,
                         const char *expected)
{
    for (int turn = 0; turn < 2; turn++) {
        const struct process_image_result *asked = NULL;
        for (size_t i = 0; i < count; i++)
            if (results[i].pid == named && !results[i].replaced)
                asked = &results[i];
        assert_string_equal(driven_result(results, count, asked)->program, expected);
        for (size_t i = 0; i < count / 2; i++) {
            struct process_image_result kept = results[i];
            results[i] = results[count - 1 - i];
            results[count - 1 - i] = kept;
        }
    }
}
#define MEANT(results, named, expected)                                                            \
    assert_meant(results, sizeof(results) / sizeof *(results), named, expected)

static void who_drives_means_what_it_drives(void **state)
{
    struct process_image_result compiler[] = {
        IMAGE("g++", 10, 1, 0, 3000, 90 * KIB), STUB("g++", 11, 10, 20, 21),
        IMAGE("cc1plus", 11, 10, 22, 2800, 90 * MIB), IMAGE("as", 12, 10, 2810, 2950, 2 * MIB)};
    struct process_image_result script[] = {IMAGE("sh", 10, 1, 0, 12000, 200 * KIB),
                                            IMAGE("sleep", 11, 10, 5, 10000, 10 * KIB),
                                            IMAGE("perl", 12, 10, 10010, 11900, 9 * MIB)};
    struct process_image_result make[] = {
        IMAGE("make", 10, 1, 0, 9000, 300 * KIB),    IMAGE("sh", 11, 10, 10, 4000, 20 * KIB),
        IMAGE("gcc", 12, 11, 20, 4000, 900 * KIB),   IMAGE("cc1", 13, 12, 30, 3900, 10 * MIB),
        IMAGE("gcc", 14, 10, 4010, 8990, 900 * KIB), IMAGE("cc1", 15, 14, 4020, 8800, 30 * MIB)};
    (void)state;
    MEANT(compiler, 10, "cc1plus");
    MEANT(script, 10, "perl");
    MEANT(make, 10, "cc1");
}

static void a_server_means_itself(void **state)
{
    struct process_image_result helper[] = {IMAGE("server", 10, 1, 0, 60000, 300 * KIB),
                                            STUB("server", 11, 10, 5000, 5001),
                                            IMAGE("convert", 11, 10, 5002, 9000, 80 * MIB)};
    struct process_image_result saved[] = {IMAGE("redis-server", 10, 1, 0, 9000, 900 * KIB),
                                           IMAGE("redis-server", 11, 10, 10, 8900, 80 * MIB)};
    struct process_image_result large[] = {IMAGE("server", 10, 1, 0, 9000, MIB),
                                           IMAGE("convert", 11, 10, 0, 9000, 80 * MIB)};
    struct process_image_result near[] = {IMAGE("server", 10, 1, 0, 9000, 900 * KIB),
                                          IMAGE("convert", 11, 10, 0, 9000, 14 * MIB)};
    (void)state;
    MEANT(helper, 10, "server");
    MEANT(saved, 10, "redis-server");
    MEANT(large, 10, "server");
    MEANT(near, 10, "server");
}

static void what_a_script_starts_may_be_a_server(void **state)
{
    struct process_image_result results[] = {IMAGE("sh", 10, 1, 0, 60000, 100 * KIB),
                                             IMAGE("server", 11, 10, 10, 59000, 500 * KIB),
                                             IMAGE("convert", 12, 11, 5000, 9000, 80 * MIB)};
    (void)state;
    MEANT(results, 10, "server");
    MEANT(results, 11, "server");
}

/* What ran before the program took a script's place is nothing that the program drives. */
static void before_an_exec_is_another_life(void **state)
{
    struct process_image_result results[] = {IMAGE("sh", 10, 1, 0, 5000, 100 * KIB),
                                             IMAGE("perl", 11, 10, 10, 4900, 80 * MIB),
                                             IMAGE("server", 10, 1, 5000, 9000, 500 * KIB)};
    (void)state;
    results[0].replaced = true;
    MEANT(results, 10, "server");
}

/* Its driver is in between, and has no recorder. */
static void who_starts_it_may_be_unrecorded(void **state)
{
    struct process_image_result results[] = {IMAGE("sh", 10, 1, 0, 3000, 100 * KIB),
                                             IMAGE("cc1", 12, 11, 100, 2900, 80 * MIB)};
    struct process_image_result circle[] = {IMAGE("sh", 10, 12, 0, 3000, 100 * KIB),
                                            IMAGE("gcc", 11, 12, 100, 2900, 100 * KIB),
                                            IMAGE("cc1", 12, 11, 100, 2900, 80 * MIB)};
    (void)state;
    MEANT(results, 10, "cc1");
    for (size_t i = 0; i < 3; i++)
        assert_non_null(driven_result(circle, 3, &circle[i]));
}

/* A program that was turned away has no times. A short one is a driver on any machine. */
static void what_is_not_known_shows_the_largest(void **state)
{
    struct process_image_result results[] = {IMAGE("sh", 10, 1, 0, 900, 100 * KIB),
                                             IMAGE("perl", 11, 10, 700, 710, 9 * MIB),
                                             {.program = (char[]){"?"}, .pid = 12}};
    (void)state;
    MEANT(results, 10, "perl");
    assert_ptr_equal(driven_result(&results[2], 1, &results[2]), &results[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_drives_means_what_it_drives),
        cmocka_unit_test(a_server_means_itself),
        cmocka_unit_test(what_a_script_starts_may_be_a_server),
        cmocka_unit_test(before_an_exec_is_another_life),
        cmocka_unit_test(who_starts_it_may_be_unrecorded),
        cmocka_unit_test(what_is_not_known_shows_the_largest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
