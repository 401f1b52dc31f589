/* The report for programs: doc/REPORT-JSON.md describes every member. Written as a stream. */
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "insight/insight.h"
#include "present/facts.h"
#include "report/metric.h"
#include "report/call_sites.h"

struct writer {
    struct json json;
    const struct profile *profile;
    const struct report_options *options;
    struct call_sites sites;
    struct insights *insights;
};

struct member {
    const char *name;
    size_t offset;
};
#define CALL(field)                                                                                \
    {                                                                                              \
#field, offsetof(struct call_metrics, field)                                               \
    }
#define PROGRAM(field)                                                                             \
    {                                                                                              \
#field, offsetof(struct program_metrics, field)                                            \
    }

static const struct member call_members[] = {
    CALL(alloc_count),
    CALL(alloc_bytes),
    CALL(realloc_count),
    CALL(realloc_bytes),
    CALL(realloc_moved),
    CALL(free_count),
    CALL(free_bytes),
    CALL(failed_count),
    CALL(zero_count),
    CALL(aligned_count),
    CALL(temporary_count),
    CALL(slack_bytes),
    CALL(size_min),
    CALL(size_max),
    {"lifetime_min_ns", offsetof(struct call_metrics, lifetime_min)},
    {"lifetime_max_ns", offsetof(struct call_metrics, lifetime_max)},
    {"lifetime_sum_ns", offsetof(struct call_metrics, lifetime_sum)},
    CALL(live_count),
    CALL(live_bytes),
    CALL(live_slack_bytes),
    CALL(peak_bytes),
    {"peak_ns", offsetof(struct call_metrics, peak_ticks)},
    CALL(at_peak_bytes),
    CALL(at_peak_count),
    CALL(map_count),
    CALL(map_bytes),
    CALL(freed_count),
    CALL(freed_bytes),
    CALL(freed_elsewhere_count),
    {"freed_lifetime_sum_ns", offsetof(struct call_metrics, freed_lifetime_sum)},
    {NULL, 0},
};
static const struct member program_members[] = {
    PROGRAM(live_peak_count), PROGRAM(foreign_frees),    PROGRAM(replaced_blocks),
    PROGRAM(unmap_count),     PROGRAM(unmap_bytes),      PROGRAM(brk_count),
    PROGRAM(brk_bytes),       PROGRAM(events),           PROGRAM(late_events),
    PROGRAM(lost_events),     PROGRAM(malformed_events), {NULL, 0},
};

/* UINT64_MAX stands for "none": null. */
static void write_members(struct writer *writer, const struct member *members, const void *source)
{
    for (; members->name; members++) {
        uint64_t value;
        memcpy(&value, (const char *)source + members->offset, sizeof value);
        if (value == UINT64_MAX)
            json_null(&writer->json, members->name);
        else
            json_unsigned(&writer->json, members->name, value);
    }
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
    write_members(writer, call_members, &program->total);
    write_members(writer, program_members, program);
    if (facts_resident_peak(writer->profile, &resident))
        json_unsigned(&writer->json, "resident_peak_bytes", resident);
    else
        json_null(&writer->json, "resident_peak_bytes");
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

static void write_threads(struct writer *writer)
{
    json_array(&writer->json, "threads");
    for (size_t i = 0; i < writer->profile->thread_count; i++) {
        const struct thread_metrics *thread = &writer->profile->threads[i];
        json_object(&writer->json, NULL);
        json_unsigned(&writer->json, "tid", thread->tid);
        json_unsigned(&writer->json, "start_ns", thread->start_ticks);
        if (thread->end_ticks)
            json_unsigned(&writer->json, "end_ns", thread->end_ticks);
        else
            json_null(&writer->json, "end_ns");
        json_unsigned(&writer->json, "alloc_count", thread->alloc_count);
        json_unsigned(&writer->json, "alloc_bytes", thread->alloc_bytes);
        json_unsigned(&writer->json, "free_count", thread->free_count);
        json_unsigned(&writer->json, "free_bytes", thread->free_bytes);
        json_unsigned(&writer->json, "waits", thread->waits);
        json_unsigned(&writer->json, "wait_ns", thread->wait_ticks);
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
        json_unsigned(&writer->json, "alloc_count", bucket->alloc_count);
        json_unsigned(&writer->json, "alloc_bytes", bucket->alloc_bytes);
        json_unsigned(&writer->json, "free_count", bucket->free_count);
        json_unsigned(&writer->json, "free_bytes", bucket->free_bytes);
        json_end(&writer->json);
    }
    json_end(&writer->json);
    json_end(&writer->json);
}

/* ---- Call sites ---------------------------------------------------------------------------- */

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

static void write_if(struct writer *writer, bool known, const char *name, uint64_t value)
{
    if (known)
        json_unsigned(&writer->json, name, value);
    else
        json_null(&writer->json, name);
}

static void write_site_metrics(struct writer *writer, const struct site_group *group)
{
    const struct call_metrics *total = &writer->profile->program.total;
    bool frees = call_metrics_know_frees(total);
    json_object(&writer->json, "metrics");
    for (size_t i = 0; i < METRIC_COUNT; i++)
        write_if(writer, metric_is_known(&metrics[i], total), metrics[i].column, group->totals[i]);
    write_if(writer, frees, "freed_count", group->freed_count);
    write_if(writer, frees, "freed_elsewhere_count", group->freed_elsewhere_count);
    write_if(writer, frees, "freed_lifetime_sum_ns", group->freed_lifetime_ns);
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
    json_unsigned(&writer->json, "value", group->totals[metric]);
    frame_write(&writer->json, writer->profile, group->frame);
    write_site_metrics(writer, group);
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
    json_string(&writer->json, "unit", metrics[metric].is_bytes ? "bytes" : "count");
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
    struct writer writer = {json_begin(out, true), profile, options, {0}, NULL};
    int error = call_sites_init(&writer.sites, profile, options);
    if (error)
        return error;
    writer.insights = insights_find(profile);
    if (!writer.insights) {
        call_sites_release(&writer.sites);
        return -ENOMEM;
    }
    json_object(&writer.json, NULL);
    json_string(&writer.json, "format", "tidemark-report");
    json_unsigned(&writer.json, "version", 1);
    write_meta(&writer);
    write_program(&writer);
    insights_write(&writer.json, writer.insights, INSIGHT_INFO);
    write_modules(&writer);
    write_threads(&writer);
    write_timeline(&writer);
    error = write_sections(&writer);
    json_end(&writer.json);
    insights_free(writer.insights);
    call_sites_release(&writer.sites);
    int stream_error = json_finish(&writer.json);
    return error ? error : stream_error;
}
