/* The names of functions and variables in DWARF. */
#ifndef TIDEMARK_SYMBOLS_DWARF_NAMES_H
#define TIDEMARK_SYMBOLS_DWARF_NAMES_H

#include "symbols/dwarf_index.h"

/* The name of a subprogram, of an inlined one, or of a variable; both strings may be NULL. Valid
 * until the next call. */
const struct name *dwarf_name(struct dwarf_index *index, struct unit *unit, Dwarf_Die *die);

/* Of a unit's language: is it C, and no relative of C? */
bool dwarf_names_is_c(int language);

/* Walk a tree in the order of the file. Only in a corrupt file can a sibling lie among the children
 * or before them. `furthest`, NULL at first, is the furthest place of the walk. Entries before it
 * are not visited again, so a walk takes no longer than the file. False: there are no more. */
bool dwarf_walk_child(const char **furthest, Dwarf_Die *parent, Dwarf_Die *child);
bool dwarf_walk_sibling(const char **furthest, Dwarf_Die *die);

#endif
