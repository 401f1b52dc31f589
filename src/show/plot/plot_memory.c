/* Draws memory over time of runs side by side, and chooses which chart is made at all. Each run
 * is a line over the time since its own beginning. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "model/figure_human.h"
#include "base/text.h"
#include "plot/plot.h"
#include "plot/scale.h"
#include "aggregate/facts.h"
#include "format/names.h"

const char *plot_colour(unsigned colour)
{
    static const char *const colours[PLOT_COLOURS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                      "#e69f00", "#56b4e9", "#7a5230", "#6e6e6e"};
    return colours[colour % PLOT_COLOURS];
}

enum { SAMPLE_COLUMNS = 1000, PICTURE_TICKS = 7 };

/* ---- Names --------------------------------------------------------------------------------- */

static void plot_memory_add_program(struct strbuf *out, const struct plot_run *run)
{
    const char *program = run->profile ? profile_get(run->profile, PROFILE_META_PROGRAM) : NULL;
    const char *name = program ? name_base(program) : name_base(run->path);
    strbuf_add_string(out, name);
    const char *rank = run->profile ? profile_get(run->profile, PROFILE_META_RANK) : NULL;
    if (rank)
        strbuf_addf(out, " (rank %s)", rank);
}

void plot_run_name(struct strbuf *out, const struct plot_run *runs, size_t count, size_t index)
{
    struct strbuf mine = STRBUF_INIT;
    bool alone = true;
    if (runs[index].label) {
        strbuf_add_string(out, runs[index].label);
        return;
    }
    plot_memory_add_program(&mine, &runs[index]);
    for (size_t i = 0; i < count && alone; i++) {
        struct strbuf other = STRBUF_INIT;
        plot_memory_add_program(&other, &runs[i]);
        alone = i == index || strcmp(mine.data, other.data);
        strbuf_release(&other);
    }
    if (alone) {
        strbuf_add_string(out, mine.data);
    } else {
        const char *base = name_base(runs[index].path);
        size_t length = strlen(base);
        strbuf_add(out, base,
                   length > 4 && !strcmp(base + length - 4, ".tmk") ? length - 4 : length);
    }
    strbuf_release(&mine);
}

/* ---- Profiles ------------------------------------------------------------------------------ */

static bool plot_memory_has_requested(const struct profile *profile)
{
    for (size_t i = 0; i < profile->bucket_count; i++)
        if (figure_known(profile->buckets[i].requested.max))
            return true;
    return false;
}

/* The highest level of each bucket, so that no peak is lost. No series if no level is known. */
static void plot_memory_add_requested(struct chart *chart, const struct profile *profile,
                                      const char *name, unsigned colour)
{
    if (!plot_memory_has_requested(profile))
        return;
    struct chart_series *series = chart_add(chart, name, CHART_STEPS, colour);
    double level = 0;
    for (size_t i = 0; i < profile->bucket_count; i++) {
        struct figure requested = profile->buckets[i].requested.max;
        if (figure_known(requested)) /* an unknown level is the last known one */
            level = figure_double(requested);
        chart_add_point(series, (double)i * (double)profile->bucket_ns, level);
    }
    if (profile->bucket_count)
        chart_add_point(series, (double)profile->bucket_count * (double)profile->bucket_ns, level);
    chart_thin(series);
}

/* What is resident of a short run may be known from its end alone. */
static bool plot_memory_has_resident(const struct profile *profile)
{
    for (size_t i = 0; i < profile->bucket_count; i++)
        if (figure_known(profile->buckets[i].physical.max))
            return true;
    return false;
}

/* Straight lines between samples. No series if there is no sample. */
static void plot_memory_add_resident(struct chart *chart, const struct profile *profile,
                                     const char *name, unsigned colour)
{
    if (!plot_memory_has_resident(profile))
        return;
    struct chart_series *series = chart_add(chart, name, CHART_LINE, colour);
    series->dashed = true;
    for (size_t i = 0; i < profile->bucket_count; i++)
        if (figure_known(profile->buckets[i].physical.max))
            chart_add_point(series, ((double)i + 0.5) * (double)profile->bucket_ns,
                            figure_double(profile->buckets[i].physical.max));
    chart_thin(series);
}

static void plot_memory_name_level(struct strbuf *out, const char *run, const char *level,
                                   bool sampled)
{
    strbuf_reset(out);
    strbuf_addf(out, "%s%s%s%s", run ? run : "", run ? ": " : "", level,
                sampled ? " (estimated)" : "");
}

/* The name of the line, by the level that the profile is of. */
static const char *plot_memory_word(const struct profile *profile)
{
    return facts_is_of(profile, MEMORY_MAPPED)     ? "mapped"
           : facts_is_of(profile, MEMORY_ALL)      ? "requested and mapped"
           : facts_is_of(profile, MEMORY_RESIDENT) ? "resident"
                                                   : "requested";
}

/* `run` NULL: there is one run, whose lines have different colours. */
static void plot_memory_add_profile(struct chart *chart, const struct profile *profile,
                                    const char *run, enum plot_level level, unsigned colour)
{
    struct strbuf name = STRBUF_INIT;
    if (level != PLOT_RESIDENT) {
        plot_memory_name_level(&name, run, plot_memory_word(profile), profile->sample_bytes);
        plot_memory_add_requested(chart, profile, name.data, colour);
    }
    if (level != PLOT_REQUESTED && !facts_is_of(profile, MEMORY_RESIDENT)) {
        plot_memory_name_level(&name, run, "resident", false);
        plot_memory_add_resident(chart, profile, name.data, colour + (run == NULL));
    }
    strbuf_release(&name);
}

static void plot_memory_set_axes(struct chart *chart)
{
    chart->x = (struct chart_axis){.title = "time since the start", .unit = CHART_TIME};
    chart->y = (struct chart_axis){.title = "memory", .unit = CHART_BYTES};
}

static double plot_memory_highest(const struct chart *chart, bool resident)
{
    double highest = 0;
    for (size_t i = 0; i < chart->count; i++)
        for (size_t j = 0; j < chart->series[i].count && chart->series[i].dashed == resident; j++)
            highest = fmax(highest, chart->series[i].points[j].y);
    return highest;
}

/* Resident memory gets a scale of its own where one level would lie flat at the bottom of the
 * other's scale. */
static void plot_memory_part_scales(struct chart *chart)
{
    enum { READABLE_PART = 4 };
    double requested = plot_memory_highest(chart, false),
           resident = plot_memory_highest(chart, true);
    if (!(requested > 0 && resident > 0) ||
        fmax(requested, resident) < READABLE_PART * fmin(requested, resident))
        return;
    chart->right = (struct chart_axis){.title = "resident", .unit = CHART_BYTES};
    chart->y.title = "requested";
    for (size_t i = 0; i < chart->count; i++)
        chart->series[i].right = chart->series[i].dashed;
}

void plot_memory(struct chart *chart, const struct profile *profile, enum plot_level level)
{
    plot_memory_set_axes(chart);
    plot_memory_add_profile(chart, profile, NULL, level, 0);
    plot_memory_part_scales(chart);
}

static void plot_memory_add_samples(struct chart *chart, const struct plot_run *run,
                                    const char *name, unsigned *colour)
{
    for (size_t i = 0; i < run->sample_count; i++) {
        const struct plot_samples *samples = &run->samples[i];
        struct strbuf full = STRBUF_INIT;
        strbuf_addf(&full, "%s%s%s", name, samples->function ? ": " : "",
                    samples->function ? samples->function : "");
        struct chart_series *series = chart_add(chart, full.data, CHART_STEPS, (*colour)++);
        for (size_t j = 0; j < samples->count; j++)
            chart_add_point(series, samples->points[j].x, samples->points[j].y);
        chart_reduce(series, SAMPLE_COLUMNS);
        strbuf_release(&full);
    }
}

static double plot_memory_span_of(const struct plot_run *run, const struct chart *chart,
                                  size_t first)
{
    double span = 0;
    if (run->profile)
        span = (double)run->profile->bucket_count * (double)run->profile->bucket_ns;
    for (size_t i = first; i < chart->count; i++)
        for (size_t j = 0; j < chart->series[i].count; j++)
            span = fmax(span, chart->series[i].points[j].x);
    return span > 0 ? span : 1;
}

static void plot_memory_make_relative(struct chart *chart, size_t first, double span)
{
    for (size_t i = first; i < chart->count; i++)
        for (size_t j = 0; j < chart->series[i].count; j++)
            chart->series[i].points[j].x = 100 * (chart->series[i].points[j].x / span);
}

/* ---- What is said above -------------------------------------------------------------------- */

static void plot_memory_say_peaks(struct chart *chart, const struct profile *profile)
{
    struct figure resident = facts_resident_peak(profile), peak = profile->program.total.peak_bytes;
    const char *about = profile->sample_bytes ? "about " : "";
    if (!profile->has_program)
        chart_set_note(chart, "no figures yet");
    else if (facts_is_of(profile, MEMORY_RESIDENT))
        chart_set_note(chart, "%s resident at most", figure_human_bytes(resident).text);
    else if (figure_known(resident))
        chart_set_note(chart, "peak %s%s %s, %s resident%s", about, figure_human_bytes(peak).text,
                       plot_memory_word(profile), figure_human_bytes(resident).text,
                       profile->being_written ? "; still being recorded" : "");
    else
        chart_set_note(chart, "peak %s%s %s; resident memory was not sampled", about,
                       figure_human_bytes(peak).text, plot_memory_word(profile));
}

static int plot_memory_of_runs(struct chart *chart, const struct plot_run *runs, size_t count,
                               const struct plot_options *options)
{
    unsigned colour = 0;
    plot_memory_set_axes(chart);
    for (size_t i = 0; i < count; i++) {
        struct strbuf name = STRBUF_INIT;
        size_t first = chart->count;
        plot_run_name(&name, runs, count, i);
        if (runs[i].profile)
            plot_memory_add_profile(chart, runs[i].profile, count > 1 ? name.data : NULL,
                                    options->level, colour++);
        else
            plot_memory_add_samples(chart, &runs[i], name.data, &colour);
        if (options->relative)
            plot_memory_make_relative(chart, first, plot_memory_span_of(&runs[i], chart, first));
        if (count == 1)
            chart_set_title(chart, "%s: memory over time", name.data);
        strbuf_release(&name);
    }
    if (!options->most_bytes)
        plot_memory_part_scales(chart);
    if (options->relative)
        chart->x = (struct chart_axis){.title = "part of the run", .unit = CHART_PERCENT};
    if (count > 1)
        chart_set_title(chart, "Memory over time: %zu runs", count);
    else if (runs[0].profile)
        plot_memory_say_peaks(chart, runs[0].profile);
    return 0;
}

/* ---- Which chart --------------------------------------------------------------------------- */

static int plot_memory_one_profile(const struct plot_run *runs, size_t count, const char *what,
                                   struct strbuf *why)
{
    if (count == 1 && runs[0].profile)
        return 0;
    strbuf_addf(why, "%s are drawn of one profile%s", what,
                count > 1 ? ": give one file" : ", and this is a file of times and sizes");
    return -EINVAL;
}

static int plot_memory_of_system(struct chart *chart, const struct plot_run *runs, size_t count,
                                 const struct plot_options *options, struct strbuf *why)
{
    if (count == 1 && (options->view == PLOT_USUAL || options->view == PLOT_SYSTEM))
        return plot_system(chart, &runs[0], options, why);
    strbuf_addf(why,
                count > 1 ? "what `tidemark ps` wrote is drawn alone: give one file"
                          : "%s was written by `tidemark ps`: it has processes, and no more",
                runs[0].path);
    return -EINVAL;
}

/* Refuses options about processes where the file is not of ps. */
static int plot_memory_check_of_system(const struct plot_run *runs,
                                       const struct plot_options *options, struct strbuf *why)
{
    bool stacked = options->stacked && (!options->view || options->view == PLOT_MEMORY);
    if (options->view != PLOT_SYSTEM && !options->figure && !stacked)
        return 0;
    if (stacked)
        strbuf_add_string(why, "--stacked goes with --paths, --sites, --functions or --processes");
    else
        strbuf_addf(why, "%s was not written by `tidemark ps`: it has no processes", runs[0].path);
    return -EINVAL;
}

static int plot_memory_chart_of(struct chart *chart, const struct plot_run *runs, size_t count,
                                const struct plot_options *options, struct strbuf *why)
{
    enum plot_view view = options->view;
    const struct profile *profile = runs[0].profile;
    for (size_t i = 0; i < count; i++)
        if (runs[i].history)
            return plot_memory_of_system(chart, runs, count, options, why);
    int misfit = plot_memory_check_of_system(runs, options, why);
    if (misfit)
        return misfit;
    if (view == PLOT_USUAL)
        view = count == 1 && profile && profile->rank_step_count ? PLOT_RANKS : PLOT_MEMORY;
    if (view == PLOT_MEMORY)
        return plot_memory_of_runs(chart, runs, count, options);
    if (view == PLOT_SIZES || view == PLOT_LIFETIMES)
        return plot_distribution(chart, runs, count, options, why);
    int error = plot_memory_one_profile(runs, count,
                                        view == PLOT_RANKS     ? "ranks"
                                        : view == PLOT_NODES   ? "nodes"
                                        : view == PLOT_MACHINE ? "moments of the machine"
                                                               : "call paths, sites and functions",
                                        why);
    if (error)
        return error;
    return view == PLOT_RANKS     ? plot_ranks(chart, profile, why)
           : view == PLOT_NODES   ? plot_nodes(chart, profile, why)
           : view == PLOT_MACHINE ? plot_machine(chart, runs, why)
                                  : plot_curves(chart, profile, options, why);
}

/* The axis ends at a tick above the highest point, so that its value can be read. */
static void plot_memory_settle_sizes(struct chart *chart, const struct plot_options *options)
{
    if (chart->y.unit == CHART_BYTES && options->most_bytes)
        chart->y.high = (double)options->most_bytes;
    else
        chart->y.high = scale_ceiling(&chart->y, PICTURE_TICKS);
    chart->right.high = scale_ceiling(&chart->right, PICTURE_TICKS);
}

static int plot_memory_cut(struct chart *chart, const struct plot_options *options,
                           struct strbuf *why)
{
    double to = options->to_ns ? (double)options->to_ns : chart->x.high;
    double from = (double)options->from_ns;
    if (chart->x.unit != CHART_TIME || chart->x.logarithmic || options->relative) {
        strbuf_add_string(why, "--from and --to go with time");
        return -EINVAL;
    }
    for (size_t i = 0; i < chart->count && from < to; i++)
        chart_cut(&chart->series[i], from, to);
    if (from >= to || !chart_settle(chart)) {
        strbuf_add_string(why, "nothing was recorded between --from and --to");
        return -ENODATA;
    }
    chart->x.low = from;
    chart->x.high = to;
    plot_memory_settle_sizes(chart, options);
    return 0;
}

int plot_chart(struct chart *chart, const struct plot_run *runs, size_t count,
               const struct plot_options *options, struct strbuf *why)
{
    int error = plot_memory_chart_of(chart, runs, count, options, why);
    if (error)
        return error;
    if (options->title)
        chart_set_title(chart, "%s", options->title);
    if (!chart_settle(chart)) {
        strbuf_addf(why, "%s: there is nothing to draw: %s", runs[0].path,
                    options->level == PLOT_RESIDENT ? "resident memory was not sampled"
                                                    : "nothing was recorded over time");
        return -ENODATA;
    }
    if (options->to_ns || options->from_ns)
        return plot_memory_cut(chart, options, why);
    plot_memory_settle_sizes(chart, options);
    return 0;
}
