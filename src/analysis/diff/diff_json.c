/* Writes a difference as JSON (doc/DIFF-JSON.md): runs, totals, functions and call paths, in the
 * order of the comparison. Options of the command decide how many rows are written. A figure that
 * is unknown is null. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "diff/diff.h"
#include "aggregate/metric_choice.h"

static void diff_json_write_figure(struct json *json, const struct diff_figure *figure)
{
    json_double(json, "before", figure->before);
    json_double(json, "after", figure->after);
    json_double(json, "difference", diff_of(figure));
    json_double(json, "noise", figure->noise);
    json_bool(json, "counts", diff_counts(figure));
}

static void diff_json_write_runs(struct json *json, const struct diff *difference)
{
    json_array(json, "runs");
    for (size_t i = 0; i < difference->run_count; i++) {
        const struct profile *profile = difference->runs[i].profile;
        json_object(json, NULL);
        json_string(json, "file", difference->runs[i].name);
        json_string(json, "group", difference->runs[i].group == DIFF_BEFORE ? "before" : "after");
        json_string(json, "program", profile_get(profile, PROFILE_META_PROGRAM));
        json_string(json, "command", profile_get(profile, PROFILE_META_COMMAND));
        json_bool(json, "complete", profile->complete);
        json_bool(json, "sampled", profile->sample_bytes != 0);
        json_double(json, "scale", difference->scale[i]);
        json_end(json);
    }
    json_end(json);
}

static void diff_json_write_totals(struct json *json, const struct diff *difference)
{
    static const char *const units[] = {"bytes", "count", "ns"};
    struct diff_total totals[DIFF_TOTALS];
    diff_totals(difference, totals);
    json_array(json, "totals");
    for (int i = 0; i < DIFF_TOTALS; i++) {
        json_object(json, NULL);
        json_string(json, "name", totals[i].name);
        json_string(json, "unit", units[totals[i].unit]);
        diff_json_write_figure(json, &totals[i].figure);
        json_end(json);
    }
    json_end(json);
}

/* The wrapper belongs to what a function allocates itself, and not to what is allocated below
 * it. */
static const char *diff_json_through(const struct diff *difference,
                                     const struct diff_function *function)
{
    return difference->options.inclusive ? NULL
                                         : diff_function_through(difference, function->identity);
}

static void diff_json_write_function(struct json *json, const struct diff *difference,
                                     const struct diff_function *function)
{
    json_object(json, NULL);
    json_string(json, "function", diff_function_name(difference, function->identity));
    if (diff_json_through(difference, function))
        json_string(json, "through", diff_json_through(difference, function));
    json_string(json, "file", diff_function_file(difference, function->identity));
    diff_json_write_figure(json, &function->figure);
    json_array(json, "runs");
    for (size_t i = 0; i < difference->run_count; i++)
        json_double(json, NULL, diff_function_value(difference, function->identity, i));
    json_end(json);
    json_end(json);
}

static void diff_json_write_line(struct json *json, const char *key, uint32_t line)
{
    if (line)
        json_unsigned(json, key, line);
    else
        json_null(json, key);
}

/* ---- Call paths ---- */

/* Where a frame and all its callers were written: by the frame's node in the comparison's tree. */
struct diff_json_written {
    uint32_t path; /* its position in `paths`, + 1; 0: not written yet */
    uint32_t frame;
};

static void diff_json_write_frame(struct json *json, const struct diff_frame *frame)
{
    json_object(json, NULL);
    json_string(json, "function", frame->function);
    if (frame->through)
        json_string(json, "through", frame->through);
    json_string(json, "file", frame->file);
    diff_json_write_line(json, "line_before", frame->line[DIFF_BEFORE]);
    diff_json_write_line(json, "line_after", frame->line[DIFF_AFTER]);
    json_end(json);
}

/* A path of more than WHOLE frames ends where another path that was written goes on the same way.
 * Else a recursion that allocates at each of n depths would be n * n / 2 frames. */
static void diff_json_write_frames(struct json *json, const struct diff *difference, uint32_t node,
                                   uint32_t path, struct diff_json_written *written)
{
    enum { WHOLE = 100 };
    const struct diff_json_written *rest = NULL;
    struct diff_frame frame;
    json_array(json, "frames");
    for (uint32_t count = 0; !rest; count++) {
        struct diff_json_written *at = &written[node];
        if (count >= WHOLE && at->path)
            rest = at;
        else if (!diff_frame_next(difference, &node, &frame))
            break;
        else
            diff_json_write_frame(json, &frame);
        if (!at->path)
            *at = (struct diff_json_written){path + 1, count};
    }
    json_end(json);
    if (!rest) {
        json_null(json, "continues");
        return;
    }
    json_object(json, "continues");
    json_unsigned(json, "path", rest->path - 1);
    json_unsigned(json, "frame", rest->frame);
    json_end(json);
}

static void diff_json_write_path(struct json *json, const struct diff *difference, size_t of,
                                 uint32_t number, struct diff_json_written *written)
{
    const struct diff_path *path = &difference->paths[of];
    json_object(json, NULL);
    diff_json_write_figure(json, &path->figure);
    json_array(json, "runs");
    for (size_t i = 0; i < difference->run_count; i++)
        json_double(json, NULL, diff_path_value(difference, path->node, i));
    json_end(json);
    diff_json_write_frames(json, difference, path->node, number, written);
    json_end(json);
}

/* Is the row among the first or the last `top` of the list? */
static bool diff_json_is_shown(const struct diff_show *show, size_t at, size_t count)
{
    return !show->top || at < show->top || count - at <= show->top;
}

static void diff_json_write_functions(struct json *json, const char *key,
                                      const struct diff *difference, const struct diff_show *show)
{
    json_array(json, key);
    for (size_t i = 0; i < difference->function_count; i++)
        if (diff_json_is_shown(show, i, difference->function_count))
            diff_json_write_function(json, difference, &difference->functions[i]);
    json_end(json);
}

static int diff_json_write_paths(struct json *json, const struct diff *difference,
                                 const struct diff_show *show)
{
    struct diff_json_written *written = calloc(diff_node_count(difference), sizeof *written);
    uint32_t number = 0;
    if (!written)
        return -ENOMEM;
    json_array(json, "paths");
    for (size_t i = 0; i < difference->path_count; i++)
        if (diff_json_is_shown(show, i, difference->path_count))
            diff_json_write_path(json, difference, i, number++, written);
    json_end(json);
    free(written);
    return 0;
}

int diff_json(FILE *out, const struct diff *difference, const struct diff *owners,
              const struct diff_show *show)
{
    static const char *const norms[] = {NULL, "count", "time"}, *const units[] = {"bytes", "count",
                                                                                  "ns"};
    const struct metric *metric = &metrics[difference->options.metric];
    struct json json = json_begin(out, true);
    json_object(&json, NULL);
    json_string(&json, "format", "tidemark-diff");
    json_unsigned(&json, "version", 2); /* 1: `frames` had all frames of a path */
    json_string(&json, "tool", "tidemark " TIDEMARK_VERSION);
    json_string(&json, "metric", metric->row->column);
    json_string(&json, "unit", units[metric->row->unit]);
    json_bool(&json, "inclusive", difference->options.inclusive);
    json_string(&json, "normalised", norms[difference->options.norm]);
    json_bool(&json, "callers_only", difference->callers_only);
    json_string(&json, "filter", difference->options.filter);
    diff_json_write_runs(&json, difference);
    diff_json_write_totals(&json, difference);
    json_object(&json, "total");
    diff_json_write_figure(&json, &difference->total);
    json_end(&json);
    json_unsigned(&json, "function_count", difference->function_count);
    diff_json_write_functions(&json, "functions", difference, show);
    if (owners)
        diff_json_write_functions(&json, "resident_owners", owners, show);
    else
        json_null(&json, "resident_owners");
    json_unsigned(&json, "path_count", difference->path_count);
    int error = diff_json_write_paths(&json, difference, show);
    json_end(&json);
    int finished = json_finish(&json);
    return error ? error : finished;
}
