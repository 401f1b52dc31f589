/* speedscope's own format: one "sampled" profile per metric over one list of frames. */
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "export/exporting.h"
#include "views/functions.h"
#include "views/top_down.h"

/* What is shown if nobody chose a metric: by names in the vocabulary. */
static const char *const usual[] = {"at_peak_bytes", "live_bytes", "alloc_bytes", "alloc_count",
                                    "temporary_count"};
enum { USUAL = sizeof usual / sizeof *usual };

struct speedscope {
    struct exporting *exporting;
    struct json json;
    const struct vocabulary_entry *metrics[USUAL];
    struct top_down trees[USUAL];
    size_t count;
    uint32_t *frame_of; /* by key: its number + 1, 0: not listed */
    uint32_t frame_count;
};

static void choose(struct speedscope *speedscope)
{
    const struct export_options *options = speedscope->exporting->options;
    const struct call_metrics *total = &speedscope->exporting->profile->program.total;
    if (!options->metric_is_default) {
        speedscope->metrics[speedscope->count++] = options->metric;
        return;
    }
    for (size_t i = 0; i < USUAL; i++) {
        const struct vocabulary_entry *entry = vocabulary_find(usual[i]);
        if (vocabulary_is_recorded(entry, total))
            speedscope->metrics[speedscope->count++] = entry;
    }
}

static void list_frame(struct speedscope *speedscope, const struct top_down_node *node)
{
    struct json *json = &speedscope->json;
    const struct profile *profile = speedscope->exporting->profile;
    struct strbuf text = STRBUF_INIT;
    if (speedscope->frame_of[node->key])
        return;
    speedscope->frame_of[node->key] = ++speedscope->frame_count;
    json_object(json, NULL);
    export_add_key_name(&text, profile, node->key, (struct frame){node->code, node->line}, NULL, 0);
    json_string(json, "name", text.data);
    strbuf_reset(&text);
    export_add_file(&text, speedscope->exporting, profile->lines[node->line].file);
    if (text.length)
        json_string(json, "file", text.data);
    json_end(json);
    strbuf_release(&text);
}

static void write_frames(struct speedscope *speedscope)
{
    json_object(&speedscope->json, "shared");
    json_array(&speedscope->json, "frames");
    for (size_t i = 0; i < speedscope->count; i++)
        for (size_t node = 1; node < speedscope->trees[i].count; node++)
            list_frame(speedscope, &speedscope->trees[i].nodes[node]);
    json_end(&speedscope->json);
    json_end(&speedscope->json);
}

/* ---- Samples ------------------------------------------------------------------------------- */

/* Nodes with a value of their own, heaviest child first. To be freed. */
static uint32_t *order_of(struct top_down *tree, size_t *count)
{
    uint32_t *order = calloc(tree->count + 1, sizeof *order);
    if (!order)
        abort();
    *count = 0;
    for (size_t i = 0; i < tree->count; i++)
        top_down_sort(tree, (uint32_t)i);
    for (uint32_t at = tree->nodes[0].first_child; at;) {
        if (tree->nodes[at].exclusive)
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

static void write_stack(struct speedscope *speedscope, const struct top_down *tree, uint32_t node)
{
    size_t depth = 0;
    for (uint32_t at = node; at; at = tree->nodes[at].parent)
        depth++;
    uint32_t *frames = calloc(depth + 1, sizeof *frames);
    if (!frames)
        abort();
    for (size_t i = depth; node; node = tree->nodes[node].parent)
        frames[--i] = speedscope->frame_of[tree->nodes[node].key] - 1;
    json_array(&speedscope->json, NULL);
    for (size_t i = 0; i < depth; i++)
        json_unsigned(&speedscope->json, NULL, frames[i]);
    json_end(&speedscope->json);
    free(frames);
}

static const char *unit_of(const struct vocabulary_entry *metric)
{
    return metric->unit == VOCABULARY_BYTES ? "bytes"
           : metric->unit == VOCABULARY_NS  ? "nanoseconds"
                                            : "none";
}

static void write_profile(struct speedscope *speedscope, size_t index)
{
    struct json *json = &speedscope->json;
    struct top_down *tree = &speedscope->trees[index];
    size_t count;
    uint32_t *order = order_of(tree, &count);
    json_object(json, NULL);
    json_string(json, "type", "sampled");
    json_string(json, "name", speedscope->metrics[index]->title);
    json_string(json, "unit", unit_of(speedscope->metrics[index]));
    json_unsigned(json, "startValue", 0);
    json_unsigned(json, "endValue", tree->nodes[0].inclusive);
    json_array(json, "samples");
    for (size_t i = 0; i < count; i++)
        write_stack(speedscope, tree, order[i]);
    json_end(json);
    json_array(json, "weights");
    for (size_t i = 0; i < count; i++)
        json_unsigned(json, NULL, tree->nodes[order[i]].exclusive);
    json_end(json);
    json_end(json);
    free(order);
}

static int write_all(struct speedscope *speedscope)
{
    struct json *json = &speedscope->json;
    json_object(json, NULL);
    json_string(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    json_string(json, "name", export_title(speedscope->exporting->profile));
    json_string(json, "exporter", "tidemark " TIDEMARK_VERSION);
    json_unsigned(json, "activeProfileIndex", 0);
    write_frames(speedscope);
    json_array(json, "profiles");
    for (size_t i = 0; i < speedscope->count; i++)
        write_profile(speedscope, i);
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
        abort();
    choose(&speedscope);
    int error = 0;
    for (size_t i = 0; i < speedscope.count && !error; i++)
        error = top_down_init(&speedscope.trees[i], exporting->profile,
                              speedscope.metrics[i]->offset, exporting->hidden, exporting->wanted);
    if (!error)
        error = write_all(&speedscope);
    for (size_t i = 0; i < speedscope.count; i++)
        top_down_release(&speedscope.trees[i]);
    free(speedscope.frame_of);
    return error;
}
