/* Writes and reads the fixed-size parts of a trace: header, block headers and tail
 * (trace_format.h). Fields are little-endian, in an order that one macro lists for both directions.
 * XXH64 covers the header and each block header. */
#include "trace/trace_format.h"

#include <endian.h>
#include <string.h>
#include <xxhash.h>

uint64_t trace_format_hash(const void *bytes, size_t count)
{
    return XXH64(bytes, count, 0);
}

static unsigned char *trace_format_put32(unsigned char *at, uint32_t value)
{
    value = htole32(value);
    memcpy(at, &value, 4);
    return at + 4;
}

static unsigned char *trace_format_put64(unsigned char *at, uint64_t value)
{
    value = htole64(value);
    memcpy(at, &value, 8);
    return at + 8;
}

static uint32_t trace_format_get32(const unsigned char **at)
{
    uint32_t value;

    memcpy(&value, *at, 4);
    *at += 4;
    return le32toh(value);
}

static uint64_t trace_format_get64(const unsigned char **at)
{
    uint64_t value;

    memcpy(&value, *at, 8);
    *at += 8;
    return le64toh(value);
}

/* The order in the file, once for both directions. */
/* clang-format off */
#define BLOCK_FIELDS(X32, X64)                                                                     \
    X32(kind) X32(number) X32(body_bytes) X32(paths_bytes) X32(count) X32(path_count)              \
    X32(alloc_count) X32(free_count) X64(body_hash) X64(paths_hash) X64(first) X64(first_ticks)    \
    X64(last_ticks) X64(start_ticks) X64(live_bytes) X64(live_count) X64(net_bytes)                \
    X64(net_count) X64(max_bytes) X64(max_ticks)
/* clang-format on */

_Static_assert(4 + 8 * 4 + 12 * 8 + 4 + 8 == FORMAT_BLOCK_BYTES, "magic, fields, threads, hash");

void trace_format_put_block(unsigned char out[FORMAT_BLOCK_BYTES],
                            const struct trace_format_block *block)
{
    unsigned char *at = trace_format_put32(out, FORMAT_BLOCK_MAGIC);

#define X32(field) at = trace_format_put32(at, block->field);
#define X64(field) at = trace_format_put64(at, block->field);
    BLOCK_FIELDS(X32, X64)
#undef X32
#undef X64
    at = trace_format_put32(at, block->threads_1);
    trace_format_put64(at, trace_format_hash(out, FORMAT_BLOCK_BYTES - 8));
}

bool trace_format_get_block(const unsigned char in[FORMAT_BLOCK_BYTES],
                            struct trace_format_block *block)
{
    const unsigned char *at = in, *hash = in + FORMAT_BLOCK_BYTES - 8;

    if (trace_format_get32(&at) != FORMAT_BLOCK_MAGIC ||
        trace_format_get64(&hash) != trace_format_hash(in, FORMAT_BLOCK_BYTES - 8))
        return false;
#define X32(field) block->field = trace_format_get32(&at);
#define X64(field) block->field = trace_format_get64(&at);
    BLOCK_FIELDS(X32, X64)
#undef X32
#undef X64
    block->threads_1 = trace_format_get32(&at);
    return block->body_bytes <= FORMAT_BODY_BYTES && block->paths_bytes <= FORMAT_BODY_BYTES;
}

void trace_format_put_header(unsigned char out[FORMAT_HEADER_BYTES],
                             const struct trace_format_header *header)
{
    unsigned char *at = out + 8;

    memset(out, 0, FORMAT_HEADER_BYTES);
    memcpy(out, FORMAT_MAGIC, 8);
    at = trace_format_put32(at, header->version);
    at = trace_format_put32(at, header->flags);
    at = trace_format_put32(at, header->method);
    at = trace_format_put32(at, header->level);
    at = trace_format_put64(at, header->start_ticks);
    at = trace_format_put64(at, header->sample_bytes);
    trace_format_put64(out + FORMAT_HEADER_BYTES - 8,
                       trace_format_hash(out, FORMAT_HEADER_BYTES - 8));
}

bool trace_format_is_trace(const unsigned char in[FORMAT_HEADER_BYTES])
{
    return !memcmp(in, FORMAT_MAGIC, 8);
}

bool trace_format_get_header(const unsigned char in[FORMAT_HEADER_BYTES],
                             struct trace_format_header *header)
{
    const unsigned char *at = in + 8, *hash = in + FORMAT_HEADER_BYTES - 8;

    header->version = trace_format_get32(&at);
    header->flags = trace_format_get32(&at);
    header->method = trace_format_get32(&at);
    header->level = trace_format_get32(&at);
    header->start_ticks = trace_format_get64(&at);
    header->sample_bytes = trace_format_get64(&at);
    return trace_format_get64(&hash) == trace_format_hash(in, FORMAT_HEADER_BYTES - 8);
}

void trace_format_put_tail(unsigned char out[FORMAT_TAIL_BYTES], uint64_t index_offset)
{
    memcpy(trace_format_put64(out, index_offset), FORMAT_TAIL_MAGIC, 8);
}

bool trace_format_get_tail(const unsigned char in[FORMAT_TAIL_BYTES], uint64_t *index_offset)
{
    const unsigned char *at = in;

    *index_offset = trace_format_get64(&at);
    return !memcmp(at, FORMAT_TAIL_MAGIC, 8);
}
