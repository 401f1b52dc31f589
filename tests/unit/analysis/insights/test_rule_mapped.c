/* Mappings that are made all through the run. */
#include "built.h"

static struct profile_site mapped[1];
static struct curve mapped_curve;
static struct curve_point mapped_points[40];

/* 400 mappings of 16 KiB, `live` of which stay; their level rises, or is reached in the run's first
 * part. */
static struct built *mapping(uint64_t live, bool rises)
{
    struct built *built = built_new();
    struct call_metrics metrics = {.alloc_count = FIGURE_OF(400),
                                   .alloc_bytes = FIGURE_OF(400 * 16 * KIB),
                                   .live_count = FIGURE_OF(live),
                                   .live_bytes = FIGURE_OF(live * 16 * KIB),
                                   .peak_bytes = FIGURE_OF(live * 16 * KIB)};
    mapped[0] = (struct profile_site){built_path(built, "main:10 > serve:20 > map:30"), metrics};
    for (unsigned i = 0; i < 40; i++)
        mapped_points[i] = (struct curve_point){(i + 1) * 25 * MS, (rises || i < 4 ? i : 4) * live *
                                                                       16 * KIB / (rises ? 39 : 4)};
    mapped_curve = (struct curve){.node = mapped[0].path, .count = 40, .points = mapped_points};
    built->profile.mapped_sites = mapped;
    built->profile.mapped_site_count = 1;
    built->profile.mapped_curves = &mapped_curve;
    built->profile.mapped_curve_count = 1;
    built->profile.program.mapped = metrics;
    return built;
}

static void what_maps_more_all_through_the_run_is_told(void **state)
{
    (void)state;
    struct built *built = mapping(200, true);
    const struct insight *insight = the(built_ask(built), "mapping-growth");
    assert_string_equal(insight->title, "map maps more all through the run: 3.12 MiB in 200 "
                                        "mappings are never unmapped");
    assert_evidence(built, insight,
                    "live_bytes 3276800, live_count 200, map_count 400, mapped_share 1.000, "
                    "rise 1.000");
    assert_path(built, insight, 0, 3276800, "map:30 < serve:20 < main:10");
    assert_severity(insight, "notice"); /* a heap of the program's own looks the same */
    built_free(built);
}

static void what_was_mapped_at_the_beginning_is_not(void **state)
{
    (void)state;
    struct built *built = mapping(200, false);
    assert_silent(built_ask(built), "mapping-growth");
    built_free(built);
}

static void few_or_small_mappings_are_not(void **state)
{
    (void)state;
    struct built *built = mapping(63, true); /* 1 MiB less one */
    assert_silent(built_ask(built), "mapping-growth");
    built_free(built);
    built = mapping(64, true);
    the(built_ask(built), "mapping-growth");
    mapped[0].metrics.live_count = figure_of(15);
    assert_silent(built_ask(built), "mapping-growth");
    built_free(built);
}

static void what_came_down_again_is_not(void **state)
{
    (void)state;
    struct built *built = mapping(200, true);
    mapped[0].metrics.peak_bytes = figure_of(300 * 16 * KIB);
    assert_silent(built_ask(built), "mapping-growth");
    built_free(built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_maps_more_all_through_the_run_is_told),
        cmocka_unit_test(what_was_mapped_at_the_beginning_is_not),
        cmocka_unit_test(few_or_small_mappings_are_not),
        cmocka_unit_test(what_came_down_again_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
