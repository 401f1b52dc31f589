/* What the other files of the room ask of an open trace. Inside the room. */
#ifndef TIDEMARK_TRACE_TRACE_READER_H
#define TIDEMARK_TRACE_TRACE_READER_H

#include "trace/byte_columns.h"
#include "trace/net_deltas.h"
#include "trace/trace.h"

/* The place of a block of events in the file, among the blocks of all kinds. */
size_t trace_reader_place(const struct trace *trace, size_t index);

/* The net deltas of the block at a place, and the first `count` columns (NET_COLUMNS at least) of
 * its paths, which hold as long as the unpacker is not used again. -EBADMSG, -ENOMEM, with a
 * sentence.
 */
int trace_reader_paths(const struct trace *trace, size_t place, struct unpacker *unpacker,
                       struct byte_source *columns, size_t count, struct net_deltas *deltas);

/* Sums of blocks of events (delta_index.h), by first event and the longest first. */
struct trace_reader_sum {
    uint64_t first_event, events;
    size_t place;
};
const struct trace_reader_sum *trace_reader_sums(const struct trace *trace, size_t *count);

/* trace_events(), and in `met` (FORMAT_BLOCK_EVENTS; NULL: not wanted) what decoder.h says. */
int trace_reader_events(const struct trace *trace, size_t index, struct trace_events *events,
                        uint32_t *met);

#endif
