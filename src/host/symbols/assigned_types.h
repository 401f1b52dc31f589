/* The type of a call's result in the program, by debug information: the type of the variable that
 * it is assigned to, or the class whose constructor is called with it.
 *
 *     struct node *node = xmalloc(sizeof *node);       node   a variable, wherever the compiler keeps it
 *     Mesh *mesh = new Mesh(path);                     Mesh   the constructor that is called or inlined
 *
 *     allocate(weights(n))                             real   a Fortran array's descriptor in the frame
 *
 * If variables of different types have the result, no type is found. */
#ifndef TIDEMARK_SYMBOLS_ASSIGNED_TYPES_H
#define TIDEMARK_SYMBOLS_ASSIGNED_TYPES_H

#include "symbols/dwarf_index.h"
#include "symbols/object_file.h"

/* `address`: a return address. False: nothing is known. */
bool assigned_types_find(struct dwarf_index *index, const struct object_file *image,
                         uint64_t address, struct symbols_call_type *type);

#endif
