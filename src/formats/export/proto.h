/* Messages as Protocol Buffers lay them on the wire: fields in any order, each with its number.
 *
 *   key  = number << 3 | kind     kind 0: varint, 2: length and bytes, 1: eight bytes
 *
 * Header only: appends to a strbuf. A message inside a message is made in a strbuf of its own. */
#ifndef TIDEMARK_EXPORT_PROTO_H
#define TIDEMARK_EXPORT_PROTO_H

#include <stdint.h>
#include <string.h>
#include "base/strbuf.h"
#include "base/varint.h"

static inline void proto_varint(struct strbuf *out, uint64_t value)
{
    unsigned char bytes[VARINT_BYTES];

    strbuf_add(out, bytes, (size_t)(varint_put(bytes, value) - bytes));
}

/* A number; 0 too (what is absent reads as 0, so it may be left out by the caller). */
static inline void proto_number(struct strbuf *out, unsigned field, uint64_t value)
{
    proto_varint(out, (uint64_t)field << 3);
    proto_varint(out, value);
}

static inline void proto_bytes(struct strbuf *out, unsigned field, const void *bytes, size_t count)
{
    proto_varint(out, (uint64_t)field << 3 | 2);
    proto_varint(out, count);
    strbuf_add(out, bytes, count);
}

static inline void proto_string(struct strbuf *out, unsigned field, const char *string)
{
    proto_bytes(out, field, string, strlen(string));
}

/* Adds the message (or packed numbers) made in `part`, and empties that. */
static inline void proto_part(struct strbuf *out, unsigned field, struct strbuf *part)
{
    proto_bytes(out, field, part->data, part->length);
    strbuf_reset(part);
}

#endif
