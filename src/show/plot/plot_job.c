/* Draws a job: its ranks over time, and what its nodes' ranks held together. Few ranks have a
 * line each. Many are three lines over time: the highest rank, the mean and the lowest rank at
 * each moment. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "base/human.h"
#include "plot/plot.h"
#include "aggregate/facts.h"

enum {
    SINGLE_RANKS = 48, /* with more ranks single lines cannot be told apart: a band is drawn */
    NAMED_RANKS = 8,
    COLUMNS = 400,
    USUAL_STEPS = 200
};

/* The steps of one rank within profile->rank_steps, and where they lie in the job's time. */
struct rank {
    const struct profile_rank *of;
    const struct profile_rank_step *steps;
    size_t count;
    double start_ns, step_ns;
};

struct ranks {
    struct rank *items;
    size_t count, unplaced; /* unplaced: the time of their runs is not known */
    double span_ns;
};

static const struct profile_rank *plot_job_rank_of(const struct profile *profile, uint32_t id)
{
    for (size_t i = 0; i < profile->rank_count; i++)
        if (profile->ranks[i].id == id)
            return &profile->ranks[i];
    return NULL;
}

static struct figure plot_job_first_start(const struct profile *profile)
{
    struct figure first = FIGURE_UNKNOWN;
    for (size_t i = 0; i < profile->rank_count; i++)
        first = figure_min(first, profile->ranks[i].start_unix_ns);
    return first;
}

static void plot_job_place_rank(struct ranks *ranks, const struct profile *profile, size_t begin,
                                size_t end, struct figure first)
{
    uint64_t steps = facts_number(profile, "job_steps");
    const struct profile_rank *of = plot_job_rank_of(profile, profile->rank_steps[begin].rank);
    if (!of || !figure_known(of->start_unix_ns) || !figure_known(of->duration_ns)) {
        ranks->unplaced++;
        return;
    }
    struct rank *rank = &ranks->items[ranks->count++];
    *rank = (struct rank){of, &profile->rank_steps[begin], end - begin,
                          figure_double(figure_sub(of->start_unix_ns, first)),
                          figure_double(of->duration_ns) / (double)(steps ? steps : USUAL_STEPS)};
    ranks->span_ns = fmax(ranks->span_ns, rank->start_ns + figure_double(of->duration_ns));
}

static int plot_job_ranks_init(struct ranks *ranks, const struct profile *profile)
{
    struct figure first = plot_job_first_start(profile);
    *ranks = (struct ranks){calloc(profile->rank_step_count + 1, sizeof *ranks->items), 0, 0, 1};
    for (size_t i = 0; ranks->items && i < profile->rank_step_count;) {
        size_t end = i;
        while (end < profile->rank_step_count &&
               profile->rank_steps[end].rank == profile->rank_steps[i].rank)
            end++;
        plot_job_place_rank(ranks, profile, i, end, first);
        i = end;
    }
    return ranks->items ? 0 : -ENOMEM;
}

/* ---- Few: a line each ---------------------------------------------------------------------- */

static void plot_job_add_rank(struct chart *chart, const struct rank *rank, unsigned colour,
                              bool named)
{
    struct strbuf name = STRBUF_INIT;
    if (named)
        strbuf_addf(&name, rank->of->beside ? "beside the ranks: pid %u" : "rank %u",
                    rank->of->beside ? rank->of->pid : rank->of->rank);
    struct chart_series *series = chart_add(chart, name.data, CHART_STEPS, named ? colour : 7);
    series->faint = !named;
    double end = rank->start_ns;
    for (size_t i = 0; i < rank->count; i++) {
        double at = rank->start_ns + rank->steps[i].step * rank->step_ns;
        chart_add_point(series, at, figure_double(rank->steps[i].requested_max));
        end = at + rank->step_ns;
    }
    if (rank->count && figure_known(rank->steps[rank->count - 1].requested_max))
        chart_add_point(series, end, figure_double(rank->steps[rank->count - 1].requested_max));
    chart_thin(series);
    strbuf_release(&name);
}

static int plot_job_by_peak(const void *a, const void *b)
{
    const struct rank *left = a, *right = b;
    int order = figure_compare(right->of->peak_bytes, left->of->peak_bytes);
    if (order)
        return order;
    return left->of->id < right->of->id ? -1 : 1;
}

/* Of more ranks than can be told apart, the two highest, the median and the lowest are named. */
static bool plot_job_is_named(size_t place, size_t count)
{
    return count <= NAMED_RANKS || place < 2 || place == count / 2 || place == count - 1;
}

static void plot_job_add_single_ranks(struct chart *chart, struct ranks *ranks)
{
    unsigned colour = 0;
    qsort(ranks->items, ranks->count, sizeof *ranks->items, plot_job_by_peak);
    for (size_t i = 0; i < ranks->count; i++)
        if (!plot_job_is_named(i, ranks->count))
            plot_job_add_rank(chart, &ranks->items[i], 0, false);
    for (size_t i = 0; i < ranks->count; i++)
        if (plot_job_is_named(i, ranks->count))
            plot_job_add_rank(chart, &ranks->items[i], colour++, true);
}

/* ---- Many: a band -------------------------------------------------------------------------- */

static void plot_job_add_to_columns(const struct rank *rank, double span, double *low, double *high,
                                    double *sum, size_t *seen)
{
    size_t at = 0;
    for (size_t i = 0; i < COLUMNS; i++) {
        double time = span * ((double)i + 0.5) / COLUMNS;
        double step = floor((time - rank->start_ns) / rank->step_ns);
        if (step < 0 || !rank->count || step > rank->steps[rank->count - 1].step)
            continue;
        while (at + 1 < rank->count && rank->steps[at + 1].step <= step)
            at++;
        double bytes = figure_double(rank->steps[at].requested_max);
        if (isnan(bytes))
            continue;
        low[i] = seen[i] ? fmin(low[i], bytes) : bytes;
        high[i] = fmax(high[i], bytes);
        sum[i] += bytes;
        seen[i]++;
    }
}

static void plot_job_add_band(struct chart *chart, const struct ranks *ranks)
{
    static double low[COLUMNS], high[COLUMNS], sum[COLUMNS];
    static size_t seen[COLUMNS];
    const struct {
        const char *name;
        const double *values;
        bool mean;
    } lines[] = {{"highest rank at each moment", high, false},
                 {"mean of the ranks", sum, true},
                 {"lowest rank at each moment", low, false}};
    for (size_t i = 0; i < COLUMNS; i++)
        low[i] = high[i] = sum[i] = 0, seen[i] = 0;
    for (size_t i = 0; i < ranks->count; i++)
        plot_job_add_to_columns(&ranks->items[i], ranks->span_ns, low, high, sum, seen);
    for (unsigned j = 0; j < 3; j++) {
        struct chart_series *series = chart_add(chart, lines[j].name, CHART_LINE, j);
        for (size_t i = 0; i < COLUMNS; i++)
            chart_add_point(series, ranks->span_ns * ((double)i + 0.5) / COLUMNS,
                            !seen[i]        ? NAN
                            : lines[j].mean ? sum[i] / (double)seen[i]
                                            : lines[j].values[i]);
    }
}

int plot_ranks(struct chart *chart, const struct profile *profile, struct strbuf *why)
{
    struct ranks ranks;
    struct strbuf program = STRBUF_INIT;
    int error = plot_job_ranks_init(&ranks, profile);
    if (!error && !ranks.count) {
        strbuf_add_string(why, "the profile has no ranks over time: give the job's directory, "
                               "or what `tidemark job -o FILE` makes of it");
        error = -ENODATA;
    }
    if (error)
        goto done;
    chart->x =
        (struct chart_axis){.title = "time since the first rank's start", .unit = CHART_TIME};
    chart->y = (struct chart_axis){.title = "requested memory of a rank", .unit = CHART_BYTES};
    facts_add_text(&program, profile, PROFILE_META_PROGRAM);
    chart_set_title(chart, "%s: ranks over time", program.data);
    if (ranks.unplaced)
        chart_set_note(chart, "%zu ranks; %zu more are left out: when they ran is not known",
                       ranks.count, ranks.unplaced);
    else
        chart_set_note(chart, "%zu ranks", ranks.count);
    if (ranks.count > SINGLE_RANKS)
        plot_job_add_band(chart, &ranks);
    else
        plot_job_add_single_ranks(chart, &ranks);
done:
    strbuf_release(&program);
    free(ranks.items);
    return error;
}

/* ---- Nodes --------------------------------------------------------------------------------- */

/* A bar at its place; none where the value is unknown. */
static void plot_job_add_bar(struct chart_series *series, size_t place, double from, double to,
                             struct figure value)
{
    if (!figure_known(value))
        return;
    chart_add_point(series, (double)place + from, figure_double(value));
    chart_add_point(series, (double)place + to, 0);
    chart_add_point(series, (double)place + to, NAN);
}

int plot_nodes(struct chart *chart, const struct profile *profile, struct strbuf *why)
{
    static const char *const names[] = {"at most, by the ranks' timelines", "at least"};
    if (!profile->node_peak_count) {
        strbuf_add_string(why, "the profile has no nodes: give the job's directory");
        return -ENODATA;
    }
    chart->x = (struct chart_axis){.title = "node", .unit = CHART_PLACE};
    chart->y = (struct chart_axis){.title = "requested memory", .unit = CHART_BYTES};
    struct strbuf program = STRBUF_INIT;
    facts_add_text(&program, profile, PROFILE_META_PROGRAM);
    chart_set_title(chart, "%s: what each node's ranks held at once", program.data);
    chart_set_note(chart, "%zu node%s", profile->node_peak_count,
                   profile->node_peak_count == 1 ? "" : "s");
    strbuf_release(&program);
    for (unsigned j = 0; j < 2; j++) {
        struct chart_series *series = chart_add(chart, names[j], CHART_BARS, j);
        for (size_t i = 0; i < profile->node_peak_count; i++) {
            const struct profile_node_peak *node = &profile->node_peaks[i];
            double from = j ? 0.5 : 0.1;
            plot_job_add_bar(series, i, from, from + 0.4,
                             j ? node->lower_bytes : node->upper_bytes);
        }
    }
    for (size_t i = 0; i < profile->node_peak_count; i++)
        chart_add_place(chart, profile->node_peaks[i].name);
    return 0;
}
