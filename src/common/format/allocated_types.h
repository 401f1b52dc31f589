/* The type of what a function of a language's library allocates, by the function's name:
 *
 *   std::__new_allocator<Foo>::allocate(unsigned long, void const*)     Foo
 *   std::make_unique<Foo, int>(int&&)                                   Foo, of lines only
 *   std::vector<int>::_M_realloc_insert<int>(…)                         int
 *   <alloc::boxed::Box<Foo>>::new                                       Foo
 *   strdup                                                              char
 *
 * The function is the innermost one of a call path, without functions that only hand the call on.
 * If inlined functions are not known, code of a function may be that of any other, inlined, such as
 * a constructor of an element. Names of such functions give no type then. */
#ifndef TIDEMARK_FORMAT_ALLOCATED_TYPES_H
#define TIDEMARK_FORMAT_ALLOCATED_TYPES_H

#include <stdbool.h>
#include "base/strbuf.h"

enum allocated_type {
    ALLOCATED_UNKNOWN, /* the name does not say */
    ALLOCATED_FOUND,   /* `type` has it */
    ALLOCATED_BY_NEXT, /* the function hands the call on: ask its caller */
};

/* `type` is set if the result is ALLOCATED_FOUND. `has_lines`: there is debug information, so
 * inlined functions are known. */
enum allocated_type allocated_type(struct strbuf *type, const char *function, bool has_lines);

#endif
