/* Writes columns of numbers as typed arrays (columns_document.h). One pass over the numbers finds
 * the largest one and so the width, a second one writes. The JSON header is printed last, when all
 * offsets are known. */
#include "server/columns_document.h"

#include <endian.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/memory.h"

enum { ALIGNMENT = 8 };

/* ---- Numbers ------------------------------------------------------------------------------- */

struct width {
    const char *type;
    size_t bytes;
    uint64_t none; /* stands for "not known", and is larger than all that fits; `real` has NAN */
};
static const struct width widths[] = {
    {"u8", 1, UINT8_MAX}, {"u16", 2, UINT16_MAX}, {"u32", 4, UINT32_MAX}};
static const struct width real = {"f64", 8, UINT64_MAX};

static const struct width *columns_width_for(uint64_t highest)
{
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        if (highest < widths[i].none)
            return &widths[i];
    return &real;
}

static void columns_put(char *at, const struct width *width, struct figure number)
{
    uint64_t bits = figure_or(number, width->none);
    if (width == &real) {
        double value = figure_double(number);
        memcpy(&bits, &value, sizeof bits);
    }
    bits = htole64(bits);
    memcpy(at, &bits, width->bytes);
}

static char *columns_begin(struct columns_document *document, const char *name,
                           const struct width *width, size_t count, struct figure none)
{
    static const char zeros[ALIGNMENT];
    struct strbuf *data = &document->data;
    strbuf_add(data, zeros, (ALIGNMENT - data->length % ALIGNMENT) % ALIGNMENT);
    document->entries[document->count++] =
        (struct column_entry){name, width->type, count, data->length, none};
    return strbuf_extend(data, count * width->bytes);
}

static void columns_put_all(struct columns_document *document, const char *name,
                            const struct figure *numbers, size_t count)
{
    struct figure highest = figure_of(0);
    bool all_known = true;
    for (size_t i = 0; i < count; i++) {
        all_known &= figure_known(numbers[i]);
        highest = figure_max(highest, numbers[i]);
    }
    const struct width *width = columns_width_for(figure_or(highest, 0));
    struct figure none = all_known || width == &real ? FIGURE_UNKNOWN : figure_of(width->none);
    char *at = columns_begin(document, name, width, count, none);
    if (all_known && figure_zero(highest)) { /* most metrics of most profiles */
        memset(at, 0, count * width->bytes);
        return;
    }
    for (size_t i = 0; i < count; i++)
        columns_put(at + i * width->bytes, width, numbers[i]);
}

/* The numbers are side by side for both passes: rows are up to 40 times as large, and asking one
 * for its number is most of the work. */
void columns_add(struct columns_document *document, const char *name, const void *rows,
                 size_t count, column_number *number)
{
    struct figure *numbers = memory_resize(NULL, count, sizeof *numbers);
    for (size_t i = 0; i < count; i++)
        numbers[i] = number(rows, i);
    columns_put_all(document, name, numbers, count);
    free(numbers);
}

/* ---- Members of structs -------------------------------------------------------------------- */

struct document_member {
    const char *first;
    size_t stride;
};

static struct figure columns_figure(const void *rows, size_t row)
{
    const struct document_member *member = rows;
    struct figure value;
    memcpy(&value, member->first + row * member->stride, sizeof value);
    return value;
}

static uint64_t columns_word(const struct document_member *member, size_t row)
{
    uint64_t value;
    memcpy(&value, member->first + row * member->stride, sizeof value);
    return value;
}

static struct figure columns_number_u64(const void *rows, size_t row)
{
    return figure_of(columns_word(rows, row));
}

static struct figure columns_number_u32(const void *rows, size_t row)
{
    const struct document_member *member = rows;
    uint32_t value;
    memcpy(&value, member->first + row * member->stride, sizeof value);
    return value == UINT32_MAX ? FIGURE_UNKNOWN : figure_of(value);
}

/* NULL stays NULL: there are no rows. */
static const char *columns_first(const void *rows, size_t offset)
{
    return rows ? (const char *)rows + offset : NULL;
}

void columns_add_figures(struct columns_document *document, const char *name, const void *rows,
                         size_t count, size_t stride, size_t offset)
{
    columns_add(document, name, &(struct document_member){columns_first(rows, offset), stride},
                count, columns_figure);
}

void columns_add_u64(struct columns_document *document, const char *name, const void *rows,
                     size_t count, size_t stride, size_t offset)
{
    columns_add(document, name, &(struct document_member){columns_first(rows, offset), stride},
                count, columns_number_u64);
}

void columns_add_u32(struct columns_document *document, const char *name, const void *rows,
                     size_t count, size_t stride, size_t offset)
{
    columns_add(document, name, &(struct document_member){columns_first(rows, offset), stride},
                count, columns_number_u32);
}

void columns_add_words(struct columns_document *document, const char *name, const void *rows,
                       size_t count, size_t stride, size_t offset)
{
    static const struct width word = {"u64", 8, 0};
    struct document_member member = {columns_first(rows, offset), stride};
    char *at = columns_begin(document, name, &word, count, FIGURE_UNKNOWN);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = htole64(columns_word(&member, i));
        memcpy(at + i * sizeof bits, &bits, sizeof bits);
    }
}

static void columns_add_detail(struct columns_document *document,
                               const struct detail_column *column, const void *rows, size_t count,
                               size_t stride)
{
    switch (column->type) {
    case DETAIL_PLAIN:
        columns_add_u64(document, column->name, rows, count, stride, column->offset);
        break;
    case DETAIL_MAYBE:
        columns_add_figures(document, column->name, rows, count, stride, column->offset);
        break;
    case DETAIL_SMALL:
    case DETAIL_KIND:
    case DETAIL_THREAD:
    case DETAIL_SAMPLE:
        columns_add_u32(document, column->name, rows, count, stride, column->offset);
        break;
    case DETAIL_NODE:
        columns_add_u32(document, "node", rows, count, stride, column->offset);
        break;
    default: /* not a column of numbers */
        break;
    }
}

void columns_add_table(struct columns_document *document, const struct detail_table *table,
                       const char *first, const void *rows, size_t count)
{
    size_t at = 0;
    while (first && at < table->count && strcmp(table->columns[at].name, first))
        at++;
    for (; at < table->count; at++)
        columns_add_detail(document, &table->columns[at], rows, count, table->bytes);
}

void columns_add_bytes(struct columns_document *document, const char *name, const void *bytes,
                       size_t count)
{
    char *at = columns_begin(document, name, &widths[0], count, FIGURE_UNKNOWN);
    memcpy(at, bytes, count);
}

/* ---- The whole ----------------------------------------------------------------------------- */

static void columns_add_header(const struct columns_document *document, const char *extra,
                               struct strbuf *out)
{
    strbuf_addf(out, "{%s\"columns\":[", extra);
    for (size_t i = 0; i < document->count; i++) {
        const struct column_entry *entry = &document->entries[i];
        strbuf_addf(out, "%s{\"name\":\"%s\",\"type\":\"%s\",\"count\":%zu,\"offset\":%zu",
                    i ? "," : "", entry->name, entry->type, entry->count, entry->offset);
        uint64_t none;
        if (figure_get(entry->none, &none))
            strbuf_addf(out, ",\"none\":%llu", (unsigned long long)none);
        strbuf_add_char(out, '}');
    }
    strbuf_add_string(out, "]}");
    strbuf_add_repeated(out, " ", (ALIGNMENT - out->length % ALIGNMENT) % ALIGNMENT);
}

void columns_finish(struct columns_document *document, const char *extra, struct strbuf *out)
{
    struct strbuf header = STRBUF_INIT;
    columns_add_header(document, extra, &header);
    uint32_t length = htole32((uint32_t)header.length);
    strbuf_add(out, "TMKC", 4);
    strbuf_add(out, &length, sizeof length);
    strbuf_add(out, header.data, header.length);
    strbuf_add(out, document->data.data, document->data.length);
    strbuf_release(&header);
    strbuf_release(&document->data);
    *document = COLUMNS_DOCUMENT_INIT;
}
