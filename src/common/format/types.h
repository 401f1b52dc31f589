/* Names of types as people write them, without the parts that only a demangler prints. */
#ifndef TIDEMARK_FORMAT_TYPES_H
#define TIDEMARK_FORMAT_TYPES_H

#include <stddef.h>
#include "base/strbuf.h"

/* Adds `length` bytes of a demangled name, where templates of the C++ standard library are without
 * arguments that are their defaults:
 *     "std::vector<int, std::allocator<int> >" → "std::vector<int>"
 * and strings and streams have their usual names. Any other argument stays, and any other template
 * as it is, so no name becomes false. The browser does the same (web/src/model/names.ts). */
void types_add_plain(struct strbuf *out, const char *name, size_t length);

/* The length of "operator<<", "operator()" … at `at`, so that its symbols are not taken for
 * brackets. Of "operator" alone before a type, a space or `end`; 0: none begins there. `begin`:
 * where the name begins. A demangler puts a space between "operator<" and template arguments, and
 * none in "operator+<int>". */
enum { TYPES_OPERATOR_MAX = 12 }; /* the longest is 11 bytes, and one more is read */
size_t types_operator_length(const char *begin, const char *at, const char *end);

#endif
