/* Rows and blocks become arrays. Nothing in the file is believed: ids that do not rise, parents
 * that do not come before their children, numbers below zero, values of other types, blocks that do
 * not decode and rows that SQLite cannot reach leave a note in `damage` and are left out or stand
 * as 0; the rest is still read. */
#include "profile/profile.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/allowance.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/search.h"
#include "base/strbuf.h"
#include "profile/path_blocks.h"
#include "profile/profile_for_summary.h"
#include "profile/profile_reader.h"
#include "profile/profile_reading.h"
#include "profile/schema.h"
#include "profile/site_columns.h"

void profile_reading_note(struct reader *reader, const char *what)
{
    if (reader->profile->damage)
        return;
    snprintf(reader->own->damage, sizeof reader->own->damage, "part of it could not be read (%s)",
             what);
    reader->profile->damage = reader->own->damage;
}

/* ---- Memory -------------------------------------------------------------------------------- */

bool profile_reading_grow(struct reader *reader, void *array, size_t *capacity, size_t item_bytes)
{
    void *items;
    size_t more = *capacity ? *capacity * 2 : 64;
    memcpy(&items, array, sizeof items);
    items = realloc(items, more * item_bytes);
    reader->no_memory |= !items;
    if (!items)
        return false;
    memcpy(array, &items, sizeof items);
    *capacity = more;
    return true;
}

static char *profile_reader_string_room(struct reader *reader, size_t bytes)
{
    struct string_block *block = reader->own->strings;
    if (!block || block->size - block->used < bytes) {
        size_t size = bytes > 65536 ? bytes : 65536;
        block = malloc(sizeof *block + size);
        if (!block) {
            reader->no_memory = true;
            return NULL;
        }
        *block = (struct string_block){reader->own->strings, 0, size};
        reader->own->strings = block;
    }
    char *room = block->bytes + block->used;
    block->used += bytes;
    return room;
}

/* NUL bytes become "\x00": C strings end at them, and hiding them would hide what follows. */
const char *profile_reading_keep(struct reader *reader, const char *bytes, size_t count)
{
    struct strbuf copy = STRBUF_INIT;
    const char *rest = bytes, *end = bytes + count;
    for (const char *nul; (nul = memchr(rest, 0, (size_t)(end - rest))); rest = nul + 1) {
        strbuf_add(&copy, rest, (size_t)(nul - rest));
        strbuf_add_string(&copy, "\\x00");
    }
    if (copy.length) {
        strbuf_add(&copy, rest, (size_t)(end - rest));
        bytes = copy.data;
        count = copy.length;
    }
    char *kept = profile_reader_string_room(reader, count + 1);
    if (kept) {
        memcpy(kept, bytes, count);
        kept[count] = 0;
    }
    strbuf_release(&copy);
    return kept;
}

const char *profile_keep_text(struct profile *profile, const char *text)
{
    struct reader reader = {.profile = profile, .own = profile->own};
    return profile->own ? profile_reading_keep(&reader, text, strlen(text)) : NULL;
}

const void *profile_reading_keep_bytes(struct reader *reader, const void *bytes, size_t count)
{
    char *kept = profile_reader_string_room(reader, count);
    return kept ? memcpy(kept, bytes, count) : NULL;
}

/* ---- Values -------------------------------------------------------------------------------- */

uint64_t profile_reading_number(struct reader *reader, sqlite3_stmt *row, int column)
{
    int type = sqlite3_column_type(row, column);
    int64_t value = type == SQLITE_INTEGER ? sqlite3_column_int64(row, column) : 0;
    if (value < 0 || (type != SQLITE_INTEGER && type != SQLITE_NULL)) {
        profile_reading_note(reader, "a number makes no sense");
        return 0;
    }
    return (uint64_t)value;
}

static uint32_t profile_reader_small_number(struct reader *reader, sqlite3_stmt *row, int column)
{
    uint64_t value = profile_reading_number(reader, row, column);
    if (value <= UINT32_MAX)
        return (uint32_t)value;
    profile_reading_note(reader, "a number is out of range");
    return 0;
}

const char *profile_reading_text(struct reader *reader, sqlite3_stmt *row, int column)
{
    int type = sqlite3_column_type(row, column);
    if (type == SQLITE_NULL)
        return NULL;
    const char *bytes = sqlite3_column_blob(row, column);
    int count = sqlite3_column_bytes(row, column);
    return profile_reading_keep(reader, bytes ? bytes : "", bytes && count > 0 ? (size_t)count : 0);
}

static int profile_reader_read_fields(struct reader *reader, sqlite3_stmt *row, int column,
                                      void *target, const struct field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++, column++) {
        bool none =
            fields[i].kind != FIELD_PLAIN && sqlite3_column_type(row, column) == SQLITE_NULL;
        uint64_t value = none ? UINT64_MAX : profile_reading_number(reader, row, column);
        memcpy((char *)target + fields[i].offset, &value, sizeof value);
    }
    return column;
}

/* ---- Ids ----------------------------------------------------------------------------------- */

/* From here on they are written down. */
static bool profile_reader_write_ids_down(struct reader *reader, struct ids *ids)
{
    if (ids->at)
        return true;
    ids->at = malloc(ids->capacity * sizeof *ids->at + 1);
    reader->no_memory |= !ids->at;
    for (size_t i = 0; ids->at && i < ids->count; i++)
        ids->at[i] = (int64_t)i;
    return ids->at;
}

bool profile_reading_add_id(struct reader *reader, struct ids *ids, int64_t id)
{
    if (ids->count && id <= (ids->at ? ids->at[ids->count - 1] : (int64_t)ids->count - 1)) {
        profile_reading_note(reader, "rows are out of order");
        return false;
    }
    if (!ids->at && id == (int64_t)ids->count) {
        if (ids->count == ids->capacity)
            ids->capacity = ids->capacity ? ids->capacity * 2 : 64;
        ids->count++;
        return true;
    }
    if (!profile_reader_write_ids_down(reader, ids))
        return false;
    int64_t *slot = APPEND(reader, ids->at, ids->count, ids->capacity);
    if (slot)
        *slot = id;
    return slot;
}

/* Where no id is missing it is one look. */
size_t profile_reading_find(const struct ids *ids, int64_t id)
{
    if (id >= 0 && (uint64_t)id < ids->count && (!ids->at || ids->at[id] == id))
        return (size_t)id;
    size_t first = 0;
    SEARCH_FIRST(first, ids->at ? ids->count : 0, at, ids->at[at] < id);
    return ids->at && first < ids->count && ids->at[first] == id ? first : SIZE_MAX;
}

/* The index of `id`; 0 (unknown, root) if it is 0 or dangling. */
static uint32_t profile_reader_refer(struct reader *reader, uint64_t id, const struct ids *ids)
{
    if (id < ids->count && !ids->at) /* the usual case, of all nodes and sites */
        return (uint32_t)id;
    size_t index = id > INT64_MAX ? SIZE_MAX : id ? profile_reading_find(ids, (int64_t)id) : 0;
    if (index < UINT32_MAX)
        return (uint32_t)index;
    profile_reading_note(reader, "a row refers to one that is not there");
    return 0;
}

/* The index that column `column` refers to; 0 also if it is NULL. */
static uint32_t profile_reader_reference(struct reader *reader, sqlite3_stmt *row, int column,
                                         const struct ids *ids)
{
    return profile_reader_refer(reader, profile_reading_number(reader, row, column), ids);
}

/* ---- Rows ---------------------------------------------------------------------------------- */

void profile_reading_rows(struct reader *reader, const char *sql, read_row *read)
{
    sqlite3_stmt *statement = NULL;
    sqlite3 *database = reader->source.database;
    int result = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    while (result == SQLITE_OK || result == SQLITE_ROW) {
        result = sqlite3_step(statement);
        if (result != SQLITE_ROW || reader->no_memory)
            break;
        if (!reader->rows_left--) {
            result = SQLITE_CORRUPT;
            reader->rows_left = 0;
            break;
        }
        read(reader, statement);
    }
    if (result == SQLITE_NOMEM)
        reader->no_memory = true;
    else if (result != SQLITE_DONE && result != SQLITE_ROW)
        profile_reading_note(reader, sqlite3_errmsg(database));
    sqlite3_finalize(statement);
}

bool profile_reading_has_column(void *context, const char *table, const char *column)
{
    struct reader *reader = context;
    return sqlite3_table_column_metadata(reader->source.database, NULL, table, column, NULL, NULL,
                                         NULL, NULL, NULL) == SQLITE_OK;
}

static void profile_reader_read_fielded(struct reader *reader, const char *table, const char *rest,
                                        const char *first, const struct field *fields, size_t count,
                                        read_row *read)
{
    struct strbuf sql = STRBUF_INIT;
    schema_select(&sql, table, rest, first, fields, count, profile_reading_has_column, reader);
    profile_reading_rows(reader, sql.data, read);
    strbuf_release(&sql);
}

static void profile_reader_read_meta(struct reader *reader, sqlite3_stmt *row)
{
    struct profile *profile = reader->profile;
    const char *key = profile_reading_text(reader, row, 0),
               *value = profile_reading_text(reader, row, 1);
    if (!key || !value)
        return;
    struct profile_meta *meta =
        APPEND(reader, profile->meta, profile->meta_count, reader->own->capacity[META]);
    if (meta)
        *meta = (struct profile_meta){key, value, sqlite3_column_type(row, 1) == SQLITE_INTEGER};
}

static void profile_reader_read_file(struct reader *reader, sqlite3_stmt *row)
{
    struct profile_private *own = reader->own;
    size_t count = own->files.count, capacity = own->files.capacity;
    if (!profile_reading_add_id(reader, &own->files, sqlite3_column_int64(row, 0)))
        return;
    const char **path = APPEND(reader, own->file_paths, count, capacity);
    if (path)
        *path = profile_reading_text(reader, row, 1);
}

static void profile_reader_read_function(struct reader *reader, sqlite3_stmt *row)
{
    struct profile *profile = reader->profile;
    size_t capacity = reader->own->functions.capacity;
    if (!profile_reading_add_id(reader, &reader->own->functions, sqlite3_column_int64(row, 0)))
        return;
    struct profile_function *function =
        APPEND(reader, profile->functions, profile->function_count, capacity);
    if (!function)
        return;
    const char *name = profile_reading_text(reader, row, 1);
    *function = (struct profile_function){
        .name = name && *name ? name : "?",
        .linkage = profile_reading_text(reader, row, 2),
        .file =
            reader->own->file_paths[profile_reader_reference(reader, row, 3, &reader->own->files)],
    };
}

/* ---- Functions that are one ---- */

static bool profile_reader_is_same_function(const struct profile_function *a,
                                            const struct profile_function *b)
{
    return a->file == b->file && !strcmp(a->name, b->name);
}

/* The first function of the name and file of the one at `index`; slots: index + 1, 0: free. */
static uint32_t profile_reader_first_of_name(struct profile_function *functions, uint32_t index,
                                             uint32_t *slots, size_t mask)
{
    const struct profile_function *function = &functions[index];
    uint64_t hash = hash_bytes(function->name, strlen(function->name));
    size_t slot = hash_u64(hash ^ (uintptr_t)function->file) & mask;
    while (slots[slot] && !profile_reader_is_same_function(&functions[slots[slot] - 1], function))
        slot = (slot + 1) & mask;
    if (!slots[slot])
        slots[slot] = index + 1;
    return slots[slot] - 1;
}

/* Functions of one name in one file are listed as one. They were told apart by their linkage names,
 * which a C function has where it is called and lacks where it is inlined, and which differ between
 * clones (.constprop) and between instances that a readable name does not tell (Rust). Nobody could
 * tell their rows apart. */
static void profile_reader_join_functions(struct reader *reader)
{
    struct profile *profile = reader->profile;
    size_t count = profile->function_count, size = 16;
    while (size < 2 * count)
        size *= 2;
    uint32_t *slots = calloc(size, sizeof *slots);
    reader->listed_as = calloc(count + 1, sizeof *reader->listed_as);
    reader->no_memory |= !slots || !reader->listed_as;
    for (uint32_t i = 0; i < count && !reader->no_memory; i++) {
        struct profile_function *function = &profile->functions[i];
        uint32_t first = function->file
                             ? profile_reader_first_of_name(profile->functions, i, slots, size - 1)
                             : i;
        reader->listed_as[i] = first;
        if (!profile->functions[first].linkage)
            profile->functions[first].linkage = function->linkage;
    }
    free(slots);
}

static void profile_reader_read_module(struct reader *reader, sqlite3_stmt *row)
{
    struct profile *profile = reader->profile;
    size_t capacity = reader->own->modules.capacity;
    int64_t id = sqlite3_column_int64(row, 0);
    if (!profile_reading_add_id(reader, &reader->own->modules, id))
        return;
    struct profile_module *module =
        APPEND(reader, profile->modules, profile->module_count, capacity);
    if (!module)
        return;
    const char *path = profile_reading_text(reader, row, 1);
    int build_id_bytes = sqlite3_column_bytes(row, 2);
    const void *build_id = sqlite3_column_blob(row, 2);
    const void *copy = NULL;
    if (build_id && build_id_bytes > 0 && build_id_bytes <= 64)
        copy = profile_reading_keep_bytes(reader, build_id, (size_t)build_id_bytes);
    *module = (struct profile_module){
        .id = id,
        .path = path ? path : "?",
        .build_id = copy,
        .build_id_bytes = copy ? (size_t)build_id_bytes : 0,
        .start = (uint64_t)sqlite3_column_int64(row, 3),
        .end = (uint64_t)sqlite3_column_int64(row, 4),
        .bias = (uint64_t)sqlite3_column_int64(row, 5),
        .quality = sqlite3_column_int(row, 6),
    };
}

static void profile_reader_read_location(struct reader *reader, sqlite3_stmt *row)
{
    struct profile *profile = reader->profile;
    size_t capacity = reader->own->codes.capacity;
    if (!profile_reading_add_id(reader, &reader->own->codes, sqlite3_column_int64(row, 0)))
        return;
    struct profile_code *code = APPEND(reader, profile->codes, profile->code_count, capacity);
    if (!code)
        return;
    size_t module = UINT32_MAX;
    if (sqlite3_column_type(row, 1) != SQLITE_NULL) {
        module = profile_reading_find(&reader->own->modules, sqlite3_column_int64(row, 1));
        if (module >= UINT32_MAX) /* not written yet, as may be in a live profile */
            module = UINT32_MAX;
    }
    code->module = (uint32_t)module;
    code->address = (uint64_t)sqlite3_column_int64(row, 2);
    code->mark = (int)(profile_reader_small_number(reader, row, 3) & 0xffff);
}

static void profile_reader_read_frame(struct reader *reader, sqlite3_stmt *row)
{
    struct profile *profile = reader->profile;
    uint32_t index = profile_reader_reference(reader, row, 0, &reader->own->codes);
    struct profile_code *code = &profile->codes[index];
    bool extends = code->first_line + code->line_count == profile->line_count;
    if (!index || (code->line_count && !extends)) {
        profile_reading_note(reader, "frames are out of order");
        return;
    }
    if (!code->line_count)
        code->first_line = (uint32_t)profile->line_count;
    struct profile_line *line =
        APPEND(reader, profile->lines, profile->line_count, reader->own->capacity[LINES]);
    if (!line)
        return;
    line->function = profile_reader_reference(reader, row, 2, &reader->own->functions);
    if (reader->listed_as)
        line->function = reader->listed_as[line->function];
    line->file = profile->functions[line->function].file;
    if (!strcmp(profile->functions[line->function].name, "?"))
        line->function = 0; /* of the line alone is known where it is */
    line->line = profile_reader_small_number(reader, row, 3);
    code->line_count++;
}

static void profile_reader_add_node(struct reader *reader, int64_t id, uint64_t parent,
                                    uint64_t location)
{
    struct profile *profile = reader->profile;
    size_t capacity = reader->own->nodes.capacity;
    if (id < 1 || id > UINT32_MAX) {
        profile_reading_note(reader, "a call path's number is out of range");
        return;
    }
    if (parent >= (uint64_t)id) {
        profile_reading_note(reader, "a call path is its own caller");
        parent = 0;
    }
    struct profile_node read = {profile_reader_refer(reader, parent, &reader->own->nodes),
                                profile_reader_refer(reader, location, &reader->own->codes)};
    if (!profile_reading_add_id(reader, &reader->own->nodes, id))
        return;
    struct profile_node *node = APPEND(reader, profile->nodes, profile->node_count, capacity);
    if (node)
        *node = read;
}

static void profile_reader_read_path(struct reader *reader, sqlite3_stmt *row)
{
    profile_reader_add_node(reader, sqlite3_column_int64(row, 0),
                            profile_reading_number(reader, row, 1),
                            profile_reading_number(reader, row, 2));
}

/* A site is written whole: its metrics by who asks for the site. */
static struct profile_site *profile_reader_add_site_to(struct reader *reader, uint64_t path,
                                                       struct profile_site **sites, size_t *count,
                                                       size_t *capacity)
{
    if (*count == *capacity && !profile_reading_grow(reader, sites, capacity, sizeof **sites))
        return NULL;
    struct profile_site *site = *sites + (*count)++;
    memset(site, 0, offsetof(struct profile_site, metrics)); /* what lies behind `path`, too */
    site->path = profile_reader_refer(reader, path, &reader->own->nodes);
    return site;
}

void profile_reading_metrics(struct reader *reader, sqlite3_stmt *row, int column,
                             struct call_metrics *metrics)
{
    call_metrics_know_nothing(metrics);
    profile_reader_read_fields(reader, row, column, metrics, schema_call_fields,
                               schema_call_field_count);
}

static void profile_reader_add_site_path(struct reader *reader, uint64_t path)
{
    struct profile *profile = reader->profile;
    if (site_columns_add_path(profile->site_columns, profile->site_count,
                              profile_reader_refer(reader, path, &reader->own->nodes)))
        profile->site_count++;
    else
        reader->no_memory = true;
}

static void profile_reader_read_site(struct reader *reader, sqlite3_stmt *row)
{
    struct profile *profile = reader->profile;
    struct call_metrics metrics;
    profile_reading_metrics(reader, row, 1, &metrics);
    for (size_t i = 0; i < METRICS && !reader->no_memory; i++)
        reader->no_memory =
            !site_columns_add(&profile->site_columns->metrics[i], profile->site_count,
                              (const uint64_t *)metric_field(&metric_rows[i], &metrics), 1);
    if (!reader->no_memory)
        profile_reader_add_site_path(reader, profile_reading_number(reader, row, 0));
}

static void profile_reader_read_program(struct reader *reader, sqlite3_stmt *row)
{
    struct program_metrics *program = &reader->profile->program;
    profile_reader_read_fields(reader, row, 1, &program->total, schema_call_fields,
                               schema_call_field_count);
    reader->profile->has_program = true;
}

static void profile_reader_read_mapped_program(struct reader *reader, sqlite3_stmt *row)
{
    profile_reader_read_fields(reader, row, 1, &reader->profile->program.mapped, schema_call_fields,
                               schema_call_field_count);
}

static struct profile_site *profile_reader_add_mapped_site(struct reader *reader, uint64_t path)
{
    struct profile *profile = reader->profile;
    return profile_reader_add_site_to(reader, path, &profile->mapped_sites,
                                      &profile->mapped_site_count,
                                      &reader->own->capacity[MAPPED_SITES]);
}

static void profile_reader_read_mapped_site(struct reader *reader, sqlite3_stmt *row)
{
    struct profile_site *site =
        profile_reader_add_mapped_site(reader, profile_reading_number(reader, row, 0));
    if (site)
        profile_reading_metrics(reader, row, 1, &site->metrics);
}

static void profile_reader_read_program_rest(struct reader *reader, sqlite3_stmt *row)
{
    profile_reader_read_fields(reader, row, 1, &reader->profile->program, schema_program_fields,
                               schema_program_field_count);
}

static void profile_reader_read_thread(struct reader *reader, sqlite3_stmt *row)
{
    struct profile *profile = reader->profile;
    struct thread_metrics *thread =
        APPEND(reader, profile->threads, profile->thread_count, reader->own->capacity[THREADS]);
    if (!thread)
        return;
    thread->tid = profile_reader_small_number(reader, row, 0);
    const char *name = profile_reading_text(reader, row, 1);
    snprintf(thread->name, sizeof thread->name, "%s", name ? name : "");
    thread->stack_node = profile_reader_reference(reader, row, 2, &reader->own->nodes);
    thread->seen_node = profile_reader_reference(reader, row, 3, &reader->own->nodes);
    profile_reader_read_fields(reader, row, 4, thread, schema_thread_fields,
                               schema_thread_field_count);
}

static const struct field *profile_reader_bucket_fields(const struct reader *reader, size_t *count)
{
    *count = reader->only_sums     ? schema_bucket_sum_field_count
             : reader->for_summary ? schema_bucket_summary_field_count
                                   : schema_bucket_field_count;
    return reader->only_sums     ? schema_bucket_sum_fields
           : reader->for_summary ? schema_bucket_summary_fields
                                 : schema_bucket_fields;
}

/* Both are known, or none. */
static void profile_reader_complete_level(struct timeline_level *level)
{
    if (!figure_known(level->min) || figure_less(level->max, level->min))
        *level = (struct timeline_level){FIGURE_UNKNOWN, FIGURE_UNKNOWN};
}

static void profile_reader_read_bucket(struct reader *reader, sqlite3_stmt *row)
{
    struct profile *profile = reader->profile;
    struct timeline_bucket *bucket =
        APPEND(reader, profile->buckets, profile->bucket_count, reader->own->capacity[BUCKETS]);
    if (!bucket)
        return;
    size_t count;
    const struct field *fields = profile_reader_bucket_fields(reader, &count);
    if (reader->only_sums || reader->for_summary)
        timeline_bucket_know_nothing(bucket);
    profile_reader_read_fields(reader, row, 1, bucket, fields, count);
    struct timeline_level *levels[] = {&bucket->requested, &bucket->blocks, &bucket->physical,
                                       &bucket->virt, &bucket->tool};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        profile_reader_complete_level(levels[i]);
}

/* ---- Blocks -------------------------------------------------------------------------------- */

/* What profile_read_sums() has of call paths. */
static const char *const profile_reader_sums[] = {SCHEMA_PATH_DISTANCE,
                                                  SCHEMA_PATH_LOCATION,
                                                  SCHEMA_SITE_PATH,
                                                  "alloc_count",
                                                  "alloc_bytes",
                                                  "realloc_count",
                                                  "realloc_bytes",
                                                  "temporary_count",
                                                  "live_bytes",
                                                  "at_peak_bytes",
                                                  NULL};

void profile_reading_blocks(struct reader *reader, const char *table, const char *key,
                            read_block *read)
{
    struct blocks blocks;
    enum blocks_result result = BLOCKS_ONE;
    if (key)
        path_blocks_begin_keyed(&blocks, reader->source.database, table, key);
    else
        blocks_begin(&blocks, reader->source.database, table);
    if (reader->only_sums)
        path_blocks_want(&blocks, profile_reader_sums);
    while ((result == BLOCKS_ONE || result == BLOCKS_BAD) && !reader->no_memory) {
        result = reader->rows_left ? path_blocks_next(&blocks) : BLOCKS_NO_MORE;
        reader->rows_left -= reader->rows_left > 0;
        if (!reader->rows_left)
            profile_reading_note(reader, "its tables have no end");
        if (result == BLOCKS_ONE)
            read(reader, &blocks);
        else if (result == BLOCKS_BAD)
            profile_reading_note(reader, "a block makes no sense");
    }
    if (result == BLOCKS_NO_MEMORY)
        reader->no_memory = true;
    else if (result == BLOCKS_FAILED)
        profile_reading_note(reader, sqlite3_errmsg(reader->source.database));
    path_blocks_end(&blocks);
}

/* Adds nodes as long as their numbers go on from the last one's, and they refer to what is there:
 * nearly always all of them. Returns how many. */
static size_t profile_reader_add_plain_nodes(struct reader *reader, uint64_t first,
                                             const uint64_t *distance, const uint64_t *location,
                                             size_t rows)
{
    struct profile *profile = reader->profile;
    struct profile_private *own = reader->own;
    size_t added = 0, codes = own->codes.count;
    if (own->nodes.at || own->codes.at || own->nodes.count != first || !first)
        return 0;
    while (own->nodes.capacity < first + rows)
        if (!profile_reading_grow(reader, &profile->nodes, &own->nodes.capacity,
                                  sizeof *profile->nodes))
            return 0;
    struct profile_node *nodes = profile->nodes + first;
    for (; added < rows; added++) {
        uint64_t id = first + added;
        if (distance[added] - 1 >= id || location[added] >= codes) /* 1 to id: a node before it */
            break;
        nodes[added] =
            (struct profile_node){(uint32_t)(id - distance[added]), (uint32_t)location[added]};
    }
    own->nodes.count = profile->node_count = first + added;
    return added;
}

static void profile_reader_read_path_block(struct reader *reader, const struct blocks *blocks)
{
    const uint64_t *distance = path_blocks_column(blocks, SCHEMA_PATH_DISTANCE);
    const uint64_t *location = path_blocks_column(blocks, SCHEMA_PATH_LOCATION);
    if (!distance || !location) {
        profile_reading_note(reader, "a block lacks a column");
        return;
    }
    size_t i = profile_reader_add_plain_nodes(reader, blocks->first, distance, location,
                                              blocks->columns.rows);
    for (; i < blocks->columns.rows && !reader->no_memory; i++) {
        uint64_t id = blocks->first + i;
        profile_reader_add_node(reader, (int64_t)id, id - distance[i], location[i]);
    }
}

static void profile_reader_read_mapped_block(struct reader *reader, const struct blocks *blocks)
{
    const uint64_t *path = path_blocks_column(blocks, SCHEMA_SITE_PATH);
    if (!path) {
        profile_reading_note(reader, "a block lacks a column");
        return;
    }
    for (size_t i = 0; i < blocks->columns.rows && !reader->no_memory; i++) {
        struct profile_site *site = profile_reader_add_mapped_site(reader, path[i]);
        if (site)
            path_blocks_metrics(blocks, i, &site->metrics);
    }
}

/* Columns stay columns. A metric that the block has no column for is unknown. */
static bool profile_reader_add_metrics(struct profile *profile, const struct blocks *blocks)
{
    const uint64_t *numbers[METRICS] = {0};
    size_t rows = blocks->columns.rows, count = profile->site_count;
    bool added = true;
    for (size_t i = 0; i < blocks->metric_count; i++)
        numbers[blocks->metrics[i].offset / sizeof(struct figure)] = blocks->metrics[i].numbers;
    for (size_t i = 0; i < METRICS && added; i++) {
        struct profile_column *column = &profile->site_columns->metrics[i];
        added = numbers[i] ? site_columns_add(column, count, numbers[i], rows)
                           : site_columns_add_same(column, count, UINT64_MAX, rows);
    }
    return added;
}

static void profile_reader_read_site_block(struct reader *reader, const struct blocks *blocks)
{
    const uint64_t *path = path_blocks_column(blocks, SCHEMA_SITE_PATH);
    if (!path) {
        profile_reading_note(reader, "a block lacks a column");
        return;
    }
    reader->no_memory |= !profile_reader_add_metrics(reader->profile, blocks);
    for (size_t i = 0; i < blocks->columns.rows && !reader->no_memory; i++)
        profile_reader_add_site_path(reader, path[i]);
}

/* ---- In the order of paths ---- */

/* order[i]: the number of the site that goes to place i; sites of one path stay in theirs. A
 * counting sort; of `paths` paths. NULL: no memory. */
static uint32_t *profile_reader_order_of(const uint32_t *path_of, size_t count, size_t paths)
{
    uint32_t *places = count > UINT32_MAX ? NULL : calloc(paths + 1, sizeof *places);
    uint32_t *order = places ? malloc(count * sizeof *order + 1) : NULL;
    uint32_t before = 0;
    for (size_t i = 0; order && i < count; i++)
        places[path_of[i]]++;
    for (size_t i = 0; order && i < paths; i++) {
        uint32_t here = places[i];
        places[i] = before;
        before += here;
    }
    for (size_t i = 0; order && i < count; i++)
        order[places[path_of[i]]++] = (uint32_t)i;
    free(places);
    return order;
}

static bool profile_reader_paths_rise(const uint32_t *paths, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (paths[i] < paths[i - 1])
            return false;
    return true;
}

/* Blocks have sites in the order of their first events. */
static void profile_reader_sort_sites(struct reader *reader)
{
    struct profile *profile = reader->profile;
    struct profile_columns *columns = profile->site_columns;
    if (reader->no_memory || profile_reader_paths_rise(columns->paths, profile->site_count))
        return;
    uint32_t *order =
        profile_reader_order_of(columns->paths, profile->site_count, profile->node_count);
    reader->no_memory |= !order || !site_columns_permute(columns, order, profile->site_count);
    free(order);
}

/* The same of rows. */
static struct profile_site *profile_reader_sorted(const struct profile_site *sites, size_t count,
                                                  size_t paths)
{
    uint32_t *path_of = calloc(count + 1, sizeof *path_of);
    struct profile_site *sorted = malloc(count * sizeof *sorted + 1);
    for (size_t i = 0; path_of && i < count; i++)
        path_of[i] = sites[i].path;
    uint32_t *order = path_of ? profile_reader_order_of(path_of, count, paths) : NULL;
    for (size_t i = 0; sorted && order && i < count; i++)
        sorted[i] = sites[order[i]];
    if (!order) {
        free(sorted);
        sorted = NULL;
    }
    free(path_of);
    free(order);
    return sorted;
}

static void profile_reader_sort_mapped(struct reader *reader)
{
    struct profile *profile = reader->profile;
    size_t count = profile->mapped_site_count;
    struct profile_site *sorted =
        profile_reader_sorted(profile->mapped_sites, count, profile->node_count);
    reader->no_memory |= !sorted;
    if (!sorted)
        return;
    free(profile->mapped_sites);
    profile->mapped_sites = sorted;
    reader->own->capacity[MAPPED_SITES] = count;
}

static void profile_reader_read_paths(struct reader *reader)
{
    struct profile *profile = reader->profile;
    profile->site_columns = calloc(1, sizeof *profile->site_columns);
    reader->no_memory |= !profile->site_columns;
    if (reader->no_memory)
        return;
    if (path_blocks_are_there(reader->source.database)) {
        profile_reading_blocks(reader, "path_block", NULL, profile_reader_read_path_block);
        if (reader->no_heap_sites)
            return;
        profile_reading_blocks(reader, "site_block", NULL, profile_reader_read_site_block);
        profile_reader_sort_sites(reader);
        return;
    }
    profile_reading_rows(reader, "SELECT id,parent,location FROM path ORDER BY id",
                         profile_reader_read_path);
    profile_reader_read_fielded(reader, "site", "ORDER BY path", "path", schema_call_fields,
                                schema_call_field_count, profile_reader_read_site);
}

/* Absent in files from before mappings had call paths. */
static void profile_reader_read_mapped(struct reader *reader)
{
    if (profile_reading_has_column(reader, "mapped_site_block", "body"))
        profile_reading_blocks(reader, "mapped_site_block", NULL, profile_reader_read_mapped_block);
    if (profile_reading_has_column(reader, "mapped_site", "path"))
        profile_reader_read_fielded(reader, "mapped_site", "ORDER BY path", "path",
                                    schema_call_fields, schema_call_field_count,
                                    profile_reader_read_mapped_site);
    if (!reader->no_memory)
        profile_reader_sort_mapped(reader);
}

/* ---- All of it ----------------------------------------------------------------------------- */

/* The entries [0] that stand for "unknown" and for the root. */
static void profile_reader_add_unknowns(struct reader *reader)
{
    struct profile *profile = reader->profile;
    struct profile_private *own = reader->own;
    size_t none = 0;
    if (!profile_reading_add_id(reader, &own->files, 0) ||
        !profile_reading_add_id(reader, &own->functions, 0) ||
        !profile_reading_add_id(reader, &own->codes, 0) ||
        !profile_reading_add_id(reader, &own->nodes, 0))
        return;
    size_t file_count = 0;
    APPEND(reader, own->file_paths, file_count, none);
    none = 0;
    struct profile_function *function =
        APPEND(reader, profile->functions, profile->function_count, none);
    none = 0;
    struct profile_code *code = APPEND(reader, profile->codes, profile->code_count, none);
    none = 0;
    APPEND(reader, profile->nodes, profile->node_count, none);
    if (function)
        function->name = "?";
    if (code)
        code->module = UINT32_MAX;
}

static void profile_reader_add_missing_lines(struct reader *reader)
{
    struct profile *profile = reader->profile;
    for (size_t i = 0; i < profile->code_count && !reader->no_memory; i++) {
        struct profile_code *code = &profile->codes[i];
        if (code->line_count)
            continue;
        code->first_line = (uint32_t)profile->line_count;
        code->line_count = 1;
        APPEND(reader, profile->lines, profile->line_count, reader->own->capacity[LINES]);
    }
}

/* `as_recorded`: for what writes them again. */
static void profile_reader_read_names(struct reader *reader, bool as_recorded)
{
    profile_reading_rows(reader, "SELECT key,value FROM meta", profile_reader_read_meta);
    profile_reading_rows(reader, "SELECT id,path FROM file ORDER BY id", profile_reader_read_file);
    profile_reading_rows(reader, "SELECT id,name,linkage,file FROM function ORDER BY id",
                         profile_reader_read_function);
    if (!as_recorded)
        profile_reader_join_functions(reader);
    profile_reading_rows(reader,
                         "SELECT id,path,build_id,start,end,bias,quality FROM module ORDER BY id",
                         profile_reader_read_module);
    profile_reading_rows(reader, "SELECT id,module,address,mark FROM location ORDER BY id",
                         profile_reader_read_location);
    profile_reading_rows(
        reader, "SELECT location,depth,function,line FROM location_frame ORDER BY location,depth",
        profile_reader_read_frame);
    profile_reader_add_missing_lines(reader);
}

static void profile_reader_read_whole(struct reader *reader)
{
    profile_reader_read_fielded(reader, "program", "WHERE id=1", "id", schema_call_fields,
                                schema_call_field_count, profile_reader_read_program);
    profile_reader_read_fielded(reader, "program", "WHERE id=1", "id", schema_program_fields,
                                schema_program_field_count, profile_reader_read_program_rest);
    call_metrics_know_nothing(&reader->profile->program.mapped);
    if (profile_reading_has_column(reader, "mapped_program", "id"))
        profile_reader_read_fielded(reader, "mapped_program", "WHERE id=1", "id",
                                    schema_call_fields, schema_call_field_count,
                                    profile_reader_read_mapped_program);
}

static void profile_reader_read_timeline(struct reader *reader)
{
    size_t count;
    const struct field *fields = profile_reader_bucket_fields(reader, &count);
    profile_reader_read_fielded(reader, "timeline", "ORDER BY bucket", "bucket", fields, count,
                                profile_reader_read_bucket);
}

static void profile_reader_read_threads(struct reader *reader)
{
    bool named = profile_reading_has_column(reader, "thread", "name") &&
                 profile_reading_has_column(reader, "thread", "stack_path");
    bool seen = named && profile_reading_has_column(reader, "thread", "seen_path");
    const char *first = seen    ? "tid,name,stack_path,seen_path"
                        : named ? "tid,name,stack_path,NULL"
                                : "tid,NULL,NULL,NULL";
    profile_reader_read_fielded(reader, "thread", "ORDER BY id", first, schema_thread_fields,
                                schema_thread_field_count, profile_reader_read_thread);
}

/* What rows of all other tables refer to, or stand beside. */
static void profile_reader_read_trunk(struct reader *reader)
{
    profile_reader_add_unknowns(reader);
    if (reader->no_memory)
        return;
    profile_reader_read_names(reader, false);
    profile_reader_read_paths(reader);
    profile_reader_read_mapped(reader);
    profile_reader_read_whole(reader);
    profile_reader_read_threads(reader);
    profile_reader_read_timeline(reader);
}

static void profile_reader_read_all(struct reader *reader, void (*read_detail)(struct reader *))
{
    profile_reader_read_trunk(reader);
    if (!reader->no_memory)
        read_detail(reader);
    if (!reader->no_memory)
        profile_reading_region_sites(reader);
}

static void profile_reader_read_tables(struct reader *reader)
{
    profile_reader_read_all(reader, detail_read);
}

static void profile_reader_read_figures(struct reader *reader)
{
    profile_reader_read_all(reader, detail_read_figures);
}

static void profile_reader_read_sums(struct reader *reader)
{
    reader->only_sums = true;
    profile_reader_read_trunk(reader);
    if (!reader->no_memory)
        detail_read_for_sums(reader);
}

static void profile_reader_read_owners(struct reader *reader)
{
    reader->no_heap_sites = true;
    profile_reader_read_sums(reader);
}

static void profile_reader_read_for_summary(struct reader *reader)
{
    reader->for_summary = true;
    profile_reader_read_trunk(reader);
    if (!reader->no_memory)
        detail_read_for_summary(reader);
}

static uint64_t profile_reader_meta_number(const struct profile *profile, const char *key)
{
    const char *value = profile_get(profile, key);
    long long parsed = value ? strtoll(value, NULL, 10) : 0;
    return parsed > 0 ? (uint64_t)parsed : 0;
}

static void profile_reader_read_meta_alone(struct reader *reader)
{
    profile_reading_rows(reader, "SELECT key,value FROM meta", profile_reader_read_meta);
}

static void profile_reader_read_totals(struct reader *reader)
{
    profile_reader_read_meta_alone(reader);
    profile_reader_read_whole(reader);
    profile_reader_read_timeline(reader);
}

/* Where an allocator was not seen, or events were lost, 0 allocations are not known to be none.
 * What was mapped is known, unless its events may be the lost ones. */
static void profile_reader_forget_unseen(struct profile *profile)
{
    struct call_metrics *total = &profile->program.total;
    bool lost = profile->program.lost_events > 0;
    if ((!lost && !profile_get(profile, PROFILE_META_UNSEEN)) || !figure_zero(total->alloc_count))
        return;
    bool knows_mapped = !lost || !figure_zero(total->map_count);
    for (size_t i = 0; i < METRICS; i++)
        if (!knows_mapped || strncmp(metric_rows[i].column, "map_", 4) != 0)
            *(struct figure *)((char *)total + metric_rows[i].offset) = FIGURE_UNKNOWN;
}

static int profile_reader_read_with(struct reader *reader, void (*read)(struct reader *))
{
    struct profile *profile = reader->profile;
    if (reader->source.damaged)
        profile_reading_note(reader, "the file is cut off or damaged");
    reader->rows_left = reader->source.bytes / 2 + 16;
    /* One transaction: one moment of a profile that is being written. */
    sqlite3_exec(reader->source.database, "BEGIN", NULL, NULL, NULL);
    read(reader);
    if (reader->no_memory)
        return error_set(-ENOMEM, "out of memory while reading %s", reader->path);
    profile->complete = profile_reader_meta_number(profile, "complete") == 1;
    profile->being_written = reader->source.being_written && !profile->complete;
    if (reader->source.note)
        profile->chosen =
            profile_reading_keep(reader, reader->source.note, strlen(reader->source.note));
    profile->bucket_ns = profile_reader_meta_number(profile, "bucket_ns");
    profile->sample_bytes = profile_reader_meta_number(profile, PROFILE_META_SAMPLE);
    profile->pages = profile_reader_meta_number(profile, PROFILE_META_PAGES) == 1;
    if (!profile_reading_looks(profile))
        return error_set(-ENOMEM, "out of memory while reading %s", reader->path);
    profile_reader_forget_unseen(profile);
    return 0;
}

static int profile_reader_begin_reading(struct reader *reader)
{
    reader->profile = calloc(1, sizeof *reader->profile);
    reader->own = calloc(1, sizeof *reader->own);
    if (reader->profile && reader->own) {
        reader->profile->own = reader->own;
        return 0;
    }
    free(reader->own);
    return error_set(-ENOMEM, "out of memory while reading %s", reader->path);
}

static int profile_reader_end_reading(struct reader *reader, int error, struct profile **out)
{
    source_close(&reader->source);
    free(reader->listed_as);
    if (error)
        profile_free(reader->profile);
    else
        *out = reader->profile;
    return error;
}

static int profile_reader_open_and_read_own(struct profile **out, const char *path,
                                            void (*read)(struct reader *))
{
    struct reader reader = {.path = path};
    *out = NULL;
    int error = source_open(&reader.source, path);
    if (!error) {
        error = profile_reader_begin_reading(&reader);
        if (!error)
            error = profile_reader_read_with(&reader, read);
        error = profile_reader_end_reading(&reader, error, out);
    }
    return error;
}

static int profile_reader_open_and_read(struct profile **out, const char *path,
                                        void (*read)(struct reader *))
{
    allowance_begin_file(path);
    int error = allowance_explain(profile_reader_open_and_read_own(out, path, read));
    allowance_end();
    return error;
}

int profile_read(struct profile **out, const char *path)
{
    return profile_reader_open_and_read(out, path, profile_reader_read_tables);
}

int profile_read_figures(struct profile **out, const char *path)
{
    return profile_reader_open_and_read(out, path, profile_reader_read_figures);
}

int profile_read_meta(struct profile **out, const char *path)
{
    return profile_reader_open_and_read(out, path, profile_reader_read_meta_alone);
}

int profile_read_totals(struct profile **out, const char *path)
{
    return profile_reader_open_and_read(out, path, profile_reader_read_totals);
}

int profile_read_sums(struct profile **out, const char *path)
{
    return profile_reader_open_and_read(out, path, profile_reader_read_sums);
}

int profile_read_own_sums(struct profile **out, const char *path)
{
    return profile_reader_open_and_read_own(out, path, profile_reader_read_sums);
}

int profile_read_owners(struct profile **out, const char *path)
{
    return profile_reader_open_and_read(out, path, profile_reader_read_owners);
}

int profile_read_for_summary(struct profile **out, const char *path)
{
    return profile_reader_open_and_read(out, path, profile_reader_read_for_summary);
}

/* ---- Made ones ----------------------------------------------------------------------------- */

/* The arrays that have ids grew with them; ids of what is added are not needed. */
void profile_reading_capacities(struct reader *reader)
{
    const struct profile *profile = reader->profile;
    struct profile_private *own = reader->own;
    own->functions.capacity = profile->function_count;
    own->codes.capacity = profile->code_count;
    own->modules.capacity = profile->module_count;
}

static void profile_reader_add_nodes(struct reader *reader, size_t count);

struct profile *profile_new(size_t node_count)
{
    struct reader reader = {.path = "a profile"};
    if (profile_reader_begin_reading(&reader) < 0)
        return NULL;
    profile_reader_add_unknowns(&reader);
    if (!reader.no_memory)
        profile_reader_add_nodes(&reader, node_count ? node_count : 1);
    if (!reader.no_memory)
        profile_reader_add_missing_lines(&reader);
    if (!reader.no_memory)
        return reader.profile;
    profile_free(reader.profile);
    return NULL;
}

/* ---- Supplements --------------------------------------------------------------------------- */

/* Its rows name nodes of a trace: as many as that has. */
static void profile_reader_add_nodes(struct reader *reader, size_t count)
{
    struct profile *profile = reader->profile;
    struct ids *ids = &reader->own->nodes;
    while (ids->count < count && profile_reading_add_id(reader, ids, (int64_t)ids->count))
        ;
    profile->node_count = ids->count;
    profile->nodes = realloc(profile->nodes, ids->capacity * sizeof *profile->nodes);
    if (profile->nodes)
        memset(profile->nodes, 0, ids->capacity * sizeof *profile->nodes);
    reader->no_memory |= !profile->nodes;
}

static int profile_reader_read_supplement(struct reader *reader, size_t node_count, bool names_only)
{
    if (reader->source.damaged)
        profile_reading_note(reader, "the file is cut off or damaged");
    reader->rows_left = reader->source.bytes / 2 + 16;
    profile_reader_add_unknowns(reader);
    if (!reader->no_memory)
        profile_reader_add_nodes(reader, node_count);
    if (!reader->no_memory)
        profile_reader_read_names(reader, !names_only);
    if (!reader->no_memory && !names_only)
        detail_read(reader);
    reader->profile->sample_bytes =
        profile_reader_meta_number(reader->profile, PROFILE_META_SAMPLE);
    reader->profile->pages = profile_reader_meta_number(reader->profile, PROFILE_META_PAGES) == 1;
    return reader->no_memory ? error_set(-ENOMEM, "out of memory while reading %s", reader->path)
                             : 0;
}

int profile_read_supplement(struct profile **out, const void *bytes, size_t size, const char *name,
                            size_t node_count, bool names_only)
{
    struct reader reader = {.path = name};
    *out = NULL;
    int error = source_open_packed(&reader.source, bytes, size, name);
    if (error)
        return error;
    error = profile_reader_begin_reading(&reader);
    if (!error)
        error = profile_reader_read_supplement(&reader, node_count ? node_count : 1, names_only);
    return profile_reader_end_reading(&reader, error, out);
}

void profile_free(struct profile *profile)
{
    if (!profile)
        return;
    struct profile_private *own = profile->own;
    if (!own) {
        free(profile);
        return;
    }
    struct ids *ids[] = {&own->nodes, &own->codes, &own->functions, &own->files, &own->modules};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        free(ids[i]->at);
    for (struct string_block *block = own->strings, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(own->file_paths);
    detail_free(profile);
    free(own);
    free(profile->meta);
    free(profile->nodes);
    profile_set_sites(profile, NULL, 0);
    free(profile->mapped_sites);
    free(profile->region_sites);
    free(profile->codes);
    free(profile->lines);
    free(profile->functions);
    free(profile->modules);
    free(profile->threads);
    free(profile->buckets);
    free(profile);
}

static void profile_reader_drop(void *array, size_t *count)
{
    void *items;
    memcpy(&items, array, sizeof items);
    free(items);
    memset(array, 0, sizeof items);
    *count = 0;
}

void profile_drop_paths(struct profile *profile)
{
    profile_reader_drop(&profile->nodes, &profile->node_count);
    profile_set_sites(profile, NULL, 0);
    profile_reader_drop(&profile->mapped_sites, &profile->mapped_site_count);
    profile_reader_drop(&profile->region_sites, &profile->region_site_count);
    profile_reader_drop(&profile->curves, &profile->curve_count);
    profile_reader_drop(&profile->residencies, &profile->residency_count);
    profile_reader_drop(&profile->heap_pages, &profile->heap_page_count);
    profile_reader_drop(&profile->owners, &profile->owner_count);
    profile_reader_drop(&profile->holders, &profile->holder_count);
    profile_reader_drop(&profile->sharers, &profile->sharer_count);
    profile_reader_drop(&profile->chains, &profile->chain_count);
    profile_reader_drop(&profile->block_types, &profile->block_type_count);
    profile_reader_drop(&profile->block_fills, &profile->block_fill_count);
    profile_reader_drop(&profile->page_uses, &profile->page_use_count);
    profile_reader_drop(&profile->machine_moments, &profile->machine_moment_count);
    profile_reader_drop(&profile->device_totals, &profile->device_total_count);
    profile_reader_drop(&profile->device_sites, &profile->device_site_count);
    profile_reader_drop(&profile->device_levels, &profile->device_level_count);
    profile_reader_drop(&profile->call_types, &profile->call_type_count);
    if (!profile->own)
        return;
    profile_reader_drop(&profile->own->points, &profile->own->point_count);
    profile_reader_drop(&profile->own->nodes.at, &profile->own->nodes.count);
}

bool profile_is_job(const struct profile *profile)
{
    return profile_reader_meta_number(profile, PROFILE_META_JOB_RANKS) > 0;
}

const char *profile_get(const struct profile *profile, const char *key)
{
    for (size_t i = 0; i < profile->meta_count; i++)
        if (!strcmp(profile->meta[i].key, key))
            return profile->meta[i].value;
    return NULL;
}
