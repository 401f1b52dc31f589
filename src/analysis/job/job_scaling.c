/* Compares jobs of one program with different numbers of ranks. A row says what a rank of each job
 * needs, and the slope of a line through the logarithms says how that grows. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/human.h"
#include "base/json.h"
#include "base/text.h"
#include "base/memory.h"
#include "job/job_forecast.h"
#include "job/job_text.h"
#include "model/figure_json.h"

static double job_scaling_slope_of(struct job *const *jobs, size_t count,
                                   double (*value)(const struct job *job))
{
    double *x = memory_resize(NULL, count, sizeof *x), *y = memory_resize(NULL, count, sizeof *y);
    for (size_t i = 0; i < count; i++) {
        x[i] = (double)jobs[i]->size;
        y[i] = value(jobs[i]);
    }
    double slope = statistics_slope(x, y, count);
    free(x);
    free(y);
    return slope;
}

static double job_scaling_mean_of(const struct job *job)
{
    return job->peaks.mean;
}

static double job_scaling_most_of(const struct job *job)
{
    return (double)job->peaks.max;
}

static const char *job_scaling_judge(double slope)
{
    if (isnan(slope))
        return "not known";
    return slope > JOB_SLOPE_GROWING     ? "grows"
           : slope >= JOB_SLOPE_CONSTANT ? "stays"
           : slope > -0.9                ? "shrinks, but by less than the ranks grow"
                                         : "scales";
}

static const struct text_column job_scaling_columns[] = {
    {"ranks", 7, TEXT_RIGHT, 0}, {"least", 10, TEXT_RIGHT, 0},     {"mean", 10, TEXT_RIGHT, 0},
    {"most", 10, TEXT_RIGHT, 0}, {"deviation", 10, TEXT_RIGHT, 0}, {"imbal.", 7, TEXT_RIGHT, 0},
    {"job", 0, TEXT_LEFT, 2}};

static void job_scaling_add_job(struct job_text *text, const struct job *job)
{
    char number[32];
    snprintf(number, sizeof number, "%llu", (unsigned long long)job->size);
    job_row(text, job_scaling_columns);
    job_cell(text, number);
    job_cell_bytes(text, job->ranks ? figure_of(job->peaks.min) : FIGURE_UNKNOWN);
    job_cell_bytes(text, job->ranks ? job_whole(job->peaks.mean) : FIGURE_UNKNOWN);
    job_cell_bytes(text, job->ranks ? figure_of(job->peaks.max) : FIGURE_UNKNOWN);
    job_cell_bytes(text, job->ranks ? job_whole(job->peaks.deviation) : FIGURE_UNKNOWN);
    double imbalance = job->ranks ? statistics_imbalance(&job->peaks) : NAN;
    snprintf(number, sizeof number, "%.2f", imbalance);
    job_cell(text, isnan(imbalance) ? "-" : number);
    job_cell(text, "");
    struct strbuf name = STRBUF_INIT;
    text_add_safe_string(&name, job->name);
    text_add_cut(&text->out, name.data, text->style.columns - 60);
    if (job->ranks < job->size)
        strbuf_addf(&text->out, " (%zu read)", job->ranks);
    strbuf_add_char(&text->out, '\n');
    strbuf_release(&name);
}

/* To two places, without a minus before zeros. */
static double job_scaling_shown_slope(double slope)
{
    return fabs(slope) < 0.005 ? 0 : slope;
}

static void job_scaling_add_slope(struct job_text *text, const char *label, double slope)
{
    job_label(text, label);
    if (isnan(slope))
        strbuf_add_string(&text->out, "not known: it takes figures of jobs of two sizes\n");
    else
        strbuf_addf(&text->out, "~ ranks^%.2f: %s\n", job_scaling_shown_slope(slope),
                    job_scaling_judge(slope));
}

/* The slope, the last jobs, and the function. */
struct job_scaling_points {
    size_t first, past; /* jobs */
    struct text_column *columns;
    struct human *headings;
};

static struct job_scaling_points job_scaling_points_of(const struct job_text *text,
                                                       struct job *const *jobs, size_t count)
{
    size_t most = (text->style.columns - 40) / 10, shown = most < count ? most : count;
    struct job_scaling_points points = {count - shown, count,
                                        memory_resize(NULL, shown + 2, sizeof *points.columns),
                                        memory_resize(NULL, shown + 1, sizeof *points.headings)};
    points.columns[0] = (struct text_column){"slope", 6, TEXT_RIGHT, 0};
    for (size_t i = 0; i < shown; i++) {
        unsigned long long size = jobs[points.first + i]->size;
        snprintf(points.headings[i].text, sizeof points.headings[i].text, "%llu rank%s", size,
                 size == 1 ? "" : "s");
        points.columns[1 + i] = (struct text_column){points.headings[i].text, 10, TEXT_RIGHT, 0};
    }
    points.columns[1 + shown] = (struct text_column){"function", 0, TEXT_LEFT, 2};
    return points;
}

static void job_scaling_add_points(struct job_text *text, const struct job_scaled *scaled,
                                   const struct job_scaling_points *points)
{
    char slope[24] = "-";
    if (!isnan(scaled->slope))
        snprintf(slope, sizeof slope, "%+.2f", job_scaling_shown_slope(scaled->slope));
    job_row(text, points->columns);
    job_cell(text, slope);
    for (size_t i = points->first; i < points->past; i++)
        job_cell_bytes(text, scaled->means[i] > 0 ? job_whole(scaled->means[i]) : FIGURE_UNKNOWN);
    job_cell(text, "");
    job_name(text, scaled->name, scaled->through, scaled->module,
             10 + 10 * (points->past - points->first));
}

/* Each function that does not shrink while there are more ranks, with its points. */
static void job_scaling_add_functions(struct job_text *text, struct job *const *jobs, size_t count,
                                      const struct job_scaled *scaled, size_t scaled_count)
{
    size_t shown = 0, known = 0;
    struct job_scaling_points points = job_scaling_points_of(text, jobs, count);
    job_title(text, "Functions that do not scale",
              "bytes per rank at the peak: their mean, and its slope");
    job_headings(text, points.columns, 2 + points.past - points.first);
    for (size_t i = 0; i < scaled_count && shown < text->options->top; i++) {
        known += !isnan(scaled[i].slope);
        if (isnan(scaled[i].slope) || scaled[i].slope < JOB_SLOPE_CONSTANT)
            continue;
        job_scaling_add_points(text, &scaled[i], &points);
        shown++;
    }
    if (!known)
        job_note(text, "Not known: it takes functions that are in jobs of two sizes.");
    else if (!shown)
        job_note(text, "None: all of them need less per rank as there are more ranks.");
    free(points.columns);
    free(points.headings);
}

int job_scaling_text(FILE *out, struct job *const *jobs, size_t count,
                     const struct job_options *options)
{
    struct job_text text = {.style = options->style, .out = STRBUF_INIT, .options = options};
    size_t scaled_count;
    struct job_scaled *scaled = job_scaled(jobs, count, &scaled_count);
    style_add(&text.out, &text.style, TONE_TITLE, "Memory per rank");
    strbuf_addf(&text.out, "  high-water marks in %zu jobs\n", count);
    job_headings(&text, job_scaling_columns,
                 sizeof job_scaling_columns / sizeof *job_scaling_columns);
    for (size_t i = 0; i < count; i++)
        job_scaling_add_job(&text, jobs[i]);
    job_scaling_add_slope(&text, "mean", job_scaling_slope_of(jobs, count, job_scaling_mean_of));
    job_scaling_add_slope(&text, "most", job_scaling_slope_of(jobs, count, job_scaling_most_of));
    job_note(&text, "An exponent of -1 is a share that halves when the ranks double; 0 is the same "
                    "for each, so that the job needs as many times more as there are ranks.");
    job_add_forecast(&text, jobs, count, scaled, scaled_count);
    job_scaling_add_functions(&text, jobs, count, scaled, scaled_count);
    job_scaled_free(scaled, scaled_count);
    errno = 0;
    bool written = fwrite(text.out.data, 1, text.out.length, out) == text.out.length;
    strbuf_release(&text.out);
    return written && !fflush(out) ? 0 : errno ? -errno : -EIO;
}

static void job_scaling_write_job(struct json *json, const struct job *job)
{
    json_object(json, NULL);
    json_string(json, "name", job->name);
    json_string(json, "id", job->id);
    json_unsigned(json, "size", job->size);
    json_unsigned(json, "ranks", job->ranks);
    json_figure(json, "min", job->ranks ? figure_of(job->peaks.min) : FIGURE_UNKNOWN);
    json_figure(json, "max", job->ranks ? figure_of(job->peaks.max) : FIGURE_UNKNOWN);
    json_double(json, "mean", job->ranks ? job->peaks.mean : NAN);
    json_double(json, "deviation", job->ranks ? job->peaks.deviation : NAN);
    json_double(json, "imbalance", statistics_imbalance(&job->peaks));
    json_end(json);
}

/* Otherwise a function that is not there is no zero. */
static bool job_scaling_is_said(const struct job *job)
{
    return job->ranks && job->knows[JOB_AT_PEAK];
}

static void job_scaling_write_scaled(struct json *json, const struct job_scaled *scaled,
                                     struct job *const *jobs, size_t count,
                                     const struct job_options *options)
{
    json_object(json, NULL);
    json_string(json, "function", *scaled->name ? scaled->name : NULL);
    if (scaled->through && *scaled->through)
        json_string(json, "through", scaled->through);
    json_string(json, "module", *scaled->module ? scaled->module : NULL);
    json_double(json, "slope", scaled->slope);
    json_array(json, "mean");
    for (size_t i = 0; i < count; i++)
        json_double(json, NULL, job_scaling_is_said(jobs[i]) ? scaled->means[i] : NAN);
    json_end(json);
    json_array(json, "max");
    for (size_t i = 0; i < count; i++)
        json_figure(json, NULL,
                    job_scaling_is_said(jobs[i]) ? figure_of(scaled->most[i]) : FIGURE_UNKNOWN);
    json_end(json);
    job_forecast_write_function(json, jobs, count, scaled, options);
    json_end(json);
}

int job_scaling_json(FILE *out, struct job *const *jobs, size_t count,
                     const struct job_options *options)
{
    struct json json = json_begin(out, true);
    size_t scaled_count;
    struct job_scaled *scaled = job_scaled(jobs, count, &scaled_count);
    json_object(&json, NULL);
    json_array(&json, "jobs");
    for (size_t i = 0; i < count; i++)
        job_scaling_write_job(&json, jobs[i]);
    json_end(&json);
    json_double(&json, "mean_slope", job_scaling_slope_of(jobs, count, job_scaling_mean_of));
    json_double(&json, "max_slope", job_scaling_slope_of(jobs, count, job_scaling_most_of));
    job_forecast_write_marks(&json, jobs, count, scaled, scaled_count, options);
    json_array(&json, "functions");
    for (size_t i = 0; i < scaled_count; i++)
        job_scaling_write_scaled(&json, &scaled[i], jobs, count, options);
    json_end(&json);
    json_end(&json);
    job_scaled_free(scaled, scaled_count);
    return json_finish(&json);
}
