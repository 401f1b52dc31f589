/* Draws bars that lie across the picture, each with its name at the left and its figure behind it.
 * Places are rows, from the top down. A bar is a stack of the chart's series. */
#include <math.h>
#include <stdio.h>
#include "base/human.h"
#include "base/text.h"
#include "plot/plot.h"
#include "plot/scale.h"
#include "plot/svg_parts.h"

enum {
    ROW = 24,
    NAME = 330, /* of the picture's width */
    FIGURE = 76,
    NAME_COLUMNS = 44,
    AXIS = 44,
    LEGEND = 24
};

/* Three digits, as in tables. */
static void plot_across_label(const struct chart *chart, double sum, char *label, size_t bytes)
{
    if (chart->y.unit == CHART_BYTES)
        snprintf(label, bytes, "%s", human_bytes((uint64_t)sum).text);
    else
        scale_label(&chart->y, sum, label, bytes);
}

static double plot_across_sum(const struct chart *chart, size_t place)
{
    size_t last = chart->stack_count - 1;
    return place < chart->series[last].count ? chart_top(chart, last, place) : NAN;
}

/* ---- SVG ----------------------------------------------------------------------------------- */

static double plot_across_at(const struct chart *chart, double value)
{
    return NAME + scale_part(&chart->y, value) * (PLOT_SVG_WIDTH - PLOT_SVG_RIGHT - FIGURE - NAME);
}

static void plot_across_add_row(struct strbuf *out, const struct chart *chart, size_t place)
{
    double y = PLOT_SVG_TOP + ROW * (double)place, sum = plot_across_sum(chart, place);
    char label[40];
    plot_svg_add_text_cut(out, NAME - 8, y + 16, "class=\"tick\" text-anchor=\"end\"",
                          chart->places[place], NAME_COLUMNS);
    for (size_t i = 0; i < chart->stack_count; i++) {
        double from = plot_across_at(chart, chart_base(chart, i, place)),
               to = plot_across_at(chart, chart_top(chart, i, place));
        strbuf_addf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n",
                    from, y + 4, to - from, ROW - 8, plot_colour(chart->series[i].colour));
    }
    plot_across_label(chart, sum, label, sizeof label);
    plot_svg_add_text_cut(out, plot_across_at(chart, sum) + 6, y + 16, "class=\"tick\"", label,
                          NAME_COLUMNS);
}

static void plot_across_add_axis(struct strbuf *out, const struct chart *chart, double bottom)
{
    struct scale_tick ticks[SCALE_TICKS_MAX];
    size_t count = scale_ticks(chart, &chart->y, 7, ticks);
    for (size_t i = 0; i < count; i++) {
        double x = plot_across_at(chart, ticks[i].value);
        strbuf_addf(out, "<path class=\"grid\" d=\"M%.1f %dV%.1f\"/>\n", x, PLOT_SVG_TOP, bottom);
        plot_svg_add_text_cut(out, x, bottom + 18, "class=\"tick\" text-anchor=\"middle\"",
                              ticks[i].label, NAME_COLUMNS);
    }
    strbuf_addf(out, "<path class=\"axis\" d=\"M%d %dV%.1f\"/>\n", NAME, PLOT_SVG_TOP, bottom);
}

static void plot_across_add_legend(struct strbuf *out, const struct chart *chart, double y)
{
    for (size_t i = 0; i < chart->stack_count && chart->stack_count > 1; i++) {
        double x = NAME + 220 * (double)i;
        strbuf_addf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"22\" height=\"11\" fill=\"%s\"/>\n",
                    x, y - 10, plot_colour(chart->series[i].colour));
        plot_svg_add_text_cut(out, x + 30, y, "class=\"legend\"", chart->series[i].name,
                              NAME_COLUMNS);
    }
}

void plot_across_svg(struct strbuf *out, const struct chart *chart)
{
    double bottom = PLOT_SVG_TOP + ROW * (double)chart->place_count;
    plot_svg_add_head(out, chart, (size_t)bottom + AXIS + LEGEND);
    plot_across_add_axis(out, chart, bottom);
    for (size_t i = 0; i < chart->place_count; i++)
        plot_across_add_row(out, chart, i);
    plot_across_add_legend(out, chart, bottom + AXIS);
    strbuf_add_string(out, "</svg>\n");
}

/* ---- The terminal -------------------------------------------------------------------------- */

static size_t plot_across_cells(const struct chart *chart, double value, size_t columns)
{
    return (size_t)lround(scale_part(&chart->y, value) * (double)columns);
}

/* Each series has its own sign, so that series can be told apart without colour. */
static const char *plot_across_sign(const struct style *style, size_t series)
{
    return series ? style_sign(style, "░", "-") : style_sign(style, "█", "#");
}

static void plot_across_add_line(struct strbuf *out, const struct chart *chart,
                                 const struct style *style, size_t place, size_t names,
                                 size_t columns)
{
    struct strbuf safe = STRBUF_INIT, cut = STRBUF_INIT;
    char label[40];
    text_add_safe_string(&safe, chart->places[place]);
    text_add_cut(&cut, safe.data, names);
    strbuf_addf(out, "%s", cut.data);
    strbuf_add_repeated(out, " ", names - text_width(cut.data));
    plot_across_label(chart, plot_across_sum(chart, place), label, sizeof label);
    strbuf_addf(out, " %10s  ", label);
    style_begin(out, style, TONE_AREA);
    for (size_t i = 0; i < chart->stack_count; i++) {
        size_t from = plot_across_cells(chart, chart_base(chart, i, place), columns),
               to = plot_across_cells(chart, chart_top(chart, i, place), columns);
        strbuf_add_repeated(out, plot_across_sign(style, i), to - from);
    }
    style_end(out, style);
    strbuf_add_char(out, '\n');
    strbuf_release(&safe);
    strbuf_release(&cut);
}

void plot_across_terminal(struct strbuf *out, const struct chart *chart, const struct style *style)
{
    enum { FIGURE_COLUMNS = 13, LEAST = 8 };
    size_t names = 4, half = style->columns / 2;
    for (size_t i = 0; i < chart->place_count; i++) {
        struct strbuf safe = STRBUF_INIT;
        text_add_safe_string(&safe, chart->places[i]);
        names = text_width(safe.data) > names ? text_width(safe.data) : names;
        strbuf_release(&safe);
    }
    names = names < half ? names : half;
    names = names + FIGURE_COLUMNS + LEAST < style->columns ? names : LEAST;
    size_t columns = style->columns - names - FIGURE_COLUMNS;
    for (size_t i = 0; i < chart->place_count; i++)
        plot_across_add_line(out, chart, style, i, names, columns);
    for (size_t i = 0; i < chart->stack_count && chart->stack_count > 1; i++)
        strbuf_addf(out, "%s%s %s", i ? "   " : "", plot_across_sign(style, i),
                    chart->series[i].name);
    strbuf_add_string(out, chart->stack_count > 1 ? "\n" : "");
}

/* ---- gnuplot ------------------------------------------------------------------------------- */

/* Rows of "from to place", a block for each series. */
void plot_across_gnuplot_data(struct strbuf *out, const struct chart *chart, size_t series)
{
    strbuf_addf(out, "$data%zu << END\n", series);
    for (size_t i = 0; i < chart->series[series].count; i++)
        strbuf_addf(out, "%.12g %.12g %zu\n", chart_base(chart, series, i),
                    chart_top(chart, series, i), i);
    strbuf_add_string(out, "END\n");
}
