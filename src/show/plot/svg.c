/* Draws a chart as SVG 1.1. Areas and lines are paths in a fixed box; texts are cut to the room
 * that they have. The file loads and runs nothing. */
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "plot/plot.h"
#include "plot/scale.h"
#include "plot/svg_parts.h"

enum {
    WIDTH = PLOT_SVG_WIDTH,
    LEFT = PLOT_SVG_LEFT,
    RIGHT = PLOT_SVG_RIGHT,
    TOP = PLOT_SVG_TOP,
    PLOT_HEIGHT = 340,
    AXIS = 58, /* below the plot: ticks and the axis's title */
    LEGEND_ROW = 20,
    LEGEND_MOST = 120, /* characters of a name */
    CHAR_WIDTH = 7     /* about, at 12 px */
};

/* ---- Text ---------------------------------------------------------------------------------- */

void plot_svg_add_escaped(struct strbuf *out, const char *text)
{
    struct strbuf safe = STRBUF_INIT;
    text_add_safe_string(&safe, text);
    for (const char *at = safe.data; *at; at++) {
        switch (*at) {
        case '&':
            strbuf_add_string(out, "&amp;");
            break;
        case '<':
            strbuf_add_string(out, "&lt;");
            break;
        case '>':
            strbuf_add_string(out, "&gt;");
            break;
        case '"':
            strbuf_add_string(out, "&quot;");
            break;
        case '\'':
            strbuf_add_string(out, "&#39;");
            break;
        case '\xef': /* U+FFFE and U+FFFF are valid UTF-8, but no XML */
            if (at[1] == '\xbf' && (at[2] == '\xbe' || at[2] == '\xbf')) {
                strbuf_add_char(out, '?');
                at += 2;
                break;
            }
            /* fall through */
        default:
            strbuf_add_char(out, *at);
        }
    }
    strbuf_release(&safe);
}

static void plot_svg_add_cut(struct strbuf *out, const char *text, size_t most)
{
    struct strbuf safe = STRBUF_INIT, cut = STRBUF_INIT;
    text_add_safe_string(&safe, text);
    text_add_cut(&cut, safe.data, most);
    plot_svg_add_escaped(out, cut.data);
    strbuf_release(&safe);
    strbuf_release(&cut);
}

static size_t plot_svg_cut_width(const char *text)
{
    struct strbuf safe = STRBUF_INIT;
    text_add_safe_string(&safe, text);
    size_t width = text_width(safe.data);
    strbuf_release(&safe);
    return width > LEGEND_MOST ? LEGEND_MOST : width;
}

void plot_svg_add_text_cut(struct strbuf *out, double x, double y, const char *attributes,
                           const char *text, size_t most)
{
    strbuf_addf(out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
    plot_svg_add_cut(out, text, most);
    strbuf_add_string(out, "</text>\n");
}

static void plot_svg_add_text(struct strbuf *out, double x, double y, const char *attributes,
                              const char *text)
{
    plot_svg_add_text_cut(out, x, y, attributes, text, LEGEND_MOST);
}

/* ---- Legend -------------------------------------------------------------------------------- */

struct legend {
    size_t entries, per_row, rows;
};

static struct legend plot_svg_legend_of(const struct chart *chart)
{
    struct legend legend = {0};
    size_t longest = 1;
    for (size_t i = 0; i < chart->count; i++) {
        size_t width = plot_svg_cut_width(chart->series[i].name);
        legend.entries += width > 0;
        longest = width > longest ? width : longest;
    }
    if (legend.entries < 2 && !chart->stacked)
        legend.entries = 0;
    legend.per_row = (size_t)(WIDTH - LEFT - RIGHT) / (longest * CHAR_WIDTH + 44);
    legend.per_row += !legend.per_row;
    legend.rows = (legend.entries + legend.per_row - 1) / legend.per_row;
    return legend;
}

static void plot_svg_add_sample(struct strbuf *out, const struct chart_series *series, bool area,
                                double x, double y)
{
    if (area)
        strbuf_addf(out,
                    "<rect x=\"%.1f\" y=\"%.1f\" width=\"22\" height=\"11\" fill=\"%s\" "
                    "fill-opacity=\"0.75\"/>\n",
                    x, y - 10, plot_colour(series->colour));
    else
        strbuf_addf(out, "<path d=\"M%.1f %.1fh22\" stroke=\"%s\" stroke-width=\"2.5\"%s%s/>\n", x,
                    y - 4, plot_colour(series->colour),
                    series->dashed ? " stroke-dasharray=\"6 3\"" : "",
                    series->faint ? " opacity=\"0.5\"" : "");
}

static void plot_svg_add_legend(struct strbuf *out, const struct chart *chart,
                                const struct legend *legend)
{
    double column = (double)(WIDTH - LEFT - RIGHT) / (double)legend->per_row;
    for (size_t i = 0, entry = 0; legend->entries && i < chart->count; i++) {
        const struct chart_series *series = &chart->series[i];
        if (!*series->name)
            continue;
        double x = LEFT + column * (double)(entry % legend->per_row);
        double y = TOP + PLOT_HEIGHT + AXIS + LEGEND_ROW * (1 + (double)(entry / legend->per_row));
        bool area = series->shape == CHART_BARS || (chart->stacked && i < chart->stack_count);
        plot_svg_add_sample(out, series, area, x, y - 4);
        plot_svg_add_text(out, x + 30, y - 4, "class=\"legend\"", series->name);
        entry++;
    }
}

/* ---- Axes ---------------------------------------------------------------------------------- */

static double plot_svg_at(const struct chart_axis *axis, double value)
{
    return TOP + (1 - scale_part(axis, value)) * PLOT_HEIGHT;
}

static double plot_svg_at_y(const struct chart *chart, size_t series, double value)
{
    return plot_svg_at(chart_axis_of(chart, series), value);
}

/* The width at the right, for a second scale with its ticks and its name. */
static int plot_svg_right(const struct chart *chart)
{
    return chart->right.title ? LEFT : RIGHT;
}

static double plot_svg_at_x(const struct chart *chart, double value)
{
    return LEFT + scale_part(&chart->x, value) * (WIDTH - LEFT - plot_svg_right(chart));
}

static void plot_svg_add_upright(struct strbuf *out, int x, int angle, const char *title)
{
    strbuf_addf(out,
                "<text class=\"name\" text-anchor=\"middle\" transform=\"translate(%d %.1f) "
                "rotate(%d)\">",
                x, TOP + PLOT_HEIGHT / 2.0, angle);
    plot_svg_add_escaped(out, title);
    strbuf_add_string(out, "</text>\n");
}

static void plot_svg_add_right_axis(struct strbuf *out, const struct chart *chart)
{
    struct scale_tick ticks[SCALE_TICKS_MAX];
    int x = WIDTH - plot_svg_right(chart);
    size_t count = chart->right.title ? scale_ticks(chart, &chart->right, 7, ticks) : 0;
    for (size_t i = 0; i < count; i++) {
        double y = plot_svg_at(&chart->right, ticks[i].value);
        strbuf_addf(out, "<path class=\"axis\" d=\"M%d %.1fh5\"/>\n", x, y);
        plot_svg_add_text(out, x + 9, y + 4, "class=\"tick\"", ticks[i].label);
    }
    if (!count)
        return;
    strbuf_addf(out, "<path class=\"axis\" d=\"M%d %dV%d\"/>\n", x, TOP, TOP + PLOT_HEIGHT);
    plot_svg_add_upright(out, WIDTH - 14, 90, chart->right.title);
}

static void plot_svg_add_axes(struct strbuf *out, const struct chart *chart)
{
    struct scale_tick ticks[SCALE_TICKS_MAX];
    size_t count = scale_ticks(chart, &chart->y, 7, ticks);
    for (size_t i = 0; i < count; i++) {
        double y = plot_svg_at(&chart->y, ticks[i].value);
        strbuf_addf(out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", LEFT, y,
                    WIDTH - plot_svg_right(chart));
        plot_svg_add_text(out, LEFT - 8, y + 4, "class=\"tick\" text-anchor=\"end\"",
                          ticks[i].label);
    }
    count = scale_ticks(chart, &chart->x, 10, ticks);
    for (size_t i = 0; i < count; i++) {
        double x = plot_svg_at_x(chart, ticks[i].value);
        strbuf_addf(out, "<path class=\"axis\" d=\"M%.1f %dv5\"/>\n", x, TOP + PLOT_HEIGHT);
        plot_svg_add_text(out, x, TOP + PLOT_HEIGHT + 20, "class=\"tick\" text-anchor=\"middle\"",
                          ticks[i].label);
    }
    strbuf_addf(out, "<path class=\"axis\" d=\"M%d %dV%dH%d\"/>\n", LEFT, TOP, TOP + PLOT_HEIGHT,
                WIDTH - plot_svg_right(chart));
    plot_svg_add_right_axis(out, chart);
    plot_svg_add_text(out, (LEFT + WIDTH - plot_svg_right(chart)) / 2.0, TOP + PLOT_HEIGHT + 42,
                      "class=\"name\" text-anchor=\"middle\"", chart->x.title);
    plot_svg_add_upright(out, 18, -90, chart->y.title);
}

/* ---- Series -------------------------------------------------------------------------------- */

/* Are two positions the same as written, to a tenth of a pixel? */
static bool plot_svg_is_same(double a, double b)
{
    return lround(a * 10) == lround(b * 10);
}

/* Draws along the tops of points[first, end), which have no gap. Steps that do not show are left
 * out. */
static void plot_svg_add_way(struct strbuf *out, const struct chart *chart, size_t index,
                             size_t first, size_t end)
{
    const struct chart_series *series = &chart->series[index];
    double last = NAN;
    for (size_t i = first; i < end; i++) {
        double x = plot_svg_at_x(chart, series->points[i].x),
               y = plot_svg_at_y(chart, index, chart_top(chart, index, i));
        if (i == first)
            strbuf_addf(out, "M%.1f %.1f", x, y);
        else if (series->shape == CHART_LINE)
            strbuf_addf(out, "L%.1f %.1f", x, y);
        else if (i + 1 == end || !plot_svg_is_same(y, last))
            strbuf_addf(out, "H%.1fV%.1f", x, y);
        else
            continue;
        last = y;
    }
}

/* Draws back along the bases. */
static void plot_svg_add_way_back(struct strbuf *out, const struct chart *chart, size_t index,
                                  size_t first, size_t end)
{
    const struct chart_series *series = &chart->series[index];
    for (size_t i = end; i-- > first;) {
        double x = plot_svg_at_x(chart, series->points[i].x),
               y = plot_svg_at_y(chart, index, chart_base(chart, index, i));
        bool goes_on =
            i > first &&
            plot_svg_is_same(y, plot_svg_at_y(chart, index, chart_base(chart, index, i - 1)));
        if (i + 1 == end || series->shape == CHART_LINE)
            strbuf_addf(out, "L%.1f %.1f", x, y);
        else if (!goes_on)
            strbuf_addf(out, "V%.1fH%.1f", y, x);
    }
    strbuf_add_char(out, 'Z');
}

static void plot_svg_add_ways(struct strbuf *out, const struct chart *chart, size_t index,
                              bool area)
{
    const struct chart_series *series = &chart->series[index];
    for (size_t first = 0; first < series->count;) {
        size_t end = first;
        while (end < series->count && !isnan(series->points[end].y))
            end++;
        if (end > first)
            plot_svg_add_way(out, chart, index, first, end);
        if (end > first && area)
            plot_svg_add_way_back(out, chart, index, first, end);
        first = end + 1;
    }
}

static void plot_svg_add_series(struct strbuf *out, const struct chart *chart, size_t index)
{
    const struct chart_series *series = &chart->series[index];
    bool stacked = chart->stacked && index < chart->stack_count;
    bool area = stacked || series->shape == CHART_BARS;
    const char *colour = plot_colour(series->colour);
    strbuf_add_string(out, "<path d=\"");
    plot_svg_add_ways(out, chart, index, area);
    if (area)
        strbuf_addf(out, "\" fill=\"%s\" fill-opacity=\"%s\" stroke=\"%s\" stroke-width=\"0.6\">",
                    colour, stacked ? "0.75" : "0.55", colour);
    else
        strbuf_addf(out, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"%s\"%s%s>", colour,
                    series->faint ? "1" : "1.6", series->dashed ? " stroke-dasharray=\"6 3\"" : "",
                    series->faint ? " opacity=\"0.5\"" : "");
    strbuf_add_string(out, "<title>");
    plot_svg_add_escaped(out, series->name);
    strbuf_add_string(out, "</title></path>\n");
}

/* ---- All of it ----------------------------------------------------------------------------- */

void plot_svg_add_head(struct strbuf *out, const struct chart *chart, size_t height)
{
    strbuf_addf(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" "
                "viewBox=\"0 0 %d %zu\" role=\"img\" aria-label=\"",
                WIDTH, height, WIDTH, height);
    plot_svg_add_escaped(out, chart->title ? chart->title : "");
    strbuf_add_string(
        out, "\">\n<style>text{font-family:system-ui,sans-serif;font-size:12px;fill:#333}"
             ".title{font-size:17px;font-weight:600;fill:#111}.note{fill:#666}.name{fill:#555}"
             ".grid{stroke:#e4e4e4;fill:none}.axis{stroke:#888;fill:none}"
             "path{stroke-linejoin:round}</style>\n"
             "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
    if (chart->title)
        plot_svg_add_text(out, LEFT, 30, "class=\"title\"", chart->title);
    if (chart->note)
        plot_svg_add_text(out, LEFT, 50, "class=\"note\"", chart->note);
}

void plot_svg(struct strbuf *out, const struct chart *chart)
{
    struct legend legend = plot_svg_legend_of(chart);
    if (chart->across) {
        plot_across_svg(out, chart);
        return;
    }
    plot_svg_add_head(out, chart, TOP + PLOT_HEIGHT + AXIS + LEGEND_ROW * legend.rows + 10);
    plot_svg_add_axes(out, chart);
    /* Faint series lie behind. */
    for (size_t i = 0; i < chart->count; i++)
        if (chart->series[i].faint && !chart->stacked)
            plot_svg_add_series(out, chart, i);
    for (size_t i = 0; i < chart->count; i++)
        if (!chart->series[i].faint || chart->stacked)
            plot_svg_add_series(out, chart, i);
    plot_svg_add_legend(out, chart, &legend);
    strbuf_add_string(out, "</svg>\n");
}
