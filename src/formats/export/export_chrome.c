/* Trace Event JSON, for chrome://tracing, Perfetto and the Firefox Profiler: memory over time and
 * the live bytes of single call paths as counters, the peak as an instant. Times are microseconds.
 */
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "base/memory.h"
#include "export/exporting.h"
#include "format/names.h"
#include "model/figure_json.h"

enum { PATH_COUNTERS = 16, NAME_COLUMNS = 60 };

struct chrome {
    struct exporting *exporting;
    struct json json;
    uint64_t pid;
};

static void export_chrome_begin_event(struct chrome *chrome, const char *phase, const char *name,
                                      double time_ns)
{
    json_object(&chrome->json, NULL);
    json_string(&chrome->json, "ph", phase);
    json_string(&chrome->json, "name", name);
    json_string(&chrome->json, "cat", "memory");
    json_unsigned(&chrome->json, "pid", chrome->pid);
    json_unsigned(&chrome->json, "tid", chrome->pid);
    json_double(&chrome->json, "ts", time_ns / 1000);
}

static void export_chrome_write_name(struct chrome *chrome, const char *what)
{
    export_chrome_begin_event(chrome, "M", what, 0);
    json_object(&chrome->json, "args");
    json_string(&chrome->json, "name", export_title(chrome->exporting->profile));
    json_end(&chrome->json);
    json_end(&chrome->json);
}

static void export_chrome_write_counter(struct chrome *chrome, const char *name,
                                        const char *value_name, double time_ns, uint64_t value)
{
    export_chrome_begin_event(chrome, "C", name, time_ns);
    json_object(&chrome->json, "args");
    json_unsigned(&chrome->json, value_name, value);
    json_end(&chrome->json);
    json_end(&chrome->json);
}

static void export_chrome_write_level(struct chrome *chrome, const char *name, const char *unit,
                                      uint64_t at_ns, const struct timeline_level *level)
{
    uint64_t width = chrome->exporting->profile->bucket_ns, lowest, highest;
    if (!figure_get(level->min, &lowest) || !figure_get(level->max, &highest))
        return;
    export_chrome_write_counter(chrome, name, unit, (double)at_ns + (double)width / 2, highest);
    if (lowest < highest)
        export_chrome_write_counter(chrome, name, unit, (double)at_ns + (double)width - 1, lowest);
}

static void export_chrome_write_timeline(struct chrome *chrome)
{
    const struct profile *profile = chrome->exporting->profile;
    for (size_t i = 0; i < profile->bucket_count; i++) {
        const struct timeline_bucket *bucket = &profile->buckets[i];
        uint64_t at_ns = i * profile->bucket_ns, allocations;
        if (!export_is_of(chrome->exporting, MEMORY_RESIDENT))
            export_chrome_write_level(chrome, export_level_words(chrome->exporting), "bytes", at_ns,
                                      &bucket->requested);
        if (export_has_mapped(chrome->exporting))
            export_chrome_write_level(chrome, "mapped", "bytes", at_ns, &bucket->mapped);
        export_chrome_write_level(chrome, "resident", "bytes", at_ns, &bucket->physical);
        export_chrome_write_level(chrome, "virtual", "bytes", at_ns, &bucket->virt);
        export_chrome_write_level(chrome, "live blocks", "blocks", at_ns, &bucket->blocks);
        if (figure_get(bucket->alloc_count, &allocations))
            export_chrome_write_counter(chrome, "allocations", "calls in the interval",
                                        (double)at_ns, allocations);
    }
}

static void export_chrome_write_curve(struct chrome *chrome, const struct curve *curve)
{
    struct export_stack stack = EXPORT_STACK_INIT;
    struct strbuf full = STRBUF_INIT, name = STRBUF_INIT;
    export_stack_take(&stack, chrome->exporting, curve->node);
    frame_add_name(&full, chrome->exporting->profile, stack.frames[0]);
    strbuf_addf(&name, "path %u: ", curve->node);
    name_add_short(&name, full.data, NAME_COLUMNS);
    for (uint32_t i = 0; i < curve->count; i++)
        export_chrome_write_counter(chrome, name.data, "bytes", (double)curve->points[i].ticks,
                                    curve->points[i].bytes);
    strbuf_release(&full);
    strbuf_release(&name);
    export_stack_release(&stack);
}

static int export_chrome_by_falling_peak(const void *a, const void *b, void *context)
{
    const struct profile *profile = context;
    uint64_t heights[2] = {0, 0};
    const struct curve *curves[] = {&profile->curves[*(const uint32_t *)a],
                                    &profile->curves[*(const uint32_t *)b]};
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < curves[side]->count; i++)
            if (curves[side]->points[i].bytes > heights[side])
                heights[side] = curves[side]->points[i].bytes;
    return heights[0] < heights[1] ? 1 : heights[0] > heights[1] ? -1 : 0;
}

static void export_chrome_write_curves(struct chrome *chrome)
{
    const struct profile *profile = chrome->exporting->profile;
    uint32_t *order = calloc(profile->curve_count + 1, sizeof *order);
    size_t count = 0;
    if (!order)
        memory_exhausted();
    for (size_t i = 0; i < profile->curve_count; i++)
        if (!chrome->exporting->wanted || chrome->exporting->wanted[profile->curves[i].node])
            order[count++] = (uint32_t)i;
    qsort_r(order, count, sizeof *order, export_chrome_by_falling_peak, (void *)profile);
    for (size_t i = 0; i < count && i < PATH_COUNTERS; i++)
        export_chrome_write_curve(chrome, &profile->curves[order[i]]);
    free(order);
}

static void export_chrome_write_peak(struct chrome *chrome)
{
    const struct call_metrics *total = &chrome->exporting->profile->program.total;
    if (!figure_known(total->peak_ticks) || !figure_known(total->peak_bytes))
        return;
    export_chrome_begin_event(chrome, "i", "peak", figure_double(total->peak_ticks));
    json_string(&chrome->json, "s", "p");
    json_object(&chrome->json, "args");
    json_figure(&chrome->json, "bytes", total->peak_bytes);
    json_end(&chrome->json);
    json_end(&chrome->json);
}

static void export_chrome_write_other(struct chrome *chrome)
{
    const struct profile *profile = chrome->exporting->profile;
    const char *command = profile_get(profile, PROFILE_META_COMMAND);
    json_object(&chrome->json, "otherData");
    json_string(&chrome->json, "tool", "tidemark " TIDEMARK_VERSION);
    json_string(&chrome->json, "command", command ? command : export_title(profile));
    json_end(&chrome->json);
}

int export_chrome(struct exporting *exporting)
{
    struct chrome chrome = {.exporting = exporting, .json = json_begin(exporting->out, false)};
    chrome.pid = export_number(exporting->profile, PROFILE_META_PID);
    json_object(&chrome.json, NULL);
    json_string(&chrome.json, "displayTimeUnit", "ms");
    json_array(&chrome.json, "traceEvents");
    export_chrome_write_name(&chrome, "process_name");
    export_chrome_write_name(&chrome, "thread_name");
    export_chrome_write_timeline(&chrome);
    export_chrome_write_curves(&chrome);
    export_chrome_write_peak(&chrome);
    json_end(&chrome.json);
    export_chrome_write_other(&chrome);
    json_end(&chrome.json);
    return json_finish(&chrome.json);
}
