/* Sections beyond the call sites: with everything recorded, and with nothing. */
#include "golden.h"
#include "../../files/profile/as_rows.h"

#include "detail.h"
#include <time.h>
#include "aggregate/call_sites.h"
#include "aggregate/metric_choice.h"

static int open_detailed(void **state)
{
    int error = open_profile(state);
    if (!error)
        detail_add(profile);
    return error;
}

static int close_detailed(void **state)
{
    detail_remove(profile);
    return close_profile(state);
}

/* Everything but the call sites, which other tests look at. */
static struct report_options all_sections(void)
{
    struct report_options options = usual();
    options.top = 10;
    options.show = REPORT_SHOW_ALL & ~(1u << REPORT_SITES);
    return options;
}

static void every_section(void **state)
{
    (void)state;
    struct report_options options = all_sections();
    check_text("report-detail-80.txt", &options);
}

static void every_section_in_ascii(void **state)
{
    (void)state;
    struct report_options options = all_sections();
    options.utf8 = false;
    options.columns = 120;
    options.inclusive = true;
    char wrong[64];
    assert_int_equal(report_columns_parse("alloc_count,recycling_ratio,allocator_ns",
                                          &options.more_columns, wrong, sizeof wrong),
                     0);
    check_text("report-detail-ascii-120.txt", &options);
    char *text = text_of(&options);
    static const char *const drawn[] = {"█", "▁", "▏", "│", "└", "→", "↓", "░"};
    for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++)
        assert_null(strstr(text, drawn[i]));
    free(text);
}

static void the_overview_has_peaks_and_ledger(void **state)
{
    (void)state;
    struct report_options options = usual();
    options.top = 3;
    options.brief = true;
    check_text("report-overview-80.txt", &options);
}

/* 400 down to 390 on the way to the highest. The section that was asked for has all. */
static void the_overview_leaves_waves_on_a_slope_out(void **state)
{
    (void)state;
    struct report_options options = usual();
    const struct figure valley = profile->peaks[0].valley_bytes;
    profile->peaks[0].valley_bytes = figure_of(profile->peaks[0].bytes - 1024);
    options.brief = true;
    char *text = text_of(&options);
    assert_non_null(strstr(text, "Separate peaks  2,"));
    free(text);
    profile->peaks[0].valley_bytes = FIGURE_UNKNOWN;
    text = text_of(&options);
    assert_non_null(strstr(text, "Separate peaks  3,"));
    free(text);
    profile->peaks[0].valley_bytes = valley;
}

/* Below a hundredth of the highest. The section that was asked for has all. */
static void the_overview_leaves_tiny_peaks_out(void **state)
{
    (void)state;
    struct report_options options = usual();
    const uint64_t heights[] = {profile->peaks[0].bytes, profile->peaks[1].bytes};
    profile->peaks[0].bytes = 6 * 1024;
    options.brief = true;
    char *text = text_of(&options);
    assert_non_null(strstr(text, "Separate peaks  2,"));
    assert_null(strstr(text, "6.00 KiB"));
    free(text);
    profile->peaks[1].bytes = 7 * 1024;
    text = text_of(&options);
    assert_null(strstr(text, "Separate peaks"));
    free(text);
    options = all_sections();
    text = text_of(&options);
    assert_non_null(strstr(text, "6.00 KiB"));
    free(text);
    profile->peaks[0].bytes = heights[0];
    profile->peaks[1].bytes = heights[1];
}

/* Of the highest all is known; of the others the largest call paths. */
static void shares_of_peaks_are_exact_or_at_least(void **state)
{
    (void)state;
    struct report_options options = usual();
    struct call_metrics *total = &profile->program.total, kept = *total;
    const struct peak *highest = &profile->peaks[2];
    options.brief = true;
    total->peak_bytes = total->at_peak_bytes = figure_of(highest->bytes);
    total->peak_ticks = figure_of(highest->ticks);
    char *text = text_of(&options);
    *total = kept;
    const char *first = strstr(text, "12.0 MiB  after"), *last = strstr(text, "26.3 MiB  after");
    assert_true(first && last && first < last);
    const char *sure = strstr(first, "≥ ");
    assert_true(sure && sure < last);
    assert_null(strstr(last, "≥ "));
    free(text);
}

static void no_line_is_wider_than_asked(void **state)
{
    (void)state;
    for (size_t columns = 72; columns <= 200; columns += 3) {
        struct report_options options = all_sections();
        options.columns = columns;
        options.utf8 = columns % 2;
        char *text = text_of(&options);
        assert_not_wider(text, columns);
        free(text);
    }
}

static void what_has_gone_meanwhile_is_always_shown_and_never_below_0(void **state)
{
    (void)state;
    struct profile_sample *sample = &detail_samples[1];
    struct report_options options = usual();
    int64_t before = sample->unexplained_bytes;
    static const struct {
        int64_t bytes;
        const char *shown;
    } cases[] = {{0, "gone meanwhile              0 B"},
                 {3 * KIB, "gone meanwhile         3.00 KiB"},
                 {-(3 * KIB), "gone meanwhile              0 B"}};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        bool in_section = i % 2;
        options.show = in_section ? 1u << REPORT_MEMORY : 0;
        sample->unexplained_bytes = cases[i / 2].bytes;
        char *text = text_of(&options);
        assert_non_null(strstr(text, cases[i / 2].shown));
        free(text);
    }
    sample->unexplained_bytes = before;
}

static char *json_of(const struct report_options *options)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(report_json(out, profile, options), 0);
    fclose(out);
    return text;
}

static void the_same_as_json(void **state)
{
    (void)state;
    struct report_options options = usual();
    size_t buckets = profile->bucket_count;
    options.metric = 0;
    options.top = 2;
    options.show = 1u << REPORT_TREE;
    profile->bucket_count = 0; /* in another golden file */
    char *text = json_of(&options);
    profile->bucket_count = buckets;
    assert_golden("report-detail.json", text);
    free(text);
}

/* ---- Nothing recorded ---------------------------------------------------------------------- */

static size_t count_of(const char *text, const char *word)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, word)); at++)
        count++;
    return count;
}

static void what_was_not_recorded_is_said(void **state)
{
    (void)state;
    struct report_options options = all_sections();
    char *text = text_of(&options);
    assert_int_equal(count_of(text, "  not recorded"), 7);
    assert_non_null(strstr(text, "nothing was reallocated"));
    assert_null(strstr(text, "gone meanwhile"));
    free(text);
    text = json_of(&options);
    static const char *const members[] = {"peaks",     "curves",    "distributions",
                                          "exchanges", "globals",   "samples",
                                          "mappings",  "residency", "sources"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        char member[64];
        snprintf(member, sizeof member, "\n  \"%s\": null", members[i]);
        assert_non_null(strstr(text, member));
    }
    free(text);
}

/* A recording that has saved nothing yet, or lost all. */
static void an_empty_profile(void **state)
{
    (void)state;
    struct profile_node node = {0, 0};
    struct profile_code code = {.module = UINT32_MAX, .line_count = 1};
    struct profile_line line = {0, NULL, 0};
    struct profile_function function = {"?", NULL, NULL};
    struct profile empty = {.nodes = &node,
                            .node_count = 1,
                            .codes = &code,
                            .code_count = 1,
                            .lines = &line,
                            .line_count = 1,
                            .functions = &function,
                            .function_count = 1};
    struct profile *before = profile;
    struct report_options options = usual();
    profile = &empty;
    free(text_of(&options));
    options.show = REPORT_SHOW_ALL;
    free(text_of(&options));
    free(json_of(&options));
    profile = before;
}

/* ---- Options ------------------------------------------------------------------------------- */

static void lists_of_sections(void **state)
{
    (void)state;
    char wrong[64];
    unsigned show = 0;
    assert_int_equal(report_show_parse("peaks,threads", &show, wrong, sizeof wrong), 0);
    assert_int_equal(show, 1u << REPORT_PEAKS | 1u << REPORT_THREADS);
    assert_int_equal(report_show_parse("all", &show, wrong, sizeof wrong), 0);
    assert_int_equal(show, REPORT_SHOW_ALL);
    assert_true(report_show_parse("peaks,peek", &show, wrong, sizeof wrong) < 0);
    assert_string_equal(wrong, "peek");
    show = 0;
    assert_true(report_show_parse("", &show, wrong, sizeof wrong) < 0);
    for (unsigned i = 0; i < REPORT_SECTIONS; i++)
        assert_non_null(report_section_names[i]);
}

static void lists_of_columns(void **state)
{
    (void)state;
    char wrong[64];
    struct report_columns columns = {0};
    assert_int_equal(report_columns_parse("mean_size,live_bytes", &columns, wrong, sizeof wrong),
                     0);
    assert_int_equal(columns.count, 2);
    assert_string_equal(report_column_name(columns.at[0]), "mean_size");
    assert_string_equal(report_column_name(columns.at[1]), "live_bytes");
    assert_true(report_columns_parse("mean", &columns, wrong, sizeof wrong) < 0);
    assert_true(report_columns_parse("mean_size,mean_size,mean_size,mean_size,mean_size,mean_size,"
                                     "mean_size,mean_size,mean_size",
                                     &columns, wrong, sizeof wrong) < 0);
}

/* ---- What is not known --------------------------------------------------------------------- */

/* Figures one after another; one in `one_in` of them becomes unknown, by chance. */
static void forget(void *figures, size_t bytes, int one_in)
{
    struct figure *at = figures;
    for (size_t i = 0; i < bytes / sizeof *at; i++)
        if (rand() % one_in == 0)
            at[i] = FIGURE_UNKNOWN;
}

#define FORGET_FROM(row, first, last, one_in)                                                      \
    forget(&(row)->first, (size_t)((char *)(&(row)->last + 1) - (char *)&(row)->first), one_in)

static void forget_the_program(int one_in)
{
    struct program_metrics *program = &profile->program;
    forget(&program->total, sizeof program->total, one_in);
    FORGET_FROM(program, live_peak_count, live_peak_count, one_in);
    FORGET_FROM(program, unmap_count, brk_bytes, one_in);
    as_rows(profile);
    for (size_t i = 0; i < profile->site_count; i++)
        forget(&profile->sites[i].metrics, sizeof profile->sites[i].metrics, one_in);
    for (size_t i = 0; i < profile->bucket_count; i++)
        forget(&profile->buckets[i], sizeof profile->buckets[i], one_in);
}

static void forget_the_details(int one_in)
{
    for (size_t i = 0; i < profile->thread_count; i++) {
        struct thread_metrics *thread = &profile->threads[i];
        FORGET_FROM(thread, alloc_count, free_bytes, one_in);
        FORGET_FROM(thread, malloc_count, stack_touched_bytes, one_in);
        FORGET_FROM(thread, pool_count, earlier_count, one_in);
    }
    for (size_t i = 0; i < profile->sample_count; i++) {
        FORGET_FROM(&profile->samples[i], resident_bytes, ooms, one_in);
        FORGET_FROM(&profile->samples[i], live_touched_bytes, other_bytes, one_in);
        FORGET_FROM(&profile->samples[i], untouched_bytes, pinned_bytes, one_in);
    }
    for (size_t i = 0; i < profile->mapping_count; i++)
        FORGET_FROM(&profile->mappings[i], virtual_bytes, swapped_bytes, one_in);
    for (size_t i = 0; i < profile->residency_count; i++)
        FORGET_FROM(&profile->residencies[i], live_count, pinning_count, one_in);
    for (size_t i = 0; i < profile->section_count; i++)
        FORGET_FROM(&profile->sections[i], bytes, variables, one_in);
    for (size_t i = 0; i < profile->peak_count; i++)
        FORGET_FROM(&profile->peaks[i], valley_bytes, valley_bytes, one_in);
}

/* 2^64, 2^63 and their likes, in any of the ways in which a number is written. */
static void assert_sound(const char *text)
{
    static const char *const absurd[] = {"EiB",
                                         "18446744073709551",
                                         "9223372036854775807",
                                         "18,446,744",
                                         "18.4 E",
                                         "1.84e+19",
                                         "-nan",
                                         ": nan",
                                         "584 y"};
    for (size_t i = 0; i < sizeof absurd / sizeof *absurd; i++)
        if (strstr(text, absurd[i])) {
            print_error("'%s' is in\n%s\n", absurd[i], text);
            fail();
        }
}

static void show_all(void)
{
    struct report_options options = all_sections();
    char *text = NULL;
    size_t bytes;
    options.show = REPORT_SHOW_ALL;
    options.top = 100;
    char wrong[64];
    static const char columns[] =
        "alloc_count,recycling_ratio,allocator_ns,mean_size,slack_share,own-peak,smallest";
    assert_int_equal(report_columns_parse(columns, &options.more_columns, wrong, sizeof wrong), 0);
    for (int metric = METRIC_CHOICE_ALL; metric < METRIC_CHOICES; metric++) {
        FILE *out = open_memstream(&text, &bytes);
        options.metric = metric;
        assert_int_equal(report_text(out, profile, &options), 0);
        options.show = 0;
        assert_int_equal(report_text(out, profile, &options), 0);
        options.show = REPORT_SHOW_ALL;
        assert_int_equal(report_json(out, profile, &options), 0);
        assert_int_equal(report_summary(out, profile, "x.tmk"), 0);
        fclose(out);
        assert_sound(text);
        free(text);
    }
}

static void what_is_not_known_is_no_number(void **state)
{
    (void)state;
    unsigned seed = (unsigned)time(NULL);
    print_message("seed %u\n", seed);
    srand(seed);
    static const int one_in[] = {50, 5, 2, 1};
    for (size_t i = 0; i < sizeof one_in / sizeof *one_in; i++) {
        forget_the_program(one_in[i]);
        forget_the_details(one_in[i]);
        show_all();
    }
}

int main(void)
{
    const struct CMUnitTest detailed[] = {
        cmocka_unit_test(every_section),
        cmocka_unit_test(every_section_in_ascii),
        cmocka_unit_test(the_overview_has_peaks_and_ledger),
        cmocka_unit_test(the_overview_leaves_waves_on_a_slope_out),
        cmocka_unit_test(the_overview_leaves_tiny_peaks_out),
        cmocka_unit_test(shares_of_peaks_are_exact_or_at_least),
        cmocka_unit_test(no_line_is_wider_than_asked),
        cmocka_unit_test(what_has_gone_meanwhile_is_always_shown_and_never_below_0),
        cmocka_unit_test(the_same_as_json),
    };
    const struct CMUnitTest plain[] = {
        cmocka_unit_test(what_was_not_recorded_is_said),
        cmocka_unit_test(no_line_is_wider_than_asked),
        cmocka_unit_test(an_empty_profile),
        cmocka_unit_test(lists_of_sections),
        cmocka_unit_test(lists_of_columns),
    };
    const struct CMUnitTest forgetful[] = {
        cmocka_unit_test(what_is_not_known_is_no_number), /* the details stay without figures */
    };
    return cmocka_run_group_tests(detailed, open_detailed, close_detailed) +
           cmocka_run_group_tests(plain, open_profile, close_profile) +
           cmocka_run_group_tests(forgetful, open_detailed, close_detailed);
}
