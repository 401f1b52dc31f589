/* Several jobs of one program beside each other: what a rank needs as there are more of them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/human.h"
#include "base/json.h"
#include "base/text.h"
#include "job/text.h"

static double slope_of(struct job *const *jobs, size_t count,
                       double (*value)(const struct job *job))
{
    double *x = bytes_resize(NULL, count, sizeof *x), *y = bytes_resize(NULL, count, sizeof *y);
    for (size_t i = 0; i < count; i++) {
        x[i] = (double)jobs[i]->size;
        y[i] = value(jobs[i]);
    }
    double slope = statistics_slope(x, y, count);
    free(x);
    free(y);
    return slope;
}

static double mean_of(const struct job *job)
{
    return job->peaks.mean;
}

static double most_of(const struct job *job)
{
    return (double)job->peaks.max;
}

static const char *judge(double slope)
{
    if (isnan(slope))
        return "not known";
    return slope > JOB_SLOPE_GROWING     ? "grows"
           : slope >= JOB_SLOPE_CONSTANT ? "stays"
           : slope > -0.9                ? "shrinks, but by less than the ranks grow"
                                         : "scales";
}

static void add_job(struct job_text *text, const struct job *job)
{
    char number[32];
    snprintf(number, sizeof number, "%llu", (unsigned long long)job->size);
    strbuf_add_string(&text->out, "  ");
    job_figure(text, number, 7);
    job_bytes(text, job->ranks ? job->peaks.min : JOB_UNKNOWN, 10);
    job_bytes(text, job->ranks ? job_whole(job->peaks.mean) : JOB_UNKNOWN, 10);
    job_bytes(text, job->ranks ? job->peaks.max : JOB_UNKNOWN, 10);
    job_bytes(text, job->ranks ? job_whole(job->peaks.deviation) : JOB_UNKNOWN, 10);
    snprintf(number, sizeof number, "%.2f", job->ranks ? statistics_imbalance(&job->peaks) : NAN);
    job_figure(text, job->ranks ? number : "-", 7);
    strbuf_add_string(&text->out, "  ");
    struct strbuf name = STRBUF_INIT;
    text_add_safe_string(&name, job->name);
    text_add_cut(&text->out, name.data, text->style.columns - 60);
    if (job->ranks < job->size)
        strbuf_addf(&text->out, " (%zu read)", job->ranks);
    strbuf_add_char(&text->out, '\n');
    strbuf_release(&name);
}

/* To two places, without a minus before zeros. */
static double shown_slope(double slope)
{
    return fabs(slope) < 0.005 ? 0 : slope;
}

static void add_slope(struct job_text *text, const char *label, double slope)
{
    job_label(text, label);
    if (isnan(slope))
        strbuf_add_string(&text->out, "not known: the jobs are of one size\n");
    else
        strbuf_addf(&text->out, "~ ranks^%.2f: %s\n", shown_slope(slope), judge(slope));
}

static void add_points(struct job_text *text, const struct job_scaled *scaled, size_t jobs,
                       size_t columns)
{
    strbuf_add_string(&text->out, "  ");
    if (isnan(scaled->slope)) {
        job_figure(text, "-", 6);
    } else {
        char slope[24];
        snprintf(slope, sizeof slope, "%+.2f", shown_slope(scaled->slope));
        job_figure(text, slope, 6);
    }
    for (size_t i = jobs - columns; i < jobs; i++)
        job_bytes(text, scaled->means[i] > 0 ? job_whole(scaled->means[i]) : JOB_UNKNOWN, 10);
    strbuf_add_string(&text->out, "  ");
    job_name(text, scaled->name, scaled->module, 10 + 10 * columns);
}

/* Each function that does not shrink while there are more ranks, with its points. */
static void add_functions(struct job_text *text, struct job *const *jobs, size_t count)
{
    size_t scaled_count, shown = 0, columns = (text->style.columns - 40) / 10;
    struct job_scaled *scaled = job_scaled(jobs, count, &scaled_count);
    columns = columns < count ? columns : count;
    job_title(text, "Functions that do not scale",
              "bytes per rank at the peak: their mean, and its slope");
    style_begin(&text->out, &text->style, TONE_DIM);
    strbuf_add_string(&text->out, "   slope");
    for (size_t i = count - columns; i < count; i++) {
        char head[32];
        snprintf(head, sizeof head, jobs[i]->size == 1 ? "%llu rank" : "%llu ranks",
                 (unsigned long long)jobs[i]->size);
        job_figure(text, head, 10);
    }
    strbuf_add_string(&text->out, "  function\n");
    style_end(&text->out, &text->style);
    for (size_t i = 0; i < scaled_count && shown < text->options->top; i++) {
        if (isnan(scaled[i].slope) || scaled[i].slope < JOB_SLOPE_CONSTANT)
            continue;
        add_points(text, &scaled[i], count, columns);
        shown++;
    }
    if (!shown)
        job_note(text, "None: all of them need less per rank as there are more ranks.");
    job_scaled_free(scaled, scaled_count);
}

int job_scaling_text(FILE *out, struct job *const *jobs, size_t count,
                     const struct job_options *options)
{
    struct job_text text = {.style = options->style, .out = STRBUF_INIT, .options = options};
    style_add(&text.out, &text.style, TONE_TITLE, "Memory per rank");
    strbuf_addf(&text.out, "  high-water marks in %zu jobs\n", count);
    style_begin(&text.out, &text.style, TONE_DIM);
    strbuf_add_string(&text.out, "    ranks     least      mean      most deviation imbal.  job\n");
    style_end(&text.out, &text.style);
    for (size_t i = 0; i < count; i++)
        add_job(&text, jobs[i]);
    add_slope(&text, "mean", slope_of(jobs, count, mean_of));
    add_slope(&text, "most", slope_of(jobs, count, most_of));
    job_note(&text, "An exponent of -1 is a share that halves when the ranks double; 0 is the same "
                    "for each, so that the job needs as many times more as there are ranks.");
    add_functions(&text, jobs, count);
    errno = 0;
    bool written = fwrite(text.out.data, 1, text.out.length, out) == text.out.length;
    strbuf_release(&text.out);
    return written && !fflush(out) ? 0 : errno ? -errno : -EIO;
}

static void write_job(struct json *json, const struct job *job)
{
    json_object(json, NULL);
    json_string(json, "name", job->name);
    json_string(json, "id", job->id);
    json_unsigned(json, "size", job->size);
    json_unsigned(json, "ranks", job->ranks);
    json_unsigned(json, "min", job->peaks.min);
    json_unsigned(json, "max", job->peaks.max);
    json_double(json, "mean", job->ranks ? job->peaks.mean : NAN);
    json_double(json, "deviation", job->ranks ? job->peaks.deviation : NAN);
    json_double(json, "imbalance", statistics_imbalance(&job->peaks));
    json_end(json);
}

static void write_scaled(struct json *json, const struct job_scaled *scaled, size_t jobs)
{
    json_object(json, NULL);
    json_string(json, "function", *scaled->name ? scaled->name : NULL);
    json_string(json, "module", *scaled->module ? scaled->module : NULL);
    json_double(json, "slope", scaled->slope);
    json_array(json, "mean");
    for (size_t i = 0; i < jobs; i++)
        json_double(json, NULL, scaled->means[i]);
    json_end(json);
    json_array(json, "max");
    for (size_t i = 0; i < jobs; i++)
        json_unsigned(json, NULL, scaled->most[i]);
    json_end(json);
    json_end(json);
}

int job_scaling_json(FILE *out, struct job *const *jobs, size_t count)
{
    struct json json = json_begin(out, true);
    size_t scaled_count;
    struct job_scaled *scaled = job_scaled(jobs, count, &scaled_count);
    json_object(&json, NULL);
    json_array(&json, "jobs");
    for (size_t i = 0; i < count; i++)
        write_job(&json, jobs[i]);
    json_end(&json);
    json_double(&json, "mean_slope", slope_of(jobs, count, mean_of));
    json_double(&json, "max_slope", slope_of(jobs, count, most_of));
    json_array(&json, "functions");
    for (size_t i = 0; i < scaled_count; i++)
        write_scaled(&json, &scaled[i], count);
    json_end(&json);
    json_end(&json);
    job_scaled_free(scaled, scaled_count);
    return json_finish(&json);
}
