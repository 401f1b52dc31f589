/* Whole reports on the golden profile (golden.h). */
#include "golden.h"
#include "../../files/profile/as_rows.h"
#include "aggregate/match.h"
#include "profile/profile_for_summary.h"
#include "report/report_text.h"

enum { METRIC_FREED = 8, METRIC_TIME = 12 }; /* in METRIC_CHOICE */

static void the_usual_report(void **state)
{
    (void)state;
    struct report_options options = usual();
    check_text("report-80.txt", &options);
}

static void a_wide_one_in_colour(void **state)
{
    (void)state;
    struct report_options options = usual();
    options.columns = 120;
    options.colour = true;
    options.metric = 0;
    check_text("report-120-colour.txt", &options);
}

static void one_metric_filtered_in_ascii(void **state)
{
    (void)state;
    struct report_options options = usual();
    options.metric = 2;
    options.filter = "mesh\\.cpp|log";
    options.utf8 = false;
    options.hide_std = false;
    check_text("report-filter.txt", &options);
}

static void no_line_is_wider_than_asked(void **state)
{
    (void)state;
    for (size_t columns = 72; columns <= 200; columns += 7) {
        struct report_options options = usual();
        options.columns = columns;
        char *text = text_of(&options);
        assert_not_wider(text, columns);
        free(text);
    }
}

static void the_same_as_json(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes;
    struct report_options options = usual();
    options.metric = 1;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(report_json(out, profile, &options), 0);
    fclose(out);
    assert_golden("report.json", text);
    free(text);
}

/* The golden profile as if it had been recorded with --free-stacks, each block freed where it was
 * allocated, every fourth by another thread. */
static void know_frees_of(struct call_metrics *call)
{
    call->freed_count = call->free_count;
    call->freed_bytes = call->free_bytes;
    call->freed_elsewhere_count = figure_divide(call->free_count, figure_of(4));
    call->freed_lifetime_sum = call->lifetime_sum;
}

static int open_profile_with_frees(void **state)
{
    int error = open_profile(state);
    if (!error)
        as_rows(profile);
    for (size_t i = 0; !error && i < profile->site_count; i++)
        know_frees_of(&profile->sites[i].metrics);
    if (!error)
        know_frees_of(&profile->program.total);
    return error;
}

static void where_memory_was_freed(void **state)
{
    (void)state;
    struct report_options options = usual();
    options.metric = METRIC_FREED;
    assert_null(metric_missing(profile, options.metric));
    check_text("report-freed.txt", &options);
}

static void where_memory_was_freed_is_a_usual_section_if_it_is_known(void **state)
{
    (void)state;
    struct report_options options = usual();
    char *text = text_of(&options);
    assert_non_null(strstr(text, "\nFreed most  "));
    free(text);
}

static void what_was_not_recorded_is_not_shown_but_said(void **state)
{
    (void)state;
    assert_null(metric_missing(profile, METRIC_CHOICE_ALL));
    assert_null(metric_missing(profile, 0));
    assert_non_null(strstr(metric_missing(profile, METRIC_FREED), "--free-stacks"));
    assert_non_null(strstr(metric_missing(profile, METRIC_TIME), "timed"));
}

static void check_summary(const char *name)
{
    char *text = NULL;
    size_t bytes, lines = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(report_summary(out, profile, "tidemark.solver.4711.tmk"), 0);
    fclose(out);
    for (const char *at = text; *at; at++)
        lines += *at == '\n';
    assert_true(lines <= 10);
    assert_golden(name, text);
    free(text);
}

static void the_summary_has_ten_lines_at_most(void **state)
{
    (void)state;
    check_summary("summary.txt");
}

static char *summary_of(const struct profile *of)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(report_summary(out, of, "run.tmk"), 0);
    fclose(out);
    return text;
}

static void the_summary_shows_no_more_than_is_read_for_it(void **state)
{
    (void)state;
    static const char *const paths[] = {GOLDEN_DIR "/profile-v1.tmk", GOLDEN_DIR "/profile-v2.tmk",
                                        GOLDEN_DIR "/profile-v2-details.tmk"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct profile *some, *all;
        assert_int_equal(profile_read_for_summary(&some, paths[i]), 0);
        assert_int_equal(profile_read(&all, paths[i]), 0);
        char *of_some = summary_of(some), *of_all = summary_of(all);
        assert_string_equal(of_some, of_all);
        free(of_some);
        free(of_all);
        profile_free(some);
        profile_free(all);
    }
}

/* Where nothing was asked for there is no moment of most. */
static void a_peak_of_nothing_is_at_no_moment(void **state)
{
    (void)state;
    const struct report_options options = usual();
    struct call_metrics *total = &profile->program.total, before = *total;
    size_t bytes;
    char *text = text_of(&options), *summary = NULL;
    assert_non_null(strstr(text, " blocks, after "));
    free(text);
    total->peak_bytes = total->at_peak_count = total->peak_ticks = figure_of(0);
    text = text_of(&options);
    assert_non_null(strstr(text, "0 B requested in 0 blocks\n"));
    free(text);
    FILE *out = open_memstream(&summary, &bytes);
    assert_int_equal(report_summary(out, profile, "run.tmk"), 0);
    fclose(out);
    assert_non_null(strstr(summary, "  peak         0 B"));
    assert_null(strstr(summary, "after 0 ns"));
    free(summary);
    *total = before;
}

/* ---- Samples ---- */

enum { INTERVAL = 512 << 10 };

static uint64_t samples_of(struct figure bytes)
{
    return figure_positive(bytes) ? figure_or(bytes, 0) / INTERVAL + 1 : 0;
}

static struct figure add_to(struct figure *total, uint64_t number)
{
    *total = figure_add(*total, figure_of(number));
    return figure_of(number);
}

/* The golden profile as if it had been sampled, each sample one of a small block. */
static int open_profile_of_samples(void **state)
{
    int error = open_profile(state);
    struct call_metrics *total = &profile->program.total;
    total->sample_count = total->alloc_variance = figure_of(0);
    total->live_variance = total->at_peak_variance = figure_of(0);
    if (!error)
        as_rows(profile);
    for (size_t i = 0; !error && i < profile->site_count; i++) {
        struct call_metrics *site = &profile->sites[i].metrics;
        uint64_t samples = samples_of(site->alloc_bytes);
        uint64_t alive = samples_of(site->live_bytes), at_peak = samples_of(site->at_peak_bytes);
        site->sample_count = add_to(&total->sample_count, samples);
        site->alloc_variance = add_to(&total->alloc_variance, 1024 * samples);
        site->live_variance = add_to(&total->live_variance, 1024 * alive);
        site->at_peak_variance = add_to(&total->at_peak_variance, 1024 * at_peak);
    }
    profile->sample_bytes = INTERVAL;
    return error;
}

static void a_sample_says_how_sure_it_is(void **state)
{
    (void)state;
    struct report_options options = usual();
    check_text("report-sampled.txt", &options);
    check_summary("summary-sampled.txt");
}

static void a_sample_says_so_in_json(void **state)
{
    (void)state;
    struct report_options options = usual();
    options.metric = 1;
    options.depth = 1;
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(report_json(out, profile, &options), 0);
    fclose(out);
    assert_golden("report-sampled.json", text);
    free(text);
}

static void check_says_of_nothing(const char *wanted)
{
    struct report_options options = usual();
    struct figure live_count = profile->program.total.live_count;
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    profile->program.total.live_count = figure_of(0);
    assert_int_equal(report_text(out, profile, &options), 0);
    fclose(out);
    assert_non_null(strstr(text, wanted));
    profile->program.total.live_count = live_count;
    free(text);
}

static void nothing_in_a_sample_is_less_than_three_intervals(void **state)
{
    (void)state;
    check_says_of_nothing("nothing of the sample: less than 1.50 MiB in all (95 %)");
}

/* Of pages the interval may have been doubled three times (doc/METRICS.md). */
static void nothing_of_pages_is_less_than_three_of_the_widest(void **state)
{
    (void)state;
    profile->pages = true;
    profile->sample_bytes = 8192;
    check_says_of_nothing("nothing of the sample: less than 192 KiB in all (95 %)");
    profile->sample_bytes = INTERVAL;
    profile->pages = false;
}

static void of_an_empty_sample_nothing_is_known(void **state)
{
    (void)state;
    struct report_options options = usual();
    struct figure samples = profile->program.total.sample_count;
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    profile->program.total.sample_count = figure_of(0);
    assert_int_equal(report_text(out, profile, &options), 0);
    assert_int_equal(report_summary(out, profile, "x.tmk"), 0);
    fclose(out);
    char *first = strstr(text, "not known: nothing came into the sample");
    assert_non_null(first);
    assert_non_null(strstr(first + 1, "not known: nothing came into the sample"));
    assert_null(strstr(text, "  peak  "));
    assert_null(strstr(text, "never freed  "));
    profile->program.total.sample_count = samples;
    free(text);
}

static void lengths_that_do_not_add_up_are_not_added(void **state)
{
    (void)state;
    const struct report_options options = usual();
    struct call_metrics *mapped = &profile->program.mapped, before = *mapped;
    char *text = text_of(&options);
    assert_non_null(strstr(text, "1.00 MiB by 2 calls of mmap,"));
    free(text);
    mapped->realloc_count = figure_of(1);
    text = text_of(&options);
    assert_non_null(strstr(text, "  mapped       2 calls of mmap and mremap,"));
    free(text);
    mapped->realloc_count = figure_of(0);
    struct figure *calls = &profile->program.total.map_count, two = *calls;
    *calls = figure_of(1);
    text = text_of(&options);
    assert_non_null(strstr(text, "1.00 MiB by 1 call of mmap,"));
    free(text);
    *calls = two;
    mapped->reserved_bytes = figure_of(512 << 10);
    text = text_of(&options);
    assert_non_null(strstr(text, "2 calls of mmap, 512 KiB reserved and not used,"));
    free(text);
    *mapped = before;
}

/* Maxima's allocator never calls mmap. */
static void a_grown_heap_is_told(void **state)
{
    (void)state;
    const struct report_options options = usual();
    struct program_metrics *program = &profile->program, before = *program;
    program->brk_count = figure_of(3);
    program->brk_bytes = figure_of(5 << 20);
    char *text = text_of(&options);
    assert_non_null(strstr(text, "2 calls of mmap"));
    assert_non_null(strstr(text, "heap grown by 5.00 MiB\n"));
    assert_non_null(strstr(text, " in 3 calls of brk\n"));
    free(text);
    program->total.map_count = program->unmap_count = figure_of(0);
    program->brk_count = figure_of(1);
    text = text_of(&options);
    assert_null(strstr(text, "of mmap"));
    assert_null(strstr(text, "munmap"));
    assert_non_null(strstr(text, "heap grown by 5.00 MiB in 1 call of brk"));
    free(text);
    *program = before;
}

static void set_fact(const char *key, const char *value)
{
    for (size_t i = 0; i < profile->meta_count; i++)
        if (!strcmp(profile->meta[i].key, key))
            profile->meta[i].value = value;
}

/* The golden profile was executed, and frees two blocks that were never seen to be allocated. */
static void whose_blocks_were_freed_is_said_as_far_as_it_is_known(void **state)
{
    (void)state;
    const struct report_options options = usual();
    char *text = text_of(&options);
    assert_non_null(strstr(text, "2 frees of blocks whose allocations were not seen\n"));
    free(text);
    set_fact(PROFILE_META_STARTED_BY, "fork");
    text = text_of(&options);
    assert_non_null(strstr(text, "2 frees of blocks that its parent allocated before the fork\n"));
    free(text);
    set_fact(PROFILE_META_STARTED_BY, "exec");
}

static void a_filter_is_checked(void **state)
{
    (void)state;
    char why[100];
    assert_int_equal(match_check(NULL, why, sizeof why), 0);
    assert_int_equal(match_check("a.*b", why, sizeof why), 0);
    assert_true(match_check("(a", why, sizeof why) < 0);
    assert_true(strlen(why) > 0);
}

/* The last of what adds up is smaller than a column and begins at the right edge. */
static void a_bar_is_no_longer_than_what_it_stands_for(void **state)
{
    (void)state;
    static const struct {
        double begin, end;
        const char *bar;
    } bars[] = {
        {0, 1000, "##########"},   {500, 1000, "     #####"},  {0, 1, "|"},
        {990, 1000, "         |"}, {1000, 1001, "         |"}, {900, 1000, "         #"},
    };
    for (size_t i = 0; i < sizeof bars / sizeof *bars; i++) {
        struct report_text text = {0};
        report_part_bar(&text, bars[i].begin, bars[i].end, 1000, 10);
        assert_string_equal(text.out.data, bars[i].bar);
        strbuf_release(&text.out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_usual_report),
        cmocka_unit_test(a_wide_one_in_colour),
        cmocka_unit_test(one_metric_filtered_in_ascii),
        cmocka_unit_test(no_line_is_wider_than_asked),
        cmocka_unit_test(a_bar_is_no_longer_than_what_it_stands_for),
        cmocka_unit_test(the_same_as_json),
        cmocka_unit_test(the_summary_has_ten_lines_at_most),
        cmocka_unit_test(the_summary_shows_no_more_than_is_read_for_it),
        cmocka_unit_test(a_peak_of_nothing_is_at_no_moment),
        cmocka_unit_test(lengths_that_do_not_add_up_are_not_added),
        cmocka_unit_test(a_grown_heap_is_told),
        cmocka_unit_test(whose_blocks_were_freed_is_said_as_far_as_it_is_known),
        cmocka_unit_test(a_filter_is_checked),
        cmocka_unit_test(what_was_not_recorded_is_not_shown_but_said),
    };
    const struct CMUnitTest with_frees[] = {
        cmocka_unit_test(where_memory_was_freed),
        cmocka_unit_test(where_memory_was_freed_is_a_usual_section_if_it_is_known),
        cmocka_unit_test(no_line_is_wider_than_asked),
    };
    const struct CMUnitTest of_samples[] = {
        cmocka_unit_test(a_sample_says_how_sure_it_is),
        cmocka_unit_test(a_sample_says_so_in_json),
        cmocka_unit_test(nothing_in_a_sample_is_less_than_three_intervals),
        cmocka_unit_test(nothing_of_pages_is_less_than_three_of_the_widest),
        cmocka_unit_test(of_an_empty_sample_nothing_is_known),
        cmocka_unit_test(no_line_is_wider_than_asked),
    };
    return cmocka_run_group_tests(tests, open_profile, close_profile) +
           cmocka_run_group_tests(of_samples, open_profile_of_samples, close_profile) +
           cmocka_run_group_tests(with_frees, open_profile_with_frees, close_profile);
}
