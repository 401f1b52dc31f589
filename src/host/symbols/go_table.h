/* Functions, files and lines of code that Go's compiler made, from the table that its run-time
 * keeps for its own tracebacks (.gopclntab): it is there in stripped programs too. Go 1.16 to
 * 1.25, by Go's src/runtime/symtab.go and src/debug/gosym/pclntab.go.
 *
 *   header ─▶ functions by address ─▶ a function's record ─▶ name
 *                                                        └─▶ tables of (length of code, value):
 *                                                            file, line, inlined call
 *
 * The file is not trusted: an offset that leads out of the table is an answer that is not known. */
#ifndef TIDEMARK_SYMBOLS_GO_TABLE_H
#define TIDEMARK_SYMBOLS_GO_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/object_file.h"
#include "symbols/symbols.h"

struct go_table {
    const uint8_t *bytes; /* the image's; NULL: the file has no such table */
    size_t length;
    uint64_t text; /* address that functions' places count from */
    uint64_t count;
    uint64_t names, units, files, values, functions; /* offsets of parts */
    unsigned pointer, quantum; /* bytes of an address, and of an instruction */
    bool has_addresses;        /* Go 1.16 and 1.17: in place of offsets */
};

void go_table_open(struct go_table *table, const struct object_file *image);
/* The function at the address, with file and line. What is inlined there has no frame of its own:
 * then the line is not known, and the file is that of the function. Strings are the image's.
 * False: it is none of Go's. */
bool go_table_find(const struct go_table *table, uint64_t address, struct symbols_frame *frame);

/* For tests: as go_table_open() of a file with a table of these bytes. */
void go_table_open_bytes(struct go_table *table, const uint8_t *bytes, size_t length);

#endif
