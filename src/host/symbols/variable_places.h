/* The half of static_variables.h that DWARF says: where variables were written, what statics of
 * functions and COMMON blocks are called, and variables that have no symbol. */
#ifndef TIDEMARK_SYMBOLS_VARIABLE_PLACES_H
#define TIDEMARK_SYMBOLS_VARIABLE_PLACES_H

#include <elfutils/libdw.h>

#include "symbols/static_variables.h"

/* The list must be merged; it is unsorted afterwards. `bias`: address - address in DWARF. Ends at
 * `deadline_ns` (CLOCK_MONOTONIC), give or take a thousand entries, and says in `places` and
 * `units_read` how far it came. Variables of files and namespaces are looked for first, statics of
 * functions then. */
void variable_places_read(struct variables *variables, Dwarf *dwarf, uint64_t bias,
                          uint64_t deadline_ns);

#endif
