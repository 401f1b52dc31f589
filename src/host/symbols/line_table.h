/* The line table of a unit: which address is of which line of which file (.debug_line, versions 2
 * to 5). libdw's own makes an object in memory of each row and sorts all of them, which was a third
 * of what naming a short run of Python took. Here rows lie in one array, and are sorted only
 * where the compiler's sequences of addresses are not in order.
 *
 *   unit    header, directories, files │ program
 *   program opcode, opcode, …          each moves address, line or file, or makes a row
 *   rows    address, file, line        sorted by address; the last row of a sequence is its end
 *
 * What compilers for x86-64 and aarch64 do not write is left to libdw. */
#ifndef TIDEMARK_SYMBOLS_LINE_TABLE_H
#define TIDEMARK_SYMBOLS_LINE_TABLE_H

#include <elfutils/libdw.h>

#include "base/strbuf.h"
#include "symbols/debug_section.h"

struct line_row {
    uint64_t address;
    uint32_t order; /* as the program makes rows */
    uint32_t file, line;
    bool is_end; /* of a sequence: this address is behind it */
};

struct line_file {
    const char *directory, *name; /* NULL: without; they point into the sections */
};

struct line_table {
    struct line_row *rows;
    size_t row_count, row_capacity;
    struct line_file *files; /* by the numbers that rows and calls have */
    size_t file_count, file_capacity;
};

struct line_sections {
    bool are_found;
    struct section_bytes lines, line_strings, strings;
};

/* False, and nothing to release: libdw has to be asked. */
bool line_table_read(struct line_table *table, struct line_sections *sections, Dwarf_Die *unit);

/* The row with an address, as dwarf_getsrc_die(); NULL: there is none. */
const struct line_row *line_table_find(const struct line_table *table, uint64_t address);

/* Adds the path of a file. False: there is none of that number. */
bool line_table_path(const struct line_table *table, size_t file, struct strbuf *path);

void line_table_release(struct line_table *table);

#endif
