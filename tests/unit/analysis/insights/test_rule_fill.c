/* Containers with much more room than they use. */
#include "base/strbuf.h"
#include "built.h"

static struct profile_block_fill fills[2];

/* 16 vectors of 4 MiB together, of which so much is used, when `live` was requested. */
static struct built *with_vectors(uint64_t used, uint64_t live)
{
    struct built *built = built_new();
    built_site(
        built, built_path(built, "main:10 > reserve:20"),
        (struct call_metrics){.alloc_count = FIGURE_OF(16), .peak_bytes = FIGURE_OF(4 * MIB)});
    built->samples[built->profile.sample_count++] = (struct profile_sample){
        .id = 1, .requested_bytes = FIGURE_OF(live), .fill_count = FIGURE_OF(16)};
    fills[0] = (struct profile_block_fill){
        1, built->sites[0].path, PROFILE_FILL_VECTOR, 0, 16, 4 * MIB, used, 16};
    built->profile.block_fills = fills;
    built->profile.block_fill_count = 1;
    return built;
}

static void room_that_nobody_uses_is_told(void **state)
{
    (void)state;
    struct built *built = with_vectors(MIB / 2, 10 * MIB);
    const struct insight *insight = the(built_ask(built), "unfilled-containers");
    assert_string_equal(insight->title,
                        "reserve makes containers of 4.00 MiB that are 12.5 % filled");
    assert_evidence(built, insight,
                    "unused_bytes 3670016, containers 16, filled 0.125, live_share 0.350");
    assert_path(built, insight, 0, 4 * MIB - MIB / 2, "reserve:20 < main:10");
    assert_severity(insight, "notice");
    built_free(built);
}

/* What has just doubled is half full. */
static void what_grows_by_doubling_is_not(void **state)
{
    (void)state;
    struct built *built = with_vectors(2 * MIB, 4 * MIB);
    assert_silent(built_ask(built), "unfilled-containers");
    built_free(built);
    built = with_vectors(8 * MIB / 5 + 1, 4 * MIB);
    assert_silent(built_ask(built), "unfilled-containers");
    built_free(built);
    built = with_vectors(8 * MIB / 5 - 16, 4 * MIB);
    the(built_ask(built), "unfilled-containers");
    built_free(built);
}

static void a_small_part_of_all_is_not(void **state)
{
    (void)state;
    struct built *built = with_vectors(0, 40 * MIB);
    the(built_ask(built), "unfilled-containers");
    built_free(built);
    built = with_vectors(0, 41 * MIB);
    assert_silent(built_ask(built), "unfilled-containers");
    built_free(built);
    built = with_vectors(0, 4 * MIB);
    fills[0].bytes = MIB - 1;
    assert_silent(built_ask(built), "unfilled-containers");
    built_free(built);
}

/* 16 vectors that are made one after the other, all reachable: growth, of room that is not used. */
static void growth_of_room_that_is_not_used_is_said_behind_it(void **state)
{
    (void)state;
    struct built *built = with_vectors(MIB / 2, 10 * MIB);
    struct call_metrics *metrics = &built->sites[0].metrics;
    metrics->live_count = figure_of(16);
    metrics->live_bytes = metrics->peak_bytes = figure_of(4 * MIB);
    built->profile.program.total.peak_bytes = figure_of(10 * MIB);
    built->profile.program.total.live_bytes = figure_of(4 * MIB);
    built->samples[0].lost_count = figure_of(0);
    struct curve_point *points = built_curve(built, built->sites[0].path, 16);
    for (unsigned i = 0; i < 16; i++)
        points[i] = (struct curve_point){(i + 1) * 60 * MS, (i + 1) * MIB / 4};
    assert_severity(the(built_ask(built), "leak-growth"), "info");
    assert_string_equal(built->insights->items[0].id, "unfilled-containers");
    fills[0].used_bytes = 2 * MIB;
    assert_severity(the(built_ask(built), "leak-growth"), "notice");
    built_free(built);
}

static void what_nobody_has_read_is_not_asked(void **state)
{
    (void)state;
    struct built *built = with_vectors(0, 4 * MIB);
    built->samples[0].fill_count = FIGURE_UNKNOWN;
    assert_true(is_unasked(built_ask(built), "unfilled-containers"));
    built_free(built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(room_that_nobody_uses_is_told),
        cmocka_unit_test(what_grows_by_doubling_is_not),
        cmocka_unit_test(a_small_part_of_all_is_not),
        cmocka_unit_test(growth_of_room_that_is_not_used_is_said_behind_it),
        cmocka_unit_test(what_nobody_has_read_is_not_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
