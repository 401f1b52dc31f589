/* Writes a profile in speedscope's own format: one "sampled" profile per metric over one list of
 * frames. The call tree is walked top down, and each call path with a value of its own becomes a
 * sample with a weight. */
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "base/memory.h"
#include "export/exporting.h"
#include "model/figure_json.h"
#include "aggregate/functions.h"
#include "aggregate/top_down.h"

/* What is shown if nobody chose a metric: by their columns. */
static const char *const usual[] = {"at_peak_bytes", "live_bytes", "alloc_bytes", "alloc_count",
                                    "temporary_count"};
enum { USUAL = sizeof usual / sizeof *usual };

struct speedscope {
    struct exporting *exporting;
    struct json json;
    const struct metric_row *metrics[USUAL];
    struct top_down trees[USUAL];
    size_t count;
    uint32_t *frame_of; /* by key: its number + 1, 0: not listed */
    uint32_t frame_count;
};

static void export_speedscope_choose(struct speedscope *speedscope)
{
    const struct export_options *options = speedscope->exporting->options;
    const struct call_metrics *total = &speedscope->exporting->profile->program.total;
    if (!options->metric_is_default) {
        speedscope->metrics[speedscope->count++] = options->metric;
        return;
    }
    for (size_t i = 0; i < USUAL; i++) {
        const struct metric_row *entry = metric_row_find(usual[i]);
        if (metric_is_recorded(entry, total))
            speedscope->metrics[speedscope->count++] = entry;
    }
}

static void export_speedscope_list_frame(struct speedscope *speedscope,
                                         const struct top_down_node *node)
{
    struct json *json = &speedscope->json;
    const struct profile *profile = speedscope->exporting->profile;
    struct strbuf text = STRBUF_INIT;
    if (speedscope->frame_of[node->key])
        return;
    speedscope->frame_of[node->key] = ++speedscope->frame_count;
    json_object(json, NULL);
    export_add_key_name(&text, profile, node->key, frame_at(node->code, node->line), NULL, 0);
    json_string(json, "name", text.data);
    strbuf_reset(&text);
    export_add_file(&text, speedscope->exporting, profile->lines[node->line].file);
    if (text.length)
        json_string(json, "file", text.data);
    json_end(json);
    strbuf_release(&text);
}

static void export_speedscope_write_frames(struct speedscope *speedscope)
{
    json_object(&speedscope->json, "shared");
    json_array(&speedscope->json, "frames");
    for (size_t i = 0; i < speedscope->count; i++)
        for (size_t node = 1; node < speedscope->trees[i].count; node++)
            export_speedscope_list_frame(speedscope, &speedscope->trees[i].nodes[node]);
    json_end(&speedscope->json);
    json_end(&speedscope->json);
}

/* ---- Samples ------------------------------------------------------------------------------- */

/* Nodes with a value of their own, heaviest child first. To be freed. */
static uint32_t *export_speedscope_order_of(struct top_down *tree, size_t *count)
{
    uint32_t *order = memory_need(calloc(tree->count + 1, sizeof *order));
    *count = 0;
    for (size_t i = 0; i < tree->count; i++)
        top_down_sort(tree, (uint32_t)i);
    for (uint32_t at = tree->nodes[0].first_child; at;) {
        if (figure_positive(tree->nodes[at].exclusive))
            order[(*count)++] = at;
        if (tree->nodes[at].first_child) {
            at = tree->nodes[at].first_child;
            continue;
        }
        while (at && !tree->nodes[at].next)
            at = tree->nodes[at].parent;
        at = at ? tree->nodes[at].next : 0;
    }
    return order;
}

static void export_speedscope_write_stack(struct speedscope *speedscope,
                                          const struct top_down *tree, uint32_t node)
{
    size_t depth = 0;
    for (uint32_t at = node; at; at = tree->nodes[at].parent)
        depth++;
    uint32_t *frames = memory_need(calloc(depth + 1, sizeof *frames));
    for (size_t i = depth; node; node = tree->nodes[node].parent)
        frames[--i] = speedscope->frame_of[tree->nodes[node].key] - 1;
    json_array(&speedscope->json, NULL);
    for (size_t i = 0; i < depth; i++)
        json_unsigned(&speedscope->json, NULL, frames[i]);
    json_end(&speedscope->json);
    free(frames);
}

static const char *export_speedscope_unit_of(const struct metric_row *metric)
{
    return metric->unit == METRIC_BYTES ? "bytes"
           : metric->unit == METRIC_NS  ? "nanoseconds"
                                        : "none";
}

static void export_speedscope_write_profile(struct speedscope *speedscope, size_t index)
{
    struct json *json = &speedscope->json;
    struct top_down *tree = &speedscope->trees[index];
    size_t count;
    uint32_t *order = export_speedscope_order_of(tree, &count);
    json_object(json, NULL);
    json_string(json, "type", "sampled");
    json_string(json, "name", speedscope->metrics[index]->title);
    json_string(json, "unit", export_speedscope_unit_of(speedscope->metrics[index]));
    json_unsigned(json, "startValue", 0);
    json_figure(json, "endValue", tree->nodes[0].inclusive);
    json_array(json, "samples");
    for (size_t i = 0; i < count; i++)
        export_speedscope_write_stack(speedscope, tree, order[i]);
    json_end(json);
    json_array(json, "weights");
    for (size_t i = 0; i < count; i++)
        json_figure(json, NULL, tree->nodes[order[i]].exclusive);
    json_end(json);
    json_end(json);
    free(order);
}

static int export_speedscope_write_all(struct speedscope *speedscope)
{
    struct json *json = &speedscope->json;
    json_object(json, NULL);
    json_string(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    json_string(json, "name", export_title(speedscope->exporting->profile));
    json_string(json, "exporter", "tidemark " TIDEMARK_VERSION);
    json_unsigned(json, "activeProfileIndex", 0);
    export_speedscope_write_frames(speedscope);
    json_array(json, "profiles");
    for (size_t i = 0; i < speedscope->count; i++)
        export_speedscope_write_profile(speedscope, i);
    json_end(json);
    json_end(json);
    return json_finish(json);
}

int export_speedscope(struct exporting *exporting)
{
    struct speedscope speedscope = {.exporting = exporting,
                                    .json = json_begin(exporting->out, false)};
    speedscope.frame_of =
        calloc(function_key_count(exporting->profile) + 1, sizeof *speedscope.frame_of);
    if (!speedscope.frame_of)
        memory_exhausted();
    export_speedscope_choose(&speedscope);
    int error = 0;
    for (size_t i = 0; i < speedscope.count && !error; i++)
        error = top_down_init(&speedscope.trees[i], exporting->profile, speedscope.metrics[i],
                              exporting->hidden, exporting->wanted);
    if (!error)
        error = export_speedscope_write_all(&speedscope);
    for (size_t i = 0; i < speedscope.count; i++)
        top_down_release(&speedscope.trees[i]);
    free(speedscope.frame_of);
    return error;
}
