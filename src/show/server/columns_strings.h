/* Strings of a document of columns, one after another in a pool of valid UTF-8. The column
 * "string_start" has where each begins, and at last where the last one ends; "string_bytes" has the
 * pool. Other columns have numbers of strings. */
#ifndef TIDEMARK_SERVER_COLUMNS_STRINGS_H
#define TIDEMARK_SERVER_COLUMNS_STRINGS_H

#include <stdbool.h>
#include "server/columns_document.h"

struct columns_strings {
    struct strbuf bytes;
    uint64_t *starts; /* count + 1 of them, or NULL */
    size_t count, room;
    bool no_memory; /* the strings are not complete */
};
#define COLUMNS_STRINGS_INIT ((struct columns_strings){.bytes = STRBUF_INIT})

/* The string's number; unknown: it is NULL, or there is no memory. */
struct figure columns_strings_add(struct columns_strings *strings, const char *string);

/* A column of numbers of strings. */
void columns_strings_add_numbers(struct columns_document *document, const char *name,
                                 const struct figure *numbers, size_t count);

/* The string of a row; NULL: it has none. */
typedef const char *columns_string_of(const void *rows, size_t row);

/* Adds the strings of all rows, and a column of their numbers. */
void columns_strings_add_column(struct columns_document *document, struct columns_strings *strings,
                                const char *name, const void *rows, size_t count,
                                columns_string_of *string);

/* Adds both columns to the document, finishes it (columns_finish()) and releases the strings.
 * 0 or -ENOMEM: `out` is as it was. */
int columns_strings_finish(struct columns_document *document, struct columns_strings *strings,
                           struct strbuf *out);

#endif
