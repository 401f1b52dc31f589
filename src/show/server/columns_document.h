/* A document of big columns for the browser: typed arrays with a small JSON header (doc/API.md,
 * "Columns").
 *
 *   ┌──────────┬─────────┬────────────────────────┬──────────────────────────────┐
 *   │ "TMKC"   │ H (u32) │ JSON, spaces           │ column │ 0… │ column │ 0… │   │
 *   └──────────┴─────────┴────────────────────────┴──────────────────────────────┘
 *     4          4         H: 8 + H divides by 8    each begins at a multiple of 8
 *
 * Little-endian, whatever machine this is. A column of numbers is as wide as its largest one takes:
 * u8, u16, u32, else f64 (whole numbers beyond 2^53 are rounded). */
#ifndef TIDEMARK_SERVER_COLUMNS_DOCUMENT_H
#define TIDEMARK_SERVER_COLUMNS_DOCUMENT_H

#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"
#include "model/figure.h"
#include "profile/detail_columns.h"

enum { COLUMNS_DOCUMENT_MAX = 32 };
struct columns_document {
    struct strbuf data;
    struct column_entry {
        const char *name, *type;
        size_t count, offset;
        struct figure none; /* stands for "not known"; unknown: all are known */
    } entries[COLUMNS_DOCUMENT_MAX];
    size_t count;
};
#define COLUMNS_DOCUMENT_INIT ((struct columns_document){.data = STRBUF_INIT})

/* The number of a row. */
typedef struct figure column_number(const void *rows, size_t row);

/* `name` must live until the end. */
void columns_add(struct columns_document *document, const char *name, const void *rows,
                 size_t count, column_number *number);
/* A member of each of `count` structs of `stride` bytes, at `offset`: a figure, or a number. */
void columns_add_figures(struct columns_document *document, const char *name, const void *rows,
                         size_t count, size_t stride, size_t offset);
void columns_add_u64(struct columns_document *document, const char *name, const void *rows,
                     size_t count, size_t stride, size_t offset);
/* UINT32_MAX: not known. */
void columns_add_u32(struct columns_document *document, const char *name, const void *rows,
                     size_t count, size_t stride, size_t offset);
/* The member `field` of each row, added by columns_add_KIND(). */
#define COLUMNS_ADD(document, name, kind, rows, count, type, field)                                \
    columns_add_##kind(document, name, rows, count, sizeof(type), offsetof(type, field))
/* Whole 64-bit words, for BigUint64Array. */
void columns_add_words(struct columns_document *document, const char *name, const void *rows,
                       size_t count, size_t stride, size_t offset);
/* Adds the numeric columns of a detail table, from the one named `first` on (NULL: all), by their
 * names in the table; call paths are named "node". */
void columns_add_table(struct columns_document *document, const struct detail_table *table,
                       const char *first, const void *rows, size_t count);
void columns_add_bytes(struct columns_document *document, const char *name, const void *bytes,
                       size_t count);

/* Adds the document to `out`, and releases the columns. `extra`: members of the header
 * ("\"a\":1,"), or "". */
void columns_finish(struct columns_document *document, const char *extra, struct strbuf *out);

#endif
