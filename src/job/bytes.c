/* See bytes.h. */
#include "job/bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Memory -------------------------------------------------------------------------------- */

void *bytes_resize(void *block, size_t count, size_t item_bytes)
{
    block = reallocarray(block, count ? count : 1, item_bytes);
    if (!block) {
        fputs("tidemark: out of memory\n", stderr);
        abort();
    }
    return block;
}

char *bytes_copy_string(const char *string)
{
    if (!string)
        return NULL;
    size_t bytes = strlen(string) + 1;
    return memcpy(bytes_resize(NULL, bytes, 1), string, bytes);
}

void *bytes_grow(void *array, size_t count, size_t *capacity, size_t item_bytes)
{
    if (count < *capacity)
        return array;
    *capacity = *capacity ? *capacity * 2 : 16;
    return bytes_resize(array, *capacity, item_bytes);
}

/* ---- Writing ------------------------------------------------------------------------------- */

void bytes_put_wide(struct strbuf *out, job_u128 number)
{
    unsigned char bytes[19];
    size_t count = 0;
    do {
        bytes[count] = (unsigned char)(number & 0x7f);
        number >>= 7;
        bytes[count++] |= number ? 0x80 : 0;
    } while (number);
    strbuf_add(out, bytes, count);
}

void bytes_put(struct strbuf *out, uint64_t number)
{
    bytes_put_wide(out, number);
}

void bytes_put_blob(struct strbuf *out, const void *bytes, size_t count)
{
    bytes_put(out, count);
    strbuf_add(out, bytes, count);
}

void bytes_put_string(struct strbuf *out, const char *string)
{
    bytes_put(out, string ? strlen(string) + 1 : 0);
    if (string)
        strbuf_add_string(out, string);
}

/* ---- Reading ------------------------------------------------------------------------------- */

static job_u128 fail(struct bytes_reader *reader)
{
    reader->failed = true;
    reader->at = reader->end;
    return 0;
}

job_u128 bytes_get_wide(struct bytes_reader *reader)
{
    job_u128 number = 0;
    for (unsigned shift = 0; shift < 128; shift += 7) {
        if (reader->at == reader->end)
            return fail(reader);
        unsigned byte = *reader->at++;
        if (shift == 126 && byte > 3)
            return fail(reader);
        number |= (job_u128)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return byte || !shift ? number : fail(reader); /* one number, one spelling */
    }
    return fail(reader);
}

uint64_t bytes_get(struct bytes_reader *reader)
{
    job_u128 number = bytes_get_wide(reader);
    return number > UINT64_MAX ? (uint64_t)fail(reader) : (uint64_t)number;
}

uint64_t bytes_get_below(struct bytes_reader *reader, uint64_t limit)
{
    uint64_t number = bytes_get(reader);
    return number > limit ? (uint64_t)fail(reader) : number;
}

size_t bytes_get_count(struct bytes_reader *reader, size_t least)
{
    uint64_t count = bytes_get(reader);
    if (count > (uint64_t)(reader->end - reader->at) / least)
        count = (uint64_t)fail(reader);
    return count;
}

const void *bytes_get_blob(struct bytes_reader *reader, size_t *count)
{
    *count = bytes_get_count(reader, 1);
    const unsigned char *blob = reader->at;
    reader->at += *count;
    return blob;
}

char *bytes_get_string(struct bytes_reader *reader)
{
    size_t length = bytes_get_count(reader, 1);
    if (!length)
        return NULL;
    length--;
    if (memchr(reader->at, 0, length)) {
        fail(reader);
        return NULL;
    }
    char *string = bytes_resize(NULL, length + 1, 1);
    memcpy(string, reader->at, length);
    string[length] = 0;
    reader->at += length;
    return string;
}
