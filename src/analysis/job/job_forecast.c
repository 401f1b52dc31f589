/* Fits a law to the marks of several jobs and to each of their functions, and writes what the laws
 * say of more ranks, as a table and as JSON. Where no law holds it is said why. */
#include "job/job_forecast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/human.h"
#include "base/memory.h"
#include "job/job_law.h"
#include "base/text.h"
#include "model/figure_json.h"

enum { FORECAST_DEFAULTS = 3, FORECAST_CELL = 18, FORECAST_LAW = 28, FORECAST_NAME = 26 };

/* ---- Series ---------------------------------------------------------------------------------- */

struct forecast_series {
    double *ranks, *bytes;
    size_t count;
};

static struct forecast_series forecast_series_new(struct job *const *jobs, size_t count)
{
    struct forecast_series series = {memory_resize(NULL, count, sizeof *series.ranks),
                                     memory_resize(NULL, count, sizeof *series.bytes), count};
    for (size_t i = 0; i < count; i++)
        series.ranks[i] = (double)jobs[i]->size;
    return series;
}

static void forecast_series_free(struct forecast_series *series)
{
    free(series->ranks);
    free(series->bytes);
}

enum forecast_mark { FORECAST_MEAN, FORECAST_MOST };

static struct job_laws forecast_of_mark(struct job *const *jobs, size_t count,
                                        enum forecast_mark mark)
{
    struct forecast_series series = forecast_series_new(jobs, count);
    for (size_t i = 0; i < count; i++)
        series.bytes[i] = !jobs[i]->ranks         ? 0
                          : mark == FORECAST_MEAN ? jobs[i]->peaks.mean
                                                  : (double)jobs[i]->peaks.max;
    struct job_laws laws = job_laws_fit(series.ranks, series.bytes, count);
    forecast_series_free(&series);
    return laws;
}

static struct job_laws forecast_of_function(struct job *const *jobs, size_t count,
                                            const struct job_scaled *scaled)
{
    struct forecast_series series = forecast_series_new(jobs, count);
    memcpy(series.bytes, scaled->means, count * sizeof *series.bytes);
    struct job_laws laws = job_laws_fit(series.ranks, series.bytes, count);
    forecast_series_free(&series);
    return laws;
}

/* ---- What is asked --------------------------------------------------------------------------- */

struct forecast_asked {
    double ranks[JOB_FORECASTS];
    size_t count;
};

static struct forecast_asked forecast_asked_of(const struct job_options *options,
                                               const struct job *largest, size_t defaults)
{
    static const double times[FORECAST_DEFAULTS] = {2, 16, 128};
    struct forecast_asked asked = {.count = options->forecast_count};
    for (size_t i = 0; i < asked.count; i++)
        asked.ranks[i] = (double)options->forecasts[i];
    if (asked.count)
        return asked;
    asked.count = defaults;
    for (size_t i = 0; i < asked.count; i++)
        asked.ranks[i] = (double)largest->size * times[i];
    return asked;
}

/* The function whose bytes grow most from the largest job to `ranks`; NULL: none is known. */
static const struct job_scaled *forecast_culprit(struct job *const *jobs, size_t count,
                                                 const struct job_scaled *scaled,
                                                 size_t scaled_count, double ranks)
{
    const struct job_scaled *most = NULL;
    double most_growth = 0;
    for (size_t i = 0; i < scaled_count; i++) {
        struct job_laws laws = forecast_of_function(jobs, count, &scaled[i]);
        double growth =
            laws.count ? job_laws_at(&laws, ranks).value - scaled[i].means[count - 1] : 0;
        if (*scaled[i].name && growth > most_growth) {
            most_growth = growth;
            most = &scaled[i];
        }
    }
    return most;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static const char *forecast_lack(enum job_law_lack lack)
{
    switch (lack) {
    case JOB_LAW_FEW:
        return "Not known: a law takes jobs of four sizes.";
    case JOB_LAW_ZERO:
        return "Not known: a job has nothing.";
    default:
        return "Not known: every law that was tried misses the points by more than 10 %.";
    }
}

static void forecast_add_range(struct job_text *text, const struct job_forecast *at)
{
    char range[24];
    double half = fmax(at->high - at->value, at->value - at->low) / at->value * 100;
    if (half < 1)
        snprintf(range, sizeof range, "<1 %%");
    else if (half < 1000)
        snprintf(range, sizeof range, "%.0f %%", half);
    else
        snprintf(range, sizeof range, ">999 %%");
    job_cell_bytes(text, job_whole(at->value));
    job_cell(text, at->value > 0 ? range : "-");
}

static size_t forecast_columns(const struct forecast_asked *asked, struct text_column *columns,
                               struct human *headings)
{
    for (size_t i = 0; i < asked->count; i++) {
        snprintf(headings[i].text, sizeof headings[i].text, "%.0f ranks", asked->ranks[i]);
        columns[2 * i] = (struct text_column){headings[i].text, 10, TEXT_APART, i ? 1 : 0};
        columns[2 * i + 1] = (struct text_column){"±", 6, TEXT_RIGHT, 1};
    }
    columns[2 * asked->count] = (struct text_column){"law", FORECAST_LAW, TEXT_LEFT, 2};
    columns[2 * asked->count + 1] = (struct text_column){"of", 0, TEXT_LEFT, 2};
    return 2 * asked->count + 2;
}

static void forecast_add_row(struct job_text *text, const struct forecast_asked *asked,
                             const struct text_column *columns, const struct job_laws *laws)
{
    struct strbuf law = STRBUF_INIT;
    job_row(text, columns);
    for (size_t i = 0; i < asked->count; i++) {
        struct job_forecast at = job_laws_at(laws, asked->ranks[i]);
        forecast_add_range(text, &at);
    }
    job_law_add_text(&law, &laws->fits[0]);
    job_cell(text, law.data);
    job_cell(text, "");
    strbuf_release(&law);
}

static void forecast_add_mark(struct job_text *text, const struct forecast_asked *asked,
                              const struct text_column *columns, const char *name,
                              const struct job_laws *laws)
{
    if (!laws->count)
        return;
    forecast_add_row(text, asked, columns, laws);
    strbuf_addf(&text->out, "%s\n", name);
}

/* Functions with a law, most bytes at the last number of ranks first. */
struct forecast_function {
    const struct job_scaled *scaled;
    struct job_laws laws;
    double last;
};

static int forecast_compare(const void *left, const void *right)
{
    const struct forecast_function *a = left, *b = right;
    if (a->last != b->last)
        return a->last > b->last ? -1 : 1;
    return strcmp(a->scaled->name, b->scaled->name);
}

static size_t forecast_functions(struct job *const *jobs, size_t count,
                                 const struct job_scaled *scaled, size_t scaled_count, double last,
                                 struct forecast_function *functions)
{
    size_t found = 0;
    for (size_t i = 0; i < scaled_count; i++) {
        struct forecast_function function = {.scaled = &scaled[i]};
        function.laws = forecast_of_function(jobs, count, &scaled[i]);
        if (!function.laws.count)
            continue;
        function.last = job_laws_at(&function.laws, last).value;
        functions[found++] = function;
    }
    qsort(functions, found, sizeof *functions, forecast_compare);
    return found;
}

static void forecast_add_functions(struct job_text *text, const struct forecast_asked *asked,
                                   const struct text_column *columns, struct job *const *jobs,
                                   size_t count, const struct job_scaled *scaled,
                                   size_t scaled_count)
{
    struct forecast_function *functions = memory_resize(NULL, scaled_count + 1, sizeof *functions);
    size_t found = forecast_functions(jobs, count, scaled, scaled_count,
                                      asked->ranks[asked->count - 1], functions);
    size_t used = FORECAST_CELL * asked->count + FORECAST_LAW + 5;
    for (size_t i = 0; i < found && i < text->options->top; i++) {
        forecast_add_row(text, asked, columns, &functions[i].laws);
        job_name(text, functions[i].scaled->name, functions[i].scaled->through,
                 functions[i].scaled->module, used);
    }
    free(functions);
}

/* To three places: "30,700". */
static struct human forecast_ranks(double ranks)
{
    double unit = pow(10, fmax(floor(log10(fmax(ranks, 1))) - 2, 0));
    return human_exact((uint64_t)(floor(ranks / unit) * unit));
}

/* "suffice to about 4,090 ranks (3,100 to 5,900)" */
static void forecast_add_reach(struct strbuf *line, const struct job_crossing *at)
{
    struct human low = forecast_ranks(at->earliest - 1), high = forecast_ranks(at->latest - 1);
    strbuf_addf(line, "suffice to about %s ranks", forecast_ranks(at->ranks - 1).text);
    if (!(at->latest > 0))
        strbuf_addf(line, " (%s at the least)", low.text);
    else if (strcmp(low.text, high.text))
        strbuf_addf(line, " (%s to %s)", low.text, high.text);
}

static void forecast_add_no_reach(struct strbuf *line, const struct job_laws *laws,
                                  const struct job_crossing *at)
{
    strbuf_addf(line, "suffice as far as the law was looked at, to %s ranks",
                forecast_ranks(laws->most_ranks * JOB_LAW_REACH).text);
    if (at->earliest > 0)
        strbuf_addf(line, ", but may not beyond %s", forecast_ranks(at->earliest - 1).text);
}

static void forecast_add_crossing(struct job_text *text, struct job *const *jobs, size_t count,
                                  const struct job_scaled *scaled, size_t scaled_count,
                                  const struct job_laws *laws)
{
    struct job_crossing at = job_laws_crossing(laws, (double)text->options->rank_bytes);
    struct strbuf line = STRBUF_INIT;
    const struct job_scaled *who = NULL;
    strbuf_addf(&line, "%s for a rank ", human_bytes(text->options->rank_bytes).text);
    if (at.ranks > laws->most_ranks) {
        forecast_add_reach(&line, &at);
        who = forecast_culprit(jobs, count, scaled, scaled_count, at.ranks);
    } else if (at.ranks > 0) {
        strbuf_add_string(&line, "do not suffice with the most ranks that were measured");
    } else {
        forecast_add_no_reach(&line, laws, &at);
    }
    if (who) {
        strbuf_add_string(&line, "; most of what grows until then is ");
        text_add_safe_string(&line, who->name);
        strbuf_add_string(&line, "'s");
    }
    strbuf_add_char(&line, '.');
    job_note(text, line.data);
    strbuf_release(&line);
}

void job_add_forecast(struct job_text *text, struct job *const *jobs, size_t count,
                      const struct job_scaled *scaled, size_t scaled_count)
{
    struct job_laws mean = forecast_of_mark(jobs, count, FORECAST_MEAN);
    struct job_laws most = forecast_of_mark(jobs, count, FORECAST_MOST);
    size_t room = (text->style.columns - FORECAST_LAW - FORECAST_NAME) / FORECAST_CELL;
    struct forecast_asked asked = forecast_asked_of(
        text->options, jobs[count - 1], room < FORECAST_DEFAULTS ? room : FORECAST_DEFAULTS);
    struct text_column columns[2 * JOB_FORECASTS + 2];
    struct human headings[JOB_FORECASTS];
    if (!mean.count && !most.count) {
        job_title(text, "With more ranks", NULL);
        job_note(text, forecast_lack(most.lack));
        return;
    }
    job_title(text, "With more ranks",
              "what each would need; 95 of 100 runs lie within ±, if the law holds so far out");
    job_headings(text, columns, forecast_columns(&asked, columns, headings));
    forecast_add_mark(text, &asked, columns, "mean of the ranks", &mean);
    forecast_add_mark(text, &asked, columns, "rank with most", &most);
    forecast_add_functions(text, &asked, columns, jobs, count, scaled, scaled_count);
    if (text->options->rank_bytes && most.count)
        forecast_add_crossing(text, jobs, count, scaled, scaled_count, &most);
    else if (text->options->rank_bytes)
        job_note(text, forecast_lack(most.lack));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void forecast_write_values(struct json *json, const struct job_law *law)
{
    json_array(json, "parameters");
    for (size_t i = 0; i < law->parameters; i++)
        json_double(json, NULL, law->value[i]);
    json_end(json);
}

static void forecast_write_law(struct json *json, const char *name, const struct job_laws *laws,
                               const struct forecast_asked *asked)
{
    static const char *const lacks[] = {[JOB_LAW_FOUND] = NULL,
                                        [JOB_LAW_FEW] = "few jobs",
                                        [JOB_LAW_ZERO] = "nothing in a job",
                                        [JOB_LAW_LOOSE] = "none fits"};
    json_object(json, name);
    json_string(json, "form", laws->count ? job_law_name(laws->fits[0].kind) : NULL);
    json_string(json, "lack", lacks[laws->lack]);
    if (laws->count) {
        forecast_write_values(json, &laws->fits[0]);
        json_double(json, "deviation", laws->fits[0].deviation);
        json_array(json, "forecasts");
        for (size_t i = 0; i < asked->count; i++) {
            struct job_forecast at = job_laws_at(laws, asked->ranks[i]);
            json_object(json, NULL);
            json_unsigned(json, "ranks", (uint64_t)asked->ranks[i]);
            json_double(json, "bytes", at.value);
            json_double(json, "low", at.low);
            json_double(json, "high", at.high);
            json_end(json);
        }
        json_end(json);
    }
    json_end(json);
}

static void forecast_write_bound(struct json *json, const char *name, double ranks)
{
    json_figure(json, name, ranks > 0 ? figure_of((uint64_t)ranks) : FIGURE_UNKNOWN);
}

void job_forecast_write_marks(struct json *json, struct job *const *jobs, size_t count,
                              const struct job_scaled *scaled, size_t scaled_count,
                              const struct job_options *options)
{
    struct job_laws mean = forecast_of_mark(jobs, count, FORECAST_MEAN);
    struct job_laws most = forecast_of_mark(jobs, count, FORECAST_MOST);
    struct forecast_asked asked = forecast_asked_of(options, jobs[count - 1], FORECAST_DEFAULTS);
    forecast_write_law(json, "mean_law", &mean, &asked);
    forecast_write_law(json, "max_law", &most, &asked);
    if (!options->rank_bytes || !most.count)
        return;
    struct job_crossing at = job_laws_crossing(&most, (double)options->rank_bytes);
    const struct job_scaled *who =
        at.ranks > most.most_ranks ? forecast_culprit(jobs, count, scaled, scaled_count, at.ranks)
                                   : NULL;
    json_object(json, "rank_memory");
    json_unsigned(json, "bytes", options->rank_bytes);
    forecast_write_bound(json, "exceeded_from", at.ranks);
    forecast_write_bound(json, "exceeded_earliest", at.earliest);
    forecast_write_bound(json, "exceeded_latest", at.latest);
    json_string(json, "function", who ? who->name : NULL);
    json_end(json);
}

void job_forecast_write_function(struct json *json, struct job *const *jobs, size_t count,
                                 const struct job_scaled *scaled, const struct job_options *options)
{
    struct job_laws laws = forecast_of_function(jobs, count, scaled);
    struct forecast_asked asked = forecast_asked_of(options, jobs[count - 1], FORECAST_DEFAULTS);
    forecast_write_law(json, "law", &laws, &asked);
}
