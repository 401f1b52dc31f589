/* Names as they fit on a line, and which frames belong to a language's library and not to the
 * program. */
#ifndef TIDEMARK_FORMAT_NAMES_H
#define TIDEMARK_FORMAT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include "base/strbuf.h"

/* The part of a demangled name that names: no return type, no parameters, no clone suffix.
 *     "int ns::f<int>(char)" → "ns::f<int>"        length in *length */
const char *name_core(const char *name, size_t *length);

/* Where the name of an outlined function says whose part it is: "[OpenMP region 0]"; NULL: it is
 * none. A short name keeps that behind its core. */
const char *name_region(const char *name);

/* Bytes of a short name that is not cut. */
size_t name_short_bytes(const char *name);

/* Adds the name in at most `columns`: first without return type and parameters, then template
 * arguments elided from the inside out ("<…>"), at last cut in its middle. Terminal-safe. */
void name_add_short(struct strbuf *out, const char *name, size_t columns);
/* The same of a type: "unsigned int" is all name. */
void name_add_type(struct strbuf *out, const char *name, size_t columns);

/* Adds "file:line" in at most `columns`; leading directories go first. */
void name_add_place(struct strbuf *out, const char *file, unsigned line, size_t columns);

/* The last component of a path. */
const char *name_base(const char *path);

/* Is this a frame of the C, C++, Rust or Python library, which allocates on someone else's behalf?
 * Any argument may be NULL. */
bool name_is_library(const char *function, const char *linkage, const char *file,
                     const char *module);

#endif
