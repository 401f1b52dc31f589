/* The type that a call's result has in the program, by debug information: what it is assigned to,
 * or what a constructor makes of it.
 *
 *     struct node *node = xmalloc(sizeof *node);       node   a variable, wherever the compiler keeps it
 *     Mesh *mesh = new Mesh(path);                     Mesh   the constructor that is called or inlined
 *
 *     allocate(weights(n))                             real   a Fortran array's descriptor in the frame
 *
 * Where two things of different types have it, there is none. */
#ifndef TIDEMARK_SYMBOLS_ASSIGNED_TYPES_H
#define TIDEMARK_SYMBOLS_ASSIGNED_TYPES_H

#include "symbols/dwarf_index.h"
#include "symbols/object_file.h"

/* `address`: a return address. False: nothing is known. */
bool assigned_types_find(struct dwarf_index *index, const struct object_file *image,
                         uint64_t address, struct symbols_call_type *type);

#endif
