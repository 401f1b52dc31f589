/* Types as people write them: without what a demangler prints and everybody leaves out. */
#ifndef TIDEMARK_FORMAT_TYPES_H
#define TIDEMARK_FORMAT_TYPES_H

#include <stddef.h>
#include "base/strbuf.h"

/* Adds `length` bytes of a demangled name in which templates of the C++ standard library have lost
 * arguments that are their defaults:
 *     "std::vector<int, std::allocator<int> >" → "std::vector<int>"
 * and strings and streams have their usual names. Any other argument stays, and any other template
 * as it is, so no name becomes false. The browser does the same (web/src/model/names.ts). */
void types_add_plain(struct strbuf *out, const char *name, size_t length);

/* Length of "operator<<", "operator()", … at `at`, whose symbols would be brackets elsewhere; of
 * "operator" alone before a type, a space or `end`; 0: none begins there. `begin`: of the name. The
 * demangler puts a space between "<" and a template's arguments, and none in "operator+<int>". */
enum { TYPES_OPERATOR_MAX = 12 }; /* bytes from `at` that it looks at, and one more */
size_t types_operator_length(const char *begin, const char *at, const char *end);

#endif
