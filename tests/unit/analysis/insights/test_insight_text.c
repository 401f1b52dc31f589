/* What is printed, compared with what a person has looked at and found good. To renew:
 * UPDATE=1 test_insight_text, and read the difference. */
#include "built.h"

#include "base/text.h"

/* A program with something of most kinds in it; its names are not to be trusted. */
static struct built *troubled(void)
{
    struct built *built = built_new();
    built_site(built,
               built_path(built, "main@/home/ann/src/main.cpp:42 > "
                                 "solver::log\033[31m(char const*)@/home/ann/src/log.cpp:9"),
               (struct call_metrics){.alloc_count = FIGURE_OF(600000),
                                     .alloc_bytes = FIGURE_OF(28800000),
                                     .free_count = FIGURE_OF(600000),
                                     .free_bytes = FIGURE_OF(28800000),
                                     .temporary_count = FIGURE_OF(600000),
                                     .lifetime_sum = FIGURE_OF(60000000),
                                     .peak_bytes = FIGURE_OF(48)});
    /* clang-format off */
    built_site(built,
               built_path(built, "main@/home/ann/src/main.cpp:43 > a:1 > b:2 > c:3 > d:4 > e:5 > "
                                 "f:6 > g:7 > solver::Field<double, solver::Layout<solver::RowMajor,"
                                 " 64> >::resize(unsigned long)@/home/ann/src/field.hpp:203 > "
                                 "operator new(unsigned long):1"),
               (struct call_metrics){.alloc_count = FIGURE_OF(40), .alloc_bytes = FIGURE_OF(40 * MIB), .live_count = FIGURE_OF(20),
                                     .live_bytes = FIGURE_OF(20 * MIB), .free_count = FIGURE_OF(20),
                                     .free_bytes = FIGURE_OF(20 * MIB), .peak_bytes = FIGURE_OF(20 * MIB),
                                     .at_peak_bytes = FIGURE_OF(20 * MIB), .at_peak_count = FIGURE_OF(20),
                                     .peak_ticks = FIGURE_OF(900 * MS)});
    /* clang-format on */
    built_meta(built, PROFILE_META_DIRECTORY, "/home/ann");
    return built;
}

static char *printed(const struct insights *insights, size_t columns, bool utf8, int least,
                     bool json)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    struct insights_options options = {.style = {false, utf8, columns}, .least = least};
    assert_int_equal(
        json ? insights_json(out, insights, &options) : insights_text(out, insights, &options), 0);
    fclose(out);
    return text;
}

static void assert_golden(const char *name, const char *text)
{
    char path[300];
    static char expected[1 << 16];
    snprintf(path, sizeof path, "%s/%s", GOLDEN_DIR, name);
    FILE *file = fopen(path, getenv("UPDATE") ? "w+" : "r");
    assert_non_null(file);
    if (getenv("UPDATE"))
        fputs(text, file);
    rewind(file);
    expected[fread(expected, 1, sizeof expected - 1, file)] = 0;
    fclose(file);
    if (strcmp(text, expected)) {
        print_error("not as in %s:\n%s\n", path, text);
        fail();
    }
}

static void text_is_as_it_should_be(void **state)
{
    (void)state;
    struct built *built = troubled();
    char *text = printed(built_ask(built), 80, true, 0, false);
    assert_golden("insight-80.txt", text);
    free(text);
    text = printed(built->insights, 100, false, INSIGHT_WARNING, false);
    assert_golden("insight-ascii.txt", text);
    free(text);
    built_free(built);
}

static void json_is_as_it_should_be(void **state)
{
    (void)state;
    struct built *built = troubled();
    char *text = printed(built_ask(built), 80, true, 0, true);
    assert_golden("insight.json", text);
    free(text);
    built_free(built);
}

static void no_line_is_wider_than_asked(void **state)
{
    (void)state;
    struct built *built = troubled();
    built_ask(built);
    for (size_t columns = 72; columns <= 160; columns += 11) {
        char *text = printed(built->insights, columns, true, 0, false);
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
            if (text_width(line) > columns)
                fail_msg("%zu columns: %s", columns, line);
        free(text);
    }
    built_free(built);
}

static void the_most_severe_come_first(void **state)
{
    (void)state;
    struct built *built = troubled();
    const struct insights *insights = built_ask(built);
    assert_true(insights->count >= 3);
    for (size_t i = 1; i < insights->count; i++) {
        const struct insight *before = &insights->items[i - 1], *after = &insights->items[i];
        bool alike = before->severity == after->severity;
        assert_true(before->severity > after->severity || (alike && before->rank > after->rank) ||
                    (alike && before->rank == after->rank && before->cost >= after->cost));
    }
    built_free(built);
}

static void stacks_skip_libraries_and_say_where_they_are_cut(void **state)
{
    (void)state;
    struct built *built = troubled();
    const struct insight *insight = the(built_ask(built), "peak-one-site");
    assert_int_equal(insight->paths[0].frame_count, INSIGHT_FRAMES);
    assert_true(insight->paths[0].more);
    assert_int_equal(built->lines[insight->paths[0].frames[0].line].line, 203);
    built_free(built);
}

static void recursion_is_shown_once(void **state)
{
    (void)state;
    struct built *built = built_new();
    built_site(built, built_path(built, "main:1 > down:2 > down:2 > down:2 > leaf:3"),
               (struct call_metrics){.alloc_count = FIGURE_OF(1),
                                     .alloc_bytes = FIGURE_OF(MIB),
                                     .at_peak_bytes = FIGURE_OF(MIB),
                                     .at_peak_count = FIGURE_OF(1)});
    assert_path(built, the(built_ask(built), "peak-one-site"), 0, MIB, "leaf:3 < down:2 < main:1");
    built_free(built);
}

/* Half of a peak of 10 KiB is nobody's trouble. One block of `slack` too much at a peak of
 * `peak`. */
static void severity_goes_by_share_and_amount(void **state)
{
    (void)state;
    static const struct {
        uint64_t slack, peak;
        const char *severity;
    } cases[] = {
        {16 * MIB, 32 * MIB, "notice"}, /* it is a cost, and no fault */
        {MIB, 5 * MIB + 1, "notice"},   {MIB - 1, MIB, "notice"},
        {MIB, 20 * MIB, "notice"},      {MIB, 20 * MIB + 1, "info"},
        {64 * KIB, 64 * KIB, "notice"}, {64 * KIB, 20 * 64 * KIB + 1, "info"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct built *built = built_new();
        built_site(built, built_path(built, "main:1 > waste:2"),
                   (struct call_metrics){.alloc_count = FIGURE_OF(128),
                                         .alloc_bytes = FIGURE_OF(cases[i].peak / 4),
                                         .free_count = FIGURE_OF(128),
                                         .slack_bytes = FIGURE_OF(cases[i].slack),
                                         .at_peak_count = FIGURE_OF(128),
                                         .at_peak_bytes = FIGURE_OF(cases[i].peak)});
        assert_severity(the(built_ask(built), "size-waste"), cases[i].severity);
        built_free(built);
    }
}

/* Of a rule that tells of faults: free memory that live blocks pin. */
static void faults_may_be_severe(void **state)
{
    (void)state;
    static const struct {
        uint64_t pinned, resident;
        const char *severity;
    } cases[] = {
        {16 * MIB, 32 * MIB, "severe"},     {16 * MIB, 32 * MIB + 1, "warning"},
        {16 * MIB, 80 * MIB, "warning"},    {16 * MIB, 80 * MIB + 1, "notice"},
        {16 * MIB - 1, 16 * MIB, "notice"}, {MIB, 5 * MIB, "notice"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct built *built = built_new();
        built->samples[built->profile.sample_count++] =
            (struct profile_sample){.id = 1,
                                    .has_ledger = true,
                                    .pinned_bytes = FIGURE_OF(cases[i].pinned),
                                    .resident_bytes = FIGURE_OF(cases[i].resident)};
        assert_severity(the(built_ask(built), "fragmentation"), cases[i].severity);
        built_free(built);
    }
}

/* What blocks cost beside the peak may be more than it: "270 %" of it reads like a slip. */
static void a_share_of_more_than_all_is_so_many_times(void **state)
{
    (void)state;
    struct built *built = built_new();
    built_site(built, built_path(built, "main:1 > waste:2"),
               (struct call_metrics){.alloc_count = FIGURE_OF(128),
                                     .alloc_bytes = FIGURE_OF(10 * MIB),
                                     .free_count = FIGURE_OF(128),
                                     .slack_bytes = FIGURE_OF(27 * MIB),
                                     .at_peak_count = FIGURE_OF(128),
                                     .at_peak_bytes = FIGURE_OF(10 * MIB)});
    char *text = printed(built_ask(built), 100, true, 0, false);
    assert_non_null(strstr(text, "peak share 2.7 times"));
    assert_null(strstr(text, "270"));
    free(text);
    text = printed(built->insights, 100, true, 0, true);
    assert_non_null(strstr(text, "2.7,"));
    free(text);
    built_free(built);
}

int main(void)
{
    setenv("LC_ALL", "C.UTF-8", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_as_it_should_be),
        cmocka_unit_test(json_is_as_it_should_be),
        cmocka_unit_test(no_line_is_wider_than_asked),
        cmocka_unit_test(the_most_severe_come_first),
        cmocka_unit_test(stacks_skip_libraries_and_say_where_they_are_cut),
        cmocka_unit_test(recursion_is_shown_once),
        cmocka_unit_test(severity_goes_by_share_and_amount),
        cmocka_unit_test(a_share_of_more_than_all_is_so_many_times),
        cmocka_unit_test(faults_may_be_severe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
