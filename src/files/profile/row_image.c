/* Keeps rows as SQLite's records and lays them out as a database (row_image.h). A record is the
 * types of its values and then the values (www.sqlite.org/fileformat2.html, "Record Format"); the
 * rowid is not in it but beside it. */
#include "profile/row_image.h"

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/memory.h"
#include "profile/btree_image.h"
#include "profile/schema.h"
#include "profile/schema_image.h"
#include "profile/schema_table.h"

enum {
    KEYS_MAX = 5,       /* columns of a key, and a rowid behind them */
    PAGE_COUNT_AT = 28, /* in the database's header */
    TYPE_ZERO = 8,      /* the numbers 0 and 1 have no bytes */
    TYPE_REAL = 7,
    TYPE_BLOB = 12, /* and twice its length */
    TYPE_TEXT = 13, /* likewise */
};

struct row_place {
    int64_t rowid; /* of an index: 0 */
    int64_t group; /* what a drop compares; INT64_MIN: nothing */
    size_t at;     /* in the table's records; rows that were put later are behind */
    size_t bytes;  /* 0: another row has its place */
};

struct row_table {
    const struct schema_table *schema;
    struct row_place *rows;
    size_t count, room;
    struct strbuf records;
    bool is_mixed; /* rows did not come in the order of their keys */
    int64_t last[KEYS_MAX];
};

/* Of a statement. */
struct row_target {
    struct row_table *table; /* NULL: not needed yet */
    bool drops;
    int group;                        /* of a put: the value that drops compare; -1: none */
    signed char value_of[VALUES_MAX]; /* each column's value; -1: it has none */
};

struct row_image {
    unsigned char *empty; /* the pages of a profile without rows */
    size_t empty_bytes;
    struct row_table *tables[STATEMENT_COUNT]; /* by the order in which they were needed */
    size_t table_count;
    struct row_target targets[STATEMENT_COUNT];
};

struct row_image *row_image_new(void)
{
    struct row_image *image = calloc(1, sizeof *image);
    if (image && (image->empty = schema_image(false, &image->empty_bytes)))
        return image;
    free(image);
    return NULL;
}

void row_image_free(struct row_image *image)
{
    for (size_t i = 0; i < image->table_count; i++) {
        strbuf_release(&image->tables[i]->records);
        free(image->tables[i]->rows);
        free(image->tables[i]);
    }
    sqlite3_free(image->empty);
    free(image);
}

/* ---- Statements ---------------------------------------------------------------------------- */

static struct row_table *row_image_table(struct row_image *image, const char *name)
{
    const struct schema_table *schema = schema_image_table(name);
    for (size_t i = 0; i < image->table_count; i++)
        if (image->tables[i]->schema == schema)
            return image->tables[i];
    struct row_table *table = memory_zeroed(1, sizeof *table);
    table->schema = schema;
    table->records = STRBUF_INIT;
    return image->tables[image->table_count++] = table;
}

/* The place of the next name in "NAME,NAME…" among the table's columns. Moves *names behind it. */
static int row_target_next_column(const struct schema_table *schema, const char **names)
{
    size_t bytes = strcspn(*names, ",");
    int column = schema_table_column(schema, *names, bytes);
    *names += bytes + ((*names)[bytes] == ',');
    return column;
}

static void row_target_set(struct row_target *target, const struct statement_shape *shape)
{
    const struct schema_table *schema = target->table->schema;
    const char *names = shape->columns;
    memset(target->value_of, -1, sizeof target->value_of);
    for (size_t i = 0; i < shape->count; i++)
        target->value_of[names ? row_target_next_column(schema, &names) : (int)i] = (signed char)i;
}

/* Which value of a put is what drops of the same table compare? The statement behind a put of a
 * detail is its drop; of the fixed ones, frames have one. */
static int row_target_group(const struct row_target *target, enum statement which)
{
    if (which < PUT_DETAIL && which != PUT_FRAME)
        return -1;
    struct statement_shape drop = statement_of(which + 1);
    if (!drop.columns)
        return -1;
    return target
        ->value_of[schema_table_column(target->table->schema, drop.columns, strlen(drop.columns))];
}

static struct row_target *row_image_target(struct row_image *image, enum statement which)
{
    struct row_target *target = &image->targets[which];
    if (target->table)
        return target;
    struct statement_shape shape = statement_of(which);
    target->table = row_image_table(image, shape.table);
    target->drops = shape.drops;
    if (!shape.drops) {
        row_target_set(target, &shape);
        target->group = row_target_group(target, which);
    }
    return target;
}

/* ---- Records ------------------------------------------------------------------------------- */

/* Of how many bytes is the number, by its type from 1 to 6? */
static const unsigned char row_number_bytes[] = {0, 1, 2, 3, 4, 6, 8};

static unsigned row_number_type(int64_t number)
{
    uint64_t bits = (uint64_t)(number < 0 ? ~number : number);
    if (number == 0 || number == 1)
        return TYPE_ZERO + (unsigned)number;
    return bits < 1u << 7      ? 1
           : bits < 1u << 15   ? 2
           : bits < 1u << 23   ? 3
           : bits < 1u << 31   ? 4
           : bits < 1ull << 47 ? 5
                               : 6;
}

/* The type of a value, and the bytes that follow. */
static uint64_t row_value_type(const struct value *value, size_t *bytes)
{
    unsigned type = 0;
    *bytes = 0;
    switch (value->type) {
    case VALUE_NUMBER:
        type = row_number_type(value->number);
        *bytes = type < TYPE_REAL ? row_number_bytes[type] : 0;
        return type;
    case VALUE_REAL: /* what is no number is NULL, as in SQLite */
        *bytes = isnan(value->real) ? 0 : sizeof value->real;
        return isnan(value->real) ? 0 : TYPE_REAL;
    case VALUE_TEXT:
        *bytes = value->bytes;
        return TYPE_TEXT + 2 * (uint64_t)value->bytes;
    case VALUE_BLOB:
        *bytes = value->bytes;
        return TYPE_BLOB + 2 * (uint64_t)value->bytes;
    default:
        return 0;
    }
}

static char *row_value_write(char *at, const struct value *value, size_t bytes)
{
    uint64_t number = (uint64_t)value->number;
    if (value->type == VALUE_TEXT || value->type == VALUE_BLOB) {
        memcpy(at, value->data, bytes);
        return at + bytes;
    }
    if (value->type == VALUE_REAL)
        memcpy(&number, &value->real, sizeof number);
    for (size_t i = bytes; i--;)
        *at++ = (char)(number >> 8 * i);
    return at;
}

/* The types' length counts itself. */
static size_t row_record_head(size_t types)
{
    return types + 1 + (types + 1 >= 0x80);
}

static const struct value row_null = {.type = VALUE_NULL};

/* Appends the record of the values. Returns its length. */
static size_t row_record_add(struct strbuf *records, const struct value *const *columns,
                             size_t count)
{
    unsigned char types[VALUES_MAX * BTREE_VARINT_BYTES], *end = types;
    size_t bytes[VALUES_MAX], all = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t type = row_value_type(columns[i], &bytes[i]);
        if (type < 0x80)
            *end++ = (unsigned char)type;
        else
            end = btree_varint(end, type);
        all += bytes[i];
    }
    size_t head = row_record_head((size_t)(end - types));
    char *at = strbuf_extend(records, head + all);
    at = (char *)btree_varint((unsigned char *)at, head);
    memcpy(at, types, (size_t)(end - types));
    at += end - types;
    for (size_t i = 0; i < count; i++)
        at = bytes[i] ? row_value_write(at, columns[i], bytes[i]) : at;
    return head + all;
}

/* ---- Rows ---------------------------------------------------------------------------------- */

/* Does the row stand behind all before it, as far as numbers tell? */
static bool row_table_is_behind(struct row_table *table, const struct value *const *columns)
{
    int order = table->count ? 0 : 1;
    for (size_t i = 0; i < table->schema->key_count; i++) {
        if (columns[i]->type != VALUE_NUMBER || i >= KEYS_MAX)
            return false;
        if (!order)
            order = (columns[i]->number > table->last[i]) - (columns[i]->number < table->last[i]);
        table->last[i] = columns[i]->number;
    }
    return order > 0;
}

/* The rowid: the row's own, or the one behind the last. */
static int64_t row_table_rowid(struct row_table *table, const struct value *own)
{
    int64_t last = table->last[0];
    if (!own || own->type != VALUE_NUMBER)
        return table->last[0] = table->count ? last + 1 : 1;
    if (table->count && own->number <= last)
        table->is_mixed = true;
    if (!table->count || own->number > last)
        table->last[0] = own->number;
    return own->number;
}

static void row_table_add(struct row_table *table, struct row_place row)
{
    array_need_bare_room(&table->rows, &table->room, table->count, sizeof *table->rows);
    table->rows[table->count++] = row;
}

/* What is no number is dropped by none. */
static int64_t row_group(const struct row_target *target, const struct values *values)
{
    const struct value *value = target->group < 0 ? &row_null : &values->at[target->group];
    return value->type == VALUE_NUMBER ? value->number : INT64_MIN;
}

static void row_image_put_row(const struct row_target *target, const struct values *values)
{
    struct row_table *table = target->table;
    const struct schema_table *schema = table->schema;
    const struct value *columns[VALUES_MAX], *own = NULL;
    for (size_t i = 0; i < schema->column_count; i++)
        columns[i] = target->value_of[i] < 0 ? &row_null : &values->at[target->value_of[i]];
    if (schema->rowid_column >= 0) {
        own = columns[schema->rowid_column];
        columns[schema->rowid_column] = &row_null;
    }
    struct row_place row = {.at = table->records.length, .group = row_group(target, values)};
    if (schema->has_rowids)
        row.rowid = row_table_rowid(table, own);
    else if (!row_table_is_behind(table, columns))
        table->is_mixed = true;
    row.bytes = row_record_add(&table->records, columns, schema->column_count);
    row_table_add(table, row);
}

static void row_table_drop(struct row_table *table, const struct values *values)
{
    size_t kept = 0;
    for (size_t i = 0; values->count && i < table->count; i++)
        if (table->rows[i].group != values->at[0].number)
            table->rows[kept++] = table->rows[i];
    if (kept != table->count && table->schema->has_rowids)
        table->last[0] = INT64_MIN;
    for (size_t i = 0; i < kept && kept != table->count; i++)
        if (table->rows[i].rowid > table->last[0])
            table->last[0] = table->rows[i].rowid;
    table->count = kept;
}

void row_image_put(struct row_image *image, enum statement which, const struct values *values)
{
    struct row_target *target = row_image_target(image, which);
    if (!target->drops)
        row_image_put_row(target, values);
    else if (target->table->count)
        row_table_drop(target->table, values);
}

/* ---- Order --------------------------------------------------------------------------------- */

static const unsigned char *row_read_varint(const unsigned char *at, uint64_t *number)
{
    for (*number = 0; *at & 0x80; at++) /* lengths and types are below 2^56 */
        *number = *number << 7 | (*at & 0x7f);
    *number = *number << 7 | *at;
    return at + 1;
}

static size_t row_value_bytes(uint64_t type)
{
    return type >= TYPE_BLOB   ? (size_t)(type - TYPE_BLOB) / 2
           : type < TYPE_REAL  ? row_number_bytes[type]
           : type == TYPE_REAL ? sizeof(double)
                               : 0;
}

static struct value row_value_read(const unsigned char *at, uint64_t type)
{
    size_t bytes = row_value_bytes(type);
    if (type >= TYPE_BLOB)
        return (struct value){type % 2 ? VALUE_TEXT : VALUE_BLOB, bytes, {.data = at}};
    int64_t number = type > TYPE_REAL ? (int64_t)type - TYPE_ZERO : 0;
    for (size_t i = 0; i < bytes; i++)
        number = i ? (int64_t)((uint64_t)number << 8 | at[i]) : (signed char)at[i];
    return (struct value){type ? VALUE_NUMBER : VALUE_NULL, 0, {.number = number}};
}

/* The first values of a record, which are its key: numbers and texts. */
static void row_read_key(const struct row_table *table, const struct row_place *row,
                         struct value *key)
{
    const unsigned char *types = (const unsigned char *)table->records.data + row->at, *at = types;
    uint64_t head, type;
    types = row_read_varint(types, &head);
    at += head;
    for (size_t i = 0; i < table->schema->key_count; i++) {
        types = row_read_varint(types, &type);
        key[i] = row_value_read(at, type);
        at += row_value_bytes(type);
    }
}

/* As SQLite does: numbers before texts before blobs, and both of these by their bytes. */
static int row_compare_values(const struct value *a, const struct value *b)
{
    if (a->type != b->type)
        return a->type < b->type ? -1 : 1;
    if (a->type != VALUE_TEXT && a->type != VALUE_BLOB)
        return (a->number > b->number) - (a->number < b->number);
    int order = memcmp(a->data, b->data, a->bytes < b->bytes ? a->bytes : b->bytes);
    return order ? order : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

static int row_compare_keys(const struct row_table *table, const struct row_place *a,
                            const struct row_place *b)
{
    struct value left[KEYS_MAX], right[KEYS_MAX];
    int order = (a->rowid > b->rowid) - (a->rowid < b->rowid);
    if (table->schema->has_rowids)
        return order;
    row_read_key(table, a, left);
    row_read_key(table, b, right);
    for (size_t i = 0; i < table->schema->key_count && !order; i++)
        order = row_compare_values(&left[i], &right[i]);
    return order;
}

static int row_compare(const void *left, const void *right, void *table)
{
    const struct row_place *a = left, *b = right;
    int order = row_compare_keys(table, a, b);
    return order ? order : (a->at > b->at) - (a->at < b->at);
}

/* Of rows with one key only that stays which was put last. */
static void row_table_sort(struct row_table *table)
{
    size_t kept = 0;
    if (!table->is_mixed)
        return;
    qsort_r(table->rows, table->count, sizeof *table->rows, row_compare, table);
    for (size_t i = 0; i < table->count; i++) {
        bool is_last = i + 1 == table->count ||
                       row_compare_keys(table, &table->rows[i], &table->rows[i + 1]) != 0;
        if (is_last)
            table->rows[kept++] = table->rows[i];
    }
    table->count = kept;
}

/* ---- Pages --------------------------------------------------------------------------------- */

static void row_table_write(const struct row_table *table, bool has_rowids, size_t page,
                            struct strbuf *file)
{
    struct btree_image tree;
    if (!table->count)
        return;
    btree_image_begin(&tree, file, page, has_rowids);
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].bytes)
            btree_image_add(&tree, table->rows[i].rowid, table->records.data + table->rows[i].at,
                            table->rows[i].bytes);
    btree_image_end(&tree);
}

/* Of two rows with one key the later one stays. `index` has the rows' places as groups. */
static void row_index_yield(struct row_table *table, const struct row_table *index)
{
    struct value key[KEYS_MAX], next[KEYS_MAX];
    for (size_t i = 0; i + 1 < index->count; i++) {
        bool is_same = true;
        row_read_key(index, &index->rows[i], key);
        row_read_key(index, &index->rows[i + 1], next);
        for (size_t k = 0; k < index->schema->key_count && is_same; k++)
            is_same = row_compare_values(&key[k], &next[k]) == 0;
        if (is_same)
            table->rows[index->rows[i].group].bytes = index->rows[i].bytes = 0;
    }
}

/* The index of a table's key: each entry is the key and the rowid, by which equal keys stand in the
 * order in which they were put. */
static void row_index_write(struct row_table *table, struct strbuf *file)
{
    struct schema_table entries = *table->schema;
    struct row_table index = {.schema = &entries, .records = STRBUF_INIT, .is_mixed = true};
    entries.has_rowids = false;
    for (size_t i = 0; i < table->count; i++) {
        struct value key[KEYS_MAX + 1];
        const struct value *columns[KEYS_MAX + 1];
        size_t count = entries.key_count;
        row_read_key(table, &table->rows[i], key);
        key[count] = (struct value){VALUE_NUMBER, 0, {.number = table->rows[i].rowid}};
        for (size_t k = 0; k <= count; k++)
            columns[k] = &key[k];
        struct row_place row = {.group = (int64_t)i, .at = index.records.length};
        row.bytes = row_record_add(&index.records, columns, count + 1);
        row_table_add(&index, row);
    }
    entries.key_count++; /* the rowid, so that none is a double */
    row_table_sort(&index);
    entries.key_count--;
    row_index_yield(table, &index);
    row_table_write(&index, false, table->schema->index, file);
    strbuf_release(&index.records);
    free(index.rows);
}

void row_image_write(struct row_image *image, struct strbuf *file)
{
    strbuf_add(file, image->empty, image->empty_bytes);
    for (size_t i = 0; i < image->table_count; i++) {
        struct row_table *table = image->tables[i];
        row_table_sort(table);
        if (table->schema->has_index && table->count)
            row_index_write(table, file);
        row_table_write(table, table->schema->has_rowids, table->schema->page, file);
    }
    size_t pages = file->length / SCHEMA_PAGE_BYTES;
    for (int i = 0; i < 4; i++)
        file->data[PAGE_COUNT_AT + i] = (char)(pages >> 8 * (3 - i));
}
