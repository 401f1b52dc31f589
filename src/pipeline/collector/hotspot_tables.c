/* Reads the tables of HotSpot (hotspot_tables.h). A table has thousands of rows and names, which
 * lie close together: so whole pages are read and kept, and neighbours share one call of the
 * kernel. */
#include "collector/hotspot_tables.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, PAGES_KEPT = 64, NAME_BYTES = 64 };
enum { ROWS_MOST = 1 << 14, ROW_BYTES_MOST = 256 };

struct hotspot_page {
    uint64_t address;
    size_t bytes; /* that could be read; 0: none */
    unsigned char data[PAGE];
};

struct hotspot_place {
    uint64_t value; /* address or offset */
    bool is_known, is_static;
};

struct hotspot_tables {
    struct hotspot_memory memory;
    struct hotspot_place fields[HOTSPOT_FIELD_COUNT];
    uint32_t constants[HOTSPOT_CONSTANT_COUNT];
    bool has_constant[HOTSPOT_CONSTANT_COUNT];
    struct hotspot_page pages[PAGES_KEPT]; /* by the number of the page */
};

struct hotspot_name {
    const char *type, *field;
};
#define HOTSPOT_FIELD_NAME(name, type, field) {type, field},
#define HOTSPOT_CONSTANT_NAME(name, text)     text,
static const struct hotspot_name hotspot_field_names[] = {HOTSPOT_FIELDS(HOTSPOT_FIELD_NAME)};
static const char *const hotspot_constant_names[] = {HOTSPOT_CONSTANTS(HOTSPOT_CONSTANT_NAME)};

/* ---- Memory -------------------------------------------------------------------------------- */

static const struct hotspot_page *hotspot_tables_page(struct hotspot_tables *tables,
                                                      uint64_t address)
{
    uint64_t start = address & ~(uint64_t)(PAGE - 1);
    struct hotspot_page *page = &tables->pages[start / PAGE % PAGES_KEPT];
    if (!page->bytes || page->address != start) {
        page->address = start;
        page->bytes = tables->memory.read(tables->memory.context, start, page->data, PAGE);
    }
    return page;
}

/* Returns how many bytes could be read. */
static size_t hotspot_tables_copy(struct hotspot_tables *tables, uint64_t address, void *to,
                                  size_t bytes)
{
    size_t had = 0;
    if (address > UINT64_MAX - PAGE - bytes)
        return 0;
    while (had < bytes) {
        const struct hotspot_page *page = hotspot_tables_page(tables, address + had);
        size_t at = (size_t)(address + had - page->address);
        size_t piece = page->bytes > at ? page->bytes - at : 0;
        if (!piece)
            break;
        piece = piece < bytes - had ? piece : bytes - had;
        memcpy((char *)to + had, page->data + at, piece);
        had += piece;
    }
    return had;
}

bool hotspot_tables_read_word(struct hotspot_tables *tables, uint64_t address, uint64_t *word)
{
    return hotspot_tables_copy(tables, address, word, sizeof *word) == sizeof *word;
}

/* Whether a text with an end is there. One that is longer than each that is looked for is cut. */
static bool hotspot_tables_text(struct hotspot_tables *tables, uint64_t address,
                                char text[NAME_BYTES])
{
    size_t had = hotspot_tables_copy(tables, address, text, NAME_BYTES);
    bool has_end = memchr(text, 0, had) != NULL;
    if (had == NAME_BYTES)
        text[NAME_BYTES - 1] = '\0';
    return has_end || had == NAME_BYTES;
}

/* ---- Rows ---------------------------------------------------------------------------------- */

/* An exported variable of 8 bytes. */
static uint64_t hotspot_tables_variable(struct hotspot_tables *tables, const char *name)
{
    uint64_t address = tables->memory.symbol(tables->memory.context, name), word;
    return address && hotspot_tables_read_word(tables, address, &word) ? word : 0;
}

/* A table, and where its columns are in a row. */
struct hotspot_table {
    uint64_t first, stride;
    uint64_t columns[5];
    bool is_sound;
};

static struct hotspot_table hotspot_tables_open(struct hotspot_tables *tables, const char *table,
                                                const char *stride, const char *const columns[5])
{
    struct hotspot_table found = {.first = hotspot_tables_variable(tables, table),
                                  .stride = hotspot_tables_variable(tables, stride)};
    found.is_sound =
        found.first && found.stride >= sizeof(uint64_t) && found.stride <= ROW_BYTES_MOST;
    for (size_t i = 0; i < 5 && columns[i]; i++) {
        found.columns[i] = hotspot_tables_variable(tables, columns[i]);
        found.is_sound &= found.columns[i] <= found.stride - sizeof(uint64_t);
    }
    return found;
}

static bool hotspot_tables_is_type(const char *name, const char *wanted)
{
    bool is_renamed = !strncmp(name, "G1", 2) && strncmp(wanted, "G1", 2) != 0;
    return !strcmp(name, wanted) || (is_renamed && !strcmp(name + 2, wanted));
}

static bool hotspot_tables_wants_type(const char *type)
{
    for (size_t i = 0; i < HOTSPOT_FIELD_COUNT; i++)
        if (hotspot_tables_is_type(type, hotspot_field_names[i].type))
            return true;
    return false;
}

static void hotspot_tables_note_field(struct hotspot_tables *tables, const char *type,
                                      const char *field, struct hotspot_place place)
{
    for (size_t i = 0; i < HOTSPOT_FIELD_COUNT; i++)
        if (!strcmp(field, hotspot_field_names[i].field) &&
            hotspot_tables_is_type(type, hotspot_field_names[i].type))
            tables->fields[i] = place;
}

enum { COLUMN_TYPE, COLUMN_FIELD, COLUMN_STATIC, COLUMN_OFFSET, COLUMN_ADDRESS };

/* A row of a wanted type. */
static void hotspot_tables_take_row(struct hotspot_tables *tables,
                                    const struct hotspot_table *table, uint64_t row,
                                    const char *type)
{
    char field[NAME_BYTES];
    uint64_t name, is_static, value;
    if (!hotspot_tables_read_word(tables, row + table->columns[COLUMN_FIELD], &name) ||
        !hotspot_tables_read_word(tables, row + table->columns[COLUMN_STATIC], &is_static) ||
        !hotspot_tables_text(tables, name, field))
        return;
    unsigned column = (uint32_t)is_static ? COLUMN_ADDRESS : COLUMN_OFFSET; /* it is an int */
    if (hotspot_tables_read_word(tables, row + table->columns[column], &value))
        hotspot_tables_note_field(tables, type, field,
                                  (struct hotspot_place){value, true, (uint32_t)is_static != 0});
}

/* Rows of one type stand together, and their names are one text. */
static bool hotspot_tables_take_fields(struct hotspot_tables *tables)
{
    static const char *const columns[5] = {
        "gHotSpotVMStructEntryTypeNameOffset", "gHotSpotVMStructEntryFieldNameOffset",
        "gHotSpotVMStructEntryIsStaticOffset", "gHotSpotVMStructEntryOffsetOffset",
        "gHotSpotVMStructEntryAddressOffset"};
    struct hotspot_table table = hotspot_tables_open(tables, "gHotSpotVMStructs",
                                                     "gHotSpotVMStructEntryArrayStride", columns);
    char type[NAME_BYTES] = "";
    uint64_t row = table.first, name, last = 0;
    bool is_wanted = false;
    for (size_t i = 0; table.is_sound && i < ROWS_MOST; i++, row += table.stride) {
        if (!hotspot_tables_read_word(tables, row + table.columns[COLUMN_TYPE], &name) || !name)
            break;
        if (name != last)
            is_wanted = hotspot_tables_text(tables, name, type) && hotspot_tables_wants_type(type);
        last = name;
        if (is_wanted)
            hotspot_tables_take_row(tables, &table, row, type);
    }
    return last != 0;
}

static void hotspot_tables_take_constants(struct hotspot_tables *tables)
{
    static const char *const columns[5] = {"gHotSpotVMIntConstantEntryNameOffset",
                                           "gHotSpotVMIntConstantEntryValueOffset"};
    struct hotspot_table table = hotspot_tables_open(
        tables, "gHotSpotVMIntConstants", "gHotSpotVMIntConstantEntryArrayStride", columns);
    char text[NAME_BYTES];
    uint64_t row = table.first, name, value;
    for (size_t i = 0; table.is_sound && i < ROWS_MOST; i++, row += table.stride) {
        if (!hotspot_tables_read_word(tables, row + table.columns[0], &name) || !name ||
            !hotspot_tables_read_word(tables, row + table.columns[1], &value))
            break;
        if (!hotspot_tables_text(tables, name, text))
            continue;
        for (size_t j = 0; j < HOTSPOT_CONSTANT_COUNT; j++)
            if (hotspot_tables_is_type(text, hotspot_constant_names[j])) {
                tables->constants[j] = (uint32_t)value;
                tables->has_constant[j] = true;
            }
    }
}

struct hotspot_tables *hotspot_tables_read(const struct hotspot_memory *memory)
{
    struct hotspot_tables *tables = calloc(1, sizeof *tables);
    if (!tables)
        return NULL;
    tables->memory = *memory;
    if (!hotspot_tables_take_fields(tables)) {
        free(tables);
        return NULL;
    }
    hotspot_tables_take_constants(tables);
    return tables;
}

void hotspot_tables_free(struct hotspot_tables *tables)
{
    free(tables);
}

/* ---- What they say ------------------------------------------------------------------------- */

uint64_t hotspot_tables_place(const struct hotspot_tables *tables, enum hotspot_field field,
                              uint64_t object)
{
    const struct hotspot_place *place = &tables->fields[field];
    if (!place->is_known)
        return 0;
    if (place->is_static)
        return place->value;
    bool is_sound = object && place->value < (1u << 20) && object < UINT64_MAX - place->value;
    return is_sound ? object + place->value : 0;
}

uint64_t hotspot_tables_word(struct hotspot_tables *tables, enum hotspot_field field,
                             uint64_t object)
{
    uint64_t place = hotspot_tables_place(tables, field, object), word;
    return place && hotspot_tables_read_word(tables, place, &word) ? word : 0;
}

bool hotspot_tables_number(struct hotspot_tables *tables, enum hotspot_field field, uint64_t object,
                           size_t bytes, uint32_t *number)
{
    uint64_t place = hotspot_tables_place(tables, field, object);
    *number = 0;
    return place && bytes <= sizeof *number &&
           hotspot_tables_copy(tables, place, number, bytes) == bytes;
}

bool hotspot_tables_constant(const struct hotspot_tables *tables, enum hotspot_constant constant,
                             uint32_t *value)
{
    *value = tables->constants[constant];
    return tables->has_constant[constant];
}
