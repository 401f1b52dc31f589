/* Bars that lie across: their lengths are the figures, at any width, whatever the names are. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/text.h"
#include "plot/plot.h"
#include "system_history/history.h"

/* Own memory 30, 20, 10 …, and half as much that is shared. */
static struct chart sample(size_t bars, const char *name)
{
    struct chart chart = {.across = true,
                          .stacked = true,
                          .stack_count = 2,
                          .x = {.title = "process", .unit = CHART_PLACE},
                          .y = {.title = "PSS", .unit = CHART_BYTES}};
    chart_set_title(&chart, "Memory");
    chart_add(&chart, "its own", CHART_BARS, 0);
    chart_add(&chart, "shared", CHART_BARS, 5);
    for (size_t i = 0; i < bars; i++) {
        double own = 10.0 * (double)(bars - i) * (1 << 20);
        chart_add_place(&chart, name);
        chart_add_point(&chart.series[0], (double)i, own);
        chart_add_point(&chart.series[1], (double)i, own / 2);
    }
    assert_true(chart_settle(&chart));
    return chart;
}

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;
    for (; (text = strstr(text, what)); text += strlen(what))
        count++;
    return count;
}

/* The width of the n-th rectangle. */
static double width_of(const char *svg, size_t n)
{
    double width = NAN;
    for (size_t i = 0; svg && i <= n; i++)
        svg = strstr(svg + 1, "<rect x=\"");
    if (svg)
        sscanf(strstr(svg, "width=\""), "width=\"%lf", &width);
    return width;
}

static void lengths_are_the_figures(void **state)
{
    struct chart chart = sample(3, "sh");
    struct strbuf svg = STRBUF_INIT;
    (void)state;
    plot_svg(&svg, &chart);
    size_t first = 0;
    while (fabs(width_of(svg.data, first) - 2 * width_of(svg.data, first + 1)) > 0.2)
        first++; /* behind the background, if there is one */
    for (size_t i = 0; i < 3; i++) {
        double own = width_of(svg.data, first + 2 * i),
               shared = width_of(svg.data, first + 2 * i + 1);
        assert_true(fabs(own - width_of(svg.data, first) * (double)(3 - i) / 3) < 0.2);
        assert_true(fabs(shared - own / 2) < 0.2);
    }
    assert_non_null(strstr(svg.data, ">45.0 MiB<"));
    assert_non_null(strstr(svg.data, ">15.0 MiB<"));
    strbuf_release(&svg);
    chart_release(&chart);
}

static void lines_fit_any_terminal(void **state)
{
    (void)state;
    for (size_t columns = 40; columns <= 200; columns += 7) {
        struct chart chart = sample(5, "a process of a rather long name \xe2\x82\xac, the second");
        struct style style = {.columns = columns, .utf8 = columns % 2};
        struct strbuf out = STRBUF_INIT, line = STRBUF_INIT;
        plot_terminal(&out, &chart, &style, 10);
        for (const char *at = out.data; *at;) {
            size_t length = strcspn(at, "\n");
            strbuf_addf(&line, "%.*s", (int)length, at);
            assert_true(text_width(line.data) <= columns);
            strbuf_release(&line);
            at += length + (at[length] == '\n');
        }
        strbuf_release(&out);
        chart_release(&chart);
    }
}

static void series_are_told_apart_without_colour(void **state)
{
    struct chart chart = sample(3, "sh");
    struct style style = {.columns = 80};
    struct strbuf out = STRBUF_INIT;
    (void)state;
    plot_terminal(&out, &chart, &style, 10);
    size_t own = count_of(out.data, "#") - 1,
           shared = count_of(out.data, "-") - 1; /* the legend's */
    assert_in_range(own, 2 * shared - 3, 2 * shared + 3);
    assert_true(shared > 20);
    assert_non_null(strstr(out.data, "# its own"));
    strbuf_release(&out);
    chart_release(&chart);
}

/* As `ps --by library --json` has them. */
static void files_of_one_directory_are_told_apart(void **state)
{
    static const char directory[] = "/usr/lib/python3.11/lib-dynload";
    static const char *const files[] = {"_decimal.cpython-311-x86_64-linux-gnu.so",
                                        "_sqlite3.cpython-311-x86_64-linux-gnu.so"};
    char names[2][128];
    struct history_point points[2] = {{.figures = {FIGURE_OF(2 << 20), FIGURE_OF(1 << 20)}},
                                      {.figures = {FIGURE_OF(1 << 20), FIGURE_OF(1 << 20)}}};
    struct history_row rows[2];
    struct history_sample sample = {.total = {FIGURE_OF(3 << 20)}};
    struct history history = {.is_single = true,
                              .by = "library",
                              .rows = rows,
                              .row_count = 2,
                              .samples = &sample,
                              .sample_count = 1};
    struct plot_run run = {.path = "now.json", .history = &history};
    struct plot_options options = {.view = PLOT_USUAL};
    struct chart chart = {0};
    struct strbuf why = STRBUF_INIT;
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        snprintf(names[i], sizeof names[i], "%s/%s", directory, files[i]);
        rows[i] = (struct history_row){.name = names[i], .points = &points[i], .count = 1};
    }
    assert_int_equal(plot_chart(&chart, &run, 1, &options, &why), 0);
    assert_int_equal(chart.place_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_non_null(strstr(chart.places[i], files[i]));
        assert_true(text_width(chart.places[i]) <= 44);
    }
    chart_release(&chart);
    strbuf_release(&why);
}

static void names_are_neither_markup_nor_control(void **state)
{
    static const char hostile[] = "</text><script>alert(1)</script>\033[2J\n\xff";
    struct chart chart = sample(2, hostile);
    struct style style = {.columns = 80, .utf8 = true};
    struct strbuf out = STRBUF_INIT;
    (void)state;
    plot_svg(&out, &chart);
    assert_null(strstr(out.data, "<script"));
    assert_null(strchr(out.data, '\033'));
    strbuf_release(&out);
    plot_terminal(&out, &chart, &style, 10);
    assert_null(strchr(out.data, '\033'));
    assert_null(strchr(out.data, '\xff'));
    strbuf_release(&out);
    plot_gnuplot(&out, &chart);
    assert_null(strchr(out.data, '\033'));
    strbuf_release(&out);
    chart_release(&chart);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_are_the_figures),
        cmocka_unit_test(lines_fit_any_terminal),
        cmocka_unit_test(series_are_told_apart_without_colour),
        cmocka_unit_test(files_of_one_directory_are_told_apart),
        cmocka_unit_test(names_are_neither_markup_nor_control),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
