/* Writes the report as JSON (doc REPORT-JSON.md describes every member). It is written as a
 * stream, section by section, so that a large profile needs no second copy. A figure that is
 * unknown is null. */
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "insights/insight.h"
#include "aggregate/facts.h"
#include "aggregate/estimate.h"
#include "aggregate/metric_choice.h"
#include "report/report_writer.h"
#include "aggregate/derived.h"
#include "aggregate/thread_team.h"
#include "aggregate/thread_totals.h"
#include "aggregate/unwalked.h"
#include "model/figure_json.h"

#define PROGRAM(field) MEMBER(struct program_metrics, field)

static const struct member program_members[] = {
    PROGRAM(live_peak_count), PROGRAM(foreign_frees),    PROGRAM(replaced_blocks),
    PROGRAM(unmap_count),     PROGRAM(unmap_bytes),      PROGRAM(brk_count),
    PROGRAM(brk_bytes),       PROGRAM(events),           PROGRAM(late_events),
    PROGRAM(lost_events),     PROGRAM(malformed_events), {NULL},
};

void report_json_members(struct report_writer *writer, const struct member *members,
                         const void *source)
{
    for (; members->name; members++) {
        const void *field = (const char *)source + members->offset;
        if (members->is_figure)
            json_figure(&writer->json, members->name, *(const struct figure *)field);
        else
            json_unsigned(&writer->json, members->name, *(const uint64_t *)field);
    }
}

void report_json_unsigned_if(struct report_writer *writer, bool known, const char *name,
                             uint64_t value)
{
    if (known)
        json_unsigned(&writer->json, name, value);
    else
        json_null(&writer->json, name);
}

/* "alloc_bytes_error", …: half the width of the error bar; null where there is none. */
static void report_json_write_errors(struct report_writer *writer, const struct call_metrics *call)
{
    for (size_t i = 0; i < METRIC_CHOICES; i++) {
        char name[64];
        if (metrics[i].row->variance == METRIC_NO_VARIANCE)
            continue;
        snprintf(name, sizeof name, "%s_error", metrics[i].row->column);
        json_figure(&writer->json, name,
                    estimate_is(writer->profile)
                        ? estimate_error(writer->profile, metric_variance(&metrics[i], call))
                        : FIGURE_UNKNOWN);
    }
}

/* Writes members of an open object. */
static void report_json_write_call(struct report_writer *writer, const struct call_metrics *call)
{
    struct figure run_ns = figure_of(facts_number(writer->profile, PROFILE_META_DURATION));
    for (size_t i = 0; i < METRICS; i++)
        if (metric_rows[i].unit != METRIC_VARIANCE)
            json_figure(&writer->json, metric_rows[i].column, metric_value(&metric_rows[i], call));
    report_json_write_errors(writer, call);
    for (size_t i = 0; i < DERIVED_COUNT; i++)
        json_double(&writer->json, derived[i].name, derived_value(&derived[i], call, run_ns));
}

void report_json_metrics(struct report_writer *writer, const char *name,
                         const struct call_metrics *call)
{
    json_object(&writer->json, name);
    report_json_write_call(writer, call);
    json_end(&writer->json);
}

/* The steps of a recording that was exact until it cost too much. */
static void report_json_write_changes(struct report_writer *writer)
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

static void report_json_write_sampling(struct report_writer *writer)
{
    if (!estimate_is(writer->profile)) {
        json_null(&writer->json, "sampled");
        return;
    }
    json_object(&writer->json, "sampled");
    json_unsigned(&writer->json, "interval_bytes", facts_sample_bytes(writer->profile));
    json_bool(&writer->json, "pages", writer->profile->pages);
    report_json_write_changes(writer);
    if (profile_get(writer->profile, PROFILE_META_SAMPLE_WHY))
        json_string(&writer->json, "because",
                    profile_get(writer->profile, PROFILE_META_SAMPLE_WHY));
    json_figure(&writer->json, "samples",
                writer->profile->has_program ? writer->profile->program.total.sample_count
                                             : FIGURE_UNKNOWN);
    json_unsigned(&writer->json, "confidence_percent", 95);
    json_end(&writer->json);
}

static void report_json_write_mapped_unseen(struct report_writer *writer)
{
    uint64_t bytes = facts_mapped_unseen(writer->profile);
    if (!bytes)
        return;
    json_object(&writer->json, NULL);
    json_string(&writer->json, "what", "mappings");
    json_string(&writer->json, "module", NULL);
    json_string(&writer->json, "why", "no call of mmap or malloc that could be recorded made them");
    json_unsigned(&writer->json, "bytes", bytes);
    json_end(&writer->json);
}

static void report_json_write_unseen(struct report_writer *writer)
{
    struct facts_unseen unseen;
    json_array(&writer->json, "unseen");
    for (const char *at = NULL; facts_next_unseen(writer->profile, &at, &unseen);) {
        json_object(&writer->json, NULL);
        json_string(&writer->json, "what", unseen.what);
        json_string(&writer->json, "module", *unseen.module ? unseen.module : NULL);
        json_string(&writer->json, "why", *unseen.why ? unseen.why : NULL);
        json_end(&writer->json);
        facts_release_unseen(&unseen);
    }
    report_json_write_mapped_unseen(writer);
    json_end(&writer->json);
}

static void report_json_write_unwalked_part(struct json *json, const struct unwalked_part *part)
{
    json_unsigned(json, "paths", part->paths);
    json_figure(json, "alloc_count", part->alloc_count);
    json_figure(json, "alloc_bytes", part->alloc_bytes);
}

static void report_json_write_unwalked(struct report_writer *writer)
{
    struct json *json = &writer->json;
    struct unwalked unwalked;
    unwalked_find(&unwalked, writer->profile);
    if (!unwalked.count) {
        json_null(json, "unwalked");
        return;
    }
    json_object(json, "unwalked");
    report_json_write_unwalked_part(json, &unwalked.all);
    json_array(json, "reasons");
    for (size_t i = 0; i < unwalked.count; i++) {
        uint32_t module = unwalked.parts[i].module;
        json_object(json, NULL);
        json_string(json, "reason", unwalked_reason_name(unwalked.parts[i].reason));
        json_string(json, "module",
                    module == UINT32_MAX ? NULL : writer->profile->modules[module].path);
        report_json_write_unwalked_part(json, &unwalked.parts[i]);
        json_end(json);
    }
    json_end(json);
    json_end(json);
    unwalked_release(&unwalked);
}

static void report_json_write_meta(struct report_writer *writer)
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
    report_json_write_unseen(writer);
    report_json_write_unwalked(writer);
    report_json_write_sampling(writer);
}

static void report_json_write_program(struct report_writer *writer)
{
    const struct program_metrics *program = &writer->profile->program;
    if (!writer->profile->has_program) {
        json_null(&writer->json, "program");
        return;
    }
    json_object(&writer->json, "program");
    report_json_write_call(writer, &program->total);
    report_json_members(writer, program_members, program);
    json_figure(&writer->json, "resident_peak_bytes", facts_resident_peak(writer->profile));
    size_t threads = threads_peak(writer->profile);
    report_json_unsigned_if(writer, threads, "threads_peak", threads);
    json_end(&writer->json);
}

static void report_json_write_modules(struct report_writer *writer)
{
    static const char *const qualities[] = {"none",      "changed", "exports",
                                            "functions", "lines",   "packed"};
    enum { QUALITIES = sizeof qualities / sizeof *qualities };
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
                    module->quality >= 0 && module->quality < QUALITIES ? qualities[module->quality]
                                                                        : NULL);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

#define THREAD_AS(name, field) MEMBER_AS(struct thread_metrics, name, field)
#define THREAD(field)          THREAD_AS(#field, field)

static const struct member thread_members[] = {
    THREAD(alloc_count),
    THREAD(alloc_bytes),
    THREAD(free_count),
    THREAD(free_bytes),
    THREAD(waits),
    THREAD_AS("wait_ns", wait_ticks),
    THREAD(malloc_count),
    THREAD(calloc_count),
    THREAD(aligned_count),
    THREAD(new_count),
    THREAD(pool_count),
    THREAD(realloc_count),
    THREAD(live_bytes),
    THREAD(peak_bytes),
    THREAD_AS("peak_ns", peak_ticks),
    THREAD(freed_elsewhere_count),
    THREAD(freed_elsewhere_bytes),
    THREAD_AS("alloc_time_ns", alloc_time),
    THREAD_AS("free_time_ns", free_time),
    THREAD(stack_deepest_bytes),
    THREAD(stack_touched_bytes),
    THREAD(earlier_count),
    {NULL},
};

static void report_json_write_thread(struct report_writer *writer,
                                     const struct thread_metrics *thread, bool is_of_team)
{
    char name[sizeof thread->name + 1] = "";
    memcpy(name, thread->name, sizeof thread->name);
    json_unsigned(&writer->json, "tid", thread->tid);
    json_string(&writer->json, "name", *name ? name : NULL);
    json_string(&writer->json, "team", is_of_team ? "OpenMP" : NULL);
    json_unsigned(&writer->json, "start_ns", thread->start_ticks);
    report_json_unsigned_if(writer, thread->end_ticks, "end_ns", thread->end_ticks);
    report_json_members(writer, thread_members, thread);
    if (thread->stack_node && thread->stack_node < writer->profile->node_count) {
        json_object(&writer->json, "stack_deepest_path");
        report_json_path(writer, thread->stack_node);
        json_end(&writer->json);
    } else {
        json_null(&writer->json, "stack_deepest_path");
    }
}

static void report_json_write_threads(struct report_writer *writer)
{
    struct thread_team team;
    bool has_team = !thread_team_find(&team, writer->profile);
    json_array(&writer->json, "threads");
    for (size_t i = 0; i < writer->profile->thread_count; i++) {
        json_object(&writer->json, NULL);
        report_json_write_thread(writer, &writer->profile->threads[i], has_team && team.has[i]);
        json_end(&writer->json);
    }
    json_end(&writer->json);
    thread_team_release(&team);
}

static void report_json_write_level(struct report_writer *writer, const char *name,
                                    struct timeline_level level)
{
    if (!figure_known(level.min) || !figure_known(level.max)) {
        json_null(&writer->json, name);
        return;
    }
    json_array(&writer->json, name);
    json_figure(&writer->json, NULL, level.min);
    json_figure(&writer->json, NULL, level.max);
    json_end(&writer->json);
}

static void report_json_write_timeline(struct report_writer *writer)
{
    json_object(&writer->json, "timeline");
    json_unsigned(&writer->json, "bucket_ns", writer->profile->bucket_ns);
    json_array(&writer->json, "buckets");
    for (size_t i = 0; i < writer->profile->bucket_count; i++) {
        const struct timeline_bucket *bucket = &writer->profile->buckets[i];
        json_object(&writer->json, NULL);
        report_json_write_level(writer, "requested", bucket->requested);
        report_json_write_level(writer, "blocks", bucket->blocks);
        report_json_write_level(writer, "physical", bucket->physical);
        report_json_write_level(writer, "virtual", bucket->virt);
        report_json_write_level(writer, "tool", bucket->tool);
        json_figure(&writer->json, "alloc_count", bucket->alloc_count);
        json_figure(&writer->json, "alloc_bytes", bucket->alloc_bytes);
        json_figure(&writer->json, "free_count", bucket->free_count);
        json_figure(&writer->json, "free_bytes", bucket->free_bytes);
        json_end(&writer->json);
    }
    json_end(&writer->json);
    json_end(&writer->json);
}

/* ---- Call sites ---------------------------------------------------------------------------- */

void report_json_path(struct report_writer *writer, uint32_t node)
{
    json_unsigned(&writer->json, "node", node);
    frame_write(&writer->json, writer->profile, call_sites_frame(&writer->sites, node));
}

/* JSON_MAX_DEPTH bounds the levels. Each caller uses two of them, and the members around use five.
 */
enum { MAX_CALLERS = (JSON_MAX_DEPTH - 8) / 2 };

static void report_json_write_callers(struct report_writer *writer, const struct callers *callers,
                                      uint32_t index)
{
    json_array(&writer->json, "callers");
    for (uint32_t child = callers->nodes[index].first_child; child;
         child = callers->nodes[child].next) {
        json_object(&writer->json, NULL);
        json_figure(&writer->json, "value", callers->nodes[child].value);
        frame_write(&writer->json, writer->profile, callers->nodes[child].frame);
        report_json_write_callers(writer, callers, child);
        json_end(&writer->json);
    }
    json_end(&writer->json);
}

static int report_json_write_site(struct report_writer *writer, size_t metric,
                                  const struct site_group *group)
{
    struct callers callers;
    size_t depth = writer->options->depth < MAX_CALLERS ? writer->options->depth : MAX_CALLERS;
    int error = callers_build(&callers, &writer->sites, group, metric, depth);
    if (error)
        return error;
    json_object(&writer->json, NULL);
    json_figure(&writer->json, "value", call_sites_group_value(group, metric));
    frame_write(&writer->json, writer->profile, group->frame);
    report_json_metrics(writer, "metrics", &group->merged.metrics);
    report_json_write_callers(writer, &callers, 0);
    json_end(&writer->json);
    callers_release(&callers);
    return 0;
}

static int report_json_write_section(struct report_writer *writer, size_t metric)
{
    size_t max = writer->options->top < writer->sites.group_count ? writer->options->top
                                                                  : writer->sites.group_count;
    const struct site_group **top = calloc(max + 1, sizeof(const struct site_group *));
    if (!top)
        return -ENOMEM;
    size_t count = call_sites_top(&writer->sites, metric, top, max);
    json_object(&writer->json, NULL);
    json_string(&writer->json, "metric", metrics[metric].name);
    json_string(&writer->json, "unit", metric_unit_name(metrics[metric].row->unit));
    json_figure(&writer->json, "total",
                metric_of(&metrics[metric], &writer->profile->program.total));
    json_figure(&writer->json, "filtered", writer->sites.totals[metric]);
    json_unsigned(&writer->json, "site_count", count);
    json_array(&writer->json, "sites");
    int error = 0;
    for (size_t i = 0; i < max && i < count && !error; i++)
        error = report_json_write_site(writer, metric, top[i]);
    json_end(&writer->json);
    json_end(&writer->json);
    free(top);
    return error;
}

static int report_json_write_sections(struct report_writer *writer)
{
    int error = 0;
    json_array(&writer->json, "sections");
    for (size_t i = 0; i < METRIC_CHOICES && !error; i++)
        if ((writer->options->metric == METRIC_CHOICE_ALL ? metric_adds_up(&metrics[i])
                                                          : writer->options->metric == (int)i) &&
            metric_is_known(&metrics[i], &writer->profile->program.total))
            error = report_json_write_section(writer, i);
    json_end(&writer->json);
    return error;
}

int report_json(FILE *out, const struct profile *profile, const struct report_options *options)
{
    struct report_writer writer = {json_begin(out, true), profile, options, {0}};
    struct insights *insights;
    int error = call_sites_init(&writer.sites, profile, options->filter, options->hide_std);
    if (error)
        return error;
    insights = options->hide_std ? insights_find_hiding(profile, writer.sites.hidden)
                                 : insights_find(profile);
    if (!insights) {
        call_sites_release(&writer.sites);
        return -ENOMEM;
    }
    json_object(&writer.json, NULL);
    json_string(&writer.json, "format", "tidemark-report");
    json_unsigned(&writer.json, "version", 1);
    report_json_write_meta(&writer);
    report_json_write_program(&writer);
    insights_write(&writer.json, insights, INSIGHT_INFO);
    report_json_write_modules(&writer);
    report_json_write_threads(&writer);
    report_json_write_timeline(&writer);
    error = report_json_write_sections(&writer);
    report_json_detail(&writer);
    if (!error)
        error = report_json_mapped(&writer);
    if (!error)
        error = report_json_functions(&writer);
    if (!error)
        error = report_json_libraries(&writer);
    if (!error)
        error = report_json_tree(&writer);
    if (!error)
        error = report_json_types(&writer);
    if (!error)
        error = report_json_fill(&writer);
    json_end(&writer.json);
    insights_free(insights);
    call_sites_release(&writer.sites);
    int stream_error = json_finish(&writer.json);
    return error ? error : stream_error;
}

/* ---- Parts of other documents -------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*write)(struct report_writer *writer);
} parts[] = {
    {"meta", report_json_write_meta},       {"program", report_json_write_program},
    {"modules", report_json_write_modules}, {"threads", report_json_write_threads},
    {"peaks", report_json_peaks},           {"distributions", report_json_distributions},
    {"exchanges", report_json_exchanges},   {"stacks", report_json_stacks},
    {"globals", report_json_globals},       {"samples", report_json_samples},
    {"mappings", report_json_mappings},     {"regions", report_json_regions},
    {"marks", report_json_marks},           {"page_uses", report_json_page_uses},
};

bool report_json_part(struct json *json, const struct profile *profile, const bool *hidden,
                      const char *part)
{
    static const struct report_options options = {.metric = METRIC_CHOICE_ALL};
    struct report_writer writer = {
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
