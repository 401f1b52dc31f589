/* Writes a profile in speedscope's own format: one "sampled" profile per metric over one list of
 * frames. The call tree is walked top down, and each call path with a value of its own becomes a
 * sample with a weight. A tree is 40 bytes a call, so there is one at a time. The list of frames,
 * which stands in front of all of them, is made without trees. */
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/digits.h"
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

static void export_speedscope_list_frame(void *context, uint32_t code, uint32_t line)
{
    struct speedscope *speedscope = context;
    struct json *json = &speedscope->json;
    const struct profile *profile = speedscope->exporting->profile;
    uint32_t key = function_key(profile, code, line);
    struct strbuf text = STRBUF_INIT;
    if (speedscope->frame_of[key])
        return;
    speedscope->frame_of[key] = ++speedscope->frame_count;
    json_object(json, NULL);
    export_add_key_name(&text, profile, key, frame_at(code, line), NULL, 0);
    json_string(json, "name", text.data);
    strbuf_reset(&text);
    export_add_file(&text, speedscope->exporting, profile->lines[line].file);
    if (text.length)
        json_string(json, "file", text.data);
    json_end(json);
    strbuf_release(&text);
}

static int export_speedscope_write_frames(struct speedscope *speedscope)
{
    const struct exporting *exporting = speedscope->exporting;
    int error = 0;
    json_object(&speedscope->json, "shared");
    json_array(&speedscope->json, "frames");
    for (size_t i = 0; i < speedscope->count && !error; i++)
        error = top_down_visit_frames(exporting->profile, speedscope->metrics[i], exporting->hidden,
                                      exporting->wanted, export_speedscope_list_frame, speedscope);
    json_end(&speedscope->json);
    json_end(&speedscope->json);
    return error;
}

/* ---- Samples ------------------------------------------------------------------------------- */

/* The node behind `at` in depth, 0 behind the last one; *depth is that of the node. */
static uint32_t export_speedscope_next(const struct top_down *tree, uint32_t at, size_t *depth)
{
    if (tree->nodes[at].first_child) {
        ++*depth;
        return tree->nodes[at].first_child;
    }
    while (at && !tree->nodes[at].next) {
        at = tree->nodes[at].parent;
        --*depth;
    }
    return at ? tree->nodes[at].next : 0;
}

/* The stack at hand as text, "[0,17,4": the next one mostly has most of it. ends[d]: its length up
 * to depth d. */
struct export_speedscope_stack {
    struct strbuf text;
    size_t *ends, capacity;
};

static void export_speedscope_step(struct export_speedscope_stack *stack, size_t depth,
                                   uint32_t frame)
{
    char digits[1 + DIGITS_MOST], *end = digits + sizeof digits, *at = digits_decimal(end, frame);
    array_need_bare_room(&stack->ends, &stack->capacity, depth, sizeof *stack->ends);
    if (depth > 1)
        *--at = ',';
    strbuf_truncate(&stack->text, stack->ends[depth - 1]);
    strbuf_add(&stack->text, at, (size_t)(end - at));
    stack->ends[depth] = stack->text.length;
}

/* Nodes with a value of their own, heaviest child first. */
static void export_speedscope_write_stacks(struct speedscope *speedscope,
                                           const struct top_down *tree)
{
    struct export_speedscope_stack stack = {.text = STRBUF_INIT};
    size_t depth = 0;
    strbuf_add_char(&stack.text, '[');
    array_need_bare_room(&stack.ends, &stack.capacity, 0, sizeof *stack.ends);
    stack.ends[0] = stack.text.length;
    for (uint32_t at = 0; (at = export_speedscope_next(tree, at, &depth));) {
        export_speedscope_step(&stack, depth, speedscope->frame_of[tree->nodes[at].key] - 1);
        if (!figure_positive(tree->nodes[at].exclusive))
            continue;
        strbuf_add_char(&stack.text, ']');
        json_ready(&speedscope->json, NULL, stack.text.data, stack.text.length);
    }
    free(stack.ends);
    strbuf_release(&stack.text);
}

static void export_speedscope_write_weights(struct speedscope *speedscope,
                                            const struct top_down *tree)
{
    size_t depth = 0;
    for (uint32_t at = 0; (at = export_speedscope_next(tree, at, &depth));)
        if (figure_positive(tree->nodes[at].exclusive))
            json_figure(&speedscope->json, NULL, tree->nodes[at].exclusive);
}

static const char *export_speedscope_unit_of(const struct metric_row *metric)
{
    return metric->unit == METRIC_BYTES ? "bytes"
           : metric->unit == METRIC_NS  ? "nanoseconds"
                                        : "none";
}

static int export_speedscope_write_profile(struct speedscope *speedscope,
                                           const struct metric_row *metric)
{
    const struct exporting *exporting = speedscope->exporting;
    struct json *json = &speedscope->json;
    struct top_down tree;
    int error =
        top_down_init(&tree, exporting->profile, metric, exporting->hidden, exporting->wanted);
    if (error)
        return error;
    for (size_t i = 0; i < tree.count; i++)
        top_down_sort(&tree, (uint32_t)i);
    json_object(json, NULL);
    json_string(json, "type", "sampled");
    json_string(json, "name", metric->title);
    json_string(json, "unit", export_speedscope_unit_of(metric));
    json_unsigned(json, "startValue", 0);
    json_figure(json, "endValue", tree.nodes[0].inclusive);
    json_array(json, "samples");
    export_speedscope_write_stacks(speedscope, &tree);
    json_end(json);
    json_array(json, "weights");
    export_speedscope_write_weights(speedscope, &tree);
    json_end(json);
    json_end(json);
    top_down_release(&tree);
    return 0;
}

static int export_speedscope_write_all(struct speedscope *speedscope)
{
    struct json *json = &speedscope->json;
    json_object(json, NULL);
    json_string(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    json_string(json, "name", export_title(speedscope->exporting->profile));
    json_string(json, "exporter", "tidemark " TIDEMARK_VERSION);
    json_unsigned(json, "activeProfileIndex", 0);
    int error = export_speedscope_write_frames(speedscope);
    json_array(json, "profiles");
    for (size_t i = 0; i < speedscope->count && !error; i++)
        error = export_speedscope_write_profile(speedscope, speedscope->metrics[i]);
    json_end(json);
    json_end(json);
    return error ? error : json_finish(json);
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
    int error = export_speedscope_write_all(&speedscope);
    free(speedscope.frame_of);
    return error;
}
