/* Where a value lies on an axis, and the ticks beside it: at round values, in units that people
 * read. The one place that knows; every way of drawing asks here. */
#ifndef TIDEMARK_PLOT_SCALE_H
#define TIDEMARK_PLOT_SCALE_H

#include <stddef.h>
#include "plot/chart.h"

/* What is drawn to scale for a value: itself, or its logarithm (0: one step below that of 1). */
double scale_position(const struct chart_axis *axis, double value);
/* The same as a part of the axis, from 0 at its low end to 1; clamped. */
double scale_part(const struct chart_axis *axis, double value);

struct scale_tick {
    double value;
    char label[40];
};
enum { SCALE_TICKS_MAX = 32 };
/* The first round value at or above the axis's upper end, where there are about `most` ticks; the
 * end itself where the axis is none of steps. */
double scale_ceiling(const struct chart_axis *axis, size_t most);
/* About `most` ticks at most (never more than SCALE_TICKS_MAX), rising, within the axis. Returns
 * how many; at least one where the axis has any extent. */
size_t scale_ticks(const struct chart *chart, const struct chart_axis *axis, size_t most,
                   struct scale_tick ticks[SCALE_TICKS_MAX]);

/* A single value with its unit, as on a tick. */
void scale_label(const struct chart_axis *axis, double value, char *label, size_t bytes);

#endif
