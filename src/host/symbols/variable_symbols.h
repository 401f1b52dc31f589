/* The part of static_variables.h that comes from ELF: the loaded sections, PT_TLS, and the data
 * symbols. */
#ifndef TIDEMARK_SYMBOLS_VARIABLE_SYMBOLS_H
#define TIDEMARK_SYMBOLS_VARIABLE_SYMBOLS_H

#include <gelf.h>

#include "symbols/static_variables.h"

#define SECTION_NONE UINT32_MAX

/* One object file and the symbols that go with it. */
struct variable_source {
    Elf *elf; /* the file, whose section headers count */
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

/* The unpacked bytes of its packed sections; 0: none is packed. */
uint64_t variable_unpacked_bytes(Elf *elf);

/* Adds the symbols, unsorted and with aliases apart. Call it after variable_sections_read(). */
void variable_symbols_read(struct variables *variables, const struct variable_source *source);

struct variable *variable_append(struct variables *variables, struct variable variable);

/* Sorts by section, address (larger before smaller) and joins variables of one place and size. */
void variables_merge(struct variables *variables);

#endif
