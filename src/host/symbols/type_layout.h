/* The layout of a structure by its debug information: the bytes that belong to none of its members.
 *
 *     struct { char kind; ┊░░░░░░░┊ long number; char last; ┊░░░░░░░┊ }
 *                          a hole: 7 bytes                   padding: 7 bytes
 *
 * Only its own members count, as in pahole: holes inside a member that is a structure are not
 * counted. A base class counts as a member. */
#ifndef TIDEMARK_SYMBOLS_TYPE_LAYOUT_H
#define TIDEMARK_SYMBOLS_TYPE_LAYOUT_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include "symbols/symbols.h"

/* False: it is no structure or class, its size is not known, or the place of a member is not known,
 * as with virtual bases. */
bool type_layout_find(Dwarf_Die *structure, struct symbols_type_layout *layout);

#endif
