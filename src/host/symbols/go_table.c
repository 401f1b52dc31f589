/* Reads Go's table of functions (go_table.h). Nothing is copied: functions are searched by halves
 * where they stand, and values are decoded from a function's beginning. */
#include "symbols/go_table.h"

#include <string.h>

#include "base/search.h"

enum {
    MAGIC_1_16 = 0xfffffffa,
    MAGIC_1_18 = 0xfffffff0,
    MAGIC_1_20 = 0xfffffff1,
    HEADER_BYTES = 8, /* magic, two of zeros, the quantum, the bytes of an address */
    INLINED_CALL = 2  /* the number of the table that says what is inlined */
};

/* ---- Reading ------------------------------------------------------------------------------- */

/* A number of the machine's order; `beyond` is set if it is not in the table. */
static uint64_t go_table_number(const struct go_table *table, uint64_t at, unsigned bytes,
                                bool *beyond)
{
    uint64_t number = 0;
    if (at > table->length || table->length - at < bytes) {
        *beyond = true;
        return 0;
    }
    memcpy(&number, table->bytes + at, bytes);
    return number;
}

static uint32_t go_table_u32(const struct go_table *table, uint64_t at, bool *beyond)
{
    return (uint32_t)go_table_number(table, at, 4, beyond);
}

static const char *go_table_string(const struct go_table *table, uint64_t at)
{
    if (at >= table->length || !memchr(table->bytes + at, 0, table->length - at))
        return NULL;
    return (const char *)table->bytes + at;
}

static uint32_t go_table_varint(const struct go_table *table, uint64_t *at, bool *beyond)
{
    uint32_t number = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
        uint32_t byte = (uint32_t)go_table_number(table, (*at)++, 1, beyond);
        if (shift < 32)
            number |= (byte & 0x7f) << shift;
        if (!(byte & 0x80) || *beyond)
            break;
    }
    return number;
}

/* ---- The header ---------------------------------------------------------------------------- */

/* Fields behind the first eight bytes: functions, files, (text,) names, units, files' names,
 * values, functions' places. */
static void go_table_read_header(struct go_table *table)
{
    bool beyond = false;
    uint64_t fields[8], at = HEADER_BYTES;
    unsigned count = table->has_addresses ? 7 : 8, names = count - 5;
    for (unsigned i = 0; i < count; i++, at += table->pointer)
        fields[i] = go_table_number(table, at, table->pointer, &beyond);
    table->count = fields[0];
    table->text = table->has_addresses ? 0 : fields[2];
    table->names = fields[names];
    table->units = fields[names + 1];
    table->files = fields[names + 2];
    table->values = fields[names + 3];
    table->functions = fields[names + 4];
    if (beyond || table->functions > table->length || table->count > table->length / 8)
        table->bytes = NULL;
}

void go_table_open_bytes(struct go_table *table, const uint8_t *bytes, size_t length)
{
    bool beyond = false;
    *table = (struct go_table){.bytes = bytes, .length = length};
    uint32_t magic = go_table_u32(table, 0, &beyond);
    table->quantum = (unsigned)go_table_number(table, 6, 1, &beyond);
    table->pointer = (unsigned)go_table_number(table, 7, 1, &beyond);
    table->has_addresses = magic == MAGIC_1_16;
    bool is_known = magic == MAGIC_1_16 || magic == MAGIC_1_18 || magic == MAGIC_1_20;
    if (beyond || !is_known || table->pointer != 8 || !table->quantum || table->quantum > 4)
        *table = (struct go_table){0};
    else
        go_table_read_header(table);
}

/* A program that can be loaded anywhere has its addresses in relocations. 0: there is none. */
static uint64_t go_table_relocated(Elf *elf, uint64_t place)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA || !header.sh_entsize)
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        for (size_t i = 0; data && i < header.sh_size / header.sh_entsize; i++) {
            GElf_Rela rela;
            if (gelf_getrela(data, (int)i, &rela) && rela.r_offset == place)
                return (uint64_t)rela.r_addend;
        }
    }
    return 0;
}

static bool go_table_is_name(const char *name)
{
    return name && (strcmp(name, ".gopclntab") == 0 || strcmp(name, ".data.rel.ro.gopclntab") == 0);
}

void go_table_open(struct go_table *table, const struct object_file *image)
{
    size_t names;
    *table = (struct go_table){0};
    if (!image->elf || elf_getshdrstrndx(image->elf, &names) != 0)
        return;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(image->elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS ||
            !go_table_is_name(elf_strptr(image->elf, names, header.sh_name)))
            continue;
        Elf_Data *data = elf_rawdata(section, NULL);
        if (!data || !data->d_buf)
            return;
        go_table_open_bytes(table, data->d_buf, data->d_size);
        if (table->bytes && !table->has_addresses && !table->text)
            table->text = go_table_relocated(image->elf, header.sh_addr + HEADER_BYTES +
                                                             2 * (uint64_t)table->pointer);
        return;
    }
}

/* ---- Functions ----------------------------------------------------------------------------- */

/* Where function number `i` begins; behind the last one stands where that ends. */
static uint64_t go_table_entry(const struct go_table *table, uint64_t i, bool *beyond)
{
    unsigned bytes = table->has_addresses ? table->pointer : 4;
    uint64_t at = table->functions + i * 2 * bytes;
    return table->text + go_table_number(table, at, bytes, beyond);
}

/* The offset of the record of the function at the address. */
static bool go_table_record(const struct go_table *table, uint64_t address, uint64_t *entry,
                            uint64_t *record)
{
    unsigned bytes = table->has_addresses ? table->pointer : 4;
    bool beyond = false;
    uint64_t after = 0;
    if (address < go_table_entry(table, 0, &beyond) ||
        address >= go_table_entry(table, table->count, &beyond) || beyond)
        return false;
    SEARCH_FIRST(after, table->count, i, go_table_entry(table, i, &beyond) <= address);
    *entry = go_table_entry(table, after - 1, &beyond);
    *record =
        table->functions +
        go_table_number(table, table->functions + (after - 1) * 2 * bytes + bytes, bytes, &beyond);
    return after > 0 && !beyond && *record < table->length;
}

/* A table of pairs: what the value grows by, and how much code has it. -1: not known. */
static int32_t go_table_value(const struct go_table *table, uint32_t offset, uint64_t entry,
                              uint64_t address)
{
    uint64_t at = table->values + offset, code = entry;
    int32_t value = -1;
    bool beyond = false;
    if (!offset)
        return -1;
    for (bool is_first = true; !beyond; is_first = false) {
        uint32_t grown = go_table_varint(table, &at, &beyond);
        if (!grown && !is_first)
            return -1;
        value = (int32_t)((uint32_t)value + ((grown >> 1) ^ (0u - (grown & 1))));
        code += (uint64_t)go_table_varint(table, &at, &beyond) * table->quantum;
        if (address < code && !beyond)
            return value;
    }
    return -1;
}

/* Of a function's record, behind its beginning: name, arguments, deferreturn, then the offsets of
 * tables for stack, file, line; how many more there are; its unit. */
enum { NAME = 0, FILE_TABLE = 4, LINE_TABLE = 5, MORE_TABLES = 6, UNIT = 7 };

static const char *go_table_file(const struct go_table *table, uint64_t fields, uint64_t entry,
                                 uint64_t address)
{
    bool beyond = false;
    uint32_t offset = go_table_u32(table, fields + 4 * FILE_TABLE, &beyond);
    uint64_t unit = go_table_u32(table, fields + 4 * UNIT, &beyond);
    int32_t number = go_table_value(table, offset, entry, address);
    if (number < 0 || beyond)
        return NULL;
    uint32_t name = go_table_u32(table, table->units + 4 * (unit + (uint32_t)number), &beyond);
    return beyond || name == UINT32_MAX ? NULL : go_table_string(table, table->files + name);
}

/* The tables with a number stand behind the record, which grew by a line in Go 1.20. */
static bool go_table_is_inlined(const struct go_table *table, uint64_t fields, uint64_t entry,
                                uint64_t address)
{
    bool beyond = false;
    bool has_line = go_table_u32(table, 0, &beyond) == MAGIC_1_20;
    uint32_t more = go_table_u32(table, fields + 4 * MORE_TABLES, &beyond);
    uint64_t behind = fields + 4 * (UNIT + 1) + (has_line ? 4 : 0) + 4;
    if (beyond || more <= INLINED_CALL)
        return false;
    uint32_t offset = go_table_u32(table, behind + 4 * INLINED_CALL, &beyond);
    return !beyond && go_table_value(table, offset, entry, address) >= 0;
}

bool go_table_find(const struct go_table *table, uint64_t address, struct symbols_frame *frame)
{
    uint64_t entry, record;
    bool beyond = false;
    if (!table->bytes || !go_table_record(table, address, &entry, &record))
        return false;
    uint64_t fields = record + (table->has_addresses ? table->pointer : 4);
    const char *name =
        go_table_string(table, table->names + go_table_u32(table, fields + 4 * NAME, &beyond));
    uint32_t lines = go_table_u32(table, fields + 4 * LINE_TABLE, &beyond);
    if (beyond || !name || !*name)
        return false;
    bool is_inlined = go_table_is_inlined(table, fields, entry, address);
    int32_t line = is_inlined ? -1 : go_table_value(table, lines, entry, address);
    *frame = (struct symbols_frame){
        .function = name,
        .linkage = name,
        .file = go_table_file(table, fields, entry, is_inlined ? entry : address),
        .line = line > 0 ? (uint32_t)line : 0,
    };
    return true;
}
