/* What the other files of the room ask of an open trace. Inside the room. */
#ifndef TIDEMARK_TRACE_READER_H
#define TIDEMARK_TRACE_READER_H

#include "trace/columns.h"
#include "trace/nets.h"
#include "trace/trace.h"

/* The place of a block of events in the file, among the blocks of all kinds. */
size_t reader_place(const struct trace *trace, size_t index);

/* The nets of the block at a place, and the first `count` columns (NET_COLUMNS at least) of its
 * paths, which hold as long as the unpacker is not used again. -EBADMSG, -ENOMEM, with a sentence.
 */
int reader_paths(const struct trace *trace, size_t place, struct unpacker *unpacker,
                 struct byte_source *columns, size_t count, struct nets *nets);

/* Sums of blocks of events (sums.h), by first event and the longest first. */
struct reader_sum {
    uint64_t first_event, events;
    size_t place;
};
const struct reader_sum *reader_sums(const struct trace *trace, size_t *count);

/* trace_events(), and in `met` (FORMAT_BLOCK_EVENTS; NULL: not wanted) what decoder.h says. */
int reader_events(const struct trace *trace, size_t index, struct trace_events *events,
                  uint32_t *met);

#endif
