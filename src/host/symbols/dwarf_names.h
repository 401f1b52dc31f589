/* What functions and variables in DWARF are called. */
#ifndef TIDEMARK_SYMBOLS_DWARF_NAMES_H
#define TIDEMARK_SYMBOLS_DWARF_NAMES_H

#include "symbols/dwarf_index.h"

/* The name of a subprogram, of an inlined one, or of a variable; both strings may be NULL. Valid
 * until the next call. */
const struct name *dwarf_name(struct dwarf_index *index, struct unit *unit, Dwarf_Die *die);

/* Walking a tree in the order that it stands in the file: the only order there is, unless the file
 * is corrupt and a sibling is said to stand among the children or before. `furthest`, NULL at
 * first, is where the walk has been; what stands before it is not visited again, so that a walk
 * takes no longer than the file. False: no more. */
bool dwarf_walk_child(const char **furthest, Dwarf_Die *parent, Dwarf_Die *child);
bool dwarf_walk_sibling(const char **furthest, Dwarf_Die *die);

#endif
