/* What stands where in a .tmt file (doc/FORMAT-trace.md). Inside the room. */
#ifndef TIDEMARK_TRACE_TRACE_FORMAT_H
#define TIDEMARK_TRACE_TRACE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/own_file.h"

enum {
    FORMAT_VERSION = 2,
    FORMAT_HEADER_BYTES = 64,
    FORMAT_BLOCK_BYTES = 144, /* the header of a block */
    FORMAT_TAIL_BYTES = 16,
    FORMAT_SAMPLE_MOST = 1 << 30,  /* sample_bytes at most, as in replay_sample() */
    FORMAT_BLOCK_EVENTS = 1 << 19, /* of a block, at most */
    FORMAT_BLOCK_NODES = 1 << 16,
    FORMAT_COLUMN_BYTES = 1 << 23, /* of a column unpacked, at most */
    FORMAT_BODY_BYTES = 1 << 26,   /* of a body or of the paths of a block, at most */
    FORMAT_COLUMNS = 64,           /* of a body, at most */
};
#define FORMAT_MAGIC       OWN_FILE_TRACE_MAGIC
#define FORMAT_TAIL_MAGIC  "TMT.END\n"
#define FORMAT_BLOCK_MAGIC 0x42544d54u /* "TMTB" */

enum trace_format_block_kind {
    FORMAT_EVENTS = 1,
    FORMAT_NODES = 2,
    FORMAT_MODULES = 3,
    FORMAT_FACTS = 4,
    FORMAT_INDEX = 5,
    FORMAT_SUPPLEMENT = 6, /* `first`: offset, `count`: bytes of a piece */
    FORMAT_SUMS = 7,       /* digest and paths of the blocks of events before it, as one */
};

/* The header of a block. In the file all numbers are little-endian, in this order. */
struct trace_format_block {
    uint32_t kind;
    uint32_t number; /* of the block, from 0 */
    uint32_t body_bytes, paths_bytes;
    uint64_t body_hash, paths_hash;
    uint64_t first; /* number of its first event, node or module */
    uint32_t count, path_count;
    uint64_t first_ticks, last_ticks, start_ticks;
    uint32_t alloc_count, free_count;
    uint64_t live_bytes, live_count; /* at its start */
    uint64_t net_bytes, net_count;   /* two's complement */
    uint64_t max_bytes, max_ticks;
    uint32_t threads_1; /* streams begun and not ended at its start, + 1; 0: not said */
};

struct trace_format_header {
    uint32_t version, flags, method, level;
    uint64_t start_ticks, sample_bytes;
};

void trace_format_put_block(unsigned char out[FORMAT_BLOCK_BYTES],
                            const struct trace_format_block *block);
/* False: this is no header of a block, or a damaged one. */
bool trace_format_get_block(const unsigned char in[FORMAT_BLOCK_BYTES],
                            struct trace_format_block *block);

void trace_format_put_header(unsigned char out[FORMAT_HEADER_BYTES],
                             const struct trace_format_header *header);
bool trace_format_is_trace(const unsigned char in[FORMAT_HEADER_BYTES]);
/* False: damaged. The version is given whatever it is. */
bool trace_format_get_header(const unsigned char in[FORMAT_HEADER_BYTES],
                             struct trace_format_header *header);

void trace_format_put_tail(unsigned char out[FORMAT_TAIL_BYTES], uint64_t index_offset);
bool trace_format_get_tail(const unsigned char in[FORMAT_TAIL_BYTES], uint64_t *index_offset);

uint64_t trace_format_hash(const void *bytes, size_t count);

#endif
