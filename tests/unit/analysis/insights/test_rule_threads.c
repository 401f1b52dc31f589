/* Threads and the allocator. */
#include "built.h"

static void add_thread(struct built *built, uint32_t tid, const char *name, uint64_t allocations)
{
    struct thread_metrics *thread = &built->threads[built->profile.thread_count++];
    *thread = (struct thread_metrics){.tid = tid, .alloc_count = FIGURE_OF(allocations)};
    snprintf(thread->name, sizeof thread->name, "%s", name);
}

/* A reader makes 40,000 blocks, of which a worker frees `count`. */
static struct built *exchanging(uint64_t count)
{
    struct built *built = built_new();
    built_others(built, 100000);
    add_thread(built, 11, "reader", 40000);
    add_thread(built, 12, "", 60000);
    built->exchanges[0] = (struct exchange){0, 1, count, count * 1000};
    built->exchanges[1] = (struct exchange){1, 0, 29999, 1};
    built->exchanges[2] = (struct exchange){UINT32_MAX, UINT32_MAX, 100000, 1};
    built->profile.exchange_count = 3;
    return built;
}

static void producers_and_consumers_are_named(void **state)
{
    (void)state;
    struct built *built = exchanging(20000);
    const struct insight *insight = the(built_ask(built), "cross-thread-frees");
    assert_string_equal(insight->title,
                        "thread 12 frees 20.0 k blocks that reader (11) allocates in others");
    assert_evidence(
        built, insight,
        "exchanged_count 20000, exchanged_bytes 20000000, owner_share 0.500, "
        "calls_share 0.200, pair_count 1, exchanged_in_all 149999, owner 'reader (11)', freer "
        "'thread 12'");
    assert_severity(insight, "notice");
    built_free(built);
}

/* minimap2's sixteen threads had three insights of three. */
static void many_pairs_are_one_finding(void **state)
{
    (void)state;
    struct built *built = exchanging(20000);
    built->exchanges[1].count = 50000;
    const struct insight *insight = the(built_ask(built), "cross-thread-frees");
    assert_string_equal(
        insight->title,
        "reader (11) frees 50.0 k blocks that thread 12 allocates in others; 1 more "
        "pair of threads does so, 70.0 k blocks in all");
    built_free(built);
}

static void the_paths_that_free_are_named_if_known(void **state)
{
    (void)state;
    struct built *built = exchanging(20000);
    built_site(built, built_path(built, "worker:5 > consume:6"),
               (struct call_metrics){.freed_count = FIGURE_OF(20000),
                                     .freed_elsewhere_count = FIGURE_OF(20000)});
    the(built_ask(built), "cross-thread-frees");
    assert_path(built, the(built->insights, "cross-thread-frees"), 0, 100000, "others:2 < main:1");
    assert_path(built, the(built->insights, "cross-thread-frees"), 1, 20000,
                "consume:6 < worker:5");
    built->profile.program.total.freed_count = FIGURE_UNKNOWN; /* not recorded */
    built->sites[1].metrics.freed_elsewhere_count = FIGURE_UNKNOWN;
    assert_int_equal(the(built_ask(built), "cross-thread-frees")->path_count, 1);
    built->sites[0].metrics.alloc_count = figure_of(1000); /* others may have made them */
    const struct insight *insight = the(built_ask(built), "cross-thread-frees");
    assert_int_equal(insight->path_count, 0);
    assert_null(strstr(insight->title, "others"));
    built_free(built);
}

static void few_or_the_smaller_part_is_no_pattern(void **state)
{
    (void)state;
    struct built *built = exchanging(19999);
    assert_silent(built_ask(built), "cross-thread-frees");
    built->threads[0].alloc_count = figure_of(9999);
    built->exchanges[0].count = 9999;
    assert_silent(built_ask(built), "cross-thread-frees");
    built_free(built);
}

static void names_of_threads_drive_no_terminal(void **state)
{
    (void)state;
    struct built *built = exchanging(20000);
    snprintf(built->threads[0].name, sizeof built->threads[0].name, "\033[2Jx");
    assert_non_null(strstr(the(built_ask(built), "cross-thread-frees")->title, "\\x1b[2Jx (11)"));
    built_free(built);
}

static void one_thread_has_nobody_to_exchange_with(void **state)
{
    (void)state;
    struct built *built = exchanging(20000);
    built->profile.exchange_count = 0;
    assert_true(is_unasked(built_ask(built), "cross-thread-frees"));
    built->profile.thread_count = 1;
    assert_false(is_unasked(built_ask(built), "cross-thread-frees"));
    built_free(built);
}

/* Two threads that lived for 1 s and 0.5 s. */
static struct built *timed(uint64_t alloc_ns, uint64_t free_ns)
{
    struct built *built = built_new();
    built_meta(built, PROFILE_META_TIMED, "1");
    built_site(built, built_path(built, "main:10 > make:20"),
               (struct call_metrics){.alloc_count = FIGURE_OF(1000),
                                     .alloc_bytes = FIGURE_OF(64000),
                                     .free_count = FIGURE_OF(999),
                                     .alloc_time = FIGURE_OF(alloc_ns),
                                     .free_time = FIGURE_OF(free_ns)});
    add_thread(built, 11, "", 1000);
    add_thread(built, 12, "", 0);
    built->threads[1].start_ticks = 200 * MS;
    built->threads[1].end_ticks = 700 * MS;
    return built;
}

static void time_in_the_allocator_is_told(void **state)
{
    (void)state;
    struct built *built = timed(100 * MS, 50 * MS);
    const struct insight *insight = the(built_ask(built), "allocator-time");
    assert_string_equal(insight->title, "10.0 % of the threads' time goes into the allocator, 75.0 "
                                        "µs a call on average");
    assert_evidence(built, insight,
                    "alloc_time 100000000, free_time 50000000, threads_time 1500000000, time_share "
                    "0.100, alloc_count 1000");
    assert_path(built, insight, 0, 100 * MS, "make:20 < main:10");
    assert_severity(insight, "notice");
    built_free(built);
}

static void little_time_is_not(void **state)
{
    (void)state;
    struct built *built = timed(100 * MS, 50 * MS - 1);
    assert_silent(built_ask(built), "allocator-time");
    assert_false(is_unasked(built->insights, "allocator-time"));
    built->profile.meta_count--;
    assert_true(is_unasked(built_ask(built), "allocator-time"));
    built_free(built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(producers_and_consumers_are_named),
        cmocka_unit_test(many_pairs_are_one_finding),
        cmocka_unit_test(the_paths_that_free_are_named_if_known),
        cmocka_unit_test(few_or_the_smaller_part_is_no_pattern),
        cmocka_unit_test(names_of_threads_drive_no_terminal),
        cmocka_unit_test(one_thread_has_nobody_to_exchange_with),
        cmocka_unit_test(time_in_the_allocator_is_told),
        cmocka_unit_test(little_time_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
