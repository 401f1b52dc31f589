/* What is asked for and what is resident. */
#include "base/strbuf.h"
#include "built.h"
#include "aggregate/facts.h"

static void add_level(struct built *built, uint64_t requested, uint64_t physical)
{
    built->buckets[built->profile.bucket_count++] =
        (struct timeline_bucket){.requested = {FIGURE_OF(requested), FIGURE_OF(requested)},
                                 .physical = {FIGURE_OF(physical), FIGURE_OF(physical)}};
    built->profile.bucket_ns = 100 * MS;
}

/* 40 MiB go down to 4; the resident memory, which has 2 of its own, to `left`. */
static struct built *falling(uint64_t left)
{
    struct built *built = built_new();
    built_site(built, built_path(built, "main:10 > piece:20"),
               (struct call_metrics){.alloc_count = FIGURE_OF(9),
                                     .alloc_bytes = FIGURE_OF(36 * MIB),
                                     .free_count = FIGURE_OF(9),
                                     .at_peak_bytes = FIGURE_OF(36 * MIB),
                                     .peak_bytes = FIGURE_OF(36 * MIB)});
    built_site(built, built_path(built, "main:11 > note:21"),
               (struct call_metrics){.alloc_count = FIGURE_OF(5000),
                                     .alloc_bytes = FIGURE_OF(4 * MIB),
                                     .live_count = FIGURE_OF(5000),
                                     .live_bytes = FIGURE_OF(4 * MIB),
                                     .at_peak_bytes = FIGURE_OF(4 * MIB),
                                     .peak_bytes = FIGURE_OF(4 * MIB)});
    add_level(built, 1 * MIB, 3 * MIB);
    add_level(built, 40 * MIB, 42 * MIB);
    for (int i = 0; i < 4; i++)
        add_level(built, 4 * MIB, left);
    return built;
}

static void add_sample(struct built *built, uint64_t pinned, uint64_t returnable)
{
    uint32_t id = (uint32_t)built->profile.sample_count + 1;
    /* clang-format off */
    built->samples[built->profile.sample_count++] =
        (struct profile_sample){.id = id, .time_ns = id * 100 * MS, .resident_bytes = FIGURE_OF(42 * MIB),
                                .requested_bytes = FIGURE_OF(4 * MIB), .has_ledger = true,
                                .pinned_bytes = FIGURE_OF(pinned), .returnable_bytes = FIGURE_OF(returnable),
                                .cgroup_bytes = FIGURE_UNKNOWN, .cgroup_limit_bytes = FIGURE_UNKNOWN,
                                .ooms = FIGURE_UNKNOWN};
    /* clang-format on */
}

static void memory_that_is_freed_and_stays_is_told(void **state)
{
    (void)state;
    struct built *built = falling(42 * MIB);
    const struct insight *insight = the(built_ask(built), "fragmentation");
    assert_string_equal(insight->title,
                        "36.0 MiB was freed, most of it of piece, but 36.0 MiB stays resident");
    assert_evidence(built, insight,
                    "peak_bytes 41943040, requested_bytes 4194304, resident_bytes 44040192, "
                    "kept_bytes 37748736, peak_share 0.900, time 300000000, pinned_by 'not "
                    "recorded'");
    assert_path(built, insight, 0, 36 * MIB, "piece:20 < main:10"); /* who freed, not who pins */
    assert_severity(insight, "notice");                             /* who keeps it is not known */
    built_free(built);
}

static void some_MiB_are_what_any_allocator_keeps(void **state)
{
    (void)state;
    struct built *built = falling(42 * MIB);
    add_sample(built, 2 * MIB, 30 * MIB);
    struct profile_sample *sample = &built->samples[0];
    sample->slack_bytes = figure_of(16 * MIB);
    assert_severity(the(built_ask(built), "fragmentation"), "notice");
    sample->slack_bytes = figure_of(16 * MIB - 1);
    assert_severity(the(built_ask(built), "fragmentation"), "info");
    sample->slack_bytes = figure_of(4 * MIB);
    assert_severity(the(built_ask(built), "fragmentation"), "info");
    sample->slack_bytes = figure_of(4 * MIB - 1);
    assert_silent(built_ask(built), "fragmentation");
    built_free(built);
}

static void what_is_used_again_was_kept_for_that(void **state)
{
    (void)state;
    struct built *built = falling(42 * MIB);
    add_level(built, 22 * MIB - 1, 42 * MIB); /* not quite half of what was free */
    the(built_ask(built), "fragmentation");
    built->buckets[6].requested = (struct timeline_level){FIGURE_OF(22 * MIB), FIGURE_OF(22 * MIB)};
    assert_silent(built_ask(built), "fragmentation");
    for (int i = 0; i < 3; i++) /* and is free once more */
        add_level(built, 4 * MIB, 42 * MIB);
    the(built_ask(built), "fragmentation");
    built_free(built);
}

static void what_the_allocator_keeps_goes_by_the_ledger(void **state)
{
    (void)state;
    struct built *built = falling(42 * MIB);
    add_sample(built, MIB, 0); /* at the peak: says nothing of what is kept later */
    add_sample(built, 2 * MIB, 30 * MIB);
    built->samples[0].time_ns = 50 * MS;
    built->samples[0].slack_bytes = figure_of(41 * MIB);
    built->samples[1].slack_bytes = figure_of(33 * MIB);
    const struct insight *insight = the(built_ask(built), "fragmentation");
    assert_string_equal(insight->title,
                        "36.0 MiB was freed, most of it of piece, but 33.0 MiB stays resident");
    assert_evidence(built, insight,
                    "peak_bytes 41943040, requested_bytes 4194304, resident_bytes 44040192, "
                    "kept_bytes 34603008, peak_share 0.825, time 300000000, "
                    "returnable_bytes 31457280, pinned_bytes 2097152");
    assert_int_equal(insight->path_count, 1);
    assert_non_null(strstr(insight->advice, "malloc_trim"));
    assert_severity(insight, "notice");
    built->modules[built->profile.module_count++] =
        (struct profile_module){.path = "/usr/lib/libjemalloc.so.2"};
    insight = the(built_ask(built), "fragmentation"); /* where there is no malloc_trim */
    assert_null(strstr(insight->advice, "malloc_trim"));
    built->samples[1].slack_bytes =
        figure_of(MIB - 1); /* what is resident is not the allocator's */
    assert_silent(built_ask(built), "fragmentation");
    built_free(built);
}

static void memory_that_goes_back_is_not(void **state)
{
    (void)state;
    struct built *built = falling(24 * MIB - 1); /* not quite half of 36 stays */
    assert_silent(built_ask(built), "fragmentation");
    built_free(built);
    built = falling(24 * MIB);
    the(built_ask(built), "fragmentation");
    built_free(built);
}

static void what_was_never_resident_does_not_stay(void **state)
{
    (void)state;
    struct built *built = falling(3 * MIB);
    for (size_t i = 0; i < built->profile.bucket_count; i++)
        built->buckets[i].physical =
            (struct timeline_level){FIGURE_OF(3 * MIB), FIGURE_OF(3 * MIB)};
    assert_silent(built_ask(built), "fragmentation");
    built_free(built);
}

static void one_late_reading_is_no_fragmentation(void **state)
{
    (void)state;
    struct built *built = falling(6 * MIB);
    built->buckets[2].physical = (struct timeline_level){FIGURE_OF(42 * MIB), FIGURE_OF(42 * MIB)};
    assert_silent(built_ask(built), "fragmentation");
    built_free(built);
}

static void add_pinning(struct built *built, uint32_t sample, size_t site, uint64_t pinned,
                        uint64_t blocks)
{
    /* clang-format off */
    built->residencies[built->profile.residency_count++] = (struct profile_residency){
        .sample = sample, .path = built->sites[site].path, .live_count = FIGURE_OF(5000),
        .live_bytes = FIGURE_OF(5000 * 48), .resident_bytes = FIGURE_OF(5000 * 48), .pinned_bytes = FIGURE_OF(pinned),
        .pinning_count = FIGURE_OF(blocks)};
    /* clang-format on */
}

static void the_blocks_that_pin_are_named(void **state)
{
    (void)state;
    struct built *built = falling(42 * MIB);
    add_sample(built, MIB, 0);
    add_sample(built, 12 * MIB, 30 * MIB);
    add_pinning(built, 1, 0, 12 * MIB, 9); /* of another sample */
    add_pinning(built, 2, 0, 2 * MIB, 9);
    add_pinning(built, 2, 1, 10 * MIB, 312);
    const struct insight *insight = the(built_ask(built), "fragmentation");
    assert_string_equal(
        insight->title,
        "312 blocks of 48 B from note keep 10.0 MiB of free memory from going back");
    assert_evidence(built, insight,
                    "pinning_count 312, site_pinned_bytes 10485760, pinned_bytes 12582912, "
                    "returnable_bytes 31457280, resident_bytes 44040192, requested_bytes 4194304, "
                    "resident_share 0.286, time 200000000, kept_bytes 37748736");
    assert_path(built, insight, 0, 10 * MIB, "note:21 < main:11");
    assert_path(built, insight, 1, 2 * MIB, "piece:20 < main:10");
    assert_non_null(strstr(insight->advice, "malloc_trim"));
    assert_severity(insight, "notice");
    built->samples[1].pinned_bytes = figure_of(16 * MIB);
    assert_severity(the(built_ask(built), "fragmentation"), "warning");
    built->samples[1].pinned_bytes = figure_of(12 * MIB);
    built->samples[1].returnable_bytes = figure_of(12 * MIB - 1);
    assert_null(strstr(the(built_ask(built), "fragmentation")->advice, "malloc_trim"));
    built_free(built);
}

static void little_that_is_pinned_is_no_matter(void **state)
{
    (void)state;
    struct built *built = falling(6 * MIB);
    add_sample(built, 42 * MIB / 10, 0);
    add_pinning(built, 1, 1, 42 * MIB / 10, 312);
    assert_silent(built_ask(built), "fragmentation");
    built->samples[0].pinned_bytes = figure_add(built->samples[0].pinned_bytes, figure_of(100));
    the(built_ask(built), "fragmentation");
    built_free(built);
}

static void without_resident_memory_it_is_not_asked(void **state)
{
    (void)state;
    struct built *built = falling(42 * MIB);
    for (size_t i = 0; i < built->profile.bucket_count; i++)
        built->buckets[i].physical = (struct timeline_level){FIGURE_UNKNOWN, FIGURE_UNKNOWN};
    assert_true(is_unasked(built_ask(built), "fragmentation"));
    assert_silent(built->insights, "fragmentation");
    built_free(built);
}

/* ---- Never touched ---- */

/* One more reading, 100 ms later. */
static void read_again(struct built *built, uint64_t live, uint64_t bytes)
{
    add_sample(built, 0, 0);
    struct profile_sample *sample = &built->samples[built->profile.sample_count - 1];
    sample->why = PROFILE_SAMPLE_RESIDENT_PEAK;
    sample->untouched_bytes = figure_of(bytes);
    /* clang-format off */
    built->residencies[built->profile.residency_count++] = (struct profile_residency){
        .sample = sample->id, .path = built->sites[0].path, .live_count = FIGURE_OF(2), .live_bytes = FIGURE_OF(live),
        .resident_bytes = FIGURE_OF(live - bytes), .untouched_bytes = FIGURE_OF(bytes)};
    /* clang-format on */
}

static struct built *untouched(uint64_t bytes)
{
    struct built *built = built_new();
    built_site(built, built_path(built, "main:10 > reserve:20"),
               (struct call_metrics){.alloc_count = FIGURE_OF(2),
                                     .alloc_bytes = FIGURE_OF(16 * MIB),
                                     .at_peak_bytes = FIGURE_OF(16 * MIB),
                                     .peak_bytes = FIGURE_OF(16 * MIB)});
    read_again(built, 16 * MIB, bytes);
    built->samples[0].why = PROFILE_SAMPLE_END;
    return built;
}

/* A heap that shrinks while the look is taken: pages that smaps had counted were not found. */
static void pages_that_went_were_touched(void **state)
{
    (void)state;
    struct built *built = untouched(12 * MIB);
    built->samples[0].unexplained_bytes = 4 * MIB;
    assert_string_equal(the(built_ask(built), "untouched-memory")->title,
                        "reserve never touches 8.00 MiB of its 16.0 MiB");
    built->samples[0].unexplained_bytes = 11 * MIB;
    assert_silent(built_ask(built), "untouched-memory");
    built->samples[0].why = PROFILE_SAMPLE_RESIDENT_PEAK;
    built->samples[0].resident_bytes = built->samples[0].high_water_bytes = figure_of(20 * MIB);
    assert_silent(built_ask(built), "untouched-memory");
    built->samples[0].unexplained_bytes = 0;
    the(built_ask(built), "untouched-memory");
    built_free(built);
}

static void memory_never_touched_is_told(void **state)
{
    (void)state;
    struct built *built = untouched(12 * MIB);
    const struct insight *insight = the(built_ask(built), "untouched-memory");
    assert_string_equal(insight->title, "reserve never touches 12.0 MiB of its 16.0 MiB");
    assert_evidence(built, insight,
                    "untouched_bytes 12582912, live_bytes 16777216, untouched_share 0.750, "
                    "live_count 2, peak_share 0.750, time 100000000");
    assert_path(built, insight, 0, 12 * MIB, "reserve:20 < main:10");
    assert_severity(insight, "notice");
    built_free(built);
}

static void a_small_part_may_stay_untouched(void **state)
{
    (void)state;
    struct built *built = untouched(4 * MIB - 1);
    assert_silent(built_ask(built), "untouched-memory");
    built_free(built);
    built = untouched(4 * MIB);
    the(built_ask(built), "untouched-memory");
    built->samples[0].has_ledger = false;
    assert_true(is_unasked(built_ask(built), "untouched-memory"));
    built_free(built);
}

static void a_buffer_that_is_being_filled_is_not_told(void **state)
{
    (void)state;
    struct built *built = untouched(12 * MIB);
    built->samples[0].why = PROFILE_SAMPLE_RESIDENT_PEAK; /* what comes after it nobody knows */
    assert_silent(built_ask(built), "untouched-memory");
    assert_false(is_unasked(built->insights, "untouched-memory"));
    read_again(built, 16 * MIB, 10 * MIB); /* it is getting less */
    assert_silent(built_ask(built), "untouched-memory");
    read_again(built, 16 * MIB, 0); /* and is full */
    built->samples[2].why = PROFILE_SAMPLE_END;
    assert_silent(built_ask(built), "untouched-memory");
    built_free(built);
}

static void what_no_reading_saw_touched_is_told(void **state)
{
    (void)state;
    struct built *built = untouched(12 * MIB);
    built->samples[0].why = PROFILE_SAMPLE_RESIDENT_PEAK;
    read_again(built, 16 * MIB, 11 * MIB);
    assert_evidence(built, the(built_ask(built), "untouched-memory"),
                    "untouched_bytes 11534336, live_bytes 16777216, untouched_share 0.688, "
                    "live_count 2, peak_share 0.688, time 200000000");
    /* too short a part of the run */
    for (size_t i = 0; i < built->profile.meta_count; i++)
        if (!strcmp(built->meta[i].key, PROFILE_META_DURATION))
            built->meta[i].value = "1000000001";
    assert_silent(built_ask(built), "untouched-memory");
    built_free(built);
}

/* When most of its blocks are gone, what the rest has touched says nothing of them. */
static void readings_of_a_few_of_its_blocks_do_not_count(void **state)
{
    (void)state;
    struct built *built = untouched(12 * MIB);
    built->samples[0].why = PROFILE_SAMPLE_RESIDENT_PEAK;
    read_again(built, 16 * MIB, 12 * MIB);
    read_again(built, 8 * MIB - 1, 0);
    built->samples[2].why = PROFILE_SAMPLE_END;
    the(built_ask(built), "untouched-memory");
    read_again(built, 8 * MIB, 0);
    assert_silent(built_ask(built), "untouched-memory");
    built_free(built);
}

/* ---- Limits ---- */

static struct built *limited(uint64_t used, uint64_t ooms)
{
    struct built *built = untouched(0);
    add_sample(built, 0, 0);
    add_sample(built, 0, 0);
    built->samples[0].ooms = figure_of(5);
    built->samples[1].ooms = figure_of(5);
    built->samples[2].ooms = figure_of(5 + ooms);
    built->samples[0].cgroup_bytes = figure_of(100 * MIB);
    built->samples[1].cgroup_bytes = figure_of(used);
    built->samples[2].cgroup_bytes = figure_of(100 * MIB);
    for (int i = 0; i < 3; i++)
        built->samples[i].cgroup_limit_bytes = figure_of(1000 * MIB);
    return built;
}

static void coming_near_the_limit_is_told(void **state)
{
    (void)state;
    struct built *built = limited(800 * MIB, 0);
    const struct insight *insight = the(built_ask(built), "memory-limit");
    assert_string_equal(insight->title,
                        "The control group came to 80.0 % of its limit of 1000 MiB");
    assert_evidence(built, insight,
                    "cgroup_bytes 838860800, cgroup_limit_bytes 1048576000, limit_share 0.800, "
                    "resident_bytes 44040192, ooms 0, time 200000000");
    assert_path(built, insight, 0, 16 * MIB, "reserve:20 < main:10");
    assert_severity(insight, "notice");
    built->samples[1].cgroup_bytes = figure_of(900 * MIB);
    assert_severity(the(built_ask(built), "memory-limit"), "warning");
    built->samples[1].cgroup_bytes = figure_of(950 * MIB);
    assert_severity(the(built_ask(built), "memory-limit"), "severe");
    built_free(built);
}

static void far_from_it_nothing_is_said(void **state)
{
    (void)state;
    struct built *built = limited(800 * MIB - 1, 0);
    assert_silent(built_ask(built), "memory-limit");
    assert_false(is_unasked(built->insights, "memory-limit"));
    for (int i = 0; i < 3; i++) /* no limit */
        built->samples[i].cgroup_limit_bytes = figure_of(UINT64_MAX - 1);
    assert_silent(built_ask(built), "memory-limit");
    assert_false(is_unasked(built->insights, "memory-limit"));
    for (int i = 0; i < 3; i++)
        built->samples[i].cgroup_bytes = FIGURE_UNKNOWN;
    assert_true(is_unasked(built_ask(built), "memory-limit"));
    built_free(built);
}

static void kills_during_the_run_are_severe(void **state)
{
    (void)state;
    struct built *built = limited(300 * MIB, 1);
    const struct insight *insight = the(built_ask(built), "memory-limit");
    assert_string_equal(insight->title, "The kernel killed 1 process of the control group for want "
                                        "of memory; its limit is 1000 MiB");
    assert_severity(insight, "severe");
    built_free(built);
}

/* Nobody looked at it after it was killed: the end says it. */
static void the_kill_that_ended_it_is_one(void **state)
{
    (void)state;
    struct built *built = limited(300 * MIB, 0);
    struct strbuf end = STRBUF_INIT;
    built_meta(built, PROFILE_META_OOM_KILLS, "1");
    built_meta(built, PROFILE_META_OOM_LIMIT, "1048576000");
    const struct insight *insight = the(built_ask(built), "memory-limit");
    assert_non_null(strstr(insight->title, "killed 1 process"));
    assert_severity(insight, "severe");
    facts_add_end(&end, &built->profile);
    assert_string_equal(end.data,
                        "exit status 0; the kernel killed 1 process of its control group for "
                        "want of memory (limit 1000 MiB)");
    strbuf_release(&end);
    built_free(built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kill_that_ended_it_is_one),
        cmocka_unit_test(a_buffer_that_is_being_filled_is_not_told),
        cmocka_unit_test(what_no_reading_saw_touched_is_told),
        cmocka_unit_test(readings_of_a_few_of_its_blocks_do_not_count),
        cmocka_unit_test(memory_that_is_freed_and_stays_is_told),
        cmocka_unit_test(some_MiB_are_what_any_allocator_keeps),
        cmocka_unit_test(what_is_used_again_was_kept_for_that),
        cmocka_unit_test(what_the_allocator_keeps_goes_by_the_ledger),
        cmocka_unit_test(memory_that_goes_back_is_not),
        cmocka_unit_test(what_was_never_resident_does_not_stay),
        cmocka_unit_test(one_late_reading_is_no_fragmentation),
        cmocka_unit_test(the_blocks_that_pin_are_named),
        cmocka_unit_test(little_that_is_pinned_is_no_matter),
        cmocka_unit_test(without_resident_memory_it_is_not_asked),
        cmocka_unit_test(memory_never_touched_is_told),
        cmocka_unit_test(pages_that_went_were_touched),
        cmocka_unit_test(a_small_part_may_stay_untouched),
        cmocka_unit_test(coming_near_the_limit_is_told),
        cmocka_unit_test(far_from_it_nothing_is_said),
        cmocka_unit_test(kills_during_the_run_are_severe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
