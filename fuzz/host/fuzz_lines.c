/* Any bytes as the line table of a unit, and as the strings that it names: the first two bytes tell
 * how many of the last ones are strings. Rows are in order; where libdw reads the table too, each
 * address has its line and its file. */
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "symbols/line_table.h"

enum { LINES = 4, LINE_STRINGS, STRINGS, SECTIONS, ROWS_ASKED = 2000 };

/* A unit that has a line table, at 0, and a directory. */
static uint8_t abbreviations[] = {1, 0x11, 0, 0x10, 0x17, 0x1b, 0x08, 0, 0, 0};
static uint8_t information[] = {15, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 1, 0, 0, 0, 0, '/', 'd', 0};
static uint8_t names[] = "\0.names\0.debug_abbrev\0.debug_info\0.debug_line\0.debug_line_str\0"
                         ".debug_str";

struct section {
    const void *bytes;
    size_t length;
    uint32_t name;
};

static size_t end_of(const struct section *sections, size_t count)
{
    size_t end = sizeof(Elf64_Ehdr) + SECTIONS * sizeof(Elf64_Shdr);
    for (size_t i = 0; i < count; i++)
        end += sections[i].length;
    return end;
}

/* The first section is none. */
static char *make_file(const struct section *sections, size_t *length)
{
    *length = end_of(sections, SECTIONS);
    char *file = calloc(1, *length);
    must(file != NULL);
    Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                         .e_type = ET_DYN,
                         .e_machine = EM_X86_64,
                         .e_version = EV_CURRENT,
                         .e_shoff = sizeof header,
                         .e_ehsize = sizeof header,
                         .e_shentsize = sizeof(Elf64_Shdr),
                         .e_shnum = SECTIONS,
                         .e_shstrndx = 1};
    memcpy(file, &header, sizeof header);
    for (size_t i = 1; i < SECTIONS; i++) {
        Elf64_Shdr section = {.sh_name = sections[i].name,
                              .sh_type = i == 1 ? SHT_STRTAB : SHT_PROGBITS,
                              .sh_offset = end_of(sections, i),
                              .sh_size = sections[i].length,
                              .sh_addralign = 1};
        memcpy(file + sizeof header + i * sizeof section, &section, sizeof section);
        if (sections[i].length)
            memcpy(file + section.sh_offset, sections[i].bytes, sections[i].length);
    }
    return file;
}

static void expect_row(const struct line_table *table, Dwarf_Die *unit, uint64_t address)
{
    const struct line_row *row = line_table_find(table, address);
    Dwarf_Line *line = dwarf_getsrc_die(unit, address);
    struct strbuf path = STRBUF_INIT;
    int number;

    must((line != NULL) == (row != NULL));
    if (!line)
        return;
    must(dwarf_lineno(line, &number) == 0 && row->line == (uint32_t)number);
    const char *source = dwarf_linesrc(line, NULL, NULL);
    if (line_table_path(table, row->file, &path))
        must(source && strcmp(path.data, source) == 0);
    else
        must(!source || strcmp(source, "???") == 0);
    strbuf_release(&path);
}

static void ask(const struct line_table *table, Dwarf_Die *unit)
{
    Dwarf_Lines *lines;
    size_t count;
    bool is_libdws = dwarf_getsrclines(unit, &lines, &count) == 0;

    must(!is_libdws || count == table->row_count);
    for (size_t i = 0; i < table->row_count; i++) {
        const struct line_row *row = line_table_find(table, table->rows[i].address);
        must(!row || row->address == table->rows[i].address);
        must(!i || table->rows[i - 1].address <= table->rows[i].address);
        if (is_libdws && i < ROWS_ASKED)
            for (int around = -1; around <= 1; around++)
                expect_row(table, unit, table->rows[i].address + (uint64_t)around);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint16_t strings;
    if (size < sizeof strings)
        return 0;
    memcpy(&strings, data, sizeof strings);
    size_t lines = size - sizeof strings;
    strings = strings < lines ? strings : (uint16_t)lines;
    lines -= strings;
    const uint8_t *texts = data + sizeof strings + lines;
    const struct section sections[SECTIONS] = {
        {0},
        {names, sizeof names, 1},
        {abbreviations, sizeof abbreviations, 8},
        {information, sizeof information, 22},
        [LINES] = {data + sizeof strings, lines, 34},
        [LINE_STRINGS] = {texts, strings, 46},
        [STRINGS] = {texts, strings, 62},
    };
    size_t length;
    char *file = make_file(sections, &length);
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory(file, length);
    Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    Dwarf_CU *cu = NULL;
    Dwarf_Die unit, split;
    struct line_sections found = {0};
    struct line_table table;
    uint8_t type;
    must(dwarf && dwarf_get_units(dwarf, cu, &cu, NULL, &type, &unit, &split) == 0);
    if (line_table_read(&table, &found, &unit)) {
        ask(&table, &unit);
        line_table_release(&table);
    }
    dwarf_end(dwarf);
    elf_end(elf);
    free(file);
    return 0;
}
