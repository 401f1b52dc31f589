/* The type of what a function of a language's library allocates, by the function's name:
 *
 *   std::__new_allocator<Foo>::allocate(unsigned long, void const*)     Foo
 *   std::make_unique<Foo, int>(int&&)                                   Foo, of lines only
 *   std::vector<int>::_M_realloc_insert<int>(…)                         int
 *   <alloc::boxed::Box<Foo>>::new                                       Foo
 *   strdup                                                              char
 *
 * The function is the innermost one of a call path but for those that only hand the call on. Where
 * inlined functions are not known, the body of a function can hold that of any other, and what
 * constructs elements allocates whatever their constructors do: such names say nothing then. */
#ifndef TIDEMARK_FORMAT_ALLOCATED_TYPES_H
#define TIDEMARK_FORMAT_ALLOCATED_TYPES_H

#include <stdbool.h>
#include "base/strbuf.h"

enum allocated_type {
    ALLOCATED_UNKNOWN, /* the name does not say */
    ALLOCATED_FOUND,   /* `type` has it */
    ALLOCATED_BY_NEXT, /* the function hands the call on: ask its caller */
};

/* `has_lines`: debug information is there, and so are inlined functions. */
enum allocated_type allocated_type(struct strbuf *type, const char *function, bool has_lines);

#endif
