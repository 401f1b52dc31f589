/* Call paths' metrics as blocks of columns (path_blocks.h). Writing turns rows into columns of
 * numbers for columns_encode(). Reading finds each column by its name, so that files with more or
 * fewer metrics can be read. */
#include "profile/path_blocks.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "base/strbuf.h"
#include "base/memory.h"
#include "profile/schema.h"

/* ---- Encoding ------------------------------------------------------------------------------ */

/* Column after column, of rows of `bytes` each with their metrics at `metrics`. */
static void path_blocks_take_metrics(uint64_t *numbers, const void *rows, size_t count,
                                     size_t bytes, size_t metrics)
{
    for (size_t i = 0; i < schema_call_field_count; i++)
        for (size_t row = 0; row < count; row++)
            memcpy(&numbers[i * count + row],
                   (const char *)rows + row * bytes + metrics + schema_call_fields[i].offset,
                   sizeof *numbers);
}

static void path_blocks_encode(struct strbuf *out, const uint64_t *numbers, size_t columns,
                               size_t count)
{
    const uint64_t *at[2 + METRICS];
    for (size_t i = 0; i < columns; i++)
        at[i] = numbers + i * count;
    columns_encode(out, at, columns, count);
}

/* Room for a block's columns, 304 KiB as a rule. The last one that was given back is taken again,
 * because in new memory each of its pages costs a fault: a sixth of all faults of a node's
 * collector. */
struct path_blocks_room {
    size_t count; /* of numbers */
    uint64_t numbers[];
};
static struct path_blocks_room *_Atomic path_blocks_spare;

static struct path_blocks_room *path_blocks_take_room(size_t columns, size_t count)
{
    struct path_blocks_room *room = atomic_exchange(&path_blocks_spare, NULL);
    if (room && room->count >= columns * count)
        return room;
    free(room);
    room = malloc(sizeof *room + columns * count * sizeof *room->numbers);
    if (!room)
        memory_exhausted();
    room->count = columns * count;
    return room;
}

static void path_blocks_give_room(struct path_blocks_room *room)
{
    free(atomic_exchange(&path_blocks_spare, room));
}

void profile_encode_region_sites(struct strbuf *out, const struct replay_region_site *sites,
                                 size_t count)
{
    size_t columns = 2 + schema_call_field_count;
    struct path_blocks_room *room = path_blocks_take_room(columns, count);
    uint64_t *numbers = room->numbers;
    for (size_t row = 0; row < count; row++) {
        numbers[row] = sites[row].region;
        numbers[count + row] = sites[row].node;
    }
    path_blocks_take_metrics(numbers + 2 * count, sites, count, sizeof *sites,
                             offsetof(struct replay_region_site, metrics));
    path_blocks_encode(out, numbers, columns, count);
    path_blocks_give_room(room);
}

void profile_encode_sites(struct strbuf *out, const struct replay_site *sites, size_t count)
{
    size_t columns = 1 + schema_call_field_count;
    struct path_blocks_room *room = path_blocks_take_room(columns, count);
    uint64_t *numbers = room->numbers;
    for (size_t row = 0; row < count; row++)
        numbers[row] = sites[row].node;
    path_blocks_take_metrics(numbers + count, sites, count, sizeof *sites,
                             offsetof(struct replay_site, metrics));
    path_blocks_encode(out, numbers, columns, count);
    path_blocks_give_room(room);
}

/* ---- Reading ------------------------------------------------------------------------------- */

static bool path_blocks_has_table(sqlite3 *database, const char *table)
{
    return sqlite3_table_column_metadata(database, NULL, table, "body", NULL, NULL, NULL, NULL,
                                         NULL) == SQLITE_OK;
}

bool path_blocks_are_there(sqlite3 *database)
{
    return path_blocks_has_table(database, "path_block") ||
           path_blocks_has_table(database, "site_block");
}

static void path_blocks_read_name(struct blocks *blocks, sqlite3_stmt *row)
{
    int64_t number = sqlite3_column_int64(row, 0);
    const char *name = (const char *)sqlite3_column_text(row, 1);
    if (number < 0 || number >= COLUMNS_MAX || !name)
        return;
    free(blocks->names[number]);
    blocks->names[number] = strdup(name);
}

static void path_blocks_read_names(struct blocks *blocks, sqlite3 *database, const char *table)
{
    sqlite3_stmt *row = NULL;
    if (sqlite3_prepare_v2(database, "SELECT number,name FROM block_column WHERE block=?", -1, &row,
                           NULL) != SQLITE_OK)
        return;
    sqlite3_bind_text(row, 1, table, -1, SQLITE_STATIC);
    while (sqlite3_step(row) == SQLITE_ROW)
        path_blocks_read_name(blocks, row);
    sqlite3_finalize(row);
}

static void path_blocks_begin(struct blocks *blocks, sqlite3 *database, const char *table,
                              const char *number, const char *key)
{
    struct strbuf sql = STRBUF_INIT;
    *blocks = (struct blocks){.is_keyed = key != NULL};
    memset(blocks->wanted, true, sizeof blocks->wanted);
    path_blocks_read_names(blocks, database, table);
    strbuf_addf(&sql, "SELECT %s,count,body,%s FROM %s ORDER BY %s", number, key ? key : "0", table,
                number);
    if (sqlite3_prepare_v2(database, sql.data, -1, &blocks->row, NULL) != SQLITE_OK)
        blocks->row = NULL;
    strbuf_release(&sql);
}

void blocks_begin(struct blocks *blocks, sqlite3 *database, const char *table)
{
    path_blocks_begin(blocks, database, table, "first", NULL);
}

void path_blocks_begin_keyed(struct blocks *blocks, sqlite3 *database, const char *table,
                             const char *key)
{
    path_blocks_begin(blocks, database, table, "rowid", key);
}

void path_blocks_end(struct blocks *blocks)
{
    sqlite3_finalize(blocks->row);
    columns_release(&blocks->columns);
    for (size_t i = 0; i < COLUMNS_MAX; i++)
        free(blocks->names[i]);
}

const uint64_t *path_blocks_column(const struct blocks *blocks, const char *name)
{
    for (size_t i = 0; i < blocks->columns.count; i++)
        if (blocks->wanted[i] && blocks->names[i] && !strcmp(blocks->names[i], name))
            return columns_at(&blocks->columns, i);
    return NULL;
}

void path_blocks_want(struct blocks *blocks, const char *const *names)
{
    for (size_t i = 0; i < COLUMNS_MAX; i++) {
        blocks->wanted[i] = false;
        for (const char *const *name = names; *name && blocks->names[i]; name++)
            blocks->wanted[i] |= !strcmp(blocks->names[i], *name);
    }
}

static void path_blocks_find_metrics(struct blocks *blocks)
{
    blocks->metric_count = 0;
    for (size_t i = 0; i < schema_call_field_count; i++) {
        const struct field *field = &schema_call_fields[i];
        const uint64_t *numbers = path_blocks_column(blocks, field->column);
        if (numbers)
            blocks->metrics[blocks->metric_count++] =
                (struct blocks_metric){field->offset, numbers};
    }
}

static enum blocks_result path_blocks_decode(struct blocks *blocks)
{
    int64_t first = sqlite3_column_int64(blocks->row, 0);
    int64_t count = sqlite3_column_int64(blocks->row, 1);
    if (first < 0 || count < 1 || count > COLUMNS_MAX_ROWS ||
        (!blocks->is_keyed && (first > UINT32_MAX || first + count - 1 > UINT32_MAX)) ||
        sqlite3_column_type(blocks->row, 2) != SQLITE_BLOB)
        return BLOCKS_BAD;
    const void *body = sqlite3_column_blob(blocks->row, 2);
    size_t bytes = (size_t)sqlite3_column_bytes(blocks->row, 2);
    int error =
        columns_decode(&blocks->columns, body, body ? bytes : 0, (size_t)count, blocks->wanted);
    blocks->first = (uint64_t)first;
    blocks->key = sqlite3_column_int64(blocks->row, 3);
    if (!blocks->is_keyed)
        path_blocks_find_metrics(blocks);
    return !error ? BLOCKS_ONE : error == -ENOMEM ? BLOCKS_NO_MEMORY : BLOCKS_BAD;
}

enum blocks_result path_blocks_next(struct blocks *blocks)
{
    int result = blocks->row ? sqlite3_step(blocks->row) : SQLITE_ERROR;
    switch (result) {
    case SQLITE_ROW:
        return path_blocks_decode(blocks);
    case SQLITE_DONE:
        return BLOCKS_NO_MORE;
    case SQLITE_NOMEM:
        return BLOCKS_NO_MEMORY;
    default:
        return BLOCKS_FAILED;
    }
}

void path_blocks_metrics(const struct blocks *blocks, size_t row, struct call_metrics *out)
{
    call_metrics_know_nothing(out);
    for (size_t i = 0; i < blocks->metric_count; i++)
        memcpy((char *)out + blocks->metrics[i].offset, &blocks->metrics[i].numbers[row],
               sizeof(uint64_t));
}
