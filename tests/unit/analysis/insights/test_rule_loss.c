/* What the profile itself lacks. */
#include "built.h"

static void a_whole_profile_is_not_complained_of(void **state)
{
    (void)state;
    struct built *built = built_new();
    built_others(built, 100);
    built->profile.program.foreign_frees = 10; /* blocks from before the recording: no loss */
    assert_silent(built_ask(built), "incomplete-profile");
    built_free(built);
}

static void lost_events_are_told(void **state)
{
    (void)state;
    struct built *built = built_new();
    built_others(built, 100);
    built->profile.program.lost_events = 250;
    const struct insight *insight = the(built_ask(built), "incomplete-profile");
    assert_string_equal(insight->title,
                        "250 events were not recorded (20.0 %): counts are lower bounds");
    assert_evidence(built, insight,
                    "lost_events 250, unattributed 0, unwalkable 0, replaced_blocks 0, "
                    "malformed_events 0, damaged_rings 0, events 1000");
    assert_severity(insight, "notice");
    built_free(built);
}

static void damage_is_a_warning_at_least(void **state)
{
    (void)state;
    struct built *built = built_new();
    built_others(built, 100);
    built->profile.damage = "part of it could not be read (\033x)";
    const struct insight *insight = the(built_ask(built), "incomplete-profile");
    assert_string_equal(insight->title,
                        "The profile is damaged: part of it could not be read (\\x1bx)");
    assert_severity(insight, "warning");
    built_free(built);
}

/* In the order of what is worse. */
static void the_worst_is_the_title(void **state)
{
    (void)state;
    struct built *built = built_new();
    built_others(built, 100);
    built_meta(built, PROFILE_META_UNWALKABLE, "3");
    assert_string_equal(the(built_ask(built), "incomplete-profile")->title,
                        "3 call paths could not be walked to their ends");
    built->profile.program.replaced_blocks = 1;
    assert_string_equal(the(built_ask(built), "incomplete-profile")->title,
                        "Frees were missed: 1 allocation came where a block was alive");
    built_meta(built, PROFILE_META_UNATTRIBUTED, "9");
    assert_string_equal(the(built_ask(built), "incomplete-profile")->title,
                        "9 events have no call path");
    built->profile.program.malformed_events = 4;
    assert_severity(the(built_ask(built), "incomplete-profile"), "warning");
    assert_string_equal(the(built->insights, "incomplete-profile")->title,
                        "The program overwrote what was recorded: 4 records make no sense");
    built_free(built);
}

static void a_few_stacks_cut_short_are_usual(void **state)
{
    (void)state;
    struct built *built = built_new();
    for (int i = 0; i < 40; i++) {
        char frames[40];
        snprintf(frames, sizeof frames, "main:%d", i + 1);
        built_site(built, built_path(built, frames),
                   (struct call_metrics){.alloc_count = FIGURE_OF(1)});
    }
    assert_silent(built_ask(built), "incomplete-profile");
    built_meta(built, PROFILE_META_UNWALKABLE, "1"); /* of 40 */
    const struct insight *insight = the(built_ask(built), "incomplete-profile");
    assert_severity(insight, "info");
    assert_string_equal(insight->title, "1 call path could not be walked to its end");
    built_free(built);
}

static void missed_frees_alone_are_explained(void **state)
{
    (void)state;
    struct built *built = built_new();
    built_others(built, 100);
    built->profile.program.replaced_blocks = 8;
    assert_non_null(strstr(the(built_ask(built), "incomplete-profile")->advice, "RTLD_DEEPBIND"));
    built->profile.program.lost_events = 1;
    assert_null(strstr(the(built_ask(built), "incomplete-profile")->advice, "RTLD_DEEPBIND"));
    built_free(built);
}

static void a_sample_is_said_to_be_one(void **state)
{
    (void)state;
    struct built *built = built_new();
    built_others(built, 100);
    built_meta(built, "sample_bytes", "524288");
    assert_evidence(built, the(built_ask(built), "incomplete-profile"),
                    "lost_events 0, unattributed 0, unwalkable 0, replaced_blocks 0, "
                    "malformed_events 0, damaged_rings 0, events 1000, sample_bytes 524288");
    assert_string_equal(the(built->insights, "incomplete-profile")->title,
                        "Only a sample was recorded, one allocation in 512 KiB: counts are "
                        "estimates");
    built_free(built);
}

static void what_was_not_seen_is_a_warning(void **state)
{
    (void)state;
    struct built *built = built_new();
    built_others(built, 100);
    built->profile.program.lost_events = 1;
    built_meta(built, PROFILE_META_UNSEEN,
               "mimalloc\t/opt/lib/libx.so\tother threads ran\njemalloc\t\tbecause");
    const struct insight *insight = the(built_ask(built), "incomplete-profile");
    assert_severity(insight, "warning");
    assert_string_equal(
        insight->title,
        "Counts are lower bounds, not seen: mimalloc in libx.so (other threads ran)");
    assert_evidence(built, insight,
                    "lost_events 1, unattributed 0, unwalkable 0, replaced_blocks 0, "
                    "malformed_events 0, damaged_rings 0, unseen_allocators 2, events 1000");
    built_free(built);
}

/* 40 MiB of private memory, of which the program's calls mapped none, `owned` with a call path. */
static struct built *with_mappings(struct profile_owner *owners, uint64_t owned)
{
    struct built *built = built_new();
    built_others(built, 100);
    built_meta(built, PROFILE_META_STARTED_BY, "exec");
    built->samples[built->profile.sample_count++] =
        (struct profile_sample){.id = 1,
                                .has_ledger = true,
                                .resident_bytes = FIGURE_OF(60 * MIB),
                                .mmap_bytes = FIGURE_OF(40 * MIB)};
    owners[0] = (struct profile_owner){
        .sample = 1, .kind = PROFILE_OWNER_MAPPING, .path = 1, .resident_bytes = FIGURE_OF(owned)};
    owners[1] = (struct profile_owner){.sample = 1,
                                       .kind = PROFILE_OWNER_MAPPING,
                                       .name = "not seen when it was mapped",
                                       .resident_bytes = FIGURE_OF(40 * MIB - owned)};
    built->profile.owners = owners;
    built->profile.owner_count = 2;
    return built;
}

static void memory_that_nobody_was_seen_to_map_is_told(void **state)
{
    (void)state;
    struct profile_owner owners[2];
    struct built *built = with_mappings(owners, 24 * MIB);
    assert_non_null(strstr(the(built_ask(built), "incomplete-profile")->title, "16.0 MiB"));
    built_free(built);
    built = with_mappings(owners, 24 * MIB + 1); /* the break, say, which is no call of mmap */
    assert_silent(built_ask(built), "incomplete-profile");
    built_free(built);
}

/* Without a block in it, such memory looks like any mapping. */
static void what_another_allocator_may_keep_is_not(void **state)
{
    (void)state;
    struct profile_owner owners[2];
    struct built *built = with_mappings(owners, 0);
    the(built_ask(built), "incomplete-profile");
    built->modules[built->profile.module_count++] =
        (struct profile_module){.path = "/usr/lib/libjemalloc.so.2"};
    built->profile.program.total.peak_bytes = figure_of(25 * MIB);
    assert_silent(built_ask(built), "incomplete-profile");
    built->profile.program.total.peak_bytes = figure_of(24 * MIB);
    assert_non_null(strstr(the(built_ask(built), "incomplete-profile")->title, "16.0 MiB"));
    built_free(built);
}

static void nothing_saved_is_nothing_asked(void **state)
{
    (void)state;
    struct built *built = built_new();
    built->profile.has_program = false;
    const struct insights *insights = built_ask(built);
    assert_int_equal(insights->count, 0);
    assert_true(is_unasked(insights, "leak-possible"));
    assert_true(is_unasked(insights, "incomplete-profile"));
    assert_int_equal(insights->silence_count, 26);
    built_free(built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_profile_is_not_complained_of),
        cmocka_unit_test(lost_events_are_told),
        cmocka_unit_test(damage_is_a_warning_at_least),
        cmocka_unit_test(the_worst_is_the_title),
        cmocka_unit_test(a_few_stacks_cut_short_are_usual),
        cmocka_unit_test(missed_frees_alone_are_explained),
        cmocka_unit_test(a_sample_is_said_to_be_one),
        cmocka_unit_test(what_was_not_seen_is_a_warning),
        cmocka_unit_test(memory_that_nobody_was_seen_to_map_is_told),
        cmocka_unit_test(what_another_allocator_may_keep_is_not),
        cmocka_unit_test(nothing_saved_is_nothing_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
