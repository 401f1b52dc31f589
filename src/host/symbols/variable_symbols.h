/* The half of static_variables.h that ELF says: the loaded sections, PT_TLS, and the data
 * symbols. */
#ifndef TIDEMARK_SYMBOLS_VARIABLE_SYMBOLS_H
#define TIDEMARK_SYMBOLS_VARIABLE_SYMBOLS_H

#include <gelf.h>

#include "symbols/static_variables.h"

#define SECTION_NONE UINT32_MAX

/* One object file and the symbols that go with it. */
struct variable_source {
    Elf *elf; /* the file: its section headers are believed */
    size_t file_bytes;
    Elf *debug_elf;      /* its separate debug file, if that has the symbols; or NULL */
    uint64_t debug_bias; /* address in `elf` - address in `debug_elf` */
};

void variable_sections_read(struct variables *variables, const struct variable_source *source);

/* The section with all of these bytes, or SECTION_NONE. */
uint32_t variable_section_at(const struct variables *variables, bool is_tls, uint64_t address,
                             uint64_t bytes);

/* Whether the file has symbols of its own beside those that it exports. */
bool variable_symbols_in(Elf *elf);

/* The bytes of its compressed sections, unpacked: 0 if none is. */
uint64_t variable_unpacked_bytes(Elf *elf);

/* After the sections. Unsorted, aliases apart. */
void variable_symbols_read(struct variables *variables, const struct variable_source *source);

struct variable *variable_append(struct variables *variables, struct variable variable);

/* Sorts by section, address (larger before smaller) and makes one of those that are the same. */
void variables_merge(struct variables *variables);

#endif
