/* Whose the resident memory is, where blocks are little of it. */
#include "built.h"

static struct profile_owner owners[4];

/* A heap of 1 MiB at the peak, and 40 MiB resident: two paths of map() have `mapped` MiB of it,
 * Tidemark's own memory 8. */
static struct built *with_owners(uint64_t mapped)
{
    struct built *built = built_new();
    const struct call_metrics metrics = {.alloc_count = FIGURE_OF(1),
                                         .peak_bytes = FIGURE_OF(MIB),
                                         .at_peak_bytes = FIGURE_OF(MIB),
                                         .at_peak_count = FIGURE_OF(1)};
    built_site(built, built_path(built, "main:10 > load:20"), metrics);
    built->samples[built->profile.sample_count++] =
        (struct profile_sample){.id = 1, .resident_bytes = FIGURE_OF(48 * MIB)};
    for (int i = 0; i < 4; i++)
        owners[i] = (struct profile_owner){.sample = 1, .kind = PROFILE_OWNER_MAPPING};
    owners[0].path = built_path(built, "main:11 > map:21");
    owners[1].path = built_path(built, "main:12 > map:21");
    owners[0].resident_bytes = figure_of(mapped / 2);
    owners[1].resident_bytes = figure_of(mapped - mapped / 2);
    owners[0].count = owners[1].count = figure_of(3);
    owners[2].kind = PROFILE_OWNER_FILE;
    owners[2].resident_bytes = figure_of(40 * MIB - mapped);
    owners[3].kind = PROFILE_OWNER_TOOL;
    owners[3].resident_bytes = figure_of(8 * MIB);
    built->profile.owners = owners;
    built->profile.owner_count = 4;
    return built;
}

static void who_has_mapped_most_of_it_is_named(void **state)
{
    (void)state;
    struct built *built = with_owners(30 * MIB);
    const struct insight *insight = the(built_ask(built), "resident-owner");
    assert_string_equal(insight->title, "map has mapped 75.0 % of the resident memory, 30.0 MiB");
    assert_evidence(built, insight,
                    "owner_bytes 31457280, mapping_count 6, resident_bytes 41943040, "
                    "resident_share 0.750");
    assert_path(built, insight, 0, 15 * MIB, "map:21 < main:11");
    assert_severity(insight, "info");
    built_free(built);
}

/* Its parts have no call path. A file of that name is none. */
static void a_java_heap_is_one(void **state)
{
    (void)state;
    struct built *built = with_owners(30 * MIB);
    owners[0].path = owners[1].path = 0;
    owners[0].name = "Java heap, old";
    owners[1].name = "Java heap";
    owners[2].name = "Java heap";
    const struct insight *insight = the(built_ask(built), "resident-owner");
    assert_string_equal(insight->title, "the Java heap is 75.0 % of the resident memory, 30.0 MiB");
    assert_evidence(built, insight,
                    "owner_bytes 31457280, mapping_count 6, resident_bytes 41943040, "
                    "resident_share 0.750");
    built_free(built);
    built = with_owners(30 * MIB);
    owners[0].path = owners[1].path = 0;
    owners[0].name = "Java heap, old";
    owners[1].name = "Java heaps";
    assert_silent(built_ask(built), "resident-owner");
    built_free(built);
}

static void half_is_not_most(void **state)
{
    (void)state;
    struct built *built = with_owners(20 * MIB);
    assert_silent(built_ask(built), "resident-owner");
    built_free(built);
    built = with_owners(20 * MIB + 2);
    the(built_ask(built), "resident-owner");
    built_free(built);
    built = with_owners(4 * MIB - 1); /* little, though most of what there is */
    owners[2].resident_bytes = figure_of(0);
    assert_silent(built_ask(built), "resident-owner");
    built_free(built);
}

static void of_an_unknown_whole_nobody_has_a_share(void **state)
{
    (void)state;
    struct built *built = with_owners(30 * MIB);
    owners[2].resident_bytes = FIGURE_UNKNOWN;
    assert_silent(built_ask(built), "resident-owner");
    built_free(built);
}

static void a_heap_that_is_next_to_nothing_has_no_peak_to_lower(void **state)
{
    (void)state;
    struct built *built = with_owners(30 * MIB);
    assert_silent(built_ask(built), "peak-one-site");
    owners[0].resident_bytes = owners[1].resident_bytes = figure_of(0);
    owners[2].resident_bytes = figure_of(10 * MIB);
    the(built_ask(built), "peak-one-site");
    built_free(built);
}

/* 100,000 blocks of 20 bytes: 1.14 MiB to manage them is worth a notice, but not where 40 MiB are
 * resident. */
static void what_blocks_cost_is_an_info_where_the_heap_is_next_to_nothing(void **state)
{
    const struct call_metrics metrics = {.alloc_count = FIGURE_OF(100000),
                                         .alloc_bytes = FIGURE_OF(2000000),
                                         .slack_bytes = FIGURE_OF(400000),
                                         .peak_bytes = FIGURE_OF(2000000),
                                         .at_peak_bytes = FIGURE_OF(2000000),
                                         .at_peak_count = FIGURE_OF(100000)};
    (void)state;
    for (int small = 0; small < 2; small++) {
        struct built *built = with_owners(10 * MIB);
        built_site(built, built_path(built, "main:12 > insert:20"), metrics);
        owners[2].resident_bytes = figure_of(small ? 30 * MIB : 0);
        assert_severity(the(built_ask(built), "small-blocks"), small ? "info" : "notice");
        built_free(built);
    }
}

static void without_owners_it_is_not_asked(void **state)
{
    (void)state;
    struct built *built = with_owners(30 * MIB);
    built->profile.owner_count = 0;
    assert_true(is_unasked(built_ask(built), "resident-owner"));
    the(built_ask(built), "peak-one-site");
    built_free(built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_has_mapped_most_of_it_is_named),
        cmocka_unit_test(a_java_heap_is_one),
        cmocka_unit_test(half_is_not_most),
        cmocka_unit_test(of_an_unknown_whole_nobody_has_a_share),
        cmocka_unit_test(a_heap_that_is_next_to_nothing_has_no_peak_to_lower),
        cmocka_unit_test(what_blocks_cost_is_an_info_where_the_heap_is_next_to_nothing),
        cmocka_unit_test(without_owners_it_is_not_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
