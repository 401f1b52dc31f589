/* The report for programs: doc/REPORT-JSON.md describes every member. Written as a stream. */
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "insight/insight.h"
#include "present/facts.h"
#include "report/estimate.h"
#include "report/metric.h"
#include "report/writer.h"
#include "views/derived.h"
#include "views/threads.h"
#include "views/vocabulary.h"

#define PROGRAM(field)                                                                             \
    {                                                                                              \
#field, offsetof(struct program_metrics, field)                                            \
    }

static const struct member program_members[] = {
    PROGRAM(live_peak_count), PROGRAM(foreign_frees),    PROGRAM(replaced_blocks),
    PROGRAM(unmap_count),     PROGRAM(unmap_bytes),      PROGRAM(brk_count),
    PROGRAM(brk_bytes),       PROGRAM(events),           PROGRAM(late_events),
    PROGRAM(lost_events),     PROGRAM(malformed_events), {NULL, 0},
};

void write_members(struct writer *writer, const struct member *members, const void *source)
{
    for (; members->name; members++) {
        uint64_t value;
        memcpy(&value, (const char *)source + members->offset, sizeof value);
        write_unsigned_if(writer, value != UINT64_MAX, members->name, value);
    }
}

void write_unsigned_if(struct writer *writer, bool known, const char *name, uint64_t value)
{
    if (known)
        json_unsigned(&writer->json, name, value);
    else
        json_null(&writer->json, name);
}

/* "alloc_bytes_error", …: half the error bar, null where there is none. */
static void write_errors(struct writer *writer, const struct call_metrics *call)
{
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        char name[64];
        if (!metrics[i].variance)
            continue;
        snprintf(name, sizeof name, "%s_error", metrics[i].column);
        write_unsigned_if(writer, estimate_is(writer->profile), name,
                          estimate_error(writer->profile, metric_variance(&metrics[i], call)));
    }
}

/* The members of an object that is open. */
static void write_call(struct writer *writer, const struct call_metrics *call)
{
    uint64_t run_ns = facts_number(writer->profile, PROFILE_META_DURATION);
    for (size_t i = 0; i < VOCABULARY_SIZE; i++) {
        uint64_t value = vocabulary_value(&vocabulary[i], call);
        if (vocabulary[i].unit != VOCABULARY_VARIANCE)
            write_unsigned_if(writer, value != UINT64_MAX, vocabulary[i].name, value);
    }
    write_errors(writer, call);
    for (size_t i = 0; i < DERIVED_COUNT; i++)
        json_double(&writer->json, derived[i].name, derived_value(&derived[i], call, run_ns));
}

void write_metrics(struct writer *writer, const char *name, const struct call_metrics *call)
{
    json_object(&writer->json, name);
    write_call(writer, call);
    json_end(&writer->json);
}

/* Of a recording that was exact until it cost too much. */
static void write_changes(struct writer *writer)
{
    const char *change = profile_get(writer->profile, PROFILE_META_SAMPLE_CHANGES);
    uint64_t ns, bytes;
    json_array(&writer->json, "changes");
    while (facts_next_sampling(&change, &ns, &bytes)) {
        json_object(&writer->json, NULL);
        json_unsigned(&writer->json, "from_ns", ns);
        json_unsigned(&writer->json, "interval_bytes", bytes);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

static void write_sampling(struct writer *writer)
{
    if (!estimate_is(writer->profile)) {
        json_null(&writer->json, "sampled");
        return;
    }
    json_object(&writer->json, "sampled");
    json_unsigned(&writer->json, "interval_bytes", facts_sample_bytes(writer->profile));
    json_bool(&writer->json, "pages", writer->profile->pages);
    write_changes(writer);
    write_unsigned_if(writer, writer->profile->has_program, "samples",
                      writer->profile->program.total.sample_count);
    json_unsigned(&writer->json, "confidence_percent", 95);
    json_end(&writer->json);
}

static void write_meta(struct writer *writer)
{
    json_object(&writer->json, "meta");
    for (size_t i = 0; i < writer->profile->meta_count; i++)
        json_string(&writer->json, writer->profile->meta[i].key, writer->profile->meta[i].value);
    json_end(&writer->json);
    const struct profile *profile = writer->profile;
    json_string(&writer->json, "state",
                profile->being_written ? "recording"
                : profile->complete    ? "complete"
                                       : "cut short");
    struct strbuf text = STRBUF_INIT;
    facts_add_end(&text, profile);
    json_string(&writer->json, "end", text.data);
    strbuf_reset(&text);
    facts_add_warnings(&text, profile);
    json_array(&writer->json, "warnings");
    for (char *at = text.data, *end; *at; at = end + 1) {
        end = strchr(at, '\n');
        *end = 0;
        json_string(&writer->json, NULL, at);
    }
    json_end(&writer->json);
    strbuf_release(&text);
    write_sampling(writer);
}

static void write_program(struct writer *writer)
{
    const struct program_metrics *program = &writer->profile->program;
    uint64_t resident;
    if (!writer->profile->has_program) {
        json_null(&writer->json, "program");
        return;
    }
    json_object(&writer->json, "program");
    write_call(writer, &program->total);
    write_members(writer, program_members, program);
    if (facts_resident_peak(writer->profile, &resident))
        json_unsigned(&writer->json, "resident_peak_bytes", resident);
    else
        json_null(&writer->json, "resident_peak_bytes");
    size_t threads = threads_peak(writer->profile);
    write_unsigned_if(writer, threads, "threads_peak", threads);
    json_end(&writer->json);
}

static void write_modules(struct writer *writer)
{
    static const char *const qualities[] = {"none", "changed", "exports", "functions", "lines"};
    json_array(&writer->json, "modules");
    for (size_t i = 0; i < writer->profile->module_count; i++) {
        const struct profile_module *module = &writer->profile->modules[i];
        char build_id[130] = "";
        for (size_t j = 0; j < module->build_id_bytes && j < 64; j++)
            snprintf(build_id + 2 * j, 3, "%02x", module->build_id[j]);
        json_object(&writer->json, NULL);
        json_string(&writer->json, "path", module->path);
        json_string(&writer->json, "build_id", *build_id ? build_id : NULL);
        json_string(&writer->json, "symbols",
                    module->quality >= 0 && module->quality < 5 ? qualities[module->quality]
                                                                : NULL);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

#define THREAD(field)                                                                              \
    {                                                                                              \
#field, offsetof(struct thread_metrics, field)                                             \
    }

static const struct member thread_members[] = {
    THREAD(alloc_count),
    THREAD(alloc_bytes),
    THREAD(free_count),
    THREAD(free_bytes),
    THREAD(waits),
    {"wait_ns", offsetof(struct thread_metrics, wait_ticks)},
    THREAD(malloc_count),
    THREAD(calloc_count),
    THREAD(aligned_count),
    THREAD(new_count),
    THREAD(pool_count),
    THREAD(realloc_count),
    THREAD(live_bytes),
    THREAD(peak_bytes),
    {"peak_ns", offsetof(struct thread_metrics, peak_ticks)},
    THREAD(freed_elsewhere_count),
    THREAD(freed_elsewhere_bytes),
    {"alloc_time_ns", offsetof(struct thread_metrics, alloc_time)},
    {"free_time_ns", offsetof(struct thread_metrics, free_time)},
    THREAD(stack_deepest_bytes),
    THREAD(stack_touched_bytes),
    {NULL, 0},
};

static void write_thread(struct writer *writer, const struct thread_metrics *thread)
{
    char name[sizeof thread->name + 1] = "";
    memcpy(name, thread->name, sizeof thread->name);
    json_unsigned(&writer->json, "tid", thread->tid);
    json_string(&writer->json, "name", *name ? name : NULL);
    json_unsigned(&writer->json, "start_ns", thread->start_ticks);
    write_unsigned_if(writer, thread->end_ticks, "end_ns", thread->end_ticks);
    write_members(writer, thread_members, thread);
    if (thread->stack_node && thread->stack_node < writer->profile->node_count) {
        json_object(&writer->json, "stack_deepest_path");
        write_path(writer, thread->stack_node);
        json_end(&writer->json);
    } else {
        json_null(&writer->json, "stack_deepest_path");
    }
}

static void write_threads(struct writer *writer)
{
    json_array(&writer->json, "threads");
    for (size_t i = 0; i < writer->profile->thread_count; i++) {
        json_object(&writer->json, NULL);
        write_thread(writer, &writer->profile->threads[i]);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

static void write_level(struct writer *writer, const char *name, struct timeline_level level)
{
    if (level.min > level.max) {
        json_null(&writer->json, name);
        return;
    }
    json_array(&writer->json, name);
    json_unsigned(&writer->json, NULL, level.min);
    json_unsigned(&writer->json, NULL, level.max);
    json_end(&writer->json);
}

static void write_timeline(struct writer *writer)
{
    json_object(&writer->json, "timeline");
    json_unsigned(&writer->json, "bucket_ns", writer->profile->bucket_ns);
    json_array(&writer->json, "buckets");
    for (size_t i = 0; i < writer->profile->bucket_count; i++) {
        const struct timeline_bucket *bucket = &writer->profile->buckets[i];
        json_object(&writer->json, NULL);
        write_level(writer, "requested", bucket->requested);
        write_level(writer, "blocks", bucket->blocks);
        write_level(writer, "physical", bucket->physical);
        write_level(writer, "virtual", bucket->virt);
        write_level(writer, "tool", bucket->tool);
        write_unsigned_if(writer, bucket->alloc_count != UINT64_MAX, "alloc_count", bucket->alloc_count);
        write_unsigned_if(writer, bucket->alloc_bytes != UINT64_MAX, "alloc_bytes", bucket->alloc_bytes);
        write_unsigned_if(writer, bucket->free_count != UINT64_MAX, "free_count", bucket->free_count);
        write_unsigned_if(writer, bucket->free_bytes != UINT64_MAX, "free_bytes", bucket->free_bytes);
        json_end(&writer->json);
    }
    json_end(&writer->json);
    json_end(&writer->json);
}

/* ---- Call sites ---------------------------------------------------------------------------- */

void write_path(struct writer *writer, uint32_t node)
{
    json_unsigned(&writer->json, "node", node);
    frame_write(&writer->json, writer->profile, call_sites_frame(&writer->sites, node));
}

/* JSON_MAX_DEPTH bounds the levels; two are used by each caller, and five by what is around. */
enum { MAX_CALLERS = (JSON_MAX_DEPTH - 8) / 2 };

static void write_callers(struct writer *writer, const struct callers *callers, uint32_t index)
{
    json_array(&writer->json, "callers");
    for (uint32_t child = callers->nodes[index].first_child; child;
         child = callers->nodes[child].next) {
        json_object(&writer->json, NULL);
        json_unsigned(&writer->json, "value", callers->nodes[child].value);
        frame_write(&writer->json, writer->profile, callers->nodes[child].frame);
        write_callers(writer, callers, child);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

static int write_site(struct writer *writer, size_t metric, const struct site_group *group)
{
    struct callers callers;
    size_t depth = writer->options->depth < MAX_CALLERS ? writer->options->depth : MAX_CALLERS;
    int error = callers_build(&callers, &writer->sites, group, metric, depth);
    if (error)
        return error;
    json_object(&writer->json, NULL);
    json_unsigned(&writer->json, "value", site_group_value(group, metric));
    frame_write(&writer->json, writer->profile, group->frame);
    write_metrics(writer, "metrics", &group->merged.metrics);
    write_callers(writer, &callers, 0);
    json_end(&writer->json);
    callers_release(&callers);
    return 0;
}

static int write_section(struct writer *writer, size_t metric)
{
    size_t max = writer->options->top < writer->sites.group_count ? writer->options->top
                                                                  : writer->sites.group_count;
    const struct site_group **top = calloc(max + 1, sizeof(const struct site_group *));
    if (!top)
        return -ENOMEM;
    size_t count = call_sites_top(&writer->sites, metric, top, max);
    json_object(&writer->json, NULL);
    json_string(&writer->json, "metric", metrics[metric].name);
    static const char *const units[] = {"bytes", "count", "ns"};
    json_string(&writer->json, "unit", units[metrics[metric].unit]);
    json_unsigned(&writer->json, "total",
                  metric_of(&metrics[metric], &writer->profile->program.total));
    json_unsigned(&writer->json, "filtered", writer->sites.totals[metric]);
    json_unsigned(&writer->json, "site_count", count);
    json_array(&writer->json, "sites");
    int error = 0;
    for (size_t i = 0; i < max && i < count && !error; i++)
        error = write_site(writer, metric, top[i]);
    json_end(&writer->json);
    json_end(&writer->json);
    free(top);
    return error;
}

static int write_sections(struct writer *writer)
{
    int error = 0;
    json_array(&writer->json, "sections");
    for (size_t i = 0; i < METRIC_COUNT && !error; i++)
        if ((writer->options->metric == REPORT_ALL_METRICS || writer->options->metric == (int)i) &&
            metric_is_known(&metrics[i], &writer->profile->program.total))
            error = write_section(writer, i);
    json_end(&writer->json);
    return error;
}

int report_json(FILE *out, const struct profile *profile, const struct report_options *options)
{
    struct writer writer = {json_begin(out, true), profile, options, {0}};
    struct insights *insights;
    int error = call_sites_init(&writer.sites, profile, options);
    if (error)
        return error;
    insights = insights_find(profile);
    if (!insights) {
        call_sites_release(&writer.sites);
        return -ENOMEM;
    }
    json_object(&writer.json, NULL);
    json_string(&writer.json, "format", "tidemark-report");
    json_unsigned(&writer.json, "version", 1);
    write_meta(&writer);
    write_program(&writer);
    insights_write(&writer.json, insights, INSIGHT_INFO);
    write_modules(&writer);
    write_threads(&writer);
    write_timeline(&writer);
    error = write_sections(&writer);
    write_detail(&writer);
    if (!error)
        error = write_functions(&writer);
    if (!error)
        error = write_tree(&writer);
    json_end(&writer.json);
    insights_free(insights);
    call_sites_release(&writer.sites);
    int stream_error = json_finish(&writer.json);
    return error ? error : stream_error;
}

/* ---- Parts of other documents -------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*write)(struct writer *writer);
} parts[] = {
    {"meta", write_meta},           {"program", write_program},
    {"modules", write_modules},     {"threads", write_threads},
    {"peaks", write_peaks},         {"distributions", write_distributions},
    {"exchanges", write_exchanges}, {"stacks", write_stacks},
    {"globals", write_globals},
    {"samples", write_samples},     {"mappings", write_mappings},
    {"regions", write_regions},     {"marks", write_marks},
};

bool report_json_part(struct json *json, const struct profile *profile, const bool *hidden,
                      const char *part)
{
    static const struct report_options options = {.metric = REPORT_ALL_METRICS};
    struct writer writer = {
        *json, profile, &options, {.profile = profile, .hidden = (bool *)hidden}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (strcmp(parts[i].name, part))
            continue;
        parts[i].write(&writer);
        *json = writer.json;
        return true;
    }
    return false;
}
