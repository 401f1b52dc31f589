/* A chart as text: a grid of braille patterns, two dots wide and four high a character, or of
 * letters where there is no UTF-8.
 *
 *     1 GiB ┤        ⢀⡠⠤a⠤⣀
 *           │   ⢀b⠤⠤⠊⠁     ⠑⢄
 *         0 ┼───┬──────┬──────
 *               2 s    4 s                                                                    */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "plot/plot.h"
#include "plot/scale.h"

enum { LABELS = 9, LEAST_COLUMNS = 8, LEAST_ROWS = 3, MOST_COLUMNS = 400, MARKS = 3 };

struct canvas {
    const struct style *style;
    size_t columns, rows; /* characters */
    size_t across, down;  /* dots in one: 2 × 4 or 1 × 1 */
    unsigned char *dots;  /* by character: the bits of its braille pattern, or 1 */
    unsigned *owners;     /* by character: series + 1 whose dot came last; 0: none */
    char *marks;          /* by character: a letter, 0: none */
};

static bool plot_terminal_canvas_init(struct canvas *canvas, const struct chart *chart,
                                      const struct style *style, size_t rows)
{
    size_t labels = chart->right.title ? 2 * LABELS + 5 : LABELS + 3;
    size_t columns = style->columns > labels ? style->columns - labels : 0;
    columns = columns < LEAST_COLUMNS  ? LEAST_COLUMNS
              : columns > MOST_COLUMNS ? MOST_COLUMNS
                                       : columns;
    rows = rows < LEAST_ROWS ? LEAST_ROWS : rows > MOST_COLUMNS ? MOST_COLUMNS : rows;
    *canvas = (struct canvas){.style = style,
                              .columns = columns,
                              .rows = rows,
                              .across = style->utf8 ? 2 : 1,
                              .down = style->utf8 ? 4 : 1};
    canvas->dots = calloc(columns * rows, sizeof *canvas->dots);
    canvas->owners = calloc(columns * rows, sizeof *canvas->owners);
    canvas->marks = calloc(columns * rows, sizeof *canvas->marks);
    return canvas->dots && canvas->owners && canvas->marks;
}

static void plot_terminal_canvas_release(struct canvas *canvas)
{
    free(canvas->dots);
    free(canvas->owners);
    free(canvas->marks);
}

/* ---- Dots ---------------------------------------------------------------------------------- */

/* (0, 0) is at the lower left. */
static void plot_terminal_set_dot(struct canvas *canvas, long x, long y, size_t series)
{
    static const unsigned char bits[4][2] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    long width = (long)(canvas->columns * canvas->across);
    long height = (long)(canvas->rows * canvas->down);
    if (x < 0 || y < 0 || x >= width || y >= height)
        return;
    size_t row = (size_t)(height - 1 - y) / canvas->down, column = (size_t)x / canvas->across;
    size_t at = row * canvas->columns + column;
    canvas->dots[at] |= canvas->down == 1 ? 1 : bits[(size_t)(height - 1 - y) % 4][(size_t)x % 2];
    canvas->owners[at] = (unsigned)series + 1;
}

static void plot_terminal_draw_line(struct canvas *canvas, long x0, long y0, long x1, long y1,
                                    size_t series)
{
    long dx = labs(x1 - x0), dy = -labs(y1 - y0), error = dx + dy;
    long step_x = x0 < x1 ? 1 : -1, step_y = y0 < y1 ? 1 : -1;
    for (;;) {
        plot_terminal_set_dot(canvas, x0, y0, series);
        if (x0 == x1 && y0 == y1)
            return;
        long twice = 2 * error;
        if (twice >= dy)
            error += dy, x0 += step_x;
        if (twice <= dx)
            error += dx, y0 += step_y;
    }
}

static long plot_terminal_dot_x(const struct canvas *canvas, const struct chart *chart,
                                double value)
{
    return lround(scale_part(&chart->x, value) * (double)(canvas->columns * canvas->across - 1));
}

static long plot_terminal_dot_y(const struct canvas *canvas, const struct chart_axis *axis,
                                double value)
{
    return lround(scale_part(axis, value) * (double)(canvas->rows * canvas->down - 1));
}

static void plot_terminal_fill_below(struct canvas *canvas, long x0, long x1, long y, size_t series)
{
    for (long x = x0; x < (x1 > x0 ? x1 : x0 + 1); x++)
        plot_terminal_draw_line(canvas, x, 0, x, y, series);
}

static void plot_terminal_draw_series(struct canvas *canvas, const struct chart *chart,
                                      size_t index)
{
    const struct chart_series *series = &chart->series[index];
    const struct chart_axis *axis = chart_axis_of(chart, index);
    for (size_t i = 0; i < series->count; i++) {
        if (isnan(series->points[i].y))
            continue;
        long x = plot_terminal_dot_x(canvas, chart, series->points[i].x);
        long y = plot_terminal_dot_y(canvas, axis, chart_top(chart, index, i));
        bool last = i + 1 == series->count || isnan(series->points[i + 1].y);
        if (last) {
            plot_terminal_set_dot(canvas, x, series->shape == CHART_BARS ? 0 : y, index);
            continue;
        }
        long next_x = plot_terminal_dot_x(canvas, chart, series->points[i + 1].x);
        long next_y = plot_terminal_dot_y(canvas, axis, chart_top(chart, index, i + 1));
        if (series->shape == CHART_BARS) {
            plot_terminal_fill_below(canvas, x, next_x, y, index);
        } else if (series->shape == CHART_LINE) {
            plot_terminal_draw_line(canvas, x, y, next_x, next_y, index);
        } else {
            plot_terminal_draw_line(canvas, x, y, next_x, y, index);
            plot_terminal_draw_line(canvas, next_x, y, next_x, next_y, index);
        }
    }
}

/* ---- Letters that say which line is which -------------------------------------------------- */

/* a … z, A … Z; 0 beyond, and for what has no name. */
static char plot_terminal_letter_of(const struct chart *chart, size_t index)
{
    size_t named = 0, place = 0;
    for (size_t i = 0; i < chart->count; i++) {
        place += i < index && *chart->series[i].name;
        named += *chart->series[i].name != 0;
    }
    if (!*chart->series[index].name || named < 2 || place >= 52)
        return 0;
    return (char)(place < 26 ? 'a' + place : 'A' + place - 26);
}

/* Puts the letter on dots of this series where possible. Each series begins at other columns. */
static void plot_terminal_mark_series(struct canvas *canvas, const struct chart *chart,
                                      size_t index)
{
    char letter = plot_terminal_letter_of(chart, index);
    for (size_t i = 0; letter && i < MARKS; i++) {
        size_t column = (canvas->columns * (2 * i + 1) / (2 * MARKS) + 3 * index) % canvas->columns;
        for (size_t tries = 0; tries < canvas->columns / MARKS; tries++) {
            size_t at = (column + tries) % canvas->columns, row = 0;
            while (row < canvas->rows && (canvas->owners[row * canvas->columns + at] != index + 1 ||
                                          canvas->marks[row * canvas->columns + at]))
                row++;
            if (row == canvas->rows)
                continue;
            canvas->marks[row * canvas->columns + at] = letter;
            break;
        }
    }
}

/* ---- Lines --------------------------------------------------------------------------------- */

static void plot_terminal_begin_colour(struct strbuf *out, const struct canvas *canvas,
                                       const struct chart_series *series)
{
    static const char *const codes[PLOT_COLOURS] = {"34", "31", "32", "35", "33", "36", "91", "90"};
    if (canvas->style->colour)
        strbuf_addf(out, "\033[%sm", codes[series->colour % PLOT_COLOURS]);
}

static void plot_terminal_end_colour(struct strbuf *out, const struct canvas *canvas)
{
    if (canvas->style->colour)
        strbuf_add_string(out, "\033[0m");
}

static void plot_terminal_add_cell(struct strbuf *out, const struct canvas *canvas,
                                   const struct chart *chart, size_t at)
{
    if (!canvas->dots[at]) {
        strbuf_add_char(out, ' ');
        return;
    }
    plot_terminal_begin_colour(out, canvas, &chart->series[canvas->owners[at] - 1]);
    char letter = plot_terminal_letter_of(chart, canvas->owners[at] - 1);
    if (canvas->marks[at])
        strbuf_add_char(out, canvas->marks[at]);
    else if (!canvas->style->utf8)
        strbuf_add_char(out, letter ? letter : '*');
    else
        strbuf_add(out,
                   (char[]){'\xe2', (char)(0xa0 | canvas->dots[at] >> 6),
                            (char)(0x80 | (canvas->dots[at] & 0x3f))},
                   3);
    plot_terminal_end_colour(out, canvas);
}

static void plot_terminal_add_label(struct strbuf *out, const char *label)
{
    size_t width = text_width(label);
    strbuf_add_repeated(out, " ", width < LABELS ? LABELS - width : 0);
    strbuf_add_string(out, label);
}

static size_t plot_terminal_most_ticks(const struct canvas *canvas)
{
    return canvas->rows / 3 + 1;
}

struct side {
    const struct chart_axis *axis;
    struct scale_tick ticks[SCALE_TICKS_MAX];
    size_t count;
};

static struct side plot_terminal_side(const struct canvas *canvas, const struct chart *chart,
                                      const struct chart_axis *axis)
{
    struct side side = {.axis = axis};
    side.count =
        axis->title ? scale_ticks(chart, axis, plot_terminal_most_ticks(canvas), side.ticks) : 0;
    return side;
}

/* "": no label stands in this row. */
static const char *plot_terminal_label_at(const struct canvas *canvas, const struct side *side,
                                          size_t row)
{
    const char *label = "";
    for (size_t i = 0; i < side->count; i++) {
        size_t y =
            (size_t)plot_terminal_dot_y(canvas, side->axis, side->ticks[i].value) / canvas->down;
        if (canvas->rows - 1 - y == row)
            label = side->ticks[i].label;
    }
    return label;
}

static void plot_terminal_add_right(struct strbuf *out, const struct canvas *canvas,
                                    const struct side *side, size_t row)
{
    const char *label = plot_terminal_label_at(canvas, side, row);
    if (side->count)
        strbuf_addf(out, "%s %s", style_sign(canvas->style, *label ? "├" : "│", *label ? "+" : "|"),
                    label);
}

static void plot_terminal_add_rows(struct strbuf *out, const struct canvas *canvas,
                                   const struct chart *chart)
{
    struct side left = plot_terminal_side(canvas, chart, &chart->y),
                right = plot_terminal_side(canvas, chart, &chart->right);
    for (size_t row = 0; row < canvas->rows; row++) {
        const char *label = plot_terminal_label_at(canvas, &left, row);
        plot_terminal_add_label(out, label);
        strbuf_addf(out, " %s", style_sign(canvas->style, *label ? "┤" : "│", *label ? "+" : "|"));
        for (size_t column = 0; column < canvas->columns; column++)
            plot_terminal_add_cell(out, canvas, chart, row * canvas->columns + column);
        plot_terminal_add_right(out, canvas, &right, row);
        while (out->length && out->data[out->length - 1] == ' ')
            strbuf_truncate(out, out->length - 1);
        strbuf_add_char(out, '\n');
    }
}

/* The axis with its ticks, and their labels below where they fit. */
static void plot_terminal_add_x_axis(struct strbuf *out, const struct canvas *canvas,
                                     const struct chart *chart)
{
    struct scale_tick ticks[SCALE_TICKS_MAX];
    struct strbuf labels = STRBUF_INIT;
    size_t count = scale_ticks(chart, &chart->x, canvas->columns / 12 + 1, ticks), next = 0;
    plot_terminal_add_label(out, "");
    strbuf_add_string(out, style_sign(canvas->style, " └", " +"));
    for (size_t column = 0; column < canvas->columns; column++) {
        bool here = next < count && (size_t)plot_terminal_dot_x(canvas, chart, ticks[next].value) /
                                            canvas->across <=
                                        column;
        strbuf_add_string(out, style_sign(canvas->style, here ? "┬" : "─", here ? "+" : "-"));
        if (!here)
            continue;
        size_t width = text_width(ticks[next].label), from = LABELS + 2 + column;
        from = from > width / 2 ? from - width / 2 : 0;
        size_t used = text_width(labels.data), end = LABELS + 2 + canvas->columns;
        if (from + width > end)
            from = end > width ? end - width : 0;
        if (from >= used + (used > 0)) {
            strbuf_add_repeated(&labels, " ", from - used);
            strbuf_add_string(&labels, ticks[next].label);
        }
        next++;
    }
    strbuf_addf(out, "\n%s\n", labels.data);
    strbuf_release(&labels);
}

static void plot_terminal_add_legend(struct strbuf *out, const struct canvas *canvas,
                                     const struct chart *chart)
{
    for (size_t i = 0; i < chart->count; i++) {
        char letter = plot_terminal_letter_of(chart, i);
        if (!letter)
            continue;
        struct strbuf safe = STRBUF_INIT;
        strbuf_add_repeated(out, " ", LABELS);
        plot_terminal_begin_colour(out, canvas, &chart->series[i]);
        strbuf_addf(out, " %c", letter);
        plot_terminal_end_colour(out, canvas);
        strbuf_add_string(out, "  ");
        text_add_safe_string(&safe, chart->series[i].name);
        text_add_cut(out, safe.data, canvas->columns > 4 ? canvas->columns - 2 : 4);
        if (chart->series[i].right)
            strbuf_add_string(out, " (right)");
        strbuf_add_char(out, '\n');
        strbuf_release(&safe);
    }
}

static void plot_terminal_add_heading(struct strbuf *out, const struct style *style, enum tone tone,
                                      const char *text)
{
    struct strbuf safe = STRBUF_INIT, cut = STRBUF_INIT;
    if (!text)
        return;
    text_add_safe_string(&safe, text);
    text_add_cut(&cut, safe.data, style->columns);
    style_add(out, style, tone, cut.data);
    strbuf_add_char(out, '\n');
    strbuf_release(&safe);
    strbuf_release(&cut);
}

/* Text has fewer ticks than a picture. The axis ends at a tick above the highest point here, too.
 */
static struct chart plot_terminal_fit(const struct chart *chart, const struct canvas *canvas)
{
    struct chart fitted = *chart;
    fitted.y.high = scale_ceiling(&chart->y, plot_terminal_most_ticks(canvas));
    fitted.right.high = scale_ceiling(&chart->right, plot_terminal_most_ticks(canvas));
    return fitted;
}

static void plot_terminal_draw(struct strbuf *out, struct canvas *canvas, const struct chart *chart)
{
    for (size_t i = 0; i < chart->count; i++)
        if (chart->series[i].faint)
            plot_terminal_draw_series(canvas, chart, i);
    for (size_t i = 0; i < chart->count; i++)
        if (!chart->series[i].faint)
            plot_terminal_draw_series(canvas, chart, i);
    for (size_t i = 0; i < chart->count; i++)
        plot_terminal_mark_series(canvas, chart, i);
    plot_terminal_add_rows(out, canvas, chart);
    plot_terminal_add_x_axis(out, canvas, chart);
    plot_terminal_add_legend(out, canvas, chart);
}

void plot_terminal(struct strbuf *out, const struct chart *chart, const struct style *style,
                   size_t rows)
{
    struct canvas canvas;
    if (chart->across) {
        plot_terminal_add_heading(out, style, TONE_TITLE, chart->title);
        plot_terminal_add_heading(out, style, TONE_DIM, chart->note);
        plot_across_terminal(out, chart, style);
        return;
    }
    if (plot_terminal_canvas_init(&canvas, chart, style, rows)) {
        plot_terminal_add_heading(out, style, TONE_TITLE, chart->title);
        plot_terminal_add_heading(out, style, TONE_DIM, chart->note);
        struct chart fitted = plot_terminal_fit(chart, &canvas);
        plot_terminal_draw(out, &canvas, &fitted);
    }
    plot_terminal_canvas_release(&canvas);
}
