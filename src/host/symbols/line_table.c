/* Reads a unit's line table (line_table.h): its header, its lists of directories and files, and
 * runs its program. Anything unknown or damaged ends the reading, and libdw is asked instead. */
#include "symbols/line_table.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include "base/search.h"

#include "symbols/name_memory.h"

enum { OPCODES_KNOWN = 12, OPCODE_MOST = 255, FORMATS_MOST = 16, ADDRESS_BYTES = 8 };

struct entry_format {
    struct {
        uint64_t what, form;
    } parts[FORMATS_MOST];
    size_t count;
};

struct line_header {
    size_t offset_bytes;
    uint64_t version, instruction_bytes, line_range, opcode_base;
    int8_t line_base;
};

struct line_reading {
    struct line_table *table;
    const struct line_sections *sections;
    struct section_bytes at, program;
    struct line_header header;
    const char **directories;
    size_t directory_count, directory_capacity;
};

/* ---- Numbers and strings ------------------------------------------------------------------- */

static bool line_take_leb(struct section_bytes *bytes, uint64_t *number, bool is_signed)
{
    enum { PART_BITS = 7, MORE = 0x80, SIGN = 0x40, BITS = 64 };
    uint8_t byte;
    unsigned shift = 0;

    *number = 0;
    do {
        if (!bytes->left || shift >= BITS)
            return false;
        byte = *bytes->at++;
        bytes->left--;
        *number |= (uint64_t)(byte & (MORE - 1)) << shift;
        shift += PART_BITS;
    } while (byte & MORE);
    if (is_signed && byte & SIGN && shift < BITS)
        *number |= UINT64_MAX << shift;
    return true;
}

static bool line_take_number(struct section_bytes *bytes, uint64_t *number)
{
    return line_take_leb(bytes, number, false);
}

static const char *line_take_string(struct section_bytes *bytes)
{
    const char *text = (const char *)bytes->at;
    size_t length = strnlen(text, bytes->left);

    return section_skip(bytes, (uint64_t)length + 1) ? text : NULL;
}

/* The section's last byte ends each of them, so that no file's name is measured: a list of a
 * damaged file can name one long string many times. */
static const char *line_string_at(struct section_bytes strings, uint64_t offset)
{
    if (offset >= strings.left || strings.at[strings.left - 1])
        return NULL;
    return (const char *)strings.at + offset;
}

/* ---- Directories and files ----------------------------------------------------------------- */

static void line_add_directory(struct line_reading *reading, const char *directory)
{
    reading->directories =
        name_memory_grow(reading->directories, &reading->directory_capacity,
                         reading->directory_count + 1, sizeof *reading->directories);
    reading->directories[reading->directory_count++] = directory;
}

static bool line_add_file(struct line_reading *reading, const char *name, uint64_t directory)
{
    struct line_table *table = reading->table;

    if (directory >= reading->directory_count)
        return false;
    table->files = name_memory_grow(table->files, &table->file_capacity, table->file_count + 1,
                                    sizeof *table->files);
    table->files[table->file_count++] = (struct line_file){
        *name == '/' ? NULL : reading->directories[directory],
        name,
    };
    return true;
}

/* Up to version 4: directory 0 is the unit's own, and files are counted from 1. */
static bool line_read_old_lists(struct line_reading *reading, Dwarf_Die *unit)
{
    Dwarf_Attribute attribute;
    const char *text;
    uint64_t directory, unused;

    line_add_directory(reading, dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute)));
    while ((text = line_take_string(&reading->at)) && *text)
        line_add_directory(reading, text);
    if (!text || !line_add_file(reading, "/", 0))
        return false;
    reading->table->files[0].name = NULL;
    while ((text = line_take_string(&reading->at)) && *text) {
        if (!line_take_number(&reading->at, &directory) ||
            !line_take_number(&reading->at, &unused) || !line_take_number(&reading->at, &unused) ||
            !line_add_file(reading, text, directory))
            return false;
    }
    return text;
}

static bool line_read_format(struct line_reading *reading, struct entry_format *format)
{
    uint64_t count;

    if (!section_take(&reading->at, 1, &count) || count == 0 || count > FORMATS_MOST)
        return false;
    format->count = (size_t)count;
    for (size_t i = 0; i < format->count; i++)
        if (!line_take_number(&reading->at, &format->parts[i].what) ||
            !line_take_number(&reading->at, &format->parts[i].form))
            return false;
    return true;
}

static const char *line_take_text(struct line_reading *reading, uint64_t form)
{
    uint64_t offset;

    if (form == DW_FORM_string)
        return line_take_string(&reading->at);
    if ((form != DW_FORM_line_strp && form != DW_FORM_strp) ||
        !section_take(&reading->at, reading->header.offset_bytes, &offset))
        return NULL;
    return line_string_at(form == DW_FORM_strp ? reading->sections->strings
                                               : reading->sections->line_strings,
                          offset);
}

static bool line_take_form(struct line_reading *reading, uint64_t form, uint64_t *number)
{
    enum { MD5_BYTES = 16 };

    if (form == DW_FORM_udata)
        return line_take_number(&reading->at, number);
    if (form == DW_FORM_data16)
        return section_skip(&reading->at, MD5_BYTES);
    return (form == DW_FORM_data1 && section_take(&reading->at, 1, number)) ||
           (form == DW_FORM_data2 && section_take(&reading->at, 2, number));
}

static bool line_read_entry(struct line_reading *reading, const struct entry_format *format,
                            const char **name, uint64_t *directory)
{
    *name = NULL;
    *directory = 0;
    for (size_t i = 0; i < format->count; i++) {
        uint64_t unused, form = format->parts[i].form, what = format->parts[i].what;
        if (what == DW_LNCT_path) {
            if (!(*name = line_take_text(reading, form)))
                return false;
        } else if (!line_take_form(reading, form,
                                   what == DW_LNCT_directory_index ? directory : &unused)) {
            return false;
        }
    }
    return *name;
}

static bool line_read_new_list(struct line_reading *reading, bool are_files)
{
    struct entry_format format;
    const char *name;
    uint64_t count, directory;

    if (!line_read_format(reading, &format) || !line_take_number(&reading->at, &count))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        if (!line_read_entry(reading, &format, &name, &directory))
            return false;
        if (!are_files)
            line_add_directory(reading, name);
        else if (!line_add_file(reading, name, directory))
            return false;
    }
    return true;
}

/* ---- The header ---------------------------------------------------------------------------- */

/* Opcodes that mean what they mean everywhere. */
static bool line_opcodes_are_usual(struct section_bytes *at, uint64_t opcode_base)
{
    static const uint8_t USUAL[OPCODES_KNOWN] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
    uint64_t operands;

    for (uint64_t opcode = 1; opcode < opcode_base; opcode++)
        if (!section_take(at, 1, &operands) || opcode > OPCODES_KNOWN ||
            operands != USUAL[opcode - 1])
            return false;
    return opcode_base > 0;
}

static bool line_read_numbers(struct line_reading *reading)
{
    struct line_header *header = &reading->header;
    struct section_bytes *at = &reading->at;
    uint64_t operations = 1, is_statement, base;

    if (!section_take(at, 1, &header->instruction_bytes) ||
        (header->version >= 4 && !section_take(at, 1, &operations)) || operations != 1 ||
        !section_take(at, 1, &is_statement) || !section_take(at, 1, &base) ||
        !section_take(at, 1, &header->line_range) || !header->line_range ||
        !section_take(at, 1, &header->opcode_base))
        return false;
    header->line_base = (int8_t)base;
    return line_opcodes_are_usual(at, header->opcode_base);
}

static bool line_read_header(struct line_reading *reading)
{
    enum { OLDEST = 2, NEWEST = 5 };
    struct line_header *header = &reading->header;
    struct section_bytes *at = &reading->at;
    uint64_t length, address_bytes = ADDRESS_BYTES, segment_bytes = 0;

    if (!section_take_length(at, &length, &header->offset_bytes))
        return false;
    at->left = (size_t)length;
    if (!section_take(at, 2, &header->version) || header->version < OLDEST ||
        header->version > NEWEST ||
        (header->version == NEWEST &&
         (!section_take(at, 1, &address_bytes) || !section_take(at, 1, &segment_bytes))) ||
        address_bytes != ADDRESS_BYTES || segment_bytes ||
        !section_take(at, header->offset_bytes, &length))
        return false;
    reading->program = *at;
    return section_skip(&reading->program, length) && line_read_numbers(reading);
}

/* ---- The program --------------------------------------------------------------------------- */

static const struct line_row FIRST_ROW = {.file = 1, .line = 1};

static void line_add_row(struct line_table *table, struct line_row row)
{
    row.order = (uint32_t)table->row_count;
    if (table->row_count == table->row_capacity)
        table->rows = name_memory_grow(table->rows, &table->row_capacity, table->row_count + 1,
                                       sizeof *table->rows);
    table->rows[table->row_count++] = row;
}

/* Only with just the operands that each is known to have. */
static bool line_run_extended(struct line_reading *reading, struct line_row *row)
{
    struct section_bytes operands;
    uint64_t length, opcode, unused;

    if (!line_take_number(&reading->program, &length))
        return false;
    operands = reading->program;
    if (!section_skip(&reading->program, length))
        return false;
    operands.left = (size_t)length;
    if (!section_take(&operands, 1, &opcode))
        return false;
    if (opcode == DW_LNE_set_address)
        return operands.left == ADDRESS_BYTES &&
               section_take(&operands, ADDRESS_BYTES, &row->address);
    if (opcode == DW_LNE_set_discriminator)
        return line_take_number(&operands, &unused) && !operands.left;
    if (opcode != DW_LNE_end_sequence || operands.left)
        return false;
    row->is_end = true;
    line_add_row(reading->table, *row);
    *row = FIRST_ROW;
    return true;
}

static bool line_run_standard(struct line_reading *reading, unsigned opcode, struct line_row *row)
{
    const struct line_header *header = &reading->header;
    struct section_bytes *at = &reading->program;
    uint64_t number = 0;
    bool is_read = true;

    if (opcode == DW_LNS_copy) {
        line_add_row(reading->table, *row);
    } else if (opcode == DW_LNS_advance_pc) {
        is_read = line_take_number(at, &number) && number <= UINT32_MAX;
        row->address += number * header->instruction_bytes;
    } else if (opcode == DW_LNS_advance_line) {
        is_read = line_take_leb(at, &number, true);
        row->line += (uint32_t)number;
    } else if (opcode == DW_LNS_set_file) {
        is_read = line_take_number(at, &number) && number <= UINT32_MAX;
        row->file = (uint32_t)number;
    } else if (opcode == DW_LNS_const_add_pc) {
        row->address +=
            (OPCODE_MOST - header->opcode_base) / header->line_range * header->instruction_bytes;
    } else if (opcode == DW_LNS_fixed_advance_pc) {
        is_read = section_take(at, 2, &number);
        row->address += number;
    } else if (opcode == DW_LNS_set_column || opcode == DW_LNS_set_isa) {
        is_read = line_take_number(at, &number);
    }
    return is_read;
}

static bool line_run(struct line_reading *reading)
{
    const struct line_header *header = &reading->header;
    struct line_row row = FIRST_ROW;
    uint64_t opcode;

    while (section_take(&reading->program, 1, &opcode)) {
        if (opcode >= header->opcode_base) {
            opcode -= header->opcode_base;
            row.address += opcode / header->line_range * header->instruction_bytes;
            row.line += (uint32_t)(header->line_base + (int)(opcode % header->line_range));
            line_add_row(reading->table, row);
        } else if (!(opcode == 0 ? line_run_extended(reading, &row)
                                 : line_run_standard(reading, (unsigned)opcode, &row))) {
            return false;
        }
    }
    return true;
}

/* ---- Order --------------------------------------------------------------------------------- */

/* An end stands before what begins at its address. */
static int line_compare_rows(const void *left, const void *right)
{
    const struct line_row *a = left, *b = right;

    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    if (a->is_end != b->is_end)
        return a->is_end ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

static bool line_is_sorted(const struct line_table *table)
{
    for (size_t i = 1; i < table->row_count; i++)
        if (line_compare_rows(&table->rows[i - 1], &table->rows[i]) > 0)
            return false;
    return true;
}

static size_t line_sequence_end(const struct line_table *table, size_t first)
{
    while (first < table->row_count && !table->rows[first].is_end)
        first++;
    return first < table->row_count ? first + 1 : first;
}

/* Puts sequences in order by their first rows, which is enough unless they overlap. */
static void line_sort_sequences(struct line_table *table)
{
    struct line_row *firsts = NULL, *sorted = NULL;
    size_t count = 0, capacity = 0, sorted_count = 0, sorted_capacity = 0;

    for (size_t first = 0; first < table->row_count; first = line_sequence_end(table, first)) {
        firsts = name_memory_grow(firsts, &capacity, count + 1, sizeof *firsts);
        firsts[count++] = table->rows[first];
    }
    qsort(firsts, count, sizeof *firsts, line_compare_rows);
    sorted = name_memory_grow(sorted, &sorted_capacity, table->row_count, sizeof *sorted);
    for (size_t i = 0; i < count; i++) {
        size_t rows = line_sequence_end(table, firsts[i].order) - firsts[i].order;
        memcpy(&sorted[sorted_count], &table->rows[firsts[i].order], rows * sizeof *sorted);
        sorted_count += rows;
    }
    free(firsts);
    free(table->rows);
    table->rows = sorted;
    table->row_capacity = sorted_capacity;
}

/* Moves rows that stand a little too late, as ends do behind rows of their address. False: there is
 * more to move than that. */
static bool line_settle(struct line_table *table)
{
    size_t moves_left = 4 * table->row_count;

    for (size_t i = 1; i < table->row_count; i++) {
        struct line_row row = table->rows[i];
        size_t at = i;
        for (; at && line_compare_rows(&table->rows[at - 1], &row) > 0; at--) {
            if (!moves_left--)
                return false;
            table->rows[at] = table->rows[at - 1];
            table->rows[at - 1] = row;
        }
    }
    return true;
}

static void line_sort(struct line_table *table)
{
    if (!line_is_sorted(table)) {
        line_sort_sequences(table);
        if (!line_settle(table))
            qsort(table->rows, table->row_count, sizeof *table->rows, line_compare_rows);
    }
    if (table->row_count)
        table->rows[table->row_count - 1].is_end = true;
}

/* ---- The table ----------------------------------------------------------------------------- */

static bool line_find_unit(struct line_sections *sections, Dwarf_Die *unit,
                           struct section_bytes *at)
{
    Elf *elf = dwarf_getelf(dwarf_cu_getdwarf(unit->cu));
    Dwarf_Attribute attribute;
    Dwarf_Word offset;

    if (!sections->are_found) {
        sections->lines = debug_section_find(elf, ".debug_line");
        sections->line_strings = debug_section_find(elf, ".debug_line_str");
        sections->strings = debug_section_find(elf, ".debug_str");
    }
    sections->are_found = true;
    *at = sections->lines;
    return dwarf_formudata(dwarf_attr(unit, DW_AT_stmt_list, &attribute), &offset) == 0 &&
           section_skip(at, offset);
}

bool line_table_read(struct line_table *table, struct line_sections *sections, Dwarf_Die *unit)
{
    enum { LISTS_HAVE_FORMATS = 5 };
    struct line_reading reading = {.table = table, .sections = sections};

    *table = (struct line_table){0};
    bool is_read =
        line_find_unit(sections, unit, &reading.at) && line_read_header(&reading) &&
        (reading.header.version < LISTS_HAVE_FORMATS
             ? line_read_old_lists(&reading, unit)
             : line_read_new_list(&reading, false) && line_read_new_list(&reading, true)) &&
        line_run(&reading);
    free(reading.directories);
    if (is_read)
        line_sort(table);
    else
        line_table_release(table);
    return is_read;
}

const struct line_row *line_table_find(const struct line_table *table, uint64_t address)
{
    size_t after = 0;
    SEARCH_FIRST(after, table->row_count, at, table->rows[at].address <= address);
    return after && !table->rows[after - 1].is_end ? &table->rows[after - 1] : NULL;
}

bool line_table_path(const struct line_table *table, size_t file, struct strbuf *path)
{
    if (file >= table->file_count || !table->files[file].name)
        return false;
    if (table->files[file].directory)
        strbuf_addf(path, "%s/", table->files[file].directory);
    strbuf_add_string(path, table->files[file].name);
    return true;
}

void line_table_release(struct line_table *table)
{
    free(table->rows);
    free(table->files);
    *table = (struct line_table){0};
}
