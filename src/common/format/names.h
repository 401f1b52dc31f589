/* Names that are shortened to fit on a line, and the test whether a frame belongs to a language's
 * library or to the program. */
#ifndef TIDEMARK_FORMAT_NAMES_H
#define TIDEMARK_FORMAT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include "base/strbuf.h"

/* The core of a demangled name: without return type, parameters and clone suffix.
 *     "int ns::f<int>(char)" → "ns::f<int>"        length in *length */
const char *name_core(const char *name, size_t *length);

/* The part of an outlined function's name that says which region it is: "[OpenMP region 0]". NULL:
 * the function is none. A short name keeps the region behind its core. */
const char *name_region(const char *name);

/* The length in bytes of name_add_short()'s result where nothing is cut or elided. */
size_t name_short_bytes(const char *name);

/* Adds the name in at most `columns`, safe for a terminal. Return type and parameters are left out.
 * If the rest is too wide, template arguments are elided from the inside out ("<…>"), and at last
 * the name is cut in its middle. */
void name_add_short(struct strbuf *out, const char *name, size_t columns);
/* The same for the name of a type, of which no part is left out at first ("unsigned int"). */
void name_add_type(struct strbuf *out, const char *name, size_t columns);

/* Adds "file:line" in at most `columns`; leading directories are left out first. Line 0: the file
 * alone. */
void name_add_place(struct strbuf *out, const char *file, unsigned line, size_t columns);

/* The last component of a path. */
const char *name_base(const char *path);

/* Is this a frame of a language's library or of a wrapper around malloc, which allocates for its
 * caller? Then it is no call site. It is one if its module says so, or its function (by its name
 * and linkage name) or the function's file. Any argument may be NULL. */
bool name_is_library_module(const char *module);
bool name_is_library_function(const char *function, const char *linkage, const char *file);

#endif
