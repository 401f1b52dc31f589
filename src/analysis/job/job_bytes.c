/* Serialization of digests (job_bytes.h). Numbers up to 128 bits are varints, and strings are a
 * length and bytes. At damage a reader jumps to its end and stays failed. */
#include "job/job_bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/memory.h"
#include "base/varint.h"

/* ---- Writing ------------------------------------------------------------------------------- */

void bytes_put_wide(struct strbuf *out, job_u128 number)
{
    unsigned char bytes[VARINT_WIDE_BYTES];

    strbuf_add(out, bytes, (size_t)(varint_put_wide(bytes, number) - bytes));
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

static job_u128 job_bytes_fail(struct bytes_reader *reader)
{
    reader->failed = true;
    reader->at = reader->end;
    return 0;
}

job_u128 bytes_get_wide(struct bytes_reader *reader)
{
    job_u128 number;
    const unsigned char *behind = varint_get_wide(reader->at, reader->end, &number);

    if (!behind || (behind - reader->at > 1 && !behind[-1])) /* one number, one spelling */
        return job_bytes_fail(reader);
    reader->at = behind;
    return number;
}

uint64_t bytes_get(struct bytes_reader *reader)
{
    job_u128 number = bytes_get_wide(reader);
    return number > UINT64_MAX ? (uint64_t)job_bytes_fail(reader) : (uint64_t)number;
}

uint64_t bytes_get_below(struct bytes_reader *reader, uint64_t limit)
{
    uint64_t number = bytes_get(reader);
    return number > limit ? (uint64_t)job_bytes_fail(reader) : number;
}

size_t bytes_get_count(struct bytes_reader *reader, size_t least)
{
    uint64_t count = bytes_get(reader);
    if (count > (uint64_t)(reader->end - reader->at) / least)
        count = (uint64_t)job_bytes_fail(reader);
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
        job_bytes_fail(reader);
        return NULL;
    }
    char *string = memory_resize(NULL, length + 1, 1);
    memcpy(string, reader->at, length);
    string[length] = 0;
    reader->at += length;
    return string;
}
