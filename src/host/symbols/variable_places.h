/* The part of static_variables.h that comes from DWARF: where variables are defined, the names of
 * statics of functions and of COMMON blocks, and variables without a symbol. */
#ifndef TIDEMARK_SYMBOLS_VARIABLE_PLACES_H
#define TIDEMARK_SYMBOLS_VARIABLE_PLACES_H

#include <elfutils/libdw.h>

#include "symbols/static_variables.h"

/* The list must be merged; it is unsorted afterwards. `bias`: address - address in DWARF. Ends at
 * about `deadline_ns` (CLOCK_MONOTONIC); `places` and `units_read` tell how far it came. Variables
 * of files and namespaces come first, then statics of functions. */
void variable_places_read(struct variables *variables, Dwarf *dwarf, uint64_t bias,
                          uint64_t deadline_ns);

#endif
