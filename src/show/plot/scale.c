/* Maps values to positions on an axis and chooses its ticks (scale.h). The step is the smallest
 * round one, in the unit's base, that gives no more ticks than wanted. */
#include "plot/scale.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include "base/strbuf.h"
#include "base/text.h"

#define US 1e3
#define MS 1e6
#define S  1e9

static double scale_base_of(const struct chart_axis *axis)
{
    return axis->unit == CHART_TIME ? 10 : 2;
}

double scale_position(const struct chart_axis *axis, double value)
{
    if (!axis->logarithmic)
        return value;
    return value < 1 ? value - 1 : log(value) / log(scale_base_of(axis));
}

double scale_part(const struct chart_axis *axis, double value)
{
    double low = scale_position(axis, axis->low), high = scale_position(axis, axis->high);
    double part = (scale_position(axis, value) - low) / (high - low);
    return !(part > 0) ? 0 : part > 1 ? 1 : part;
}

/* ---- Labels -------------------------------------------------------------------------------- */

static void scale_label_bytes(double value, char *label, size_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < sizeof units / sizeof *units)
        value /= 1024, unit++;
    snprintf(label, bytes, "%.4g %s", value, units[unit]);
}

static void scale_label_count(double value, char *label, size_t bytes)
{
    static const char *const units[] = {"", " k", " M", " G", " T", " P", " E"};
    size_t unit = 0;
    for (; value >= 10000 && unit + 1 < sizeof units / sizeof *units; unit++)
        value /= 1000;
    snprintf(label, bytes, "%.4g%s", value, units[unit]);
}

/* From a minute on, minutes and seconds, then hours and minutes. */
static void scale_label_long_time(double seconds, char *label, size_t bytes)
{
    unsigned long long whole = (unsigned long long)(seconds + 0.5);
    if (whole >= 3600)
        snprintf(label, bytes, whole % 3600 ? "%llu:%02llu h" : "%llu h", whole / 3600,
                 whole / 60 % 60);
    else
        snprintf(label, bytes, whole % 60 ? "%llu:%02llu min" : "%llu min", whole / 60, whole % 60);
}

static void scale_label_time(double ns, char *label, size_t bytes)
{
    if (ns >= 60 * S && ns < 1e18)
        scale_label_long_time(ns / S, label, bytes);
    else if (ns >= S || ns == 0)
        snprintf(label, bytes, "%.4g s", ns / S);
    else if (ns >= MS)
        snprintf(label, bytes, "%.4g ms", ns / MS);
    else if (ns >= US)
        snprintf(label, bytes, "%.4g µs", ns / US);
    else
        snprintf(label, bytes, "%.4g ns", ns);
}

void scale_label(const struct chart_axis *axis, double value, char *label, size_t bytes)
{
    switch (axis->unit) {
    case CHART_BYTES:
        scale_label_bytes(value, label, bytes);
        break;
    case CHART_TIME:
        scale_label_time(value, label, bytes);
        break;
    case CHART_PERCENT:
        snprintf(label, bytes, "%.4g %%", value);
        break;
    default:
        scale_label_count(value, label, bytes);
    }
}

/* ---- Steps --------------------------------------------------------------------------------- */

/* The smallest of 1, 2, 5 · 10^k that is no less. */
static double scale_decimal_step(double least)
{
    double power = pow(10, floor(log10(least)));
    for (int i = 0; i < 3; i++) {
        static const double parts[] = {1, 2, 5};
        if (parts[i] * power >= least * (1 - 1e-9))
            return parts[i] * power;
    }
    return 10 * power;
}

static double scale_binary_step(double least)
{
    return least <= 1 ? 1 : exp2(ceil(log2(least) - 1e-9));
}

static double scale_time_step(double least)
{
    static const double seconds[] = {15,   30,   60,   120,   300,   600,   900,
                                     1800, 3600, 7200, 14400, 21600, 43200, 86400};
    if (least <= 10 * S)
        return scale_decimal_step(least);
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++)
        if (seconds[i] * S >= least)
            return seconds[i] * S;
    return scale_decimal_step(least / (86400 * S)) * 86400 * S;
}

static double scale_step_of(const struct chart_axis *axis, double least)
{
    double step = axis->unit == CHART_BYTES  ? scale_binary_step(least)
                  : axis->unit == CHART_TIME ? scale_time_step(least)
                                             : scale_decimal_step(least);
    bool whole = axis->unit == CHART_COUNT || axis->unit == CHART_PLACE;
    return whole && step < 1 ? 1 : step;
}

double scale_ceiling(const struct chart_axis *axis, size_t most)
{
    if (axis->logarithmic || axis->unit == CHART_PLACE)
        return axis->high;
    double step = scale_step_of(axis, (axis->high - axis->low) / (double)(most ? most : 1));
    return axis->low + ceil((axis->high - axis->low) / step - 1e-9) * step;
}

static size_t scale_add_tick(struct scale_tick *ticks, size_t count, const struct chart_axis *axis,
                             double value)
{
    if (count == SCALE_TICKS_MAX)
        return count;
    ticks[count].value = value;
    scale_label(axis, value, ticks[count].label, sizeof ticks->label);
    return count + 1;
}

static size_t scale_linear_ticks(const struct chart_axis *axis, size_t most,
                                 struct scale_tick *ticks)
{
    double step = scale_step_of(axis, (axis->high - axis->low) / (double)most);
    size_t count = 0;
    for (double i = ceil(axis->low / step - 1e-9) + 0.0; count < SCALE_TICKS_MAX; i++) {
        if (i * step > axis->high * (1 + 1e-9))
            break;
        count = scale_add_tick(ticks, count, axis, i * step);
    }
    return count;
}

static size_t scale_logarithmic_ticks(const struct chart_axis *axis, size_t most,
                                      struct scale_tick *ticks)
{
    static const double strides[] = {1, 2, 5, 10, 20, 40, 80};
    double low = scale_position(axis, axis->low), high = scale_position(axis, axis->high);
    size_t count = 0, i = 0;
    while (i + 1 < sizeof strides / sizeof *strides && (high - low) / strides[i] > (double)most)
        i++;
    if (low < 0)
        count = scale_add_tick(ticks, count, axis, 0);
    for (double at = fmax(0, ceil(low / strides[i]) * strides[i]); at <= high; at += strides[i])
        count = scale_add_tick(ticks, count, axis, pow(scale_base_of(axis), at));
    return count;
}

/* Names of places, cut. If there are more than fit, one of several has a tick. */
static size_t scale_place_ticks(const struct chart *chart, size_t most, struct scale_tick *ticks)
{
    size_t count = 0, stride = 1 + chart->place_count / (most ? most : 1);
    for (size_t i = 0; i < chart->place_count && count < SCALE_TICKS_MAX; i += stride) {
        struct strbuf safe = STRBUF_INIT, cut = STRBUF_INIT;
        text_add_safe_string(&safe, chart->places[i]);
        text_add_cut(&cut, safe.data, 9);
        ticks[count].value = (double)i + 0.5;
        snprintf(ticks[count++].label, sizeof ticks->label, "%s", cut.data);
        strbuf_release(&safe);
        strbuf_release(&cut);
    }
    return count;
}

size_t scale_ticks(const struct chart *chart, const struct chart_axis *axis, size_t most,
                   struct scale_tick ticks[SCALE_TICKS_MAX])
{
    most = most < 1 ? 1 : most > SCALE_TICKS_MAX - 2 ? SCALE_TICKS_MAX - 2 : most;
    if (axis->unit == CHART_PLACE)
        return scale_place_ticks(chart, most, ticks);
    return axis->logarithmic ? scale_logarithmic_ticks(axis, most, ticks)
                             : scale_linear_ticks(axis, most, ticks);
}
