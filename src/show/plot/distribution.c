/* Makes a chart of how large blocks are, or how long they live. The profile's bins, four to a power
 * of two, become the points of an area. */
#include <errno.h>
#include <math.h>
#include "base/human.h"
#include "plot/plot.h"

/* The lower bound of the bin after that of `x`. */
static double plot_distribution_next_bin(uint64_t x)
{
    if (x < 4)
        return (double)x + 1;
    unsigned exponent = 63u - (unsigned)__builtin_clzll(x);
    return (double)x + exp2((double)exponent - 2);
}

static bool plot_distribution_add_bins(struct chart *chart, const struct profile *profile,
                                       const char *name, uint32_t kind, bool bytes,
                                       enum chart_shape shape, unsigned colour)
{
    struct chart_series *series = chart_add(chart, name, shape, colour);
    double end = NAN;
    for (size_t i = 0; i < profile->distribution_count; i++) {
        const struct distribution_row *row = &profile->distributions[i];
        if (row->kind != kind || row->x >= INT64_MAX)
            continue;
        if (!isnan(end) && end < (double)row->x)
            chart_add_point(series, end, 0);
        chart_add_point(series, (double)row->x, bytes ? (double)row->bytes : (double)row->count);
        end = plot_distribution_next_bin(row->x);
    }
    if (!isnan(end))
        chart_add_point(series, end, 0);
    return series->count > 0;
}

static void plot_distribution_set_axes(struct chart *chart, bool sizes, bool bytes)
{
    chart->x =
        (struct chart_axis){.title = sizes ? "requested size of a block" : "lifetime of a block",
                            .unit = sizes ? CHART_BYTES : CHART_TIME,
                            .logarithmic = true};
    chart->y = bytes ? (struct chart_axis){.title = "bytes in blocks", .unit = CHART_BYTES}
                     : (struct chart_axis){.title = "blocks", .unit = CHART_COUNT};
}

static void plot_distribution_set_texts(struct chart *chart, const struct plot_run *runs,
                                        size_t count, bool sizes)
{
    struct strbuf name = STRBUF_INIT;
    plot_run_name(&name, runs, count, 0);
    const char *what = sizes ? "sizes of allocated blocks" : "lifetimes of freed blocks";
    if (count == 1)
        chart_set_title(chart, "%s: %s", name.data, what);
    else
        chart_set_title(chart, "%zu runs: %s", count, what);
    if (count == 1 && runs[0].profile->sample_bytes)
        chart_set_note(chart, "estimated from samples");
    strbuf_release(&name);
}

int plot_distribution(struct chart *chart, const struct plot_run *runs, size_t count,
                      const struct plot_options *options, struct strbuf *why)
{
    bool sizes = options->view == PLOT_SIZES, any = false;
    plot_distribution_set_axes(chart, sizes, options->bytes);
    for (size_t i = 0; i < count; i++) {
        if (!runs[i].profile) {
            strbuf_addf(why, "%s: a file of times and sizes says nothing of single blocks",
                        runs[i].path);
            return -EINVAL;
        }
        struct strbuf name = STRBUF_INIT;
        plot_run_name(&name, runs, count, i);
        any |= plot_distribution_add_bins(
            chart, runs[i].profile, name.data, sizes ? DISTRIBUTION_SIZE : DISTRIBUTION_LIFETIME,
            options->bytes, count == 1 ? CHART_BARS : CHART_STEPS, (unsigned)i);
        strbuf_release(&name);
    }
    if (!any) {
        strbuf_addf(why, "%s: %s were not recorded", runs[0].path, sizes ? "sizes" : "lifetimes");
        return -ENODATA;
    }
    plot_distribution_set_texts(chart, runs, count, sizes);
    return 0;
}
