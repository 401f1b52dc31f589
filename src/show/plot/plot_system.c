/* Draws what `tidemark ps` wrote: a history as curves of the rows that had most at some time, a
 * single look as bars. A process that has ended has no curve; in a stack its part is 0. Only PSS
 * and USS can be stacked, because the RSS of each process contains the pages that it shares. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/human.h"
#include "base/memory.h"
#include "plot/plot.h"
#include "system_history/history.h"

enum { USUAL_CURVES = 8, MOST_CURVES = 40, USUAL_BARS = 20, MOST_BARS = 200, COLUMNS_KEPT = 1000 };

static const char *const figure_titles[SYSTEM_HISTORY_FIGURES] = {[SYSTEM_HISTORY_PSS] = "PSS",
                                                                  [SYSTEM_HISTORY_USS] = "USS",
                                                                  [SYSTEM_HISTORY_RSS] = "RSS",
                                                                  [SYSTEM_HISTORY_SWAP] = "swap"};

struct plot_system_ranked {
    const struct history_row *row;
    double most; /* at its highest */
};

static int plot_system_compare(const void *left, const void *right)
{
    const struct plot_system_ranked *a = left, *b = right;
    if (a->most != b->most)
        return a->most > b->most ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

/* The rows that ever had some of the figure, the largest first. */
static struct plot_system_ranked *plot_system_rank(const struct history *history, size_t figure,
                                                   size_t *count)
{
    struct plot_system_ranked *ranked = memory_need(calloc(history->row_count + 1, sizeof *ranked));
    *count = 0;
    for (size_t i = 0; i < history->row_count; i++) {
        const struct history_row *row = &history->rows[i];
        struct figure most = FIGURE_UNKNOWN;
        for (size_t j = 0; j < row->count; j++)
            if (!row->points[j].gone)
                most = figure_max(most, row->points[j].figures[figure]);
        if (figure_positive(most))
            ranked[(*count)++] = (struct plot_system_ranked){row, figure_double(most)};
    }
    qsort(ranked, *count, sizeof *ranked, plot_system_compare);
    return ranked;
}

/* ---- Over time ----------------------------------------------------------------------------- */

/* Times in ns since the first look. If the clock is set back, time stands still. */
static double *plot_system_times(const struct history *history)
{
    double *times = memory_need(calloc(history->sample_count + 1, sizeof *times));
    for (size_t i = 1; i < history->sample_count; i++) {
        double since =
            (double)history->samples[i].time_unix_ns - (double)history->samples[0].time_unix_ns;
        times[i] = since > times[i - 1] ? since : times[i - 1];
    }
    return times;
}

static double plot_system_value(const struct history_row *row, size_t sample, size_t figure)
{
    const struct history_point *point = history_at(row, sample);
    return point ? figure_double(point->figures[figure]) : NAN;
}

static void plot_system_add_curve(struct chart *chart, const struct history *history,
                                  const struct history_row *row, const double *times,
                                  const struct plot_options *options)
{
    struct chart_series *series = chart_add(chart, row->name, CHART_STEPS, (unsigned)chart->count);
    for (size_t i = 0; i < history->sample_count; i++) {
        double value = plot_system_value(row, i, options->figure);
        chart_add_point(series, times[i], isnan(value) && options->stacked ? 0 : value);
    }
    if (!options->stacked)
        chart_reduce(series, COLUMNS_KEPT);
}

/* In a stack the rest beside the curves; else the sum, behind the curves. */
static void plot_system_add_rest(struct chart *chart, const struct history *history,
                                 const double *times, const struct plot_options *options)
{
    size_t shown = chart->count;
    struct chart_series *rest =
        chart_add(chart, options->stacked ? "all others" : "all of them", CHART_STEPS, 7);
    rest->faint = !options->stacked;
    for (size_t i = 0; i < history->sample_count; i++) {
        double value = figure_double(history->samples[i].total[options->figure]);
        for (size_t j = 0; options->stacked && j < shown; j++)
            value -= chart->series[j].points[i].y;
        chart_add_point(rest, times[i], options->stacked ? fmax(value, 0) : value);
    }
}

static void plot_system_say_when(struct chart *chart, const struct history *history, size_t shown,
                                 size_t of)
{
    const struct history_sample *first = &history->samples[0],
                                *last = &history->samples[history->sample_count - 1];
    struct strbuf when = STRBUF_INIT;
    if (first->time_unix_ns) {
        strbuf_addf(&when, "%s to ", human_time((int64_t)(first->time_unix_ns / 1000000000)).text);
        strbuf_addf(&when, "%s; ", human_time((int64_t)(last->time_unix_ns / 1000000000)).text);
    }
    chart_set_note(chart, "%sthe %zu that had most, of %zu", when.data, shown, of);
    strbuf_release(&when);
}

static void plot_system_draw_history(struct chart *chart, const struct history *history,
                                     const struct plot_system_ranked *ranked, size_t count,
                                     const struct plot_options *options)
{
    size_t top = options->top ? options->top : USUAL_CURVES;
    double *times = plot_system_times(history);
    top = top < MOST_CURVES ? top : MOST_CURVES;
    chart->x = (struct chart_axis){.title = "time since the first look", .unit = CHART_TIME};
    chart->y = (struct chart_axis){.title = figure_titles[options->figure], .unit = CHART_BYTES};
    for (size_t i = 0; i < count && i < top; i++)
        plot_system_add_curve(chart, history, ranked[i].row, times, options);
    plot_system_say_when(chart, history, chart->count, count);
    plot_system_add_rest(chart, history, times, options);
    chart->stacked = options->stacked;
    chart->stack_count = options->stacked ? chart->count : 0;
    chart_set_title(chart, "Memory of this machine's processes over time: %s",
                    figure_titles[options->figure]);
    free(times);
}

/* ---- At one moment ------------------------------------------------------------------------- */

/* Shows the end of a long path, so that files of one directory are told apart. */
static void plot_system_add_place(struct chart *chart, const char *name)
{
    enum { MOST = 44 };
    const char *rest = *name == '/' && strlen(name) > MOST ? strchr(name + 1, '/') : NULL;
    while (rest && strlen(rest) + 1 > MOST && strchr(rest + 1, '/'))
        rest = strchr(rest + 1, '/');
    struct strbuf place = STRBUF_INIT;
    strbuf_addf(&place, "%s%s", rest ? "…" : "", rest ? rest : name);
    chart_add_place(chart, place.data);
    strbuf_release(&place);
}

/* Adds USS and the share of what is shared. Figures other than PSS have one part. */
static void plot_system_add_bar(struct chart *chart, const char *name, double own, double all)
{
    double place = (double)chart->place_count;
    plot_system_add_place(chart, name);
    chart_add_point(&chart->series[0], place, isnan(own) ? all : fmin(own, all));
    if (chart->count > 1)
        chart_add_point(&chart->series[1], place, isnan(own) ? 0 : fmax(all - own, 0));
}

static void plot_system_add_others(struct chart *chart, const struct plot_system_ranked *ranked,
                                   size_t from, size_t count, const struct plot_options *options)
{
    double all = 0, own = 0;
    for (size_t i = from; i < count; i++) {
        double uss = plot_system_value(ranked[i].row, 0, SYSTEM_HISTORY_USS);
        all += plot_system_value(ranked[i].row, 0, options->figure);
        own += options->figure == SYSTEM_HISTORY_PSS ? uss : 0;
    }
    struct strbuf name = STRBUF_INIT;
    strbuf_addf(&name, "%s others", human_exact(count - from).text);
    if (from < count)
        plot_system_add_bar(chart, name.data, options->figure == SYSTEM_HISTORY_PSS ? own : all,
                            all);
    strbuf_release(&name);
}

static void plot_system_draw_bars(struct chart *chart, const struct history *history,
                                  const struct plot_system_ranked *ranked, size_t count,
                                  const struct plot_options *options)
{
    bool pss = options->figure == SYSTEM_HISTORY_PSS;
    size_t top = options->top ? options->top : USUAL_BARS;
    top = top < MOST_BARS ? top : MOST_BARS;
    top = top + 1 == count ? count : top; /* "1 others" would take the same room */
    chart->across = chart->stacked = true;
    chart->stack_count = pss ? 2 : 1;
    chart->x = (struct chart_axis){.title = history->by, .unit = CHART_PLACE};
    chart->y = (struct chart_axis){.title = figure_titles[options->figure], .unit = CHART_BYTES};
    chart_add(chart, pss ? "its own (USS)" : figure_titles[options->figure], CHART_BARS, 0);
    if (pss)
        chart_add(chart, "its part of what is shared", CHART_BARS, 5);
    for (size_t i = 0; i < count && i < top; i++) {
        double all = plot_system_value(ranked[i].row, 0, options->figure);
        plot_system_add_bar(chart, ranked[i].row->name,
                            pss ? plot_system_value(ranked[i].row, 0, SYSTEM_HISTORY_USS) : all,
                            all);
    }
    plot_system_add_others(chart, ranked, top, count, options);
    chart_set_title(chart, "Memory by %s: %s", history->by, figure_titles[options->figure]);
    if (figure_known(history->samples[0].total[options->figure]))
        chart_set_note(chart, "%s in all",
                       human_bytes(figure_or(history->samples[0].total[options->figure], 0)).text);
}

int plot_system(struct chart *chart, const struct plot_run *run, const struct plot_options *options,
                struct strbuf *why)
{
    const struct history *history = run->history;
    size_t count;
    if (options->stacked && options->figure >= SYSTEM_HISTORY_RSS) {
        strbuf_add_string(
            why, "--stacked goes with --figure pss or uss: a page that several processes share "
                 "is in the RSS of each");
        return -EINVAL;
    }
    struct plot_system_ranked *ranked = plot_system_rank(history, options->figure, &count);
    int error = count ? 0 : -ENODATA;
    if (error)
        strbuf_addf(why, "%s: there is nothing to draw: no process has any %s", run->path,
                    figure_titles[options->figure]);
    else if (history->sample_count < 2)
        plot_system_draw_bars(chart, history, ranked, count, options);
    else
        plot_system_draw_history(chart, history, ranked, count, options);
    free(ranked);
    return error;
}
