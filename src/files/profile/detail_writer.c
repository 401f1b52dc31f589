/* Writes what a profile has beside sums into the tables of detail_tables.h. Curves and residencies
 * are many and become blocks of columns; all else becomes rows. */
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/strbuf.h"
#include "profile/path_blocks.h"
#include "profile/profile_writing.h"

/* ---- Rows ---------------------------------------------------------------------------------- */

static int detail_writer_put(struct profile_writer *writer, enum detail which, const void *row)
{
    struct values values;
    values_begin(&values);
    detail_values(&values, &detail_tables[which], row);
    return profile_writing_put(writer, statement_put(which), &values);
}

static int detail_writer_drop_all(struct profile_writer *writer, enum detail which)
{
    struct values none;
    values_begin(&none);
    return profile_writing_put(writer, statement_drop(which), &none);
}

static int detail_writer_drop_of(struct profile_writer *writer, enum detail which, int64_t key)
{
    struct values values;
    values_begin(&values);
    values_number(&values, key);
    return profile_writing_put(writer, statement_drop(which), &values);
}

static int detail_writer_put_rows(struct profile_writer *writer, enum detail which,
                                  const void *rows, size_t count)
{
    int error = 0;
    for (size_t i = 0; i < count && !error; i++)
        error =
            detail_writer_put(writer, which, (const char *)rows + i * detail_tables[which].bytes);
    return error;
}

static int detail_writer_replace_all(struct profile_writer *writer, enum detail which,
                                     const void *rows, size_t count)
{
    int error = detail_writer_drop_all(writer, which);
    return error ? error : detail_writer_put_rows(writer, which, rows, count);
}

int profile_put_distributions(struct profile_writer *writer, const struct distribution_row *rows,
                              size_t count)
{
    return detail_writer_replace_all(writer, DETAIL_DISTRIBUTIONS, rows, count);
}

int profile_put_exchanges(struct profile_writer *writer, const struct exchange *rows, size_t count)
{
    return detail_writer_replace_all(writer, DETAIL_EXCHANGES, rows, count);
}

int profile_put_stacks(struct profile_writer *writer, const struct stack_peak *peaks,
                       size_t peak_count, const struct stack_layer *layers, size_t layer_count)
{
    int error = detail_writer_replace_all(writer, DETAIL_STACK_PEAKS, peaks, peak_count);
    return error ? error
                 : detail_writer_replace_all(writer, DETAIL_STACK_LAYERS, layers, layer_count);
}

int profile_put_devices(struct profile_writer *writer, const struct profile_devices *devices)
{
    int error = detail_writer_replace_all(writer, DETAIL_DEVICE_TOTALS, devices->totals,
                                          devices->total_count);
    if (!error)
        error = detail_writer_replace_all(writer, DETAIL_DEVICE_SITES, devices->sites,
                                          devices->site_count);
    return error ? error
                 : detail_writer_replace_all(writer, DETAIL_DEVICE_LEVELS, devices->levels,
                                             devices->level_count);
}

int profile_put_marks(struct profile_writer *writer, const struct profile_mark *marks, size_t count)
{
    return detail_writer_replace_all(writer, DETAIL_MARKS, marks, count);
}

int profile_put_regions(struct profile_writer *writer, const struct profile_region *regions,
                        size_t count)
{
    return detail_writer_replace_all(writer, DETAIL_REGIONS, regions, count);
}

static int detail_writer_put_peak(struct profile_writer *writer, uint32_t id,
                                  const struct peak *peak)
{
    struct detail_peak row = {id, *peak};
    int error = detail_writer_put(writer, DETAIL_PEAKS, &row);
    for (uint32_t i = 0; i < peak->share_count && i < PEAK_SHARES_MAX && !error; i++) {
        struct detail_share share = {id, i, peak->shares[i]};
        error = detail_writer_put(writer, DETAIL_PEAK_SHARES, &share);
    }
    return error;
}

int profile_put_peaks(struct profile_writer *writer, const struct peak *peaks, size_t count)
{
    int error = detail_writer_drop_all(writer, DETAIL_PEAKS);
    if (!error)
        error = detail_writer_drop_all(writer, DETAIL_PEAK_SHARES);
    for (size_t i = 0; i < count && !error; i++)
        error = detail_writer_put_peak(writer, (uint32_t)i, &peaks[i]);
    return error;
}

/* Removes the rows of a module that is written again. Modules mostly come once, with rising
 * numbers, so nothing is looked for where the number is above all before. */
static int detail_writer_begin_module(struct profile_writer *writer, enum detail which,
                                      int64_t module)
{
    int64_t *last = &profile_writing_details(writer)->last_module[which];
    if (module <= *last)
        return detail_writer_drop_of(writer, which, module);
    *last = module;
    return 0;
}

int profile_put_variables(struct profile_writer *writer, const struct profile_variable *variables,
                          size_t count)
{
    int error = 0;
    for (size_t i = 0; i < count && !error; i++) {
        if (!i || variables[i].module_id != variables[i - 1].module_id)
            error = detail_writer_begin_module(writer, DETAIL_VARIABLES, variables[i].module_id);
        if (!error)
            error = detail_writer_put(writer, DETAIL_VARIABLES, &variables[i]);
    }
    return error;
}

int profile_put_sections(struct profile_writer *writer,
                         const struct profile_section_total *sections, size_t count)
{
    int error = 0;
    for (size_t i = 0; i < count && !error; i++) {
        if (!i || sections[i].module_id != sections[i - 1].module_id)
            error = detail_writer_begin_module(writer, DETAIL_SECTIONS, sections[i].module_id);
        if (!error)
            error = detail_writer_put(writer, DETAIL_SECTIONS, &sections[i]);
    }
    return error;
}

/* Sample numbers rise; one that comes again is begun anew. */
int profile_put_sample(struct profile_writer *writer, const struct profile_sample *sample)
{
    struct detail_writer *details = profile_writing_details(writer);
    static const enum detail parts[] = {DETAIL_MAPPINGS,    DETAIL_RESIDENCIES, DETAIL_HEAP_PAGES,
                                        DETAIL_OWNERS,      DETAIL_CONTAINERS,  DETAIL_ISLANDS,
                                        DETAIL_HOLDERS,     DETAIL_SHARERS,     DETAIL_CHAINS,
                                        DETAIL_BLOCK_TYPES, DETAIL_BLOCK_FILLS};
    int error = 0;
    bool was_there = sample->id <= details->last_sample;
    for (size_t i = 0; was_there && i < sizeof parts / sizeof *parts && !error; i++)
        error = detail_writer_drop_of(writer, parts[i], sample->id);
    if (!was_there)
        details->last_sample = sample->id;
    return error ? error : detail_writer_put(writer, DETAIL_SAMPLES, sample);
}

int profile_put_mapping(struct profile_writer *writer, const struct profile_mapping *mapping)
{
    return detail_writer_put(writer, DETAIL_MAPPINGS, mapping);
}

int profile_put_islands(struct profile_writer *writer, const struct profile_island *rows,
                        size_t count)
{
    return detail_writer_put_rows(writer, DETAIL_ISLANDS, rows, count);
}

int profile_put_block_types(struct profile_writer *writer, const struct profile_block_type *rows,
                            size_t count)
{
    return detail_writer_put_rows(writer, DETAIL_BLOCK_TYPES, rows, count);
}

int profile_put_block_fills(struct profile_writer *writer, const struct profile_block_fill *rows,
                            size_t count)
{
    return detail_writer_put_rows(writer, DETAIL_BLOCK_FILLS, rows, count);
}

int profile_put_page_uses(struct profile_writer *writer, const struct profile_page_use *rows,
                          size_t count)
{
    return detail_writer_replace_all(writer, DETAIL_PAGE_USES, rows, count);
}

int profile_put_machine_moments(struct profile_writer *writer,
                                const struct profile_machine_moment *rows, size_t count)
{
    return detail_writer_replace_all(writer, DETAIL_MACHINE_MOMENTS, rows, count);
}

int profile_put_call_type(struct profile_writer *writer, const struct profile_call_type *row)
{
    return detail_writer_put(writer, DETAIL_CALL_TYPES, row);
}

int profile_put_owners(struct profile_writer *writer, const struct profile_owner *rows,
                       size_t count)
{
    return detail_writer_put_rows(writer, DETAIL_OWNERS, rows, count);
}

int profile_put_holders(struct profile_writer *writer, const struct profile_holder *rows,
                        size_t count)
{
    return detail_writer_put_rows(writer, DETAIL_HOLDERS, rows, count);
}

int profile_put_sharers(struct profile_writer *writer, const struct profile_sharer *rows,
                        size_t count)
{
    return detail_writer_put_rows(writer, DETAIL_SHARERS, rows, count);
}

int profile_put_chain(struct profile_writer *writer, const struct profile_chain *rows, size_t count)
{
    return detail_writer_put_rows(writer, DETAIL_CHAINS, rows, count);
}

int profile_put_containers(struct profile_writer *writer, const struct profile_container *rows,
                           size_t count)
{
    return detail_writer_put_rows(writer, DETAIL_CONTAINERS, rows, count);
}

int profile_put_rank(struct profile_writer *writer, const struct profile_rank *rank)
{
    return detail_writer_put(writer, DETAIL_RANKS, rank);
}

int profile_put_node_peak(struct profile_writer *writer, const struct profile_node_peak *node)
{
    return detail_writer_put(writer, DETAIL_NODE_PEAKS, node);
}

int profile_put_source(struct profile_writer *writer, const char *path, const char *text,
                       size_t bytes)
{
    struct profile_source source = {path, text, bytes};
    return detail_writer_put(writer, DETAIL_SOURCES, &source);
}

/* ---- Blocks -------------------------------------------------------------------------------- */

/* `number`: of the block; NULL where blocks have none of their own. */
static int detail_writer_put_block(struct profile_writer *writer, enum detail which, uint64_t key,
                                   const void *rows, size_t count, const uint64_t *number)
{
    struct values values;
    values_begin(&values);
    struct strbuf body = STRBUF_INIT;
    detail_encode(&body, &detail_tables[which], rows, count);
    values_number(&values, (int64_t)key);
    values_number(&values, (int64_t)count);
    values_blob(&values, body.data, body.length);
    if (number)
        values_number(&values, (int64_t)*number);
    int error = profile_writing_put(writer, statement_put(which), &values);
    strbuf_release(&body);
    return error;
}

int profile_put_curve(struct profile_writer *writer, const struct curve *curve)
{
    uint64_t key = curve->node + (curve->level == MEMORY_MAPPED ? DETAIL_MAPPED_CURVE : 0);
    if (!curve->count)
        return detail_writer_drop_of(writer, DETAIL_CURVES, (int64_t)key);
    if (curve->count > COLUMNS_MAX_ROWS)
        return error_set(-EINVAL, "a curve of %u points: at most %d are kept", curve->count,
                         COLUMNS_MAX_ROWS);
    struct detail_point *rows = malloc(curve->count * sizeof *rows);
    if (!rows)
        return error_set(-ENOMEM, "out of memory while writing the profile");
    for (uint32_t i = 0; i < curve->count; i++)
        rows[i] = (struct detail_point){curve->node, curve->points[i], curve->threshold_bytes,
                                        curve->level, curve->stretch_ticks};
    int error = detail_writer_put_block(writer, DETAIL_CURVES, key, rows, curve->count, NULL);
    free(rows);
    return error;
}

int profile_put_rank_steps(struct profile_writer *writer, const struct profile_rank_step *steps,
                           size_t count)
{
    if (!count)
        return 0;
    if (count > COLUMNS_MAX_ROWS)
        return error_set(-EINVAL, "a rank of %zu steps: at most %d are kept", count,
                         COLUMNS_MAX_ROWS);
    return detail_writer_put_block(writer, DETAIL_RANK_STEPS, steps->rank, steps, count, NULL);
}

static int detail_writer_compare_residencies(const void *left, const void *right)
{
    const struct profile_residency *a = left, *b = right;
    int order = (a->sample > b->sample) - (a->sample < b->sample);
    return order ? order : (a->path > b->path) - (a->path < b->path);
}

static int detail_writer_put_residencies(struct profile_writer *writer,
                                         const struct profile_residency *rows, size_t count)
{
    struct detail_writer *details = profile_writing_details(writer);
    uint64_t number = details->residency_count;
    details->residency_count += count;
    return detail_writer_put_block(writer, DETAIL_RESIDENCIES, rows->sample, rows, count, &number);
}

/* Each block is of one sample, and the paths in it rise. A reader relies on that to bound the rows
 * of a damaged file. */
static size_t detail_writer_block_length(const struct profile_residency *rows, size_t count)
{
    size_t length = 1;
    while (length < count && length < COLUMNS_MAX_ROWS && rows[length].sample == rows->sample &&
           rows[length].path > rows[length - 1].path)
        length++;
    return length;
}

int profile_put_residency(struct profile_writer *writer, const struct profile_residency *rows,
                          size_t count)
{
    struct profile_residency *sorted = malloc(count * sizeof *sorted + 1);
    if (!sorted)
        return error_set(-ENOMEM, "out of memory while writing the profile");
    if (count)
        memcpy(sorted, rows, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, detail_writer_compare_residencies);
    int error = 0;
    for (size_t at = 0, length; at < count && !error; at += length) {
        length = detail_writer_block_length(sorted + at, count - at);
        error = detail_writer_put_residencies(writer, sorted + at, length);
    }
    free(sorted);
    return error;
}

/* Each block has addresses that rise, for the same reason. */
static size_t detail_writer_cells_in_block(const struct profile_heap_page *cells, size_t count)
{
    size_t length = 1;
    while (length < count && length < COLUMNS_MAX_ROWS &&
           cells[length].address > cells[length - 1].address)
        length++;
    return length;
}

int profile_put_heap_pages(struct profile_writer *writer, const struct profile_heap_page *cells,
                           size_t count)
{
    struct detail_writer *details = profile_writing_details(writer);
    if (!count)
        return 0;
    int error = detail_writer_drop_of(writer, DETAIL_HEAP_PAGES, details->heap_sample);
    details->heap_sample = cells->sample;
    for (size_t at = 0, length; at < count && !error; at += length) {
        length = detail_writer_cells_in_block(cells + at, count - at);
        uint64_t number = at;
        error = detail_writer_put_block(writer, DETAIL_HEAP_PAGES, cells->sample, cells + at,
                                        length, &number);
    }
    return error;
}
