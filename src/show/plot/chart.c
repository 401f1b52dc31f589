/* Holds and reduces a chart's series (chart.h). Axes are widened to the points. A series with many
 * points keeps the first, last, lowest and highest one of each column. */
#include "plot/chart.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/strbuf.h"
#include "base/memory.h"

/* Room above the highest point, so that it does not touch the upper edge. */
#define HEADROOM 1.04

static char *chart_copied(const char *text)
{
    return memory_need(strdup(text));
}

void chart_release(struct chart *chart)
{
    for (size_t i = 0; i < chart->count; i++) {
        free(chart->series[i].name);
        free(chart->series[i].points);
    }
    for (size_t i = 0; i < chart->place_count; i++)
        free(chart->places[i]);
    free(chart->places);
    free(chart->series);
    free(chart->title);
    free(chart->note);
    *chart = (struct chart){0};
}

static void chart_set_text(char **to, const char *format, va_list arguments)
{
    struct strbuf text = STRBUF_INIT;
    strbuf_addv(&text, format, arguments);
    free(*to);
    *to = chart_copied(text.data);
    strbuf_release(&text);
}

void chart_set_title(struct chart *chart, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    chart_set_text(&chart->title, format, arguments);
    va_end(arguments);
}

void chart_set_note(struct chart *chart, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    chart_set_text(&chart->note, format, arguments);
    va_end(arguments);
}

struct chart_series *chart_add(struct chart *chart, const char *name, enum chart_shape shape,
                               unsigned colour)
{
    array_need_bare_room(&chart->series, &chart->capacity, chart->count, sizeof *chart->series);
    struct chart_series *series = &chart->series[chart->count++];
    *series = (struct chart_series){.name = chart_copied(name), .shape = shape, .colour = colour};
    return series;
}

void chart_add_point(struct chart_series *series, double x, double y)
{
    array_need_bare_room(&series->points, &series->capacity, series->count, sizeof *series->points);
    series->points[series->count++] = (struct chart_point){x, y};
}

void chart_add_place(struct chart *chart, const char *name)
{
    array_need_bare_room(&chart->places, &chart->place_capacity, chart->place_count,
                         sizeof *chart->places);
    chart->places[chart->place_count++] = chart_copied(name);
}

void chart_thin(struct chart_series *series)
{
    size_t kept = 0;
    for (size_t i = 0; i < series->count; i++) {
        const struct chart_point *points = series->points;
        bool inner = kept && i + 1 < series->count && points[i].y == points[kept - 1].y &&
                     (series->shape != CHART_LINE || points[i + 1].y == points[i].y);
        if (!inner)
            series->points[kept++] = points[i];
    }
    series->count = kept;
}

/* Keeps the first, lowest, highest and last of points[first, end), which share a column, in their
 * order. Returns how many. */
static size_t chart_keep_outline(struct chart_point *to, const struct chart_point *points,
                                 size_t first, size_t end)
{
    size_t low = first, high = first, kept = 0;
    for (size_t i = first; i < end; i++) {
        low = points[i].y < points[low].y ? i : low;
        high = points[i].y > points[high].y ? i : high;
    }
    for (size_t i = first; i < end; i++)
        if (i == first || i == low || i == high || i + 1 == end)
            to[kept++] = points[i];
    return kept;
}

void chart_reduce(struct chart_series *series, size_t columns)
{
    struct chart_point *points = series->points;
    double start = INFINITY, stop = -INFINITY, width;
    size_t kept = 0, end;
    for (size_t i = 0; i < series->count; i++) {
        start = fmin(start, points[i].x);
        stop = fmax(stop, points[i].x);
    }
    width = (stop - start) / (double)columns;
    if (series->count <= 4 * columns || !(width > 0))
        return;
    for (size_t first = 0; first < series->count; first = end) {
        double column = floor((points[first].x - start) / width);
        for (end = first + 1; end < series->count && !isnan(points[first].y); end++)
            if (isnan(points[end].y) || floor((points[end].x - start) / width) != column)
                break;
        kept += chart_keep_outline(points + kept, points, first, end);
    }
    series->count = kept;
}

/* ---- Ends of the axes ---------------------------------------------------------------------- */

static void chart_widen(struct chart_axis *axis, double value)
{
    if (value < axis->low)
        axis->low = value;
    if (value > axis->high)
        axis->high = value;
}

static double chart_stack_top(const struct chart *chart, size_t point)
{
    double sum = 0;
    for (size_t i = 0; i < chart->stack_count; i++)
        if (point < chart->series[i].count && !isnan(chart->series[i].points[point].y))
            sum += chart->series[i].points[point].y;
    return sum;
}

static void chart_widen_by_series(struct chart *chart, size_t index, bool *any)
{
    const struct chart_series *series = &chart->series[index];
    for (size_t i = 0; i < series->count; i++) {
        if (isnan(series->points[i].y))
            continue;
        chart_widen(&chart->x, series->points[i].x);
        chart_widen(series->right ? &chart->right : &chart->y,
                    chart->stacked && index < chart->stack_count ? chart_stack_top(chart, i)
                                                                 : series->points[i].y);
        *any = true;
    }
}

static double chart_level_between(const struct chart_series *series, struct chart_point before,
                                  struct chart_point after, double x)
{
    if (series->shape != CHART_LINE || isnan(before.y) || isnan(after.y) || after.x <= before.x)
        return before.y;
    return before.y + (after.y - before.y) * (x - before.x) / (after.x - before.x);
}

void chart_cut(struct chart_series *series, double from, double to)
{
    struct chart_series kept = {.shape = series->shape};
    for (size_t i = 0; i < series->count; i++) {
        struct chart_point at = series->points[i],
                           next = series->points[i + (i + 1 < series->count)];
        bool last = i + 1 == series->count;
        if (at.x >= from && at.x <= to)
            chart_add_point(&kept, at.x, at.y);
        else if (!last && at.x < from && next.x > from)
            chart_add_point(&kept, from, chart_level_between(series, at, next, from));
        if (!last && at.x < to && next.x > to)
            chart_add_point(&kept, to, chart_level_between(series, at, next, to));
    }
    free(series->points);
    series->points = kept.points;
    series->count = kept.count;
    series->capacity = kept.capacity;
}

bool chart_settle(struct chart *chart)
{
    bool any = false;
    chart->x.low = chart->x.unit == CHART_TIME && !chart->x.logarithmic ? 0 : INFINITY;
    chart->x.high = -INFINITY;
    chart->y.low = chart->y.high = 0;
    chart->right.low = chart->right.high = 0;
    if (chart->x.unit == CHART_PERCENT)
        chart->x.low = 0, chart->x.high = 100;
    if (chart->x.unit == CHART_PLACE)
        chart->x.low = 0, chart->x.high = (double)chart->place_count;
    for (size_t i = 0; i < chart->count; i++)
        chart_widen_by_series(chart, i, &any);
    if (!any)
        chart->x.low = 0, chart->x.high = 0;
    /* At least a nanosecond or a byte wide: less is a rounding error. */
    chart->x.high = fmax(chart->x.high, chart->x.low + 1);
    chart->y.high = fmax(chart->y.high * HEADROOM, 1);
    chart->right.high = fmax(chart->right.high * HEADROOM, 1);
    return any;
}

/* ---- As it is drawn ------------------------------------------------------------------------ */

const struct chart_axis *chart_axis_of(const struct chart *chart, size_t index)
{
    return chart->series[index].right ? &chart->right : &chart->y;
}

double chart_base(const struct chart *chart, size_t index, size_t point)
{
    double sum = 0;
    if (chart->stacked && index < chart->stack_count)
        for (size_t i = 0; i < index; i++)
            if (point < chart->series[i].count && !isnan(chart->series[i].points[point].y))
                sum += chart->series[i].points[point].y;
    return sum;
}

double chart_top(const struct chart *chart, size_t index, size_t point)
{
    return chart_base(chart, index, point) + chart->series[index].points[point].y;
}
