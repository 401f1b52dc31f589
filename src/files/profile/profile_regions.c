/* Reads the call paths of each region, and cuts a profile down to one region. A cut replaces the
 * figures of each call path by those of the region, and removes call paths without any. A figure
 * that is unknown in one part is unknown in the sum. */
#include "profile/profile.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/search.h"
#include "profile/path_blocks.h"
#include "profile/profile_reading.h"
#include "profile/schema.h"

/* ---- Reading ------------------------------------------------------------------------------- */

/* The index of a region by its id, which rise. */
static uint32_t profile_regions_find(const struct profile *profile, uint64_t id)
{
    size_t first = 0;
    SEARCH_FIRST(first, profile->region_count, at, profile->regions[at].id < id);
    return first < profile->region_count && profile->regions[first].id == id ? (uint32_t)first
                                                                             : UINT32_MAX;
}

/* NULL: the row is left out. */
static struct profile_region_site *profile_regions_add_site(struct reader *reader, uint64_t region,
                                                            uint64_t path)
{
    struct profile *profile = reader->profile;
    uint32_t index = profile_regions_find(profile, region);
    size_t node =
        path <= INT64_MAX ? profile_reading_find(&reader->own->nodes, (int64_t)path) : SIZE_MAX;
    if (index == UINT32_MAX || node >= UINT32_MAX) {
        profile_reading_note(reader, "a row refers to one that is not there");
        return NULL;
    }
    struct profile_region_site *site =
        APPEND(reader, profile->region_sites, profile->region_site_count,
               reader->own->capacity[REGION_SITES]);
    if (site)
        *site = (struct profile_region_site){.region = index, .path = (uint32_t)node};
    return site;
}

static void profile_regions_read_block_of_sites(struct reader *reader, const struct blocks *blocks)
{
    const uint64_t *region = path_blocks_column(blocks, SCHEMA_REGION);
    const uint64_t *path = path_blocks_column(blocks, SCHEMA_SITE_PATH);
    if (!region || !path) {
        profile_reading_note(reader, "a block lacks a column");
        return;
    }
    for (size_t i = 0; i < blocks->columns.rows && !reader->no_memory; i++) {
        struct profile_region_site *site = profile_regions_add_site(reader, region[i], path[i]);
        if (site)
            path_blocks_metrics(blocks, i, &site->metrics);
    }
}

static void profile_regions_read_row_of_sites(struct reader *reader, sqlite3_stmt *row)
{
    struct profile_region_site *site = profile_regions_add_site(
        reader, profile_reading_number(reader, row, 0), profile_reading_number(reader, row, 1));
    if (site)
        profile_reading_metrics(reader, row, 2, &site->metrics);
}

static int profile_regions_compare_sites(const void *left, const void *right)
{
    const struct profile_region_site *a = left, *b = right;
    int order = (a->region > b->region) - (a->region < b->region);
    return order ? order : (a->path > b->path) - (a->path < b->path);
}

static void profile_regions_put_in_order(struct reader *reader)
{
    struct profile *profile = reader->profile;
    size_t kept = 1;
    if (profile->region_site_count < 2)
        return;
    qsort(profile->region_sites, profile->region_site_count, sizeof *profile->region_sites,
          profile_regions_compare_sites);
    for (size_t i = 1; i < profile->region_site_count; i++)
        if (profile_regions_compare_sites(&profile->region_sites[kept - 1],
                                          &profile->region_sites[i]))
            profile->region_sites[kept++] = profile->region_sites[i];
    if (kept < profile->region_site_count)
        profile_reading_note(reader, "a row is there twice");
    profile->region_site_count = kept;
}

void profile_reading_region_sites(struct reader *reader)
{
    if (profile_reading_has_column(reader, "region_site_block", "body"))
        profile_reading_blocks(reader, "region_site_block", NULL,
                               profile_regions_read_block_of_sites);
    if (profile_reading_has_column(reader, "region_site", "region")) {
        struct strbuf sql = STRBUF_INIT;
        schema_select(&sql, "region_site", "ORDER BY region,path", "region,path",
                      schema_call_fields, schema_call_field_count, profile_reading_has_column,
                      reader);
        profile_reading_rows(reader, sql.data, profile_regions_read_row_of_sites);
        strbuf_release(&sql);
    }
    if (!reader->no_memory)
        profile_regions_put_in_order(reader);
}

/* ---- Cutting ------------------------------------------------------------------------------- */

void profile_region_total(const struct profile *profile, uint32_t region,
                          struct call_metrics *total)
{
    call_metrics_clear(total, &profile->program.total);
    for (size_t i = 0; i < profile->region_site_count; i++)
        if (profile->region_sites[i].region == region)
            call_metrics_merge(total, &profile->region_sites[i].metrics);
    total->peak_bytes = figure_of(profile->regions[region].peak_bytes);
    total->peak_ticks = figure_of(profile->regions[region].peak_ns);
}

/* Each path of a region is one of the program. NULL: no memory. */
static struct profile_site *profile_regions_sites(const struct profile *profile, uint32_t region,
                                                  size_t *count)
{
    size_t room = 0;
    for (size_t i = 0; i < profile->region_site_count; i++)
        room += profile->region_sites[i].region == region;
    room = room < profile->site_count ? room : profile->site_count;
    struct profile_site *sites = calloc(room + 1, sizeof *sites);
    *count = 0;
    for (size_t i = 0; sites && i < profile->region_site_count && *count < room; i++)
        if (profile->region_sites[i].region == region)
            sites[(*count)++] = (struct profile_site){profile->region_sites[i].path,
                                                      profile->region_sites[i].metrics};
    return sites;
}

static void profile_regions_leave_out_the_rest(struct profile *profile)
{
    profile->thread_count = profile->bucket_count = profile->distribution_count = 0;
    profile->peak_count = profile->curve_count = profile->exchange_count = 0;
    profile->sample_count = profile->mapping_count = profile->residency_count = 0;
    profile->heap_page_count = profile->owner_count = profile->container_count = 0;
    profile->island_count = profile->holder_count = profile->sharer_count = 0;
    profile->chain_count = 0;
    profile->block_type_count = profile->block_fill_count = profile->page_use_count = 0;
    profile->variable_count = profile->section_count = profile->machine_moment_count = 0;
    profile->stack_peak_count = profile->stack_layer_count = profile->mark_count = 0;
    profile->device_total_count = profile->device_site_count = profile->device_level_count = 0;
    profile->mapped_site_count = profile->mapped_curve_count = 0;
    struct program_metrics *program = &profile->program;
    program->live_peak_count = FIGURE_UNKNOWN;
    program->unmap_count = program->unmap_bytes = FIGURE_UNKNOWN;
    program->brk_count = program->brk_bytes = FIGURE_UNKNOWN;
    program->all_peak_bytes = program->all_peak_ticks = FIGURE_UNKNOWN;
    program->discard_count = program->discard_bytes = FIGURE_UNKNOWN;
    call_metrics_know_nothing(&program->mapped);
}

static int profile_regions_no_such(const struct profile *profile, const char *name)
{
    struct strbuf names = STRBUF_INIT;
    for (size_t i = 0; i < profile->region_count && names.length < 120; i++)
        strbuf_addf(&names, "%s%s", i ? ", " : "", profile->regions[i].name);
    int error =
        profile->region_count
            ? error_set(-ENOENT, "there is no region '%s' in this profile: it has %s", name,
                        names.data)
            : error_set(-ENOENT,
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
    return *region < profile->region_count ? 0 : profile_regions_no_such(profile, name);
}

static void profile_regions_cut(struct profile *profile, uint32_t region)
{
    struct call_metrics total;
    profile_region_total(profile, region, &total);
    profile->program.total = total;
    profile_regions_leave_out_the_rest(profile);
}

int profile_view_region(struct profile *view, const struct profile *profile, uint32_t region)
{
    *view = *profile;
    view->site_columns = NULL;
    view->sites = profile_regions_sites(profile, region, &view->site_count);
    if (!view->sites)
        return -ENOMEM;
    profile_regions_cut(view, region);
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
        return error_set(-ENOENT, "there is no region number %zu in this profile: it has %zu",
                         region, profile->region_count);
    size_t count;
    struct profile_site *sites = profile_regions_sites(profile, (uint32_t)region, &count);
    if (!sites)
        return error_set(-ENOMEM, "out of memory");
    profile_set_sites(profile, sites, count);
    profile_regions_cut(profile, (uint32_t)region);
    struct profile_builder *builder = profile_builder_new(profile);
    if (builder)
        profile_builder_fact(builder, PROFILE_META_REGION, profile->regions[region].name);
    return profile_builder_free(builder);
}
