/* Makes an empty profile as bytes (schema_image.h). Pages and records are as
 * www.sqlite.org/fileformat2.html describes them. All tables fit on the first page, and all names
 * of columns on one: a test holds that. */
#include "profile/schema_image.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/strbuf.h"
#include "profile/profile.h"
#include "profile/schema.h"
#include "profile/schema_table.h"

enum {
    HEADER_BYTES = 100,
    PAGE_TABLE = 0x0d, /* leaf of a table with rowids */
    PAGE_INDEX = 0x0a, /* leaf of an index, or of a table without rowids */
    OBJECTS_MAX = 126, /* tables and indices, whose numbers take a byte */
};

/* A row of sqlite_schema, and its page. */
struct schema_object {
    const char *sql; /* in the text of the schema; NULL: the index that a primary key makes */
    size_t sql_bytes;
    const char *table;
    size_t table_bytes;
    bool has_rowids;
};

/* A row of block_column. */
struct schema_name {
    const char *block, *name;
    size_t block_bytes, name_bytes;
    uint32_t number;
};

struct schema_image {
    struct strbuf text; /* of the schema; what follows points into it */
    struct schema_object *objects;
    size_t object_count, object_room;
    struct schema_table *tables;
    size_t table_count, table_room;
    struct schema_name *names;
    size_t name_count, name_room;
    size_t names_page; /* index */
    unsigned char *bytes;
    bool is_full;
};

/* ---- The text ------------------------------------------------------------------------------ */

static void schema_image_add_object(struct schema_image *image, struct schema_object object)
{
    array_need_room(&image->objects, &image->object_room, image->object_count,
                    sizeof *image->objects);
    image->objects[image->object_count++] = object;
}

/* `at`: behind "CREATE TABLE ". SQLite keeps the text without "IF NOT EXISTS". */
static void schema_image_take_table(struct schema_image *image, const char *at, size_t bytes)
{
    struct schema_table table;
    if (!schema_table_read(&table, at, bytes))
        image->is_full = true; /* a key that row_image.c would not write */
    struct schema_object object = {.sql = at,
                                   .sql_bytes = bytes,
                                   .table = at,
                                   .table_bytes = table.name_bytes,
                                   .has_rowids = table.has_rowids};
    table.page = image->object_count + 1;
    if (!strncmp(at, "block_column(", 13))
        image->names_page = table.page;
    schema_image_add_object(image, object);
    if (table.has_index) {
        object.sql = NULL;
        object.has_rowids = false;
        table.index = image->object_count + 1;
        schema_image_add_object(image, object);
    }
    array_need_room(&image->tables, &image->table_room, image->table_count, sizeof table);
    image->tables[image->table_count++] = table;
}

/* `at`: "'BLOCK',NUMBER,'NAME')". */
static void schema_image_take_name(struct schema_image *image, const char *at)
{
    struct schema_name name = {.block = at + 1, .block_bytes = strcspn(at + 1, "'")};
    const char *number = name.block + name.block_bytes + 2;
    name.number = (uint32_t)strtoul(number, NULL, 10);
    name.name = number + strcspn(number, "'") + 1;
    name.name_bytes = strcspn(name.name, "'");
    array_need_room(&image->names, &image->name_room, image->name_count, sizeof *image->names);
    image->names[image->name_count++] = name;
}

static void schema_image_take_line(struct schema_image *image, const char *line, size_t bytes)
{
    static const char create[] = "CREATE TABLE ", unless[] = "IF NOT EXISTS ",
                      insert[] = "INSERT INTO block_column VALUES(";
    if (!strncmp(line, create, strlen(create))) {
        size_t skip = strlen(create);
        if (!strncmp(line + skip, unless, strlen(unless)))
            skip += strlen(unless);
        schema_image_take_table(image, line + skip, bytes - skip);
    } else if (!strncmp(line, insert, strlen(insert))) {
        schema_image_take_name(image, line + strlen(insert));
    } else {
        image->is_full = true; /* an unknown statement: the image cannot be used */
    }
}

static int schema_image_compare_names(const void *left, const void *right)
{
    const struct schema_name *a = left, *b = right;
    size_t least = a->block_bytes < b->block_bytes ? a->block_bytes : b->block_bytes;
    int order = memcmp(a->block, b->block, least);
    if (!order)
        order = (a->block_bytes > b->block_bytes) - (a->block_bytes < b->block_bytes);
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

static void schema_image_take_text(struct schema_image *image)
{
    schema_create(&image->text);
    for (const char *at = image->text.data, *end; *at; at = end + 2) {
        end = strstr(at, ";\n");
        schema_image_take_line(image, at, (size_t)(end - at));
    }
    qsort(image->names, image->name_count, sizeof *image->names, schema_image_compare_names);
}

/* ---- Records ------------------------------------------------------------------------------- */

/* SQLite's numbers of seven bits, the highest first; ours are below 2^14. */
static void schema_image_add_varint(struct strbuf *out, size_t number)
{
    if (number >= 0x80)
        strbuf_add_char(out, (char)(0x80 | number >> 7));
    strbuf_add_char(out, (char)(number & 0x7f));
}

static void schema_image_add_big_endian(struct strbuf *out, uint32_t number, int bytes)
{
    while (bytes--)
        strbuf_add_char(out, (char)(number >> 8 * bytes));
}

/* A record is its types and its values. */
struct schema_record {
    struct strbuf types, values;
};

static void schema_record_text(struct schema_record *record, const char *text, size_t bytes)
{
    schema_image_add_varint(&record->types, 13 + 2 * bytes);
    strbuf_add(&record->values, text, bytes);
}

static void schema_record_number(struct schema_record *record, uint32_t number)
{
    int bytes = number < 2 ? 0 : number < 0x80 ? 1 : 2;
    schema_image_add_varint(&record->types, number < 2 ? 8 + number : (size_t)bytes);
    schema_image_add_big_endian(&record->values, number, bytes);
}

/* The types' length counts itself. Empties the record. */
static void schema_record_end(struct schema_record *record, struct strbuf *out)
{
    size_t bytes = record->types.length + 1;
    schema_image_add_varint(out, bytes + (bytes >= 0x80));
    strbuf_add(out, record->types.data, record->types.length);
    strbuf_add(out, record->values.data, record->values.length);
    strbuf_release(&record->types);
    strbuf_release(&record->values);
}

/* ---- Pages --------------------------------------------------------------------------------- */

struct schema_page {
    unsigned char *bytes;
    size_t at; /* of its header in the page: behind the database's on the first */
    size_t count, content;
};

static void schema_page_put_number(unsigned char *at, uint32_t number, int bytes)
{
    while (bytes--)
        *at++ = (unsigned char)(number >> 8 * bytes);
}

static struct schema_page schema_page_begin(unsigned char *image, size_t index, int type)
{
    struct schema_page page = {image + index * SCHEMA_PAGE_BYTES, index ? 0 : HEADER_BYTES, 0,
                               SCHEMA_PAGE_BYTES};
    page.bytes[page.at] = (unsigned char)type;
    schema_page_put_number(page.bytes + page.at + 5, SCHEMA_PAGE_BYTES, 2);
    return page;
}

/* Cells grow from the page's end, and pointers to them from its header. */
static void schema_page_add(struct schema_image *image, struct schema_page *page,
                            const struct strbuf *cell)
{
    size_t pointers = page->at + 8 + 2 * page->count;
    if (page->content < pointers + 2 + cell->length || cell->length > SCHEMA_PAGE_BYTES / 5) {
        image->is_full = true;
        return;
    }
    page->content -= cell->length;
    memcpy(page->bytes + page->content, cell->data, cell->length);
    schema_page_put_number(page->bytes + pointers, (uint32_t)page->content, 2);
    page->count++;
    schema_page_put_number(page->bytes + page->at + 3, (uint32_t)page->count, 2);
    schema_page_put_number(page->bytes + page->at + 5, (uint32_t)page->content, 2);
}

static void schema_image_write_object(struct schema_image *image, struct schema_page *page,
                                      size_t index)
{
    static const char create[] = "CREATE TABLE ";
    const struct schema_object *object = &image->objects[index];
    struct schema_record record = {STRBUF_INIT, STRBUF_INIT};
    struct strbuf text = STRBUF_INIT, payload = STRBUF_INIT, cell = STRBUF_INIT;
    strbuf_addf(&text, object->sql ? "%.*s" : "sqlite_autoindex_%.*s_1", (int)object->table_bytes,
                object->table);
    schema_record_text(&record, object->sql ? "table" : "index", 5);
    schema_record_text(&record, text.data, text.length);
    schema_record_text(&record, object->table, object->table_bytes);
    schema_record_number(&record, (uint32_t)index + 2);
    strbuf_reset(&text);
    strbuf_addf(&text, "%s%.*s", create, (int)object->sql_bytes, object->sql ? object->sql : "");
    if (object->sql)
        schema_record_text(&record, text.data, text.length);
    else
        strbuf_add_char(&record.types, 0); /* NULL */
    schema_record_end(&record, &payload);
    schema_image_add_varint(&cell, payload.length);
    schema_image_add_varint(&cell, index + 1);
    strbuf_add(&cell, payload.data, payload.length);
    schema_page_add(image, page, &cell);
    strbuf_release(&text);
    strbuf_release(&payload);
    strbuf_release(&cell);
}

static void schema_image_write_name(struct schema_image *image, struct schema_page *page,
                                    const struct schema_name *name)
{
    struct schema_record record = {STRBUF_INIT, STRBUF_INIT};
    struct strbuf payload = STRBUF_INIT, cell = STRBUF_INIT;
    schema_record_text(&record, name->block, name->block_bytes);
    schema_record_number(&record, name->number);
    schema_record_text(&record, name->name, name->name_bytes);
    schema_record_end(&record, &payload);
    schema_image_add_varint(&cell, payload.length);
    strbuf_add(&cell, payload.data, payload.length);
    schema_page_add(image, page, &cell);
    strbuf_release(&payload);
    strbuf_release(&cell);
}

static void schema_image_write_header(struct schema_image *image)
{
    unsigned char *at = image->bytes;
    memcpy(at, "SQLite format 3", 16);
    schema_page_put_number(at + 16, SCHEMA_PAGE_BYTES, 2);
    at[21] = 64; /* the three fractions are what they have to be */
    at[22] = at[23] = 32;
    schema_page_put_number(at + 24, 1, 4); /* changes */
    schema_page_put_number(at + 28, (uint32_t)image->object_count + 1, 4);
    schema_page_put_number(at + 40, 1, 4); /* changes of the schema */
    schema_page_put_number(at + 44, 4, 4); /* its format */
    schema_page_put_number(at + 56, 1, 4); /* UTF-8 */
    schema_page_put_number(at + 60, PROFILE_FORMAT_VERSION, 4);
    schema_page_put_number(at + 68, SCHEMA_APPLICATION_ID, 4);
    schema_page_put_number(at + 92, 1, 4); /* the page count is of this change */
    schema_page_put_number(at + 96, (uint32_t)sqlite3_libversion_number(), 4);
}

static void schema_image_write(struct schema_image *image)
{
    struct schema_page first = schema_page_begin(image->bytes, 0, PAGE_TABLE);
    for (size_t i = 0; i < image->object_count; i++) {
        schema_image_write_object(image, &first, i);
        struct schema_page page = schema_page_begin(
            image->bytes, i + 1, image->objects[i].has_rowids ? PAGE_TABLE : PAGE_INDEX);
        for (size_t k = 0; i + 1 == image->names_page && k < image->name_count; k++)
            schema_image_write_name(image, &page, &image->names[k]);
    }
    schema_image_write_header(image);
}

/* What does not change from one profile to the next: made once, and kept while the process lives.
 * NULL: it does not fit, or there was no memory. */
static struct schema_template {
    unsigned char *pages; /* the first one and that of names, one behind the other */
    unsigned char types[OBJECTS_MAX];
    size_t count, names_page;
    struct strbuf text; /* which the tables point into */
    struct schema_table *tables;
    size_t table_count;
} schema_template = {.text = {.data = strbuf_empty}};
static pthread_once_t schema_template_once = PTHREAD_ONCE_INIT;

static void schema_template_take(const struct schema_image *image)
{
    struct schema_template *template = &schema_template;
    template->pages = malloc(2 * SCHEMA_PAGE_BYTES);
    template->count = image->object_count;
    template->names_page = image->names_page;
    for (size_t i = 0; i < image->object_count; i++)
        template->types[i] = image->objects[i].has_rowids ? PAGE_TABLE : PAGE_INDEX;
    if (!template->pages)
        return;
    memcpy(template->pages, image->bytes, SCHEMA_PAGE_BYTES);
    memcpy(template->pages + SCHEMA_PAGE_BYTES,
           image->bytes + image->names_page * SCHEMA_PAGE_BYTES, SCHEMA_PAGE_BYTES);
}

static void schema_template_make(void)
{
    struct schema_image image = {.text = STRBUF_INIT};
    schema_image_take_text(&image);
    image.bytes = calloc(image.object_count + 1, SCHEMA_PAGE_BYTES);
    if (image.bytes && image.object_count <= OBJECTS_MAX) {
        schema_image_write(&image);
        if (!image.is_full)
            schema_template_take(&image);
    }
    schema_template.text = image.text;
    schema_template.tables = image.tables;
    schema_template.table_count = image.table_count;
    free(image.objects);
    free(image.names);
    free(image.bytes);
}

unsigned char *schema_image(bool wal, size_t *bytes)
{
    const struct schema_template *template = &schema_template;
    pthread_once(&schema_template_once, schema_template_make);
    *bytes = (template->count + 1) * SCHEMA_PAGE_BYTES;
    unsigned char *image = template->pages ? sqlite3_malloc64(*bytes) : NULL;
    if (!image)
        return NULL;
    memset(image, 0, *bytes);
    for (size_t i = 0; i < template->count; i++)
        schema_page_begin(image, i + 1, template->types[i]);
    memcpy(image, template->pages, SCHEMA_PAGE_BYTES);
    memcpy(image + template->names_page * SCHEMA_PAGE_BYTES, template->pages + SCHEMA_PAGE_BYTES,
           SCHEMA_PAGE_BYTES);
    image[18] = image[19] = wal ? 2 : 1;
    return image;
}

const struct schema_table *schema_image_table(const char *name)
{
    const struct schema_template *template = &schema_template;
    pthread_once(&schema_template_once, schema_template_make);
    for (size_t i = 0; i < template->table_count; i++)
        if (!strncmp(template->tables[i].sql, name, template->tables[i].name_bytes) &&
            !name[template->tables[i].name_bytes])
            return &template->tables[i];
    return NULL;
}

int schema_image_open(sqlite3 **database)
{
    size_t bytes;
    unsigned char *image = schema_image(false, &bytes);
    int result = image ? sqlite3_open_v2(":memory:", database,
                                         SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL)
                       : SQLITE_NOMEM;
    if (result != SQLITE_OK) {
        sqlite3_free(image);
        return -ENOMEM;
    }
    /* frees the image, here too where it fails */
    result =
        sqlite3_deserialize(*database, "main", image, (sqlite3_int64)bytes, (sqlite3_int64)bytes,
                            SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
    if (result == SQLITE_OK)
        result = sqlite3_exec(*database, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF", NULL,
                              NULL, NULL);
    return result == SQLITE_OK ? 0 : -ENOMEM;
}
