/* Figures of random call trees against those of views/functions, which counts in another way; a
 * rebuild that moves every function changes nothing; and what noise is. The seed is printed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "diff/diff.h"
#include "random_profile.h"
#include "aggregate/functions.h"

static const struct random_size size = {12, 3, 40, 300, 80, 6};

/* Names by number; functions of a file lie a hundred lines apart. */
static struct profile *named_profile(uint64_t seed, uint32_t moved_by)
{
    static char names[16][8];
    random_state = seed;
    struct profile *profile = random_profile(size);
    for (uint32_t i = 1; i < profile->function_count; i++) {
        snprintf(names[i], sizeof names[i], "f%u", i);
        profile->functions[i].name = names[i];
    }
    for (uint32_t i = 0; i < profile->module_count; i++)
        profile->modules[i].path = i == 0 ? "/lib/a.so" : i == 1 ? "/lib/b.so" : "/lib/c.so";
    for (size_t i = 0; i < profile->line_count; i++)
        if (profile->lines[i].function)
            profile->lines[i].line = 100 * profile->lines[i].function + random_below(9) +
                                     moved_by * profile->lines[i].function;
    for (size_t i = 0; i < profile->site_count; i++)
        profile->program.total.at_peak_bytes = figure_add(profile->program.total.at_peak_bytes,
                                                          profile->sites[i].metrics.at_peak_bytes);
    return profile;
}

static struct diff compare(const struct diff_run *runs, size_t count, bool inclusive)
{
    struct diff difference;
    struct diff_options options = {.norm = DIFF_AS_IS, .inclusive = inclusive};
    assert_int_equal(diff_make(&difference, runs, count, &options), 0);
    return difference;
}

static double value_of(const struct diff *difference, const char *name, size_t run)
{
    for (size_t i = 0; i < difference->function_count; i++)
        if (!strcmp(diff_function_name(difference, difference->functions[i].identity), name))
            return diff_function_value(difference, difference->functions[i].identity, run);
    return 0;
}

static void check_run(const struct diff *difference, const struct profile *profile, size_t run,
                      bool inclusive)
{
    struct functions functions;
    double sum = 0;
    assert_int_equal(functions_init(&functions, profile, NULL, NULL), 0);
    for (size_t i = 0; i < functions.count; i++) {
        const struct function_row *row = &functions.rows[i];
        uint32_t index;
        double value =
            figure_double((inclusive ? row->inclusive : row->exclusive).metrics.at_peak_bytes);
        if (function_key_kind(profile, row->key, &index) == FUNCTION_KEY_FUNCTION)
            assert_true(value_of(difference, profile->functions[index].name, run) == value);
    }
    for (size_t i = 0; i < difference->path_count; i++)
        sum += diff_path_value(difference, difference->paths[i].node, run);
    assert_true(sum == figure_double(profile->program.total.at_peak_bytes));
    functions_release(&functions);
}

static void figures_are_those_of_functions(void **state)
{
    (void)state;
    uint64_t seed = (uint64_t)time(NULL) * 1000;
    printf("seed %llu\n", (unsigned long long)seed);
    for (int round = 0; round < 200; round++) {
        struct profile *a = named_profile(seed + (uint64_t)round, 0);
        struct profile *b = named_profile(seed + 7919 + (uint64_t)round, 0);
        const struct diff_run runs[] = {{a, "a", 0, NULL}, {b, "b", 1, NULL}};
        bool inclusive = round & 1;
        struct diff difference = compare(runs, 2, inclusive);
        check_run(&difference, a, 0, inclusive);
        check_run(&difference, b, 1, inclusive);
        assert_true(difference.total.before == figure_double(a->program.total.at_peak_bytes));
        assert_true(difference.total.after == figure_double(b->program.total.at_peak_bytes));
        diff_release(&difference);
        random_profile_free(a);
        random_profile_free(b);
    }
}

/* Of one path of a run it is not known: so it is of its function, of the sum and of the difference,
 * and the function stands between those that have grown and those that have shrunk. */
static void what_is_not_known_of_a_path_is_no_0(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 50; seed++) {
        struct profile *a = named_profile(seed, 0), *b = named_profile(seed + 7919, 0);
        size_t site = seed % a->site_count;
        a->sites[site].metrics.at_peak_bytes = FIGURE_UNKNOWN;
        const struct diff_run runs[] = {{a, "a", 0, NULL}, {b, "b", 1, NULL}};
        struct diff difference = compare(runs, 2, true);
        size_t unknown = 0, shrunk = 0;
        for (size_t i = 0; i < difference.function_count; i++) {
            const struct diff_figure *figure = &difference.functions[i].figure;
            unknown += isnan(figure->before);
            shrunk += diff_of(figure) < 0;
            assert_false(isnan(figure->after));
            assert_false(isnan(figure->before) && diff_counts(figure));
            assert_false(shrunk && diff_of(figure) > 0);
        }
        assert_true(unknown > 0);
        assert_true(isnan(difference.total.before));
        assert_false(isnan(difference.total.after));
        diff_release(&difference);
        random_profile_free(a);
        random_profile_free(b);
    }
}

/* Asked by another metric and back, it is as if made anew. */
static void another_metric_is_another_diff(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 50; seed++) {
        struct profile *a = named_profile(seed, 0), *b = named_profile(seed + 7919, 0);
        const struct diff_run runs[] = {{a, "a", 0, NULL}, {b, "b", 1, NULL}};
        struct diff asked = compare(runs, 2, false), anew;
        for (int metric = 3; metric >= 0; metric--) {
            struct diff_options options = {.metric = metric, .norm = DIFF_AS_IS};
            assert_int_equal(diff_make(&anew, runs, 2, &options), 0);
            assert_int_equal(diff_by(&asked, metric), 0);
            assert_true(asked.total.before == anew.total.before);
            assert_int_equal(asked.path_count, anew.path_count);
            assert_int_equal(asked.function_count, anew.function_count);
            for (size_t i = 0; i < anew.path_count; i++) {
                assert_int_equal(asked.paths[i].node, anew.paths[i].node);
                assert_true(asked.paths[i].figure.before == anew.paths[i].figure.before);
                assert_true(asked.paths[i].figure.after == anew.paths[i].figure.after);
            }
            diff_release(&anew);
        }
        diff_release(&asked);
        random_profile_free(a);
        random_profile_free(b);
    }
}

/* Each function moves by another number of lines. */
static void a_rebuild_that_moves_functions_changes_nothing(void **state)
{
    (void)state;
    uint64_t seed = (uint64_t)time(NULL) * 1000;
    printf("seed %llu\n", (unsigned long long)seed);
    for (int round = 0; round < 200; round++) {
        struct profile *a = named_profile(seed + (uint64_t)round, 0);
        struct profile *b = named_profile(seed + (uint64_t)round, 13);
        const struct diff_run runs[] = {{a, "a", 0, NULL}, {b, "b", 1, NULL}};
        struct diff difference = compare(runs, 2, false);
        assert_true(difference.path_count > 5);
        for (size_t i = 0; i < difference.path_count; i++)
            assert_true(diff_of(&difference.paths[i].figure) == 0);
        diff_release(&difference);
        random_profile_free(a);
        random_profile_free(b);
    }
}

/* A path of the second run is found among many that begin alike. */
static void one_frame_calls_many(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 50; seed++) {
        struct profile *profiles[2];
        for (int i = 0; i < 2; i++) {
            profiles[i] = named_profile(seed, 0);
            for (size_t node = 1; node < profiles[i]->node_count; node++)
                profiles[i]->nodes[node].parent = 0;
        }
        const struct diff_run runs[] = {{profiles[0], "a", 0, NULL}, {profiles[1], "b", 1, NULL}};
        struct diff difference = compare(runs, 2, false);
        assert_true(difference.path_count > 8);
        for (size_t i = 0; i < difference.path_count; i++)
            assert_true(diff_of(&difference.paths[i].figure) == 0);
        diff_release(&difference);
        random_profile_free(profiles[0]);
        random_profile_free(profiles[1]);
    }
}

/* ---- Paths, against texts of them ---------------------------------------------------------- */

enum { TEXT_BYTES = 4096 };

struct told_path {
    char text[TEXT_BYTES]; /* "f3:304 f1:102 …", from the innermost frame outwards */
    double value;
};

static void add_frame(char *text, const char *name, uint32_t line)
{
    size_t used = strlen(text);
    assert_true(snprintf(text + used, TEXT_BYTES - used, "%s:%u ", name, line) <
                (int)(TEXT_BYTES - used));
}

static void add_path(struct told_path *paths, size_t *count, const char *text, double value)
{
    size_t at = 0;
    while (at < *count && strcmp(paths[at].text, text))
        at++;
    if (at == *count)
        strcpy(paths[(*count)++].text, text);
    paths[at].value += value;
}

/* Of each way of the profile what its sites have together. */
static size_t paths_of_profile(const struct profile *profile, struct told_path *paths)
{
    size_t count = 0;
    for (size_t i = 0; i < profile->site_count; i++) {
        char text[TEXT_BYTES] = "";
        double value = figure_double(profile->sites[i].metrics.at_peak_bytes);
        uint32_t node = profile->sites[i].path;
        if (!node)
            add_frame(text, "[no call path]", 0);
        for (; node; node = profile->nodes[node].parent) {
            const struct profile_code *code = &profile->codes[profile->nodes[node].location];
            for (uint32_t at = code->first_line; at < code->first_line + code->line_count; at++)
                add_frame(text, profile->functions[profile->lines[at].function].name,
                          profile->lines[at].line);
        }
        if (value != 0)
            add_path(paths, &count, text, value);
    }
    return count;
}

static size_t paths_of_run(const struct diff *difference, size_t run, struct told_path *paths)
{
    size_t count = 0;
    for (size_t i = 0; i < difference->path_count; i++) {
        char text[TEXT_BYTES] = "";
        uint32_t node = difference->paths[i].node;
        struct diff_frame frame;
        double value = diff_path_value(difference, node, run);
        while (diff_frame_next(difference, &node, &frame))
            add_frame(text, frame.function, frame.line[run]);
        if (value != 0)
            add_path(paths, &count, text, value);
    }
    return count;
}

static int by_text(const void *left, const void *right)
{
    return strcmp(((const struct told_path *)left)->text, ((const struct told_path *)right)->text);
}

static void check_paths(const struct diff *difference, const struct profile *profile, size_t run)
{
    struct told_path *wanted = calloc(2 * (profile->site_count + 1), sizeof *wanted);
    struct told_path *told = wanted + profile->site_count + 1;
    size_t count = paths_of_profile(profile, wanted);
    assert_int_equal(paths_of_run(difference, run, told), count);
    qsort(wanted, count, sizeof *wanted, by_text);
    qsort(told, count, sizeof *told, by_text);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(told[i].text, wanted[i].text);
        assert_true(told[i].value == wanted[i].value);
    }
    free(wanted);
}

/* Deep ones and shallow ones, inlined frames, several sites on one way. */
static void paths_are_those_of_the_profiles(void **state)
{
    (void)state;
    uint64_t seed = (uint64_t)time(NULL) * 1000;
    printf("seed %llu\n", (unsigned long long)seed);
    for (uint64_t round = 0; round < 60; round++) {
        struct profile *profiles[2];
        for (uint64_t i = 0; i < 2; i++) {
            struct profile *profile = profiles[i] = named_profile(seed + round + 7919 * i, 0);
            for (size_t line = 1; line < profile->line_count; line++)
                if (!profile->lines[line].function)
                    profile->lines[line] = (struct profile_line){.function = 1, .line = 100};
            for (size_t code = 0; code < profile->code_count; code++)
                profile->codes[code].mark = 0;
        }
        const struct diff_run runs[] = {{profiles[0], "a", 0, NULL}, {profiles[1], "b", 1, NULL}};
        struct diff difference = compare(runs, 2, round & 1);
        check_paths(&difference, profiles[0], 0);
        check_paths(&difference, profiles[1], 1);
        diff_release(&difference);
        random_profile_free(profiles[0]);
        random_profile_free(profiles[1]);
    }
}

static void noise_is_students(void **state)
{
    (void)state;
    const struct diff_run runs[] = {{.group = 0}, {.group = 0}, {.group = 0},
                                    {.group = 1}, {.group = 1}, {.group = 1}};
    const double near[] = {10, 11, 12, 12, 13, 14}, far[] = {10, 11, 12, 22, 23, 24};
    struct diff_figure figure = diff_figure_of(runs, 6, near);
    assert_true(figure.before == 11 && figure.after == 13);
    /* both have a variance of 1: 4.604 x sqrt(1 x 2/3) */
    assert_true(fabs(figure.noise - 4.604 * sqrt(2.0 / 3)) < 1e-9);
    assert_false(diff_counts(&figure));
    figure = diff_figure_of(runs, 6, far);
    assert_true(diff_counts(&figure));
    /* One run each: not known, and any difference counts. */
    const struct diff_run two[] = {{.group = 0}, {.group = 1}};
    figure = diff_figure_of(two, 2, (const double[]){5, 6});
    assert_true(isnan(figure.noise) && diff_counts(&figure));
    figure = diff_figure_of(two, 2, (const double[]){5, 5});
    assert_false(diff_counts(&figure));
    figure = diff_figure_of(two, 2, (const double[]){NAN, 5});
    assert_true(isnan(figure.before) && isnan(diff_of(&figure)) && !diff_counts(&figure));
    assert_true(figure.after == 5 && isnan(figure.noise)); /* the side that is known is shown */
}

/* Error bars of samples are noise even of single runs. */
static void a_sample_is_noisy(void **state)
{
    (void)state;
    struct profile *a = named_profile(1, 0), *b = named_profile(1, 0);
    a->sample_bytes = b->sample_bytes = 1024;
    double variance = 0;
    for (size_t i = 0; i < a->site_count; i++) /* a path without any of it has no variance */
        if (figure_positive(a->sites[i].metrics.at_peak_bytes))
            variance += 2 * 1024 * figure_double(a->sites[i].metrics.at_peak_variance);
    const struct diff_run runs[] = {{a, "a", 0, NULL}, {b, "b", 1, NULL}};
    struct diff difference = compare(runs, 2, false);
    assert_true(fabs(difference.total.noise / (2.576 * sqrt(variance)) - 1) < 1e-9);
    diff_release(&difference);
    random_profile_free(a);
    random_profile_free(b);
}

/* A run that is whole, and a sample of it that has seen some of its sites only: neither what is
 * missing nor what was counted for more is a difference. */
static void what_a_sample_has_not_seen_is_not_gone(void **state)
{
    (void)state;
    enum { INTERVAL = 1 << 20 };
    struct profile *whole = named_profile(3, 0), *sample = named_profile(3, 0);
    sample->sample_bytes = INTERVAL;
    for (size_t i = 0; i < sample->site_count; i++) {
        struct call_metrics *metrics = &sample->sites[i].metrics;
        whole->sites[i].metrics.at_peak_bytes = figure_of(4096);
        whole->sites[i].metrics.at_peak_count = figure_of(64);
        metrics->at_peak_bytes = figure_of(i % 2 ? INTERVAL : 0);
        metrics->at_peak_variance = figure_of(i % 2 ? 1024 : 0);
    }
    const struct diff_run runs[] = {{whole, "whole", 0, NULL}, {sample, "sample", 1, NULL}};
    struct diff difference = compare(runs, 2, false);
    assert_true(difference.path_count > 5);
    for (size_t i = 0; i < difference.path_count; i++)
        assert_false(diff_counts(&difference.paths[i].figure));
    diff_release(&difference);
    /* One block of a hundred intervals cannot be missed. */
    for (size_t i = 0; i < whole->site_count; i++) {
        whole->sites[i].metrics.at_peak_bytes = figure_of(100 * (uint64_t)INTERVAL);
        whole->sites[i].metrics.at_peak_count = figure_of(1);
    }
    difference = compare(runs, 2, false);
    for (size_t i = 0; i < difference.path_count; i++)
        assert_true(diff_counts(&difference.paths[i].figure));
    /* Of counts nobody knows. */
    assert_int_equal(diff_by(&difference, 2), 0);
    assert_true(isnan(difference.total.noise));
    diff_release(&difference);
    random_profile_free(whole);
    random_profile_free(sample);
}

/* What one run does not know has no difference: of two imports it was "−8.00 EiB". */
static void what_a_run_does_not_know_has_no_difference(void **state)
{
    (void)state;
    struct profile *known = named_profile(1, 0), *unknown = named_profile(2, 0);
    for (size_t i = 0; i < METRICS; i++)
        if (&metric_rows[i] != METRIC_ROW(at_peak_bytes))
            *metric_field(&metric_rows[i], &unknown->program.total) = FIGURE_UNKNOWN;
    const struct diff_run runs[] = {{known, "a", 0, NULL}, {unknown, "b", 1, NULL}};
    struct diff difference = compare(runs, 2, false);
    struct diff_total totals[DIFF_TOTALS];
    diff_totals(&difference, totals);
    for (int i = 0; i < DIFF_TOTALS; i++)
        assert_true(isnan(diff_of(&totals[i].figure)) && !diff_counts(&totals[i].figure));
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    struct diff_show show = {.style = {.columns = 100}, .top = 10, .depth = 3};
    assert_int_equal(diff_text(out, &difference, NULL, &show), 0);
    assert_int_equal(diff_json(out, &difference, NULL, &show), 0);
    fclose(out);
    assert_null(strstr(text, "EiB"));
    assert_null(strstr(text, "nan"));
    free(text);
    diff_release(&difference);
    random_profile_free(known);
    random_profile_free(unknown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_those_of_functions),
        cmocka_unit_test(what_is_not_known_of_a_path_is_no_0),
        cmocka_unit_test(another_metric_is_another_diff),
        cmocka_unit_test(a_rebuild_that_moves_functions_changes_nothing),
        cmocka_unit_test(one_frame_calls_many),
        cmocka_unit_test(paths_are_those_of_the_profiles),
        cmocka_unit_test(noise_is_students),
        cmocka_unit_test(a_sample_is_noisy),
        cmocka_unit_test(what_a_sample_has_not_seen_is_not_gone),
        cmocka_unit_test(what_a_run_does_not_know_has_no_difference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
