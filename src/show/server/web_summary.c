/* Writes the JSON that the first page shows, in few bytes: counts, metrics, a small curve,
 * losses and the names of all other resources. Rows of tables are separate resources, which the
 * page asks for when it needs them. */
#include "server/web_summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "aggregate/facts.h"
#include "aggregate/frames.h"
#include "aggregate/metric_choice.h"
#include "aggregate/order.h"
#include "report/report.h"
#include "aggregate/derived.h"
#include "aggregate/functions_top.h"
#include "model/figure_json.h"

enum { SPARK_POINTS = 240, TOP_FUNCTIONS = 10 };

/* ---- What there is ------------------------------------------------------------------------- */

static void web_summary_write_counts(struct json *json, const struct resources *resources)
{
    const struct profile *profile = resources->profile;
    const struct {
        const char *name;
        size_t count;
    } counts[] = {
        {"nodes", profile->node_count},         {"sites", profile->site_count},
        {"codes", profile->code_count},         {"lines", profile->line_count},
        {"functions", profile->function_count}, {"files", resources->files.count},
        {"modules", profile->module_count},     {"threads", profile->thread_count},
        {"buckets", profile->bucket_count},     {"curves", profile->curve_count},
    };
    json_object(json, "counts");
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        json_unsigned(json, counts[i].name, counts[i].count);
    json_end(json);
}

/* The column of a row's variance; NULL: it has none. */
static const char *web_summary_variance_name(const struct metric_row *row)
{
    return row->variance == METRIC_NO_VARIANCE
               ? NULL
               : metric_rows[row->variance / sizeof(struct figure)].column;
}

static void web_summary_write_metrics(struct json *json, const struct profile *profile)
{
    json_array(json, "metrics");
    for (size_t i = 0; i < METRICS; i++) {
        const struct metric_row *row = &metric_rows[i];
        json_object(json, NULL);
        json_string(json, "name", row->column);
        json_string(json, "title", row->title);
        json_string(json, "help", row->help);
        json_string(json, "unit", metric_unit_name(row->unit));
        json_string(json, "merge", metric_merge_name(row->merge));
        json_string(json, "variance", web_summary_variance_name(row));
        json_bool(json, "recorded", metric_is_recorded(row, &profile->program.total));
        json_end(json);
    }
    json_end(json);
}

static void web_summary_write_terms(struct json *json, const char *name,
                                    const struct metric_row *const *terms)
{
    json_array(json, name);
    for (; *terms; terms++)
        json_string(json, NULL, (*terms)->column);
    json_end(json);
}

static void web_summary_write_derived(struct json *json)
{
    json_array(json, "derived");
    for (size_t i = 0; i < DERIVED_COUNT; i++) {
        json_object(json, NULL);
        json_string(json, "name", derived[i].name);
        json_string(json, "title", derived[i].title);
        json_string(json, "unit", derived_unit_name(derived[i].unit));
        web_summary_write_terms(json, "of", derived[i].of);
        web_summary_write_terms(json, "by", derived[i].by);
        json_bool(json, "by_run", derived[i].by_run);
        json_end(json);
    }
    json_end(json);
}

/* The metrics that reports are sorted by. */
static void web_summary_write_choices(struct json *json, const struct profile *profile)
{
    json_array(json, "choices");
    for (size_t i = 0; i < METRIC_SUMS; i++) {
        json_object(json, NULL);
        json_string(json, "name", metrics[i].name);
        json_string(json, "title", metrics[i].title);
        json_string(json, "metric", metrics[i].row->column);
        json_bool(json, "usual", metrics[i].usual);
        json_string(json, "missing", metric_missing(profile, (int)i));
        json_end(json);
    }
    json_end(json);
}

static void web_summary_write_name(void *context, const char *name)
{
    json_string(context, NULL, name);
}

/* ---- Figures ------------------------------------------------------------------------------- */

static void web_summary_write_spark_line(struct json *json, const char *name,
                                         const struct profile *profile, size_t offset, size_t step)
{
    json_array(json, name);
    for (size_t i = 0; i < profile->bucket_count; i += step) {
        struct figure highest = FIGURE_UNKNOWN;
        for (size_t j = i; j < i + step && j < profile->bucket_count; j++) {
            struct timeline_level level;
            memcpy(&level, (const char *)&profile->buckets[j] + offset, sizeof level);
            highest = figure_max(highest, level.max);
        }
        json_figure(json, NULL, highest);
    }
    json_end(json);
}

/* The highest level in each of at most SPARK_POINTS intervals. */
static void web_summary_write_spark(struct json *json, const struct profile *profile)
{
    size_t step = (profile->bucket_count + SPARK_POINTS - 1) / SPARK_POINTS;
    if (!step) {
        json_null(json, "spark");
        return;
    }
    json_object(json, "spark");
    json_unsigned(json, "step_ns", profile->bucket_ns * step);
    web_summary_write_spark_line(json, "requested", profile,
                                 offsetof(struct timeline_bucket, requested), step);
    web_summary_write_spark_line(json, "physical", profile,
                                 offsetof(struct timeline_bucket, physical), step);
    json_end(json);
}

static void web_summary_write_losses(struct json *json, const struct profile *profile)
{
    struct strbuf text = STRBUF_INIT;
    facts_add_losses(&text, profile);
    json_array(json, "losses");
    for (char *at = text.data, *end; *at; at = end + 1) {
        end = strchr(at, '\n');
        *end = 0;
        json_string(json, NULL, at);
    }
    json_end(json);
    strbuf_release(&text);
}

/* The levels beside the heap that can be asked for as "of/LEVEL/…". */
static void web_summary_write_levels(struct json *json, const struct resources *resources)
{
    json_array(json, "levels");
    for (int level = MEMORY_HEAP + 1; level < MEMORY_LEVELS; level++)
        if (resources->levels >> level & 1)
            json_string(json, NULL, memory_level_name((enum memory_level)level));
    json_end(json);
}

/* Of a job whose ranks' profiles are not read: who they are, and what their digests say. */
static int web_summary_write_first(struct json *json, const struct resources *resources)
{
    const struct profile *profile = resources->profile;
    json_object(json, "meta");
    for (size_t i = 0; i < profile->meta_count; i++)
        if (strcmp(profile->meta[i].key, "complete")) /* of a file of ours */
            json_string(json, profile->meta[i].key, profile->meta[i].value);
    json_end(json);
    json_string(json, "state", "reading");
    json_array(json, "resources");
    json_string(json, NULL, "summary");
    json_string(json, NULL, "ranks");
    if (resources->has_levels)
        json_string(json, NULL, "rank_timeline");
    json_end(json);
    return 0;
}

int summary_write(struct json *json, const struct resources *resources, const char *name)
{
    (void)name;
    const struct profile *profile = resources->profile;
    json_string(json, "format", "tidemark-api");
    json_unsigned(json, "version", 1);
    json_string(json, "tool", "tidemark " TIDEMARK_VERSION);
    if (resources->is_first)
        return web_summary_write_first(json, resources);
    report_json_part(json, profile, resources->hidden, "meta");
    json_bool(json, "ended_well", facts_ended_well(profile));
    web_summary_write_losses(json, profile);
    report_json_part(json, profile, resources->hidden, "program");
    report_json_part(json, profile, resources->hidden, "peaks");
    report_json_part(json, profile, resources->hidden, "samples");
    web_summary_write_spark(json, profile);
    web_summary_write_counts(json, resources);
    web_summary_write_metrics(json, profile);
    web_summary_write_derived(json);
    web_summary_write_choices(json, profile);
    json_array(json, "resources");
    resources_list(resources, web_summary_write_name, json);
    if (resources->trace) {
        json_string(json, NULL, "at");
        json_string(json, NULL, "window");
        json_string(json, NULL, "alive");
    }
    if (resources->has_regions && profile->region_count)
        json_string(json, NULL, "region");
    if (resources->born)
        json_string(json, NULL, "born");
    json_end(json);
    web_summary_write_levels(json, resources);
    return 0;
}

/* ---- Top functions ------------------------------------------------------------------------- */

static void web_summary_write_function(struct json *json, const struct profile *profile,
                                       const struct function_row *row, size_t metric)
{
    uint32_t index;
    enum function_key_kind kind = function_key_kind(profile, row->key, &index);
    struct frame frame = frame_at(row->code, row->line);
    struct strbuf title = STRBUF_INIT;
    if (kind != FUNCTION_KEY_ANONYMOUS)
        frame_add_name(&title, profile, frame);
    json_object(json, NULL);
    json_unsigned(json, "key", row->key);
    json_string(json, "function", title.length ? title.data : NULL);
    json_string(json, "file",
                kind == FUNCTION_KEY_FUNCTION ? profile->functions[index].file : NULL);
    json_string(json, "module", frame_module(profile, frame));
    json_figure(json, "exclusive", metric_of(&metrics[metric], &row->exclusive.metrics));
    json_figure(json, "inclusive", metric_of(&metrics[metric], &row->inclusive.metrics));
    json_end(json);
    strbuf_release(&title);
}

static int web_summary_write_ranking(struct json *json, const struct profile *profile,
                                     const struct functions *functions, size_t metric)
{
    uint32_t *order = order_functions(functions, metric, false);
    if (!order)
        return -ENOMEM;
    json_object(json, NULL);
    json_string(json, "choice", metrics[metric].name);
    json_string(json, "metric", metrics[metric].row->column);
    json_figure(json, "total", metric_of(&metrics[metric], &profile->program.total));
    json_array(json, "functions");
    for (size_t i = 0; i < functions->count && i < TOP_FUNCTIONS; i++)
        if (figure_positive(
                metric_of(&metrics[metric], &functions->rows[order[i]].exclusive.metrics)))
            web_summary_write_function(json, profile, &functions->rows[order[i]], metric);
    json_end(json);
    json_end(json);
    free(order);
    return 0;
}

int summary_write_top(struct json *json, const struct resources *resources, const char *name)
{
    (void)name;
    const struct profile *profile = resources->profile;
    const struct metric *ranked[METRIC_SUMS];
    size_t count = 0;
    struct functions functions;
    for (size_t i = 0; i < METRIC_SUMS; i++)
        if (metrics[i].usual && metric_is_known(&metrics[i], &profile->program.total))
            ranked[count++] = &metrics[i];
    int error =
        functions_init_top(&functions, profile, resources->hidden, ranked, count, TOP_FUNCTIONS);
    if (error)
        return error;
    json_array(json, "top");
    for (size_t i = 0; i < count && !error; i++)
        error = web_summary_write_ranking(json, profile, &functions, (size_t)(ranked[i] - metrics));
    json_end(json);
    functions_release(&functions);
    return error;
}
