/* Keeps the walker's memory: its tables, and for each stream the reallocs under way. The steps
 * themselves are inline functions in walker.h, so that each user's sink becomes part of its
 * loop. */
#include "blocks/walker.h"

#include <stdlib.h>
#include <string.h>
#include "blocks/arena.h"

enum { WALKER_LIVE_LOG2 = 12, WALKER_OWED_LOG2 = 6 };

void walker_init(struct walker *walker, bool sampled)
{
    *walker = (struct walker){.sampled = sampled};
    live_table_init(&walker->live, WALKER_LIVE_LOG2);
    live_table_keep_owners(&walker->live); /* the sinks' own numbers of 24 bits */
    live_table_init(&walker->owed, WALKER_OWED_LOG2);
    live_table_init(&walker->chunks, WALKER_OWED_LOG2);
}

void walker_release(struct walker *walker)
{
    live_table_release(&walker->live);
    live_table_release(&walker->owed);
    live_table_release(&walker->chunks);
    for (size_t i = 0; i < walker->stream_count; i++)
        free(walker->streams[i].pending);
    free(walker->streams);
    *walker = (struct walker){0};
}

struct walker_stream *walker_stream(struct walker *walker, uint32_t number)
{
    size_t count = (size_t)number + 1;

    if (count > walker->stream_count) {
        walker->streams = arena_realloc(walker->streams, count * sizeof *walker->streams);
        memset(walker->streams + walker->stream_count, 0,
               (count - walker->stream_count) * sizeof *walker->streams);
        walker->stream_count = count;
    }
    return &walker->streams[number];
}

struct walker_realloc *walker_push(struct walker_stream *stream)
{
    if (stream->pending_count == stream->pending_room) {
        stream->pending_room = stream->pending_room ? 2 * stream->pending_room : 2;
        stream->pending =
            arena_realloc(stream->pending, stream->pending_room * sizeof *stream->pending);
    }
    return &stream->pending[stream->pending_count++];
}
