/* The rows of metrics.def: names, what is done with all of them alike, and the table of
 * doc/METRICS.md, which has exactly these rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "model/metrics.h"

/* Every metric is this number, or unknown. */
static struct call_metrics all_of(struct figure figure)
{
    struct call_metrics metrics;
    for (size_t i = 0; i < METRICS; i++)
        *metric_field(&metric_rows[i], &metrics) = figure;
    return metrics;
}

static void assert_figure(const struct metric_row *row, const struct call_metrics *metrics,
                          struct figure expected)
{
    if (!figure_equal(metric_value(row, metrics), expected))
        fail_msg("%s is wrong", row->column);
}

static void columns_and_titles_are_unique(void **state)
{
    (void)state;
    for (size_t i = 0; i < METRICS; i++) {
        assert_ptr_equal(metric_row_find(metric_rows[i].column), &metric_rows[i]);
        assert_true(*metric_rows[i].title && *metric_rows[i].help);
        assert_int_equal(metric_rows[i].offset, i * sizeof(struct figure));
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(metric_rows[i].title, metric_rows[k].title);
    }
    assert_null(metric_row_find("no such column"));
}

static void a_variance_belongs_to_bytes_that_are_summed(void **state)
{
    (void)state;
    size_t with = 0, variances = 0;
    for (size_t i = 0; i < METRICS; i++) {
        const struct metric_row *row = &metric_rows[i];
        variances += row->unit == METRIC_VARIANCE;
        if (row->variance == METRIC_NO_VARIANCE)
            continue;
        with++;
        assert_int_equal(row->unit, METRIC_BYTES);
        assert_int_equal(row->merge, METRIC_SUM);
        assert_int_equal(metric_rows[row->variance / sizeof(struct figure)].unit, METRIC_VARIANCE);
    }
    assert_int_equal(with, variances);
}

static struct figure merged(const struct metric_row *row, struct figure a, struct figure b)
{
    switch (row->merge) {
    case METRIC_SUM:
        return figure_add(a, b);
    case METRIC_LEAST:
        return figure_known(a) && figure_known(b) ? figure_add(a, b) : figure_known(a) ? a : b;
    case METRIC_MIN:
        return figure_min(a, b);
    case METRIC_MAX:
        return figure_max(a, b);
    default:
        return FIGURE_UNKNOWN;
    }
}

static void each_metric_merges_by_its_rule(void **state)
{
    (void)state;
    const struct figure figures[] = {FIGURE_OF(0), FIGURE_OF(3), FIGURE_OF(10),
                                     FIGURE_OF(FIGURE_MOST), FIGURE_UNKNOWN};
    for (size_t a = 0; a < sizeof figures / sizeof *figures; a++)
        for (size_t b = 0; b < sizeof figures / sizeof *figures; b++) {
            struct call_metrics into = all_of(figures[a]), from = all_of(figures[b]);
            call_metrics_merge(&into, &from);
            for (size_t i = 0; i < METRICS; i++)
                assert_figure(&metric_rows[i], &into,
                              merged(&metric_rows[i], figures[a], figures[b]));
        }
}

static void nothing_is_zero_where_metrics_add_up(void **state)
{
    (void)state;
    struct call_metrics nothing;
    call_metrics_clear(&nothing, NULL);
    for (size_t i = 0; i < METRICS; i++)
        assert_figure(&metric_rows[i], &nothing,
                      metric_rows[i].merge == METRIC_SUM ? figure_of(0) : FIGURE_UNKNOWN);
}

static void nothing_knows_no_more_than_what_it_is_like(void **state)
{
    (void)state;
    struct call_metrics nothing, like = all_of(figure_of(5));
    like.freed_count = like.alloc_time = FIGURE_UNKNOWN;
    call_metrics_clear(&nothing, &like);
    assert_false(call_metrics_know_frees(&nothing));
    assert_false(call_metrics_know_times(&nothing));
    assert_true(figure_zero(nothing.alloc_count));
    assert_true(figure_zero(nothing.freed_bytes));
}

static void nothing_merged_with_a_path_is_that_path(void **state)
{
    (void)state;
    struct call_metrics into, from = all_of(figure_of(77));
    call_metrics_clear(&into, &from);
    call_metrics_merge(&into, &from);
    for (size_t i = 0; i < METRICS; i++)
        assert_figure(&metric_rows[i], &into,
                      metric_rows[i].merge == METRIC_NEVER ? FIGURE_UNKNOWN : figure_of(77));
}

static void pages_forget_what_counts_calls_and_nothing_else(void **state)
{
    (void)state;
    struct call_metrics metrics = all_of(figure_of(9));
    call_metrics_forget_calls(&metrics);
    for (size_t i = 0; i < METRICS; i++)
        assert_figure(&metric_rows[i], &metrics,
                      metric_rows[i].counts_calls ? FIGURE_UNKNOWN : figure_of(9));
    assert_false(figure_known(metrics.alloc_count));
    assert_true(figure_known(metrics.live_bytes) && figure_known(metrics.peak_bytes));
}

/* ---- doc/METRICS.md ------------------------------------------------------------------------ */

/* The next word of a comma-separated cell, without back ticks; the last one stays. */
static const char *next_word(char **cell)
{
    char *word = *cell + strspn(*cell, " `"), *comma = strchr(word, ',');
    if (comma)
        *cell = comma + 1;
    word[strcspn(word, "`,:")] = 0;
    for (size_t end = strlen(word); end && word[end - 1] == ' ';)
        word[--end] = 0;
    if (!comma)
        *cell = word;
    return word;
}

static bool unit_is(const struct metric_row *row, const char *word)
{
    switch (row->unit) {
    case METRIC_BYTES:
        return !strcmp(word, "bytes");
    case METRIC_COUNT:
        return !strcmp(word, "calls") || !strcmp(word, "blocks");
    case METRIC_NS:
    case METRIC_MOMENT:
        return !strcmp(word, "ns");
    case METRIC_VARIANCE:
        return !strcmp(word, "B²/1024");
    }
    return false;
}

/* One row of the document: names, units, definition, merges. Returns how many metrics it has. */
static size_t check_row(char *line, bool seen[METRICS])
{
    char *cells[4];
    strtok(line, "|\n");
    cells[0] = line + 1;
    for (int i = 1; i < 4; i++)
        assert_non_null(cells[i] = strtok(NULL, "|\n"));
    size_t count = 1;
    for (const char *c = cells[0]; *c; c++)
        count += *c == ',';
    for (size_t i = 0; i < count; i++) {
        const char *name = next_word(&cells[0]);
        const char *unit = next_word(&cells[1]), *merge = next_word(&cells[3]);
        const struct metric_row *row = metric_row_find(name);
        if (!row || seen[row - metric_rows])
            fail_msg("doc/METRICS.md: '%s' is no row of metrics.def, or stands twice", name);
        if (!unit_is(row, unit) || strcmp(metric_merge_name(row->merge), merge))
            fail_msg("doc/METRICS.md: unit '%s' or rule '%s' of %s is another one in metrics.def",
                     unit, merge, name);
        seen[row - metric_rows] = true;
    }
    return count;
}

static void the_document_has_exactly_these_rows(void **state)
{
    (void)state;
    FILE *file = fopen(DOC_DIR "/METRICS.md", "r");
    bool seen[METRICS] = {false}, inside = false;
    char line[4096];
    size_t count = 0;
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (!strcmp(line, "| metric | unit | definition | merges by |\n") && !count)
            inside = true;
        else if (inside && *line != '|')
            inside = false;
        else if (inside && strncmp(line, "| ---", 5))
            count += check_row(line, seen);
    }
    fclose(file);
    for (size_t i = 0; i < METRICS; i++)
        if (!seen[i])
            fail_msg("doc/METRICS.md has no row of %s", metric_rows[i].column);
    assert_int_equal(count, METRICS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_and_titles_are_unique),
        cmocka_unit_test(a_variance_belongs_to_bytes_that_are_summed),
        cmocka_unit_test(each_metric_merges_by_its_rule),
        cmocka_unit_test(nothing_is_zero_where_metrics_add_up),
        cmocka_unit_test(nothing_knows_no_more_than_what_it_is_like),
        cmocka_unit_test(nothing_merged_with_a_path_is_that_path),
        cmocka_unit_test(pages_forget_what_counts_calls_and_nothing_else),
        cmocka_unit_test(the_document_has_exactly_these_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
