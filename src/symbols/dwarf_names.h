/* What functions in DWARF are called. */
#ifndef TIDEMARK_SYMBOLS_DWARF_NAMES_H
#define TIDEMARK_SYMBOLS_DWARF_NAMES_H

#include "symbols/dwarf_index.h"

/* The name of a subprogram or of an inlined one; both strings may be NULL. Valid until the next
 * call. */
const struct name *dwarf_name(struct dwarf_index *index, struct unit *unit, Dwarf_Die *die);

/* Moves to the next sibling. A corrupt file could point backwards: that ends the list. */
bool dwarf_next_sibling(Dwarf_Die *die);

#endif
