/* A chart before it is drawn: series of points over two axes. Made of profiles (plot.h), drawn by
 * svg.c, gnuplot.c and plot_terminal.c, which all ask scale.h where a value lies and what its ticks
 * say.
 *
 * Nothing here is thread-safe; out of memory ends the process, as for every strbuf. */
#ifndef TIDEMARK_PLOT_CHART_H
#define TIDEMARK_PLOT_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum chart_unit {
    CHART_BYTES = 0,
    CHART_COUNT,
    CHART_TIME,    /* ns */
    CHART_PERCENT, /* 0 … 100 */
    CHART_PLACE    /* 0, 1, 2 … of chart.places */
};

struct chart_axis {
    const char *title; /* a literal */
    enum chart_unit unit;
    bool logarithmic; /* of 2 for bytes and counts, of 10 for time; 0 lies one step below 1 */
    double low, high; /* by chart_settle() */
};

/* y NAN: a gap, nothing is drawn to or from here. */
struct chart_point {
    double x, y;
};

enum chart_shape {
    CHART_LINE = 0, /* straight from point to point */
    CHART_STEPS,    /* a level holds until the next point */
    CHART_BARS      /* steps, filled down to 0; the last point ends the last bar */
};

struct chart_series {
    char *name; /* as it came: the drawing code makes it safe; "": not in the legend */
    enum chart_shape shape;
    bool dashed, faint;
    bool right;                 /* on the scale at the right */
    unsigned colour;            /* series of one colour belong together */
    struct chart_point *points; /* by x */
    size_t count, capacity;
};

struct chart {
    char *title, *note; /* note: the line below the title, or NULL */
    struct chart_axis x, y;
    struct chart_axis right; /* a second scale of y; title NULL: there is none */
    bool stacked;            /* series[0 … stack_count - 1] are stacked; all have the same x */
    size_t stack_count;
    struct chart_series *series;
    size_t count, capacity;
    bool across;   /* bars lie: places from the top down, y from left to right */
    char **places; /* of CHART_PLACE */
    size_t place_count, place_capacity;
};

void chart_release(struct chart *chart);
void chart_set_title(struct chart *chart, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void chart_set_note(struct chart *chart, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The series is valid until the next one is added. */
struct chart_series *chart_add(struct chart *chart, const char *name, enum chart_shape shape,
                               unsigned colour);
void chart_add_point(struct chart_series *series, double x, double y);
void chart_add_place(struct chart *chart, const char *name);

/* Removes points that do not show: those in the middle of a level. */
void chart_thin(struct chart_series *series);
/* Reduces the points to what `columns` columns can show: the first, the lowest, the highest and the
 * last of each column, and every gap. */
void chart_reduce(struct chart_series *series, size_t columns);
/* Removes what lies before `from` or after `to`. A level that crosses these gets points at them. */
void chart_cut(struct chart_series *series, double from, double to);
/* Sets the ends of both axes from the points; y begins at 0. False: there is no point to draw. */
bool chart_settle(struct chart *chart);

/* The axis of the series' y. */
const struct chart_axis *chart_axis_of(const struct chart *chart, size_t index);
/* The lower and the upper end of a series at one of its points: 0 and its y; in a stack, on top of
 * those below. The top of a gap is NAN. */
double chart_base(const struct chart *chart, size_t index, size_t point);
double chart_top(const struct chart *chart, size_t index, size_t point);

#endif
