/* Stacks that are a large part of the memory. */
#include "built.h"

static struct built *with_stack(uint64_t deepest, uint64_t touched, uint64_t peak)
{
    struct built *built = built_new();
    uint32_t path = built_path(built, "main:10 > solve:20 > solve:20 > note@src/note.c:7");
    struct thread_metrics *thread = &built->threads[built->profile.thread_count++];
    built_site(built, path,
               (struct call_metrics){.alloc_count = FIGURE_OF(1),
                                     .alloc_bytes = FIGURE_OF(peak),
                                     .peak_bytes = FIGURE_OF(peak),
                                     .at_peak_bytes = FIGURE_OF(peak)});
    *thread = (struct thread_metrics){.tid = 1,
                                      .stack_deepest_bytes = figure_of(deepest),
                                      .stack_touched_bytes = figure_of(touched),
                                      .stack_node = path};
    return built;
}

static void a_deep_stack_is_told_with_its_path(void **state)
{
    (void)state;
    struct built *built = with_stack(6 * MIB, 5 * MIB, 2 * MIB);
    const struct insight *insight = the(built_ask(built), "deep-stack");
    assert_string_equal(
        insight->title,
        "note stands 6.00 MiB deep in its stack, 75.0 % of it and the blocks at the "
        "peak");
    assert_evidence(built, insight, "stack_bytes 6291456, stack_share 0.750, thread_count 1");
    assert_path(built, insight, 0, 6 * MIB, "note:7 < solve:20 < main:10");
    assert_severity(insight, "notice");
    built_free(built);
}

static void without_the_path_of_its_depth_it_has_no_name(void **state)
{
    (void)state;
    struct built *built = with_stack(2 * MIB, 5 * MIB, 2 * MIB);
    const struct insight *insight = the(built_ask(built), "deep-stack");
    assert_string_equal(insight->title,
                        "A stack has 5.00 MiB, 71.4 % of it and the blocks at the peak");
    assert_int_equal(insight->path_count, 0);
    built_free(built);
}

/* Ruby touches the lowest page that its stack may have as it starts. */
static void a_page_far_down_is_no_large_stack(void **state)
{
    (void)state;
    struct built *built = with_stack(8 * MIB, 32 << 10, 6 * MIB);
    built->threads[0].stack_node = 0; /* the depth is that of a page at a look */
    assert_silent(built_ask(built), "deep-stack");
    built_free(built);
}

static void several_are_one_finding(void **state)
{
    (void)state;
    struct built *built = with_stack(6 * MIB, 0, MIB);
    for (int i = 0; i < 3; i++)
        built->threads[built->profile.thread_count++] =
            (struct thread_metrics){.tid = 2 + (uint32_t)i,
                                    .stack_deepest_bytes = figure_of(i ? 5 * MIB : MIB),
                                    .stack_touched_bytes = FIGURE_UNKNOWN};
    const struct insight *insight = the(built_ask(built), "deep-stack");
    assert_non_null(strstr(insight->title, ", and 2 more such stacks"));
    built_free(built);
}

static void small_ones_and_small_parts_are_none(void **state)
{
    (void)state;
    struct built *built = with_stack(MIB - 1, 0, 0);
    assert_silent(built_ask(built), "deep-stack");
    built_free(built);
    built = with_stack(2 * MIB, 0, 6 * MIB + 4);
    assert_silent(built_ask(built), "deep-stack");
    built_free(built);
    built = with_stack(2 * MIB, 0, 6 * MIB);
    assert_severity(the(built_ask(built), "deep-stack"), "info"); /* not half of a usual limit */
    built->threads[0].stack_deepest_bytes = built->threads[0].stack_touched_bytes = FIGURE_UNKNOWN;
    assert_true(is_unasked(built_ask(built), "deep-stack"));
    built_free(built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deep_stack_is_told_with_its_path),
        cmocka_unit_test(without_the_path_of_its_depth_it_has_no_name),
        cmocka_unit_test(a_page_far_down_is_no_large_stack),
        cmocka_unit_test(several_are_one_finding),
        cmocka_unit_test(small_ones_and_small_parts_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
