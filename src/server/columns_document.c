/* See columns_document.h. */
#include "server/columns_document.h"

#include <endian.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { ALIGNMENT = 8 };

/* ---- Numbers ------------------------------------------------------------------------------- */

struct width {
    const char *type;
    size_t bytes;
    uint64_t none; /* what stands for "not known", and the bound of what fits */
};
static const struct width widths[] = {
    {"u8", 1, UINT8_MAX}, {"u16", 2, UINT16_MAX}, {"u32", 4, UINT32_MAX}};
static const struct width real = {"f64", 8, UINT64_MAX};

static const struct width *width_for(uint64_t highest)
{
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        if (highest < widths[i].none)
            return &widths[i];
    return &real;
}

static void put(char *at, const struct width *width, uint64_t number)
{
    uint64_t bits = number == UINT64_MAX ? width->none : number;
    if (width == &real) {
        double value = number == UINT64_MAX ? NAN : (double)number;
        memcpy(&bits, &value, sizeof bits);
    }
    bits = htole64(bits);
    memcpy(at, &bits, width->bytes);
}

static char *begin(struct columns_document *document, const char *name, const struct width *width,
                   size_t count, uint64_t none)
{
    static const char zeros[ALIGNMENT];
    struct strbuf *data = &document->data;
    strbuf_add(data, zeros, (ALIGNMENT - data->length % ALIGNMENT) % ALIGNMENT);
    document->entries[document->count++] =
        (struct column_entry){name, width->type, count, data->length, none};
    return strbuf_extend(data, count * width->bytes);
}

void columns_add(struct columns_document *document, const char *name, const void *rows,
                 size_t count, column_number *number)
{
    uint64_t highest = 0;
    bool all_known = true;
    for (size_t i = 0; i < count; i++) {
        uint64_t value = number(rows, i);
        if (value == UINT64_MAX)
            all_known = false;
        else if (value > highest)
            highest = value;
    }
    const struct width *width = width_for(highest);
    char *at = begin(document, name, width, count, all_known ? UINT64_MAX : width->none);
    if (width == &real && !all_known)
        document->entries[document->count - 1].none = UINT64_MAX;
    for (size_t i = 0; i < count; i++)
        put(at + i * width->bytes, width, number(rows, i));
}

/* ---- Members of structs -------------------------------------------------------------------- */

struct member {
    const char *first;
    size_t stride;
};

static uint64_t number_u64(const void *rows, size_t row)
{
    const struct member *member = rows;
    uint64_t value;
    memcpy(&value, member->first + row * member->stride, sizeof value);
    return value;
}

static uint64_t number_u32(const void *rows, size_t row)
{
    const struct member *member = rows;
    uint32_t value;
    memcpy(&value, member->first + row * member->stride, sizeof value);
    return value == UINT32_MAX ? UINT64_MAX : value;
}

void columns_add_u64(struct columns_document *document, const char *name, const void *rows,
                     size_t count, size_t stride, size_t offset)
{
    columns_add(document, name, &(struct member){(const char *)rows + offset, stride}, count,
                number_u64);
}

void columns_add_u32(struct columns_document *document, const char *name, const void *rows,
                     size_t count, size_t stride, size_t offset)
{
    columns_add(document, name, &(struct member){(const char *)rows + offset, stride}, count,
                number_u32);
}

void columns_add_words(struct columns_document *document, const char *name, const void *rows,
                       size_t count, size_t stride, size_t offset)
{
    static const struct width word = {"u64", 8, 0};
    struct member member = {(const char *)rows + offset, stride};
    char *at = begin(document, name, &word, count, UINT64_MAX);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = htole64(number_u64(&member, i));
        memcpy(at + i * sizeof bits, &bits, sizeof bits);
    }
}

void columns_add_bytes(struct columns_document *document, const char *name, const void *bytes,
                       size_t count)
{
    char *at = begin(document, name, &widths[0], count, UINT64_MAX);
    memcpy(at, bytes, count);
}

/* ---- The whole ----------------------------------------------------------------------------- */

static void add_header(const struct columns_document *document, const char *extra,
                       struct strbuf *out)
{
    strbuf_addf(out, "{%s\"columns\":[", extra);
    for (size_t i = 0; i < document->count; i++) {
        const struct column_entry *entry = &document->entries[i];
        strbuf_addf(out, "%s{\"name\":\"%s\",\"type\":\"%s\",\"count\":%zu,\"offset\":%zu",
                    i ? "," : "", entry->name, entry->type, entry->count, entry->offset);
        if (entry->none != UINT64_MAX)
            strbuf_addf(out, ",\"none\":%llu", (unsigned long long)entry->none);
        strbuf_add_char(out, '}');
    }
    strbuf_add_string(out, "]}");
    strbuf_add_repeated(out, " ", (ALIGNMENT - out->length % ALIGNMENT) % ALIGNMENT);
}

void columns_finish(struct columns_document *document, const char *extra, struct strbuf *out)
{
    struct strbuf header = STRBUF_INIT;
    add_header(document, extra, &header);
    uint32_t length = htole32((uint32_t)header.length);
    strbuf_add(out, "TMKC", 4);
    strbuf_add(out, &length, sizeof length);
    strbuf_add(out, header.data, header.length);
    strbuf_add(out, document->data.data, document->data.length);
    strbuf_release(&header);
    strbuf_release(&document->data);
    *document = COLUMNS_DOCUMENT_INIT;
}
