/* The difference for programs (doc/DIFF-JSON.md). */
#include <math.h>
#include <string.h>
#include "base/json.h"
#include "difference/difference.h"
#include "report/metric.h"

static void write_figure(struct json *json, const struct difference_figure *figure)
{
    json_double(json, "before", figure->before);
    json_double(json, "after", figure->after);
    json_double(json, "difference", difference_of(figure));
    json_double(json, "noise", figure->noise);
    json_bool(json, "counts", difference_counts(figure));
}

static void write_runs(struct json *json, const struct difference *difference)
{
    json_array(json, "runs");
    for (size_t i = 0; i < difference->run_count; i++) {
        const struct profile *profile = difference->runs[i].profile;
        json_object(json, NULL);
        json_string(json, "file", difference->runs[i].name);
        json_string(json, "group",
                    difference->runs[i].group == DIFFERENCE_BEFORE ? "before" : "after");
        json_string(json, "program", profile_get(profile, PROFILE_META_PROGRAM));
        json_string(json, "command", profile_get(profile, PROFILE_META_COMMAND));
        json_bool(json, "complete", profile->complete);
        json_bool(json, "sampled", profile->sample_bytes != 0);
        json_double(json, "scale", difference->scale[i]);
        json_end(json);
    }
    json_end(json);
}

static void write_totals(struct json *json, const struct difference *difference)
{
    static const char *const units[] = {"bytes", "count", "ns"};
    struct difference_total totals[DIFFERENCE_TOTALS];
    difference_totals(difference, totals);
    json_array(json, "totals");
    for (int i = 0; i < DIFFERENCE_TOTALS; i++) {
        json_object(json, NULL);
        json_string(json, "name", totals[i].name);
        json_string(json, "unit", units[totals[i].unit]);
        write_figure(json, &totals[i].figure);
        json_end(json);
    }
    json_end(json);
}

static void write_function(struct json *json, const struct difference *difference,
                           const struct difference_function *function)
{
    json_object(json, NULL);
    json_string(json, "function", difference_function_name(difference, function->identity));
    json_string(json, "file", difference_function_file(difference, function->identity));
    write_figure(json, &function->figure);
    json_array(json, "runs");
    for (size_t i = 0; i < difference->run_count; i++)
        json_double(json, NULL, difference_function_value(difference, function->identity, i));
    json_end(json);
    json_end(json);
}

static void write_line(struct json *json, const char *key, uint32_t line)
{
    if (line)
        json_unsigned(json, key, line);
    else
        json_null(json, key);
}

static void write_path(struct json *json, const struct difference *difference,
                       const struct difference_path *path)
{
    struct difference_frame frame;
    json_object(json, NULL);
    write_figure(json, &path->figure);
    json_array(json, "runs");
    for (size_t i = 0; i < difference->run_count; i++)
        json_double(json, NULL, difference_path_value(difference, path->node, i));
    json_end(json);
    json_array(json, "frames");
    for (uint32_t node = path->node; difference_frame_next(difference, &node, &frame);) {
        json_object(json, NULL);
        json_string(json, "function", frame.function);
        json_string(json, "file", frame.file);
        write_line(json, "line_before", frame.line[DIFFERENCE_BEFORE]);
        write_line(json, "line_after", frame.line[DIFFERENCE_AFTER]);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

/* Is the row among the first or the last `top` of the list? */
static bool is_shown(const struct difference_show *show, size_t at, size_t count)
{
    return !show->top || at < show->top || count - at <= show->top;
}

int difference_json(FILE *out, const struct difference *difference,
                    const struct difference_show *show)
{
    static const char *const norms[] = {NULL, "count", "time"}, *const units[] = {"bytes", "count",
                                                                                 "ns"};
    const struct metric *metric = &metrics[difference->options.metric];
    struct json json = json_begin(out, true);
    json_object(&json, NULL);
    json_string(&json, "format", "tidemark-diff");
    json_unsigned(&json, "version", 1);
    json_string(&json, "tool", "tidemark " TIDEMARK_VERSION);
    json_string(&json, "metric", metric->column);
    json_string(&json, "unit", units[metric->unit]);
    json_bool(&json, "inclusive", difference->options.inclusive);
    json_string(&json, "normalised", norms[difference->options.norm]);
    json_bool(&json, "callers_only", difference->callers_only);
    write_runs(&json, difference);
    write_totals(&json, difference);
    json_object(&json, "total");
    write_figure(&json, &difference->total);
    json_end(&json);
    json_unsigned(&json, "function_count", difference->function_count);
    json_array(&json, "functions");
    for (size_t i = 0; i < difference->function_count; i++)
        if (is_shown(show, i, difference->function_count))
            write_function(&json, difference, &difference->functions[i]);
    json_end(&json);
    json_unsigned(&json, "path_count", difference->path_count);
    json_array(&json, "paths");
    for (size_t i = 0; i < difference->path_count; i++)
        if (is_shown(show, i, difference->path_count))
            write_path(&json, difference, &difference->paths[i]);
    json_end(&json);
    json_end(&json);
    return json_finish(&json);
}
