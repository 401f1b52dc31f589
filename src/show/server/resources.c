/* Makes the resources of a profile (resources.h). A resource is an entry of a table: its name,
 * whether the profile has it, and what writes it. The report writes JSON that it has as well. */
#include "server/resources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "held_by/held_by.h"
#include "insights/insight.h"
#include "report/report.h"
#include "server/columns_document.h"
#include "server/web_summary.h"
#include "model/metrics.h"

/* ---- JSON ---------------------------------------------------------------------------------- */

typedef int write_json(struct json *json, const struct resources *resources, const char *name);

/* Adds one compact object to `out`. */
static int resources_make_json(const struct resources *resources, const char *name,
                               write_json *write, struct strbuf *out)
{
    char *bytes = NULL;
    size_t count = 0;
    FILE *stream = open_memstream(&bytes, &count);
    if (!stream)
        return -ENOMEM;
    struct json json = json_begin(stream, false);
    json_object(&json, NULL);
    int error = write(&json, resources, name);
    json_end(&json);
    int stream_error = json_finish(&json);
    fclose(stream);
    if (!error)
        error = stream_error;
    if (!error)
        strbuf_add(out, bytes, count);
    free(bytes);
    return error;
}

static int resources_write_part(struct json *json, const struct resources *resources,
                                const char *name)
{
    report_json_part(json, resources->profile, resources->hidden, name);
    return 0;
}

/* What `tidemark held --by` calls holder, path, library and type. */
static enum held_by_what resources_held_by(const char *name)
{
    return !strcmp(name, "held_paths")       ? HELD_BY_PATH
           : !strcmp(name, "held_libraries") ? HELD_BY_LIBRARY
           : !strcmp(name, "held_types")     ? HELD_BY_TYPE
                                             : HELD_BY_HOLDER;
}

static int resources_write_held(struct json *json, const struct resources *resources,
                                const char *name)
{
    struct held_by holders;
    int error = held_by_find_hiding(&holders, resources->profile, resources->hidden,
                                    resources_held_by(name));
    if (error)
        return error;
    held_by_write(json, &holders);
    held_by_release(&holders);
    return 0;
}

static int resources_write_held_looks(struct json *json, const struct resources *resources,
                                      const char *name)
{
    struct held_by_looks looks;
    (void)name;
    int error = held_by_looks_find(&looks, resources->profile, resources->hidden);
    if (error)
        return error;
    held_by_looks_write(json, &looks);
    held_by_looks_release(&looks);
    return 0;
}

static int resources_write_insights(struct json *json, const struct resources *resources,
                                    const char *name)
{
    (void)name;
    struct insights *insights = insights_find_hiding(resources->profile, resources->hidden);
    if (!insights)
        return -ENOMEM;
    insights_write(json, insights, INSIGHT_INFO);
    insights_free(insights);
    return 0;
}

static int resources_write_sources(struct json *json, const struct resources *resources,
                                   const char *name)
{
    (void)name;
    const struct profile *profile = resources->profile;
    json_array(json, "sources");
    for (size_t i = 0; i < profile->source_count; i++) {
        json_object(json, NULL);
        json_unsigned(json, "file", source_files_find(&resources->files, profile->sources[i].path));
        json_string(json, "path", profile->sources[i].path);
        json_unsigned(json, "bytes", profile->sources[i].bytes);
        json_end(json);
    }
    json_end(json);
    return 0;
}

/* ---- Source text --------------------------------------------------------------------------- */

/* Opens the first of a file's spellings that has a text. */
static void resources_open_text(struct source_text *text, const struct resources *resources,
                                uint32_t file)
{
    const struct source_files *files = &resources->files;
    for (uint32_t i = files->first[file]; i < files->first[file + 1]; i++) {
        source_text_open(text, resources->profile, files->spellings[i].path, resources->paths);
        if (text->origin != SOURCE_ORIGIN_NONE || i + 1 == files->first[file + 1])
            return;
        source_text_close(text);
    }
}

/* Is the text to be shown? An embedded text that had changed before is the only one that there will
 * ever be. */
static bool resources_is_shown(const struct source_text *text)
{
    return text->origin == SOURCE_ORIGIN_EMBEDDED ||
           (text->origin == SOURCE_ORIGIN_DISK && !text->changed);
}

enum source_origin resources_text_origin(const struct resources *resources, uint32_t file,
                                         bool from_disk)
{
    struct source_text text = {.note = STRBUF_INIT};
    resources_open_text(&text, resources, file);
    bool shown = resources_is_shown(&text) && (from_disk || text.origin == SOURCE_ORIGIN_EMBEDDED);
    enum source_origin origin = shown ? text.origin : SOURCE_ORIGIN_NONE;
    source_text_close(&text);
    return origin;
}

/* NUL bytes become blanks: json_string() takes C strings. */
static void resources_write_text(struct json *json, const struct source_text *text)
{
    size_t bytes = text->starts ? text->starts[text->line_count] : 0;
    char *copy = malloc(bytes + 1);
    if (!copy) {
        json_null(json, "text");
        return;
    }
    for (size_t i = 0; i < bytes; i++)
        copy[i] = text->bytes[i] ? text->bytes[i] : ' ';
    copy[bytes] = 0;
    json_string(json, "text", copy);
    free(copy);
}

/* "source/3": the text, if as far as is known it is what was compiled; "source/3/changed": the text
 * in any case. */
static int resources_write_source(struct json *json, const struct resources *resources,
                                  const char *name)
{
    static const char *const origins[] = {NULL, "embedded", "disk"};
    char *end;
    unsigned long file = strtoul(name + strlen("source/"), &end, 10);
    bool anyway = *end;
    struct source_text text = {.note = STRBUF_INIT};
    resources_open_text(&text, resources, (uint32_t)file);
    const struct source_spelling *of = &resources->files.spellings[resources->files.first[file]];
    json_unsigned(json, "file", file);
    json_string(json, "path", of->path);
    json_string(json, "name", of->name);
    json_string(json, "origin", origins[text.origin]);
    json_bool(json, "changed", text.changed);
    json_string(json, "note", text.note.length ? text.note.data : NULL);
    if (resources_is_shown(&text) || (anyway && text.origin != SOURCE_ORIGIN_NONE))
        resources_write_text(json, &text);
    else
        json_null(json, "text");
    source_text_close(&text);
    return 0;
}

/* "source/N" or "source/N/changed", N in decimal without leading zeros and the number of a file. */
static bool resources_is_source(const struct resources *resources, const char *name)
{
    const char *digits = name + strlen("source/");
    if (strncmp(name, "source/", strlen("source/")))
        return false;
    size_t length = strspn(digits, "0123456789");
    if (!length || length > 9 || (*digits == '0' && length > 1) ||
        (digits[length] && strcmp(digits + length, "/changed")))
        return false;
    return strtoul(digits, NULL, 10) < resources->files.count;
}

/* ---- Columns ------------------------------------------------------------------------------- */

static int resources_add_paths(struct columns_document *document, const struct profile *profile)
{
    COLUMNS_ADD(document, "parent", u32, profile->nodes, profile->node_count, struct profile_node,
                parent);
    COLUMNS_ADD(document, "code", u32, profile->nodes, profile->node_count, struct profile_node,
                location);
    return 0;
}

static int resources_add_sites(struct columns_document *document, const struct profile *profile)
{
    uint32_t *paths = malloc((profile->site_count + 1) * sizeof *paths);
    for (size_t i = 0; paths && i < profile->site_count; i++)
        paths[i] = profile_site_path(profile, i);
    if (paths)
        columns_add_u32(document, "node", paths, profile->site_count, sizeof *paths, 0);
    free(paths);
    return paths ? 0 : -ENOMEM;
}

static int resources_add_residency(struct columns_document *document, const struct profile *profile)
{
    columns_add_table(document, &detail_tables[DETAIL_RESIDENCIES], NULL, profile->residencies,
                      profile->residency_count);
    return 0;
}

static int resources_add_machine(struct columns_document *document, const struct profile *profile)
{
    columns_add_table(document, &detail_tables[DETAIL_MACHINE_MOMENTS], NULL,
                      profile->machine_moments, profile->machine_moment_count);
    return 0;
}

static int resources_add_islands(struct columns_document *document, const struct profile *profile)
{
    columns_add_table(document, &detail_tables[DETAIL_ISLANDS], NULL, profile->islands,
                      profile->island_count);
    return 0;
}

/* The number of the sample is in the header. */
static int resources_add_heap(struct columns_document *document, const struct profile *profile)
{
    columns_add_table(document, &detail_tables[DETAIL_HEAP_PAGES], "address", profile->heap_pages,
                      profile->heap_page_count);
    return 0;
}

/* ---- Timeline ------------------------------------------------------------------------------ */

struct level_of {
    const struct timeline_bucket *buckets;
    size_t offset;
    bool highest;
};

static struct figure resources_level_number(const void *rows, size_t row)
{
    const struct level_of *of = rows;
    struct timeline_level level;
    memcpy(&level, (const char *)&of->buckets[row] + of->offset, sizeof level);
    return of->highest ? level.max : level.min;
}

static int resources_add_timeline(struct columns_document *document, const struct profile *profile)
{
    static const struct {
        const char *min, *max;
        size_t offset;
    } levels[] = {
        {"requested_min", "requested_max", offsetof(struct timeline_bucket, requested)},
        {"blocks_min", "blocks_max", offsetof(struct timeline_bucket, blocks)},
        {"physical_min", "physical_max", offsetof(struct timeline_bucket, physical)},
        {"virtual_min", "virtual_max", offsetof(struct timeline_bucket, virt)},
        {"tool_min", "tool_max", offsetof(struct timeline_bucket, tool)},
    };
    size_t count = profile->bucket_count;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        struct level_of of = {profile->buckets, levels[i].offset, false};
        columns_add(document, levels[i].min, &of, count, resources_level_number);
        of.highest = true;
        columns_add(document, levels[i].max, &of, count, resources_level_number);
    }
#define FLOW(field)                                                                                \
    COLUMNS_ADD(document, #field, figures, profile->buckets, count, struct timeline_bucket, field)
    FLOW(alloc_count);
    FLOW(alloc_bytes);
    FLOW(free_count);
    FLOW(free_bytes);
#undef FLOW
    return 0;
}

/* ---- Curves -------------------------------------------------------------------------------- */

static struct figure resources_first_point(const void *rows, size_t row)
{
    return figure_of(((const uint64_t *)rows)[row]);
}

static int resources_add_curves(struct columns_document *document, const struct profile *profile)
{
    size_t count = profile->curve_count, points = 0;
    uint64_t *first = calloc(count + 1, sizeof *first);
    if (!first)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        first[i + 1] = points += profile->curves[i].count;
    struct curve_point *all = calloc(points + 1, sizeof *all);
    if (!all) {
        free(first);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++)
        memcpy(all + first[i], profile->curves[i].points, profile->curves[i].count * sizeof *all);
    COLUMNS_ADD(document, "node", u32, profile->curves, count, struct curve, node);
    COLUMNS_ADD(document, "threshold_bytes", figures, profile->curves, count, struct curve,
                threshold_bytes);
    COLUMNS_ADD(document, "stretch_ns", u64, profile->curves, count, struct curve, stretch_ticks);
    columns_add(document, "first", first, count + 1, resources_first_point);
    COLUMNS_ADD(document, "time_ns", u64, all, points, struct curve_point, ticks);
    COLUMNS_ADD(document, "bytes", u64, all, points, struct curve_point, bytes);
    free(all);
    free(first);
    return 0;
}

/* ---- The table ----------------------------------------------------------------------------- */

typedef int add_columns(struct columns_document *document, const struct profile *profile);

static int resources_make_columns(const struct profile *profile, add_columns *add,
                                  struct strbuf *out)
{
    struct columns_document document = COLUMNS_DOCUMENT_INIT;
    struct strbuf extra = STRBUF_INIT;
    int error = add(&document, profile);
    if (add == resources_add_timeline)
        strbuf_addf(&extra, "\"bucket_ns\":%llu,", (unsigned long long)profile->bucket_ns);
    if (add == resources_add_heap)
        strbuf_addf(&extra, "\"sample\":%u,", profile->heap_pages[0].sample);
    if (error)
        strbuf_release(&document.data);
    else
        columns_finish(&document, extra.data, out);
    strbuf_release(&extra);
    return error;
}

static bool resources_always(const struct profile *profile)
{
    (void)profile;
    return true;
}
#define HAS(what, count)                                                                           \
    static bool has_##what(const struct profile *profile)                                          \
    {                                                                                              \
        return profile->count;                                                                     \
    }
/* Makes has_timeline, has_peaks, has_curves, has_distributions, has_exchanges, has_stacks,
 * has_samples, has_mappings, has_residency, has_heap, has_regions, has_marks, has_sources,
 * has_ranks and has_rank_timeline. */
HAS(timeline, bucket_count)
HAS(peaks, peak_count)
HAS(curves, curve_count)
HAS(distributions, distribution_count)
HAS(exchanges, exchange_count)
HAS(stacks, stack_peak_count)
HAS(samples, sample_count)
HAS(mappings, mapping_count)
HAS(residency, residency_count)
HAS(heap, heap_page_count)
HAS(regions, region_count)
HAS(marks, mark_count)
HAS(sources, source_count)
HAS(ranks, rank_count)
HAS(rank_timeline, rank_step_count)
/* Is the profile of the whole program, and not of a region or of a level of its memory? */
static bool resources_is_whole(const struct profile *profile)
{
    return !profile_get(profile, PROFILE_META_REGION) && !profile_get(profile, PROFILE_META_LEVEL);
}
static bool resources_has_owners(const struct profile *profile)
{
    return resources_is_whole(profile) && profile->owner_count;
}
static bool resources_has_machine(const struct profile *profile)
{
    return resources_is_whole(profile) && profile->machine_moment_count;
}
static bool resources_has_types(const struct profile *profile)
{
    return resources_is_whole(profile) && profile->block_type_count;
}
static bool resources_has_islands(const struct profile *profile)
{
    return resources_is_whole(profile) && profile->island_count;
}
static bool resources_has_page_uses(const struct profile *profile)
{
    return resources_is_whole(profile) && profile->page_use_count;
}
static bool resources_has_held(const struct profile *profile)
{
    return resources_is_whole(profile) && !held_by_missing(profile);
}
static bool resources_has_held_looks(const struct profile *profile)
{
    return resources_is_whole(profile) && held_by_has_looks(profile);
}
static bool resources_has_globals(const struct profile *profile)
{
    return profile->section_count || profile->variable_count;
}

/* Resources of a finished profile are made in this order as soon as it is read: those of the first
 * page come first. */
static const struct resource {
    const char *name;
    bool (*is_there)(const struct profile *profile);
    write_json *write;                                                  /* JSON, or */
    add_columns *add;                                                   /* columns, or */
    int (*make)(const struct resources *resources, struct strbuf *out); /* columns of more */
} table[] = {
    {"summary", resources_always, summary_write, NULL, NULL},
    {"owners", resources_has_owners, web_owners_write, NULL, NULL},
    {"top", resources_always, summary_write_top, NULL, NULL},
    {"insights", resources_is_whole, resources_write_insights, NULL, NULL},
    {"timeline", has_timeline, NULL, resources_add_timeline, NULL},
    {"regions", has_regions, resources_write_part, NULL, NULL},
    {"code", resources_always, NULL, NULL, resources_make_code},
    {"paths", resources_always, NULL, resources_add_paths, NULL},
    {"sites", resources_always, NULL, resources_add_sites, NULL},
    {"curves", has_curves, NULL, resources_add_curves, NULL},
    {"residency", has_residency, NULL, resources_add_residency, NULL},
    {"islands", resources_has_islands, NULL, resources_add_islands, NULL},
    {"look_owners", resources_has_owners, NULL, NULL, resources_make_look_owners},
    {"look_types", resources_has_types, NULL, NULL, resources_make_look_types},
    {"machine_memory", resources_has_machine, NULL, resources_add_machine, NULL},
    {"heap", has_heap, NULL, resources_add_heap, NULL},
    {"page_uses", resources_has_page_uses, resources_write_part, NULL, NULL},
    {"held", resources_has_held, resources_write_held, NULL, NULL},
    {"held_looks", resources_has_held_looks, resources_write_held_looks, NULL, NULL},
    {"modules", resources_always, resources_write_part, NULL, NULL},
    {"threads", resources_is_whole, resources_write_part, NULL, NULL},
    {"peaks", has_peaks, resources_write_part, NULL, NULL},
    {"distributions", has_distributions, resources_write_part, NULL, NULL},
    {"exchanges", has_exchanges, resources_write_part, NULL, NULL},
    {"stacks", has_stacks, resources_write_part, NULL, NULL},
    {"globals", resources_has_globals, resources_write_part, NULL, NULL},
    {"samples", has_samples, resources_write_part, NULL, NULL},
    {"mappings", has_mappings, resources_write_part, NULL, NULL},
    {"marks", has_marks, resources_write_part, NULL, NULL},
    {"sources", has_sources, resources_write_sources, NULL, NULL},
    {"ranks", has_ranks, web_summary_write_ranks, NULL, NULL},
    {"rank_timeline", has_rank_timeline, NULL, resources_add_rank_timeline, NULL},
    {"held_paths", resources_has_held, resources_write_held, NULL, NULL},
    {"held_libraries", resources_has_held, resources_write_held, NULL, NULL},
    {"held_types", resources_has_held, resources_write_held, NULL, NULL},
};

static int resources_make_one(const struct resources *resources, const struct resource *resource,
                              struct strbuf *out, enum resource_type *type, struct strbuf *why)
{
    if (!resource->is_there(resources->profile)) {
        strbuf_addf(why,
                    resources_is_whole(resources->profile)
                        ? "this profile has no %s: they were not recorded, or there were none"
                    : profile_get(resources->profile, PROFILE_META_REGION)
                        ? "'%s' is known of the whole program only, not by region"
                        : "'%s' is known of the program's heap only, not of this level of memory",
                    resource->name);
        return -ENODATA;
    }
    *type = resource->write ? RESOURCE_JSON : RESOURCE_COLUMNS;
    if (resource->write)
        return resources_make_json(resources, resource->name, resource->write, out);
    return resource->make ? resource->make(resources, out)
                          : resources_make_columns(resources->profile, resource->add, out);
}

/* ---- Metrics ------------------------------------------------------------------------------- */

static int resources_make_metric(const struct profile *profile, const char *name,
                                 struct strbuf *out, struct strbuf *why)
{
    const struct metric_row *row = metric_row_find(name);
    if (!row)
        return -ENOENT;
    if (!metric_is_recorded(row, &profile->program.total)) {
        strbuf_addf(why, "%s was not recorded", name);
        return -ENODATA;
    }
    struct columns_document document = COLUMNS_DOCUMENT_INIT;
    struct figure *figures = malloc((profile->site_count + 1) * sizeof *figures);
    if (!figures)
        return -ENOMEM;
    for (size_t i = 0; i < profile->site_count; i++)
        figures[i] = profile_site_figure(profile, i, row);
    columns_add_figures(&document, row->column, figures, profile->site_count, sizeof *figures, 0);
    columns_finish(&document, "", out);
    free(figures);
    return 0;
}

unsigned resources_levels_of(const struct profile *profile)
{
    unsigned levels = 0;
    for (int level = MEMORY_HEAP + 1; level < MEMORY_LEVELS; level++)
        if (profile_has_level(profile, (enum memory_level)level))
            levels |= 1u << level;
    return levels;
}

/* ---- The door ------------------------------------------------------------------------------ */

int resources_open(struct resources *resources, const struct profile *profile,
                   const struct source_paths *paths)
{
    *resources =
        (struct resources){.profile = profile, .paths = paths, .node_count = profile->node_count};
    resources->hidden = frames_of_libraries(profile);
    int error = resources->hidden ? source_files_init(&resources->files, profile) : -ENOMEM;
    if (error)
        resources_close(resources);
    return error;
}

void resources_close(struct resources *resources)
{
    source_files_release(&resources->files);
    free(resources->hidden);
    *resources = (struct resources){0};
}

int resources_make(const struct resources *resources, const char *name, struct strbuf *out,
                   enum resource_type *type, struct strbuf *why)
{
    static const char columns[] = "columns/";
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].name, name))
            return resources_make_one(resources, &table[i], out, type, why);
    if (!strncmp(name, columns, strlen(columns))) {
        *type = RESOURCE_COLUMNS;
        return resources_make_metric(resources->profile, name + strlen(columns), out, why);
    }
    if (!strncmp(name, "at/", strlen("at/"))) {
        *type = RESOURCE_COLUMNS;
        return resources_make_at(resources, name + strlen("at/"), out, why);
    }
    if (!strncmp(name, "alive/", strlen("alive/"))) {
        *type = RESOURCE_COLUMNS;
        return resources_make_alive(resources, name + strlen("alive/"), out, why);
    }
    if (!strcmp(name, "born")) {
        *type = RESOURCE_COLUMNS;
        return resources_make_born(resources, out, why);
    }
    if (!resources_is_source(resources, name))
        return -ENOENT;
    *type = RESOURCE_JSON;
    return resources_make_json(resources, name, resources_write_source, out);
}

bool resources_is_shared(const char *name)
{
    static const char *const shared[] = {"code", "paths", "modules", "regions", "sources"};
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        if (!strcmp(name, shared[i]))
            return true;
    return false;
}

void resources_list(const struct resources *resources,
                    void (*visit)(void *context, const char *name), void *context)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].is_there(resources->profile))
            visit(context, table[i].name);
    for (size_t i = 0; i < METRICS; i++) {
        char name[64];
        snprintf(name, sizeof name, "columns/%s", metric_rows[i].column);
        if (metric_is_recorded(&metric_rows[i], &resources->profile->program.total))
            visit(context, name);
    }
}

bool resources_are_read(const struct resources *resources, const char *name)
{
    if (!resources->is_first || !strcmp(name, "summary") || !strcmp(name, "ranks"))
        return true;
    return resources->has_levels && !strcmp(name, "rank_timeline");
}
