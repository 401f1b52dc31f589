/* Where a value lies on an axis, and the ticks beside it: at round values, in units that people
 * read. All ways of drawing use these functions. */
#ifndef TIDEMARK_PLOT_SCALE_H
#define TIDEMARK_PLOT_SCALE_H

#include <stddef.h>
#include "plot/chart.h"

/* The position of a value before scaling: itself, or its logarithm (of 0: one less than that of 1).
 */
double scale_position(const struct chart_axis *axis, double value);
/* The position as a part of the axis: 0 at its low end, 1 at its high end; clamped. */
double scale_part(const struct chart_axis *axis, double value);

struct scale_tick {
    double value;
    char label[40];
};
enum { SCALE_TICKS_MAX = 32 };
/* The first round value at or above the axis's upper end, with about `most` ticks. The upper end
 * itself for logarithms and places. */
double scale_ceiling(const struct chart_axis *axis, size_t most);
/* About `most` ticks, at most SCALE_TICKS_MAX, rising, within the axis. Returns how many: at least
 * one where the axis has any extent. */
size_t scale_ticks(const struct chart *chart, const struct chart_axis *axis, size_t most,
                   struct scale_tick ticks[SCALE_TICKS_MAX]);

/* A single value with its unit, as on a tick. */
void scale_label(const struct chart_axis *axis, double value, char *label, size_t bytes);

#endif
