/* Charts drawn: with hostile names, with gaps, stacked, and with nothing that could be divided by.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/text.h"
#include "plot/plot.h"

static const char hostile[] =
    "</text><script>alert('x')</script>&\"\033[2J\n\xff\xef\xbf\xbe`rm`\\";

static struct chart sample_chart(const char *name, enum chart_shape shape)
{
    struct chart chart = {.x = {.title = "time", .unit = CHART_TIME},
                          .y = {.title = "memory", .unit = CHART_BYTES}};
    chart_set_title(&chart, "%s", name);
    chart_set_note(&chart, "%s", name);
    for (unsigned i = 0; i < 3; i++) {
        struct chart_series *series = chart_add(&chart, name, shape, i);
        for (int j = 0; j < 50; j++)
            chart_add_point(series, j * 1e8, j == 20 ? NAN : (i + 1) * (j + 1) * 1e5);
    }
    assert_true(chart_settle(&chart));
    return chart;
}

/* Tags are closed in order, attributes quoted, every & begins a known entity, nothing is below a
 * space but newlines. */
static void assert_well_formed(const char *text)
{
    const char *open[64];
    size_t depth = 0;
    for (const char *at = text; *at; at++) {
        assert_true((unsigned char)*at >= ' ' || *at == '\n');
        if (*at == '&')
            assert_true(!strncmp(at, "&amp;", 5) || !strncmp(at, "&lt;", 4) ||
                        !strncmp(at, "&gt;", 4) || !strncmp(at, "&quot;", 6) ||
                        !strncmp(at, "&#39;", 5));
        if (*at != '<')
            continue;
        const char *name = at + 1 + (at[1] == '/'), *end = name;
        for (bool quoted = false; *end && (quoted || *end != '>'); end++) {
            assert_true(*end != '<');
            quoted ^= *end == '"';
        }
        assert_int_equal(*end, '>');
        size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz");
        assert_true(length > 0);
        if (at[1] == '/') {
            assert_true(depth > 0);
            depth--;
            assert_memory_equal(open[depth], name, length);
        } else if (end[-1] != '/') {
            assert_true(depth < 64);
            open[depth++] = name;
        }
        at = end;
    }
    assert_int_equal(depth, 0);
}

static void an_svg_is_well_formed_whatever_the_names(void **state)
{
    (void)state;
    for (int shape = CHART_LINE; shape <= CHART_BARS; shape++) {
        struct chart chart = sample_chart(hostile, (enum chart_shape)shape);
        struct strbuf out = STRBUF_INIT;
        plot_svg(&out, &chart);
        assert_well_formed(out.data);
        assert_null(strstr(out.data, "<script"));
        assert_null(strstr(out.data, "nan"));
        assert_null(strstr(out.data, "inf"));
        strbuf_release(&out);
        chart_release(&chart);
    }
}

static size_t count_of(const char *text, char c)
{
    size_t count = 0;
    for (; *text; text++)
        count += *text == c;
    return count;
}

/* In single quotes only a quote ends them; no backquote or backslash does anything in them. */
static void a_script_keeps_names_within_their_quotes(void **state)
{
    (void)state;
    struct chart chart = sample_chart("it's 'a' $(rm) `rm` \\", CHART_STEPS);
    struct strbuf out = STRBUF_INIT;
    plot_gnuplot(&out, &chart);
    assert_non_null(strstr(out.data, "title 'it''s ''a'' $(rm) `rm` \\'"));
    const char *after = strstr(out.data, "set title");
    assert_int_equal(count_of(after, '\'') % 2, 0);
    assert_null(strstr(out.data, "nan"));
    strbuf_release(&out);
    chart_release(&chart);
}

static void a_stack_is_as_high_as_its_sum(void **state)
{
    (void)state;
    struct chart chart = sample_chart("s", CHART_STEPS);
    chart.stacked = true;
    chart.stack_count = 3;
    assert_true(chart_settle(&chart));
    assert_true(fabs(chart_top(&chart, 2, 49) - 6 * 50 * 1e5) <= 1);
    assert_true(fabs(chart_base(&chart, 2, 49) - 3 * 50 * 1e5) <= 1);
    assert_true(chart.y.high >= 6 * 50 * 1e5);
    struct strbuf out = STRBUF_INIT;
    plot_svg(&out, &chart);
    assert_well_formed(out.data);
    strbuf_release(&out);
    chart_release(&chart);
}

static void text_stays_within_its_columns_and_marks_each_series(void **state)
{
    (void)state;
    for (size_t columns = 30; columns < 130; columns += 33) {
        for (int utf8 = 0; utf8 < 2; utf8++) {
            struct chart chart = sample_chart(hostile, CHART_LINE);
            struct style style = {.utf8 = utf8, .columns = columns};
            struct strbuf out = STRBUF_INIT;
            plot_terminal(&out, &chart, &style, 10);
            assert_null(strchr(out.data, '\033'));
            assert_null(strchr(out.data, '\xff'));
            for (char *line = strtok(out.data, "\n"); line; line = strtok(NULL, "\n")) {
                assert_true(text_width(line) <= columns);
                if (strstr(line, "alert") ||
                    strstr(line, "…")) /* title, note and legend: no plot */
                    continue;
                for (const char *at = line; !utf8 && *at; at++)
                    assert_true((unsigned char)*at < 128);
            }
            strbuf_release(&out);
            chart_release(&chart);
        }
    }
    struct chart chart = sample_chart("run", CHART_LINE);
    struct strbuf out = STRBUF_INIT;
    plot_terminal(&out, &chart, &(struct style){.utf8 = true, .columns = 80}, 12);
    const char *plot = strstr(out.data, "┤");
    for (char letter = 'a'; letter <= 'c'; letter++)
        assert_true(count_of(plot, letter) >= 2);
    strbuf_release(&out);
    chart_release(&chart);
}

static void nothing_and_one_point_can_be_drawn(void **state)
{
    (void)state;
    struct chart chart = {.x = {.title = "t", .unit = CHART_TIME},
                          .y = {.title = "m", .unit = CHART_BYTES}};
    assert_false(chart_settle(&chart));
    chart_add_point(chart_add(&chart, "one", CHART_LINE, 0), 0, 0);
    assert_true(chart_settle(&chart));
    struct strbuf out = STRBUF_INIT;
    plot_svg(&out, &chart);
    assert_well_formed(out.data);
    plot_terminal(&out, &chart, &(struct style){.columns = 1}, 0);
    plot_gnuplot(&out, &chart);
    assert_null(strstr(out.data, "nan"));
    strbuf_release(&out);
    chart_release(&chart);
}

static void levels_are_thinned_and_nothing_else(void **state)
{
    (void)state;
    struct chart chart = {0};
    struct chart_series *series = chart_add(&chart, "s", CHART_STEPS, 0);
    const double levels[] = {1, 1, 1, 2, 2, 1, 1};
    for (int i = 0; i < 7; i++)
        chart_add_point(series, i, levels[i]);
    chart_thin(series);
    assert_int_equal(series->count, 4);
    assert_true(series->points[1].x == 3);
    assert_true(series->points[3].x == 6);
    chart_release(&chart);
}

/* The highest and the lowest of every tenth of the way are there as before. */
static void what_is_reduced_keeps_its_outline(void **state)
{
    (void)state;
    enum { COLUMNS = 10, POINTS = 10000 };
    double low[2][COLUMNS], high[2][COLUMNS];
    struct chart chart = {0};
    struct chart_series *series = chart_add(&chart, "", CHART_STEPS, 0);
    for (int i = 0; i < POINTS; i++)
        chart_add_point(series, i, i == 777 ? NAN : (i * 7919L) % 10007);
    for (int after = 0; after < 2; after++) {
        for (int i = 0; i < COLUMNS; i++)
            low[after][i] = INFINITY, high[after][i] = -INFINITY;
        for (size_t i = 0; i < series->count; i++) {
            int column = (int)(series->points[i].x * COLUMNS / (POINTS - 1));
            column = column < COLUMNS ? column : COLUMNS - 1;
            low[after][column] = fmin(low[after][column], series->points[i].y);
            high[after][column] = fmax(high[after][column], series->points[i].y);
        }
        if (!after)
            chart_reduce(series, COLUMNS);
    }
    assert_in_range(series->count, 2 * COLUMNS, 4 * COLUMNS + 8);
    assert_memory_equal(low[0], low[1], sizeof low[0]);
    assert_memory_equal(high[0], high[1], sizeof high[0]);
    size_t gaps = 0;
    for (size_t i = 0; i < series->count; i++)
        gaps += isnan(series->points[i].y);
    assert_int_equal(gaps, 1);
    chart_release(&chart);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_svg_is_well_formed_whatever_the_names),
        cmocka_unit_test(a_script_keeps_names_within_their_quotes),
        cmocka_unit_test(a_stack_is_as_high_as_its_sum),
        cmocka_unit_test(text_stays_within_its_columns_and_marks_each_series),
        cmocka_unit_test(nothing_and_one_point_can_be_drawn),
        cmocka_unit_test(levels_are_thinned_and_nothing_else),
        cmocka_unit_test(what_is_reduced_keeps_its_outline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
