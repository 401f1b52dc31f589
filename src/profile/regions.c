/* Call paths by region: read, and a profile cut down to one region. */
#include "profile/profile.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include "profile/blocks.h"
#include "profile/error.h"
#include "profile/reading.h"
#include "profile/schema.h"

/* ---- Reading ------------------------------------------------------------------------------- */

/* The index of a region by its id, which rise. */
static uint32_t find_region(const struct profile *profile, uint64_t id)
{
    size_t low = 0, high = profile->region_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (profile->regions[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < profile->region_count && profile->regions[low].id == id ? (uint32_t)low
                                                                          : UINT32_MAX;
}

/* NULL: the row is left out. */
static struct profile_region_site *add_site(struct reader *reader, uint64_t region, uint64_t path)
{
    struct profile *profile = reader->profile;
    uint32_t index = find_region(profile, region);
    size_t node = path <= INT64_MAX ? reading_find(&reader->own->nodes, (int64_t)path) : SIZE_MAX;
    if (index == UINT32_MAX || node >= UINT32_MAX) {
        reading_note(reader, "a row refers to one that is not there");
        return NULL;
    }
    struct profile_region_site *site =
        APPEND(reader, profile->region_sites, profile->region_site_count,
               reader->own->capacity[REGION_SITES]);
    if (site)
        *site = (struct profile_region_site){.region = index, .path = (uint32_t)node};
    return site;
}

static void read_block_of_sites(struct reader *reader, const struct blocks *blocks)
{
    const uint64_t *region = blocks_column(blocks, SCHEMA_REGION);
    const uint64_t *path = blocks_column(blocks, SCHEMA_SITE_PATH);
    if (!region || !path) {
        reading_note(reader, "a block lacks a column");
        return;
    }
    for (size_t i = 0; i < blocks->columns.rows && !reader->no_memory; i++) {
        struct profile_region_site *site = add_site(reader, region[i], path[i]);
        if (site)
            blocks_metrics(blocks, i, &site->metrics);
    }
}

static void read_row_of_sites(struct reader *reader, sqlite3_stmt *row)
{
    struct profile_region_site *site =
        add_site(reader, reading_number(reader, row, 0), reading_number(reader, row, 1));
    if (site)
        reading_metrics(reader, row, 2, &site->metrics);
}

static int compare_sites(const void *left, const void *right)
{
    const struct profile_region_site *a = left, *b = right;
    int order = (a->region > b->region) - (a->region < b->region);
    return order ? order : (a->path > b->path) - (a->path < b->path);
}

static void put_in_order(struct reader *reader)
{
    struct profile *profile = reader->profile;
    size_t kept = 1;
    if (profile->region_site_count < 2)
        return;
    qsort(profile->region_sites, profile->region_site_count, sizeof *profile->region_sites,
          compare_sites);
    for (size_t i = 1; i < profile->region_site_count; i++)
        if (compare_sites(&profile->region_sites[kept - 1], &profile->region_sites[i]))
            profile->region_sites[kept++] = profile->region_sites[i];
    if (kept < profile->region_site_count)
        reading_note(reader, "a row is there twice");
    profile->region_site_count = kept;
}

void reading_region_sites(struct reader *reader)
{
    if (reading_has_column(reader, "region_site_block", "body"))
        reading_blocks(reader, "region_site_block", NULL, read_block_of_sites);
    if (reading_has_column(reader, "region_site", "region")) {
        struct strbuf sql = STRBUF_INIT;
        schema_select(&sql, "region_site", "ORDER BY region,path", "region,path",
                      schema_call_fields, schema_call_field_count, reading_has_column, reader);
        reading_rows(reader, sql.data, read_row_of_sites);
        strbuf_release(&sql);
    }
    if (!reader->no_memory)
        put_in_order(reader);
}

/* ---- Cutting ------------------------------------------------------------------------------- */

enum { METRICS = sizeof(struct call_metrics) / sizeof(uint64_t) };

enum merge { SUM, LEAST, MOST, NEVER };

static enum merge merge_of(size_t offset)
{
    switch (offset) {
    case offsetof(struct call_metrics, size_min):
    case offsetof(struct call_metrics, lifetime_min):
        return LEAST;
    case offsetof(struct call_metrics, size_max):
    case offsetof(struct call_metrics, lifetime_max):
        return MOST;
    case offsetof(struct call_metrics, peak_bytes):
    case offsetof(struct call_metrics, peak_ticks):
        return NEVER;
    default:
        return SUM;
    }
}

/* What is not known of one is not known of the sum. */
static uint64_t merged(enum merge how, uint64_t a, uint64_t b)
{
    switch (how) {
    case LEAST:
        return a < b ? a : b;
    case MOST:
        return a > b ? a : b;
    case NEVER:
        return a;
    default:
        return a == UINT64_MAX || b == UINT64_MAX ? UINT64_MAX : a + b;
    }
}

static void add(struct call_metrics *total, const struct call_metrics *site)
{
    uint64_t into[METRICS], from[METRICS];
    memcpy(into, total, sizeof into);
    memcpy(from, site, sizeof from);
    for (size_t i = 0; i < METRICS; i++)
        into[i] = merged(merge_of(i * sizeof(uint64_t)), into[i], from[i]);
    memcpy(total, into, sizeof into);
}

/* Nothing, of a profile that knows what this one does. */
static struct call_metrics nothing_like(const struct call_metrics *known)
{
    struct call_metrics none = {.size_min = UINT64_MAX, .lifetime_min = UINT64_MAX};
    uint64_t from[METRICS], into[METRICS];
    memcpy(from, known, sizeof from);
    memcpy(into, &none, sizeof into);
    for (size_t i = 0; i < METRICS; i++)
        if (from[i] == UINT64_MAX && merge_of(i * sizeof(uint64_t)) == SUM)
            into[i] = UINT64_MAX;
    memcpy(&none, into, sizeof none);
    return none;
}

void profile_region_total(const struct profile *profile, uint32_t region,
                          struct call_metrics *total)
{
    *total = nothing_like(&profile->program.total);
    for (size_t i = 0; i < profile->region_site_count; i++)
        if (profile->region_sites[i].region == region)
            add(total, &profile->region_sites[i].metrics);
    total->peak_bytes = profile->regions[region].peak_bytes;
    total->peak_ticks = profile->regions[region].peak_ns;
}

static void take_sites(struct profile *profile, uint32_t region)
{
    size_t count = 0;
    for (size_t i = 0; i < profile->region_site_count; i++)
        if (profile->region_sites[i].region == region && count < profile->site_count)
            profile->sites[count++] = (struct profile_site){profile->region_sites[i].path,
                                                            profile->region_sites[i].metrics};
    profile->site_count = count; /* each path of a region is one of the program */
}

static void leave_out_the_rest(struct profile *profile)
{
    profile->thread_count = profile->bucket_count = profile->distribution_count = 0;
    profile->peak_count = profile->curve_count = profile->exchange_count = 0;
    profile->sample_count = profile->mapping_count = profile->residency_count = 0;
    profile->heap_page_count = 0;
    profile->variable_count = profile->section_count = 0;
    profile->stack_peak_count = profile->stack_layer_count = profile->mark_count = 0;
    struct program_metrics *program = &profile->program;
    program->live_peak_count = UINT64_MAX;
    program->unmap_count = program->unmap_bytes = UINT64_MAX;
    program->brk_count = program->brk_bytes = UINT64_MAX;
}

static int no_such_region(const struct profile *profile, const char *name)
{
    struct strbuf names = STRBUF_INIT;
    for (size_t i = 0; i < profile->region_count && names.length < 120; i++)
        strbuf_addf(&names, "%s%s", i ? ", " : "", profile->regions[i].name);
    int error =
        profile->region_count
            ? profile_fail(-ENOENT, "there is no region '%s' in this profile: it has %s", name,
                           names.data)
            : profile_fail(-ENOENT,
                           "there is no region '%s' in this profile: the program has named none "
                           "(tidemark-api(3) tells how)",
                           name);
    strbuf_release(&names);
    return error;
}

int profile_find_region(const struct profile *profile, const char *name, uint32_t *region)
{
    *region = 0;
    while (*region < profile->region_count && strcmp(profile->regions[*region].name, name))
        ++*region;
    return *region < profile->region_count ? 0 : no_such_region(profile, name);
}

static void cut(struct profile *profile, uint32_t region)
{
    struct call_metrics total;
    profile_region_total(profile, region, &total);
    profile->program.total = total;
    take_sites(profile, region);
    leave_out_the_rest(profile);
}

int profile_view_region(struct profile *view, const struct profile *profile, uint32_t region)
{
    *view = *profile;
    view->sites = calloc(profile->site_count + 1, sizeof *view->sites);
    if (!view->sites)
        return -ENOMEM;
    cut(view, region);
    return 0;
}

int profile_cut_region(struct profile *profile, const char *name)
{
    uint32_t region;
    int error = profile_find_region(profile, name, &region);
    return error ? error : profile_cut_region_at(profile, region);
}

int profile_cut_region_at(struct profile *profile, size_t region)
{
    if (region >= profile->region_count)
        return profile_fail(-ENOENT, "there is no region number %zu in this profile: it has %zu",
                            region, profile->region_count);
    cut(profile, (uint32_t)region);
    struct profile_builder *builder = profile_builder_new(profile);
    if (builder)
        profile_builder_fact(builder, PROFILE_META_REGION, profile->regions[region].name);
    return profile_builder_free(builder);
}
