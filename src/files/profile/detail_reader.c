/* Reads what a profile has beside sums, from the tables of detail_tables.h. A table that is not
 * there leaves its array empty; a row that refers to what is not there is left out and noted. */
#include "profile/profile.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/strbuf.h"
#include "profile/path_blocks.h"
#include "profile/profile_reading.h"
#include "profile/schema.h"

/* Any row of a table. */
union row {
    struct distribution_row distribution;
    struct detail_peak peak;
    struct detail_share share;
    struct exchange exchange;
    struct profile_variable variable;
    struct profile_section_total section;
    struct profile_sample sample;
    struct profile_mapping mapping;
    struct profile_residency residency;
    struct profile_heap_page heap_page;
    struct detail_point point;
    struct profile_source source;
    struct profile_mark mark;
    struct profile_region region;
    struct profile_rank rank;
    struct profile_rank_step rank_step;
    struct profile_node_peak node_peak;
    struct stack_peak stack_peak;
    struct stack_layer stack_layer;
    struct profile_owner owner;
    struct profile_container container;
    struct profile_holder holder;
    struct profile_sharer sharer;
    struct profile_chain chain;
    struct profile_block_type block_type;
    struct profile_block_fill block_fill;
    struct profile_call_type call_type;
    struct profile_page_use page_use;
    struct profile_machine_moment machine_moment;
    struct device_total device_total;
    struct device_site device_site;
    struct device_level device_level;
};

/* Where the rows of a table go, if they go there as they are. */
struct detail_reader_place {
    size_t array, count;
};
#define PLACE(name)                                                                                \
    {                                                                                              \
        offsetof(struct profile, name##s), offsetof(struct profile, name##_count)                  \
    }
static const struct detail_reader_place places[DETAIL_TABLES] = {
    [DETAIL_DISTRIBUTIONS] = PLACE(distribution),
    [DETAIL_EXCHANGES] = PLACE(exchange),
    [DETAIL_VARIABLES] = PLACE(variable),
    [DETAIL_SECTIONS] = PLACE(section),
    [DETAIL_SAMPLES] = PLACE(sample),
    [DETAIL_MAPPINGS] = PLACE(mapping),
    [DETAIL_RESIDENCIES] = {offsetof(struct profile, residencies),
                            offsetof(struct profile, residency_count)},
    [DETAIL_HEAP_PAGES] = PLACE(heap_page),
    [DETAIL_ISLANDS] = PLACE(island),
    [DETAIL_SOURCES] = PLACE(source),
    [DETAIL_MARKS] = PLACE(mark),
    [DETAIL_REGIONS] = PLACE(region),
    [DETAIL_RANKS] = PLACE(rank),
    [DETAIL_RANK_STEPS] = PLACE(rank_step),
    [DETAIL_NODE_PEAKS] = PLACE(node_peak),
    [DETAIL_STACK_PEAKS] = PLACE(stack_peak),
    [DETAIL_STACK_LAYERS] = PLACE(stack_layer),
    [DETAIL_OWNERS] = PLACE(owner),
    [DETAIL_CONTAINERS] = PLACE(container),
    [DETAIL_HOLDERS] = PLACE(holder),
    [DETAIL_SHARERS] = PLACE(sharer),
    [DETAIL_CHAINS] = PLACE(chain),
    [DETAIL_BLOCK_TYPES] = PLACE(block_type),
    [DETAIL_BLOCK_FILLS] = PLACE(block_fill),
    [DETAIL_CALL_TYPES] = PLACE(call_type),
    [DETAIL_PAGE_USES] = PLACE(page_use),
    [DETAIL_MACHINE_MOMENTS] = PLACE(machine_moment),
    [DETAIL_DEVICE_TOTALS] = PLACE(device_total),
    [DETAIL_DEVICE_SITES] = PLACE(device_site),
    [DETAIL_DEVICE_LEVELS] = PLACE(device_level),
};

/* ---- Values -------------------------------------------------------------------------------- */

/* UINT64_MAX where the number is NULL or makes no sense. */
static uint64_t detail_maybe(struct reader *reader, sqlite3_stmt *row, int at)
{
    int type = sqlite3_column_type(row, at);
    int64_t number = type == SQLITE_INTEGER ? sqlite3_column_int64(row, at) : -1;
    if (type != SQLITE_NULL && number < 0)
        profile_reading_note(reader, "a number makes no sense");
    return number < 0 ? UINT64_MAX : (uint64_t)number;
}

static int64_t detail_signed_number(struct reader *reader, sqlite3_stmt *row, int at)
{
    int type = sqlite3_column_type(row, at);
    if (type != SQLITE_INTEGER && type != SQLITE_NULL)
        profile_reading_note(reader, "a number makes no sense");
    return type == SQLITE_INTEGER ? sqlite3_column_int64(row, at) : 0;
}

static double detail_real_number(struct reader *reader, sqlite3_stmt *row, int at)
{
    int type = sqlite3_column_type(row, at);
    bool is_number = type == SQLITE_FLOAT || type == SQLITE_INTEGER;
    double value = is_number ? sqlite3_column_double(row, at) : 0;
    if (isfinite(value) && (is_number || type == SQLITE_NULL))
        return value;
    profile_reading_note(reader, "a number makes no sense");
    return 0;
}

static void detail_take_text(struct reader *reader, sqlite3_stmt *row, int at,
                             const struct detail_column *column, char *field)
{
    const char *text = profile_reading_text(reader, row, at);
    if (!text && column->type == DETAIL_NAME)
        text = "?";
    if (!text && column->type == DETAIL_BYTES)
        text = "";
    memcpy(field, &text, sizeof text);
    if (column->type == DETAIL_BYTES)
        memcpy(field + sizeof text, &(size_t){strlen(text)}, sizeof(size_t));
}

/* False: the value cannot be, and the row is left out. */
static bool detail_take(struct reader *reader, sqlite3_stmt *row, int at,
                        const struct detail_column *column, void *out)
{
    char *field = (char *)out + column->offset;
    switch (column->type) {
    case DETAIL_TEXT:
    case DETAIL_NAME:
    case DETAIL_BYTES:
        detail_take_text(reader, row, at, column, field);
        return true;
    case DETAIL_SIGNED:
        memcpy(field, &(int64_t){detail_signed_number(reader, row, at)}, sizeof(int64_t));
        return true;
    case DETAIL_REAL:
        memcpy(field, &(double){detail_real_number(reader, row, at)}, sizeof(double));
        return true;
    case DETAIL_PLAIN:
    case DETAIL_SMALL:
    case DETAIL_FLAG:
        return detail_set(column, profile_reading_number(reader, row, at), out);
    default:
        return detail_set(column, detail_maybe(reader, row, at), out);
    }
}

/* ---- References ---------------------------------------------------------------------------- */

/* The id at `field` becomes the index that it stands for. */
static bool detail_resolve_index(const struct ids *ids, char *field)
{
    uint32_t id;
    memcpy(&id, field, sizeof id);
    size_t index = profile_reading_find(ids, id);
    memcpy(field, &(uint32_t){(uint32_t)index}, sizeof id);
    return index < UINT32_MAX;
}

static bool detail_resolve_module(const struct ids *ids, char *field)
{
    int64_t id;
    memcpy(&id, field, sizeof id);
    size_t index = profile_reading_find(ids, id);
    memcpy(field, &(int64_t){(int64_t)index}, sizeof id);
    return index != SIZE_MAX;
}

static bool detail_is_there(const struct reader *reader, const struct detail_column *column,
                            char *field)
{
    const struct profile_private *own = reader->own;
    uint32_t number;
    switch (column->type) {
    case DETAIL_NODE:
        return detail_resolve_index(&own->nodes, field);
    case DETAIL_MODULE:
        return detail_resolve_module(&own->modules, field);
    case DETAIL_SAMPLE:
        memcpy(&number, field, sizeof number);
        return profile_reading_find(&own->samples, number) != SIZE_MAX;
    case DETAIL_THREAD:
        memcpy(&number, field, sizeof number);
        return number == UINT32_MAX || number < reader->profile->thread_count;
    default:
        return true;
    }
}

/* Is the row, or what it is of, of a kind that only newer versions know? */
static bool detail_is_newer(const struct reader *reader, const struct detail_column *column,
                            const char *field)
{
    uint32_t number;
    if (column->type != DETAIL_KIND && column->type != DETAIL_SAMPLE)
        return false;
    memcpy(&number, field, sizeof number);
    if (column->type == DETAIL_KIND)
        return number >= column->limit;
    return profile_reading_find(&reader->own->newer_samples, number) != SIZE_MAX;
}

/* Columns of these types can make detail_resolve() leave a row out. */
#define DETAIL_CHECKED                                                                             \
    (1u << DETAIL_KIND | 1u << DETAIL_NODE | 1u << DETAIL_MODULE | 1u << DETAIL_THREAD |           \
     1u << DETAIL_SAMPLE)

/* False: the row is left out. */
static bool detail_resolve(struct reader *reader, const struct detail_table *table, void *row)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct detail_column *column = &table->columns[i];
        if (!(DETAIL_CHECKED >> column->type & 1))
            continue;
        char *field = (char *)row + column->offset;
        if (detail_is_newer(reader, column, field)) {
            if (table == &detail_tables[DETAIL_SAMPLES])
                profile_reading_add_id(reader, &reader->own->newer_samples,
                                       ((struct profile_sample *)row)->id);
            return false;
        }
        if (!detail_is_there(reader, column, field)) {
            profile_reading_note(reader, "a row refers to one that is not there");
            return false;
        }
    }
    return true;
}

/* ---- Keeping ------------------------------------------------------------------------------- */

static void *detail_append_as_it_is(struct reader *reader, enum detail which, const void *row)
{
    char *profile = (char *)reader->profile;
    size_t bytes = detail_tables[which].bytes;
    void *slot = profile_append(reader, profile + places[which].array,
                                (size_t *)(profile + places[which].count),
                                &reader->own->detail_capacity[which], bytes);
    return slot ? memcpy(slot, row, bytes) : NULL;
}

static void detail_keep_peak(struct reader *reader, const struct detail_peak *row)
{
    struct profile *profile = reader->profile;
    if (!profile_reading_add_id(reader, &reader->own->peaks, row->id))
        return;
    struct peak *peak = APPEND(reader, profile->peaks, profile->peak_count,
                               reader->own->detail_capacity[DETAIL_PEAKS]);
    if (peak)
        *peak = row->peak;
}

static void detail_keep_share(struct reader *reader, const struct detail_share *row)
{
    size_t index = profile_reading_find(&reader->own->peaks, row->peak);
    struct peak *peak = index < reader->profile->peak_count ? &reader->profile->peaks[index] : NULL;
    if (!peak || peak->share_count == PEAK_SHARES_MAX) {
        profile_reading_note(reader, "a peak's shares make no sense");
        return;
    }
    peak->shares[peak->share_count++] = row->share;
}

/* Points of a curve come one after the other, and curves of one level by path. */
static void detail_keep_point(struct reader *reader, const struct detail_point *row)
{
    struct profile *profile = reader->profile;
    struct profile_private *own = reader->own;
    struct curve *curve = profile->curve_count ? &profile->curves[profile->curve_count - 1] : NULL;
    if (row->level > MEMORY_MAPPED) /* of a newer version */
        return;
    if (!curve || curve->node != row->path || curve->level != row->level) {
        if (row->path < own->curve_ends[row->level]) {
            profile_reading_note(reader, "curves are out of order");
            return;
        }
        curve = APPEND(reader, profile->curves, profile->curve_count,
                       own->detail_capacity[DETAIL_CURVES]);
        if (!curve)
            return;
        *curve = (struct curve){.node = row->path,
                                .level = row->level,
                                .threshold_bytes = row->threshold_bytes,
                                .stretch_ticks = row->stretch_ns};
        own->curve_ends[row->level] = (uint64_t)row->path + 1;
    } else if (own->points[own->point_count - 1].ticks > row->point.ticks ||
               curve->count == UINT32_MAX) {
        profile_reading_note(reader, "a curve goes back in time");
        return;
    }
    struct curve_point *point = APPEND(reader, own->points, own->point_count, own->point_capacity);
    if (!point)
        return;
    *point = row->point;
    curve->count++;
}

static void detail_keep(struct reader *reader, union row *row)
{
    enum detail which = reader->detail;
    if (!detail_resolve(reader, &detail_tables[which], row))
        return;
    switch (which) {
    case DETAIL_PEAKS:
        detail_keep_peak(reader, &row->peak);
        break;
    case DETAIL_PEAK_SHARES:
        detail_keep_share(reader, &row->share);
        break;
    case DETAIL_CURVES:
        detail_keep_point(reader, &row->point);
        break;
    case DETAIL_SAMPLES:
        if (profile_reading_add_id(reader, &reader->own->samples, row->sample.id))
            detail_append_as_it_is(reader, which, row);
        break;
    default:
        detail_append_as_it_is(reader, which, row);
    }
}

/* ---- Rows and blocks ----------------------------------------------------------------------- */

/* What is read of a table's rows. */
struct detail_choice {
    const char *where;             /* which rows; "": all */
    schema_has_column *has_column; /* which columns */
    size_t count;
    const struct detail_column *columns[DETAIL_ROW_COLUMNS]; /* in the order of the statement */
    union row none;                                          /* the others are as in this row */
};

static void detail_read_detail_row(struct reader *reader, sqlite3_stmt *row)
{
    const struct detail_choice *choice = reader->choice;
    union row read;
    memcpy(&read, &choice->none, detail_tables[reader->detail].bytes);
    for (size_t i = 0; i < choice->count; i++)
        if (!detail_take(reader, row, (int)i, choice->columns[i], &read)) {
            profile_reading_note(reader, "a number is out of range");
            return;
        }
    if (!reader->no_memory)
        detail_keep(reader, &read);
}

/* Without it a row is none: the row is read, and left out with a note. */
static bool detail_is_needed(const struct detail_column *column)
{
    return column->type == DETAIL_KIND || column->type == DETAIL_NODE ||
           column->type == DETAIL_MODULE || column->type == DETAIL_SAMPLE;
}

/* What the column has where it is not read: the same as where it is NULL. */
static void detail_take_nothing(const struct detail_column *column, void *out)
{
    const char *text = column->type == DETAIL_NAME ? "?" : "";
    if (column->type == DETAIL_NAME || column->type == DETAIL_BYTES)
        memcpy((char *)out + column->offset, &text, sizeof text);
    else if (column->type == DETAIL_MAYBE || column->type == DETAIL_THREAD)
        detail_set(column, UINT64_MAX, out);
}

static void detail_choose(struct reader *reader, const struct detail_table *table,
                          struct detail_choice *choice)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct detail_column *column = &table->columns[i];
        if (detail_is_needed(column) || choice->has_column(reader, table->name, column->name))
            choice->columns[choice->count++] = column;
        else
            detail_take_nothing(column, &choice->none);
    }
}

/* Columns of equal numbers take no bytes, so a small damaged file could ask for any number of rows.
 * Hence the paths of residencies, the steps of ranks and the addresses of heap pages have to rise,
 * and the points of curves count as rows of the file. */
static bool detail_is_bounded(struct reader *reader, const struct blocks *blocks)
{
    static const char *const that_rise[DETAIL_TABLES] = {[DETAIL_RESIDENCIES] = "path",
                                                         [DETAIL_RANK_STEPS] = "step",
                                                         [DETAIL_HEAP_PAGES] = "address"};
    size_t rows = blocks->columns.rows;
    if (that_rise[reader->detail]) {
        const uint64_t *rising = path_blocks_column(blocks, that_rise[reader->detail]);
        for (size_t i = 1; i < rows && rising; i++)
            if (rising[i] <= rising[i - 1])
                return false;
        return rising;
    }
    if (reader->rows_left < rows)
        return false;
    reader->rows_left -= rows;
    return true;
}

static void detail_read_detail_block(struct reader *reader, const struct blocks *blocks)
{
    const struct detail_table *table = &detail_tables[reader->detail];
    const uint64_t *columns[DETAIL_BLOCK_COLUMNS];
    detail_find_columns(table, blocks, columns);
    if (!detail_is_bounded(reader, blocks)) {
        profile_reading_note(reader, "a block makes no sense");
        return;
    }
    for (size_t i = 0; i < blocks->columns.rows && !reader->no_memory; i++) {
        union row row;
        memset(&row, 0, table->bytes);
        if (detail_from_block(table, blocks, columns, i, &row))
            detail_keep(reader, &row);
        else
            profile_reading_note(reader, "a number is out of range");
    }
}

static void detail_read_detail_rows(struct reader *reader, struct detail_choice *choice)
{
    const struct detail_table *table = &detail_tables[reader->detail];
    struct strbuf sql = STRBUF_INIT;
    detail_choose(reader, table, choice);
    detail_select(&sql, table, choice->columns, choice->count, choice->where, choice->has_column,
                  reader);
    reader->choice = choice;
    profile_reading_rows(reader, sql.data, detail_read_detail_row);
    reader->choice = NULL;
    strbuf_release(&sql);
}

static void detail_read_detail(struct reader *reader, enum detail which)
{
    const struct detail_table *table = &detail_tables[which];
    const char *first = table->columns[0].name;
    struct detail_choice choice = {.where = "", .has_column = profile_reading_has_column};
    reader->detail = which;
    if (table->blocks && profile_reading_has_column(reader, table->blocks, first))
        profile_reading_blocks(reader, table->blocks, first, detail_read_detail_block);
    if (profile_reading_has_column(reader, table->name, first))
        detail_read_detail_rows(reader, &choice);
}

/* ---- Order --------------------------------------------------------------------------------- */

typedef int compare_rows(const void *left, const void *right);

static int detail_compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int detail_compare_distributions(const void *left, const void *right)
{
    const struct distribution_row *a = left, *b = right;
    int order = detail_compare_numbers(a->kind, b->kind);
    order = order ? order : detail_compare_numbers(a->x, b->x);
    return order ? order : detail_compare_numbers(a->y, b->y);
}

static int detail_compare_residencies(const void *left, const void *right)
{
    const struct profile_residency *a = left, *b = right;
    int order = detail_compare_numbers(a->sample, b->sample);
    return order ? order : detail_compare_numbers(a->path, b->path);
}

static int detail_compare_heap_pages(const void *left, const void *right)
{
    const struct profile_heap_page *a = left, *b = right;
    int order = detail_compare_numbers(a->sample, b->sample);
    return order ? order : detail_compare_numbers(a->address, b->address);
}

static int detail_compare_sources(const void *left, const void *right)
{
    const struct profile_source *a = left, *b = right;
    return strcmp(a->path, b->path);
}

/* Rows mostly come in their order; one that comes twice stays once. */
static size_t detail_sort(struct reader *reader, void *array, size_t count, size_t bytes,
                          compare_rows *compare)
{
    char *rows = array;
    size_t in_order = 1, kept = 1;
    while (in_order < count && compare(rows + (in_order - 1) * bytes, rows + in_order * bytes) < 0)
        in_order++;
    if (in_order >= count)
        return count;
    qsort(rows, count, bytes, compare);
    for (size_t i = 1; i < count; i++)
        if (compare(rows + (kept - 1) * bytes, rows + i * bytes))
            memmove(rows + kept++ * bytes, rows + i * bytes, bytes);
    if (kept < count)
        profile_reading_note(reader, "a row is there twice");
    return kept;
}

/* A row's place in the order: by sample, kind, path, and as they came. */
struct owner_place {
    uint64_t group; /* sample and kind */
    uint32_t path, index;
};

static struct owner_place detail_owner_place(const struct profile_owner *owner, size_t index)
{
    return (struct owner_place){(uint64_t)owner->sample << 32 | (uint32_t)owner->kind, owner->path,
                                (uint32_t)index};
}

static int detail_compare_owner_places(const void *left, const void *right)
{
    const struct owner_place *a = left, *b = right;
    int order = detail_compare_numbers(a->group, b->group);
    order = order ? order : detail_compare_numbers(a->path, b->path);
    return order ? order : detail_compare_numbers(a->index, b->index);
}

static void detail_move_owners(struct profile *profile, struct profile_owner *sorted,
                               struct owner_place *order)
{
    for (size_t i = 0; i < profile->owner_count; i++)
        order[i] = detail_owner_place(&profile->owners[i], i);
    qsort(order, profile->owner_count, sizeof *order, detail_compare_owner_places);
    for (size_t i = 0; i < profile->owner_count; i++)
        sorted[i] = profile->owners[order[i].index];
    memcpy(profile->owners, sorted, profile->owner_count * sizeof *sorted);
}

/* Owners mostly come in their order, and have too many columns for SQLite to sort them. */
static void detail_sort_owners(struct reader *reader)
{
    struct profile *profile = reader->profile;
    size_t count = profile->owner_count, in_order = 1;
    for (; in_order < count; in_order++) {
        struct owner_place a = detail_owner_place(&profile->owners[in_order - 1], 0);
        struct owner_place b = detail_owner_place(&profile->owners[in_order], 1);
        if (detail_compare_owner_places(&a, &b) > 0)
            break;
    }
    if (in_order >= count)
        return;
    struct profile_owner *sorted = calloc(count, sizeof *sorted);
    struct owner_place *order = calloc(count, sizeof *order);
    reader->no_memory |= !sorted || !order;
    if (!reader->no_memory)
        detail_move_owners(profile, sorted, order);
    free(sorted);
    free(order);
}

static void detail_put_in_order(struct reader *reader)
{
    struct profile *profile = reader->profile;
    profile->distribution_count =
        detail_sort(reader, profile->distributions, profile->distribution_count,
                    sizeof *profile->distributions, detail_compare_distributions);
    profile->residency_count =
        detail_sort(reader, profile->residencies, profile->residency_count,
                    sizeof *profile->residencies, detail_compare_residencies);
    profile->heap_page_count = detail_sort(reader, profile->heap_pages, profile->heap_page_count,
                                           sizeof *profile->heap_pages, detail_compare_heap_pages);
    profile->source_count = detail_sort(reader, profile->sources, profile->source_count,
                                        sizeof *profile->sources, detail_compare_sources);
    detail_sort_owners(reader);
}

/* Called when all points have been read, since their array moves while it grows. */
static void detail_hang_points(struct reader *reader)
{
    const struct curve_point *points = reader->own->points;
    for (size_t i = 0; i < reader->profile->curve_count; i++) {
        reader->profile->curves[i].points = points;
        points += reader->profile->curves[i].count;
    }
}

/* Sorts the curves of mappings behind those of blocks; they have a count of their own. */
static void detail_part_curves(struct reader *reader)
{
    struct profile *profile = reader->profile;
    size_t all = profile->curve_count, heap = 0, mapped = 0;
    struct curve *of_mappings = calloc(all + 1, sizeof *of_mappings);
    reader->no_memory |= !of_mappings;
    for (size_t i = 0; of_mappings && i < all; i++)
        if (profile->curves[i].level == MEMORY_MAPPED)
            of_mappings[mapped++] = profile->curves[i];
        else
            profile->curves[heap++] = profile->curves[i];
    if (mapped)
        memcpy(profile->curves + heap, of_mappings, mapped * sizeof *of_mappings);
    profile->curve_count = heap;
    profile->mapped_curve_count = mapped;
    profile->mapped_curves = profile->curves + heap;
    free(of_mappings);
}

static void detail_settle(struct reader *reader)
{
    if (reader->no_memory)
        return;
    detail_put_in_order(reader);
    detail_hang_points(reader);
    if (reader->profile->curve_count)
        detail_part_curves(reader);
}

void detail_read(struct reader *reader)
{
    for (enum detail i = 0; i < DETAIL_TABLES && !reader->no_memory; i++)
        detail_read_detail(reader, i);
    detail_settle(reader);
}

/* ---- For sums ------------------------------------------------------------------------------ */

static bool detail_is_in(const char *column, const char *const *list)
{
    while (*list && strcmp(column, *list) != 0)
        list++;
    return *list;
}

/* By these the look is chosen that counts. */
static bool detail_has_owner_figure(void *context, const char *table, const char *column)
{
    static const char *const figures[] = {
        "sample", "kind", "path", "resident_bytes", "unwritten_1s_bytes", NULL};
    return detail_is_in(column, figures) && profile_reading_has_column(context, table, column);
}

/* The same, and who the owner is. */
static bool detail_has_owner_name(void *context, const char *table, const char *column)
{
    static const char *const names[] = {"name", "module", "thread", NULL};
    return detail_has_owner_figure(context, table, column) ||
           (detail_is_in(column, names) && profile_reading_has_column(context, table, column));
}

static void detail_read_owners(struct reader *reader, const char *where,
                               schema_has_column *has_column)
{
    struct detail_choice choice = {.where = where, .has_column = has_column};
    if (!reader->no_memory)
        detail_read_detail_rows(reader, &choice);
}

static void detail_read_owners_of(struct reader *reader, uint32_t sample,
                                  schema_has_column *has_column)
{
    char where[48];
    snprintf(where, sizeof where, "WHERE sample=%u", sample);
    detail_read_owners(reader, where, has_column);
}

/* The owners of the looks that have none among those read so far, which are in their order. */
static void detail_read_owners_of_others(struct reader *reader)
{
    enum { ALONE = 8 }; /* of more looks the table is read once, not once for each */
    struct profile *profile = reader->profile;
    const size_t known = profile->owner_count;
    size_t owner = 0, looks = 0;
    for (size_t i = 0; i < profile->sample_count; i++) {
        uint32_t sample = profile->samples[i].id;
        while (owner < known && profile->owners[owner].sample < sample)
            owner++;
        if (owner < known && profile->owners[owner].sample == sample)
            continue;
        if (++looks > ALONE) {
            profile->owner_count = 0;
            detail_read_owners(reader, "", detail_has_owner_figure);
            return;
        }
        detail_read_owners_of(reader, sample, detail_has_owner_figure);
    }
}

/* What the look that counts is chosen by: owners without a call path, and those whose heat is
 * known. A look that has neither is read whole, because it may have others. */
static void detail_read_owners_to_choose(struct reader *reader)
{
    const char *table = detail_tables[DETAIL_OWNERS].name;
    detail_read_owners(reader,
                       profile_reading_has_column(reader, table, "unwritten_1s_bytes")
                           ? "WHERE path=0 OR path IS NULL OR unwritten_1s_bytes IS NOT NULL"
                           : "WHERE path=0 OR path IS NULL",
                       detail_has_owner_figure);
    detail_sort_owners(reader);
    detail_read_owners_of_others(reader);
    detail_sort_owners(reader);
}

/* The owners of the look that counts are read once more, with all that has a path and with names.
 */
static void detail_read_owners_for_sums(struct reader *reader)
{
    struct profile *profile = reader->profile;
    size_t first, count;
    reader->detail = DETAIL_OWNERS;
    if (!profile_reading_has_column(reader, detail_tables[DETAIL_OWNERS].name, "sample"))
        return;
    detail_read_owners_to_choose(reader);
    const struct profile_sample *sample =
        reader->no_memory ? NULL : profile_owners_sample(profile, &first, &count);
    if (!sample)
        return;
    profile->owner_count -= count;
    memmove(profile->owners + first, profile->owners + first + count,
            (profile->owner_count - first) * sizeof *profile->owners);
    detail_read_owners_of(reader, sample->id, detail_has_owner_name);
}

void detail_read_for_sums(struct reader *reader)
{
    detail_read_detail(reader, DETAIL_SAMPLES);
    if (!reader->no_memory)
        detail_read_owners_for_sums(reader);
    if (!reader->no_memory)
        detail_read_detail(reader, DETAIL_MACHINE_MOMENTS);
    detail_settle(reader);
}

/* ---- For a summary ------------------------------------------------------------------------- */

static void detail_read_some(struct reader *reader, enum detail which, const char *where,
                             schema_has_column *has_column)
{
    const struct detail_table *table = &detail_tables[which];
    struct detail_choice choice = {.where = where, .has_column = has_column};
    reader->detail = which;
    if (!reader->no_memory &&
        profile_reading_has_column(reader, table->name, table->columns[0].name))
        detail_read_detail_rows(reader, &choice);
}

void detail_read_figures(struct reader *reader)
{
    for (enum detail i = 0; i < DETAIL_TABLES && !reader->no_memory; i++)
        if (i == DETAIL_OWNERS)
            detail_read_some(reader, i, "", detail_has_owner_figure);
        else if (i != DETAIL_CURVES && i != DETAIL_HEAP_PAGES && i != DETAIL_SOURCES)
            detail_read_detail(reader, i);
    detail_settle(reader);
}

/* Sizes are read too: without them it would look as if distributions were not recorded. */
static void detail_read_growths(struct reader *reader)
{
    char where[48];
    snprintf(where, sizeof where, "WHERE kind IN (%d,%d)", DISTRIBUTION_SIZE,
             DISTRIBUTION_REALLOC_GROW);
    detail_read_some(reader, DETAIL_DISTRIBUTIONS, where, profile_reading_has_column);
}

void detail_read_for_summary(struct reader *reader)
{
    static const enum detail whole[] = {DETAIL_SAMPLES, DETAIL_RESIDENCIES, DETAIL_ISLANDS,
                                        DETAIL_CURVES,  DETAIL_RANKS,       DETAIL_DEVICE_TOTALS};
    for (size_t i = 0; i < sizeof whole / sizeof *whole && !reader->no_memory; i++)
        detail_read_detail(reader, whole[i]);
    detail_read_growths(reader);
    detail_read_some(reader, DETAIL_OWNERS, "", detail_has_owner_figure);
    detail_settle(reader);
}

void detail_free(struct profile *profile)
{
    for (int i = 0; i < DETAIL_TABLES; i++) {
        void *array = NULL;
        if (places[i].array)
            memcpy(&array, (char *)profile + places[i].array, sizeof array);
        free(array);
    }
    free(profile->peaks);
    free(profile->curves);
    free(profile->own->points);
    free(profile->own->samples.at);
    free(profile->own->newer_samples.at);
    free(profile->own->peaks.at);
}
