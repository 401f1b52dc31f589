/* See flow.h. */
#include "whatif/flow.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "replay/region.h"
#include "wire/wire.h"

enum { FIRST_LIVE_LOG2 = 12, MAIN_LANE = 0 };

struct pending {
    bool known;
    struct live_block block;
};

struct stream {
    enum { STREAM_UNSEEN, STREAM_RUNS, STREAM_OVER } state;
    struct pending *pending; /* reallocs under way: last in, first out */
    size_t pending_count, pending_room;
};

struct flow {
    const struct flow_sink *sink;
    struct flow_left_out *left_out;
    struct live_table live;
    struct stream *streams;
    size_t stream_count;
};

/* ---- Streams and lanes --------------------------------------------------------------------- */

static struct stream *stream_of(struct flow *flow, uint32_t number)
{
    if (number >= flow->stream_count) {
        size_t count = flow->stream_count ? 2 * flow->stream_count : 16;
        while (count <= number)
            count *= 2;
        flow->streams = replay_realloc(flow->streams, count * sizeof *flow->streams);
        memset(flow->streams + flow->stream_count, 0,
               (count - flow->stream_count) * sizeof *flow->streams);
        flow->stream_count = count;
    }
    return &flow->streams[number];
}

static void begin_lane(struct flow *flow, uint32_t number)
{
    struct stream *stream = stream_of(flow, number);

    if (number != MAIN_LANE && stream->state == STREAM_RUNS)
        flow->sink->stop(flow->sink->context, number);
    if (number != MAIN_LANE)
        flow->sink->start(flow->sink->context, number);
    stream->state = STREAM_RUNS;
    stream->pending_count = 0;
}

static void end_lane(struct flow *flow, uint32_t number)
{
    struct stream *stream = stream_of(flow, number);

    if (number == MAIN_LANE || stream->state != STREAM_RUNS)
        return;
    flow->sink->stop(flow->sink->context, number);
    stream->state = STREAM_OVER;
}

/* The lane that makes a call of this stream. */
static uint32_t lane_of(struct flow *flow, uint32_t number)
{
    struct stream *stream = stream_of(flow, number);

    if (number == MAIN_LANE || stream->state == STREAM_RUNS)
        return number;
    if (stream->state == STREAM_OVER)
        return MAIN_LANE;
    begin_lane(flow, number);
    return number;
}

/* ---- Blocks -------------------------------------------------------------------------------- */

static uint64_t address_of(const struct wire_record *record)
{
    return record->kind_address & WIRE_ADDRESS_MASK;
}

static struct flow_birth birth_of(const struct wire_record *record, enum script_kind kind)
{
    unsigned align_log2 = wire_detail_align_log2(record->detail);

    return (struct flow_birth){
        .kind = kind,
        .align_log2 = align_log2 < SCRIPT_MAX_ALIGN_LOG2 ? align_log2 : SCRIPT_MAX_ALIGN_LOG2,
        .size_bytes = record->size_bytes < LIVE_MAX_SIZE ? record->size_bytes : LIVE_MAX_SIZE,
    };
}

static struct live_block block_of(const struct wire_record *record, uint32_t lane)
{
    struct live_block block = {
        .address = address_of(record),
        .size_bytes = record->size_bytes < LIVE_MAX_SIZE ? record->size_bytes : LIVE_MAX_SIZE,
        .birth_ticks = record->ticks,
    };

    live_block_set_owner(&block, lane);
    return block;
}

static void tell_birth(struct flow *flow, uint32_t lane, const struct flow_birth *birth,
                       const struct live_block *old, struct live_block *block)
{
    if (old)
        flow->sink->change(flow->sink->context, lane, birth, old, block);
    else
        flow->sink->birth(flow->sink->context, lane, birth, block);
}

/* Of two blocks at one address the older one is over, whichever is told of first. */
static void place(struct flow *flow, uint32_t lane, const struct flow_birth *birth,
                  const struct live_block *old, struct live_block block)
{
    struct live_block *slot = live_table_place(&flow->live, block.address);

    if (slot->address == block.address) {
        flow->left_out->implied_frees++;
        if (slot->birth_ticks > block.birth_ticks) {
            tell_birth(flow, lane, birth, old, &block);
            flow->sink->end(flow->sink->context, lane, &block);
            return;
        }
        flow->sink->end(flow->sink->context, lane, slot);
    }
    *slot = block;
    tell_birth(flow, lane, birth, old, slot);
}

static bool take(struct flow *flow, const struct wire_record *record, struct live_block *block)
{
    struct live_block *slot = live_table_find(&flow->live, address_of(record));

    if (!slot)
        return false;
    if (slot->birth_ticks > record->ticks) {
        flow->left_out->stale_frees++;
        return false;
    }
    *block = *slot;
    live_table_remove(&flow->live, slot);
    return true;
}

static void allocate(struct flow *flow, uint32_t stream, const struct wire_record *record,
                     enum script_kind kind)
{
    struct flow_birth birth = birth_of(record, kind);
    uint32_t lane = lane_of(flow, stream);

    if (address_of(record))
        place(flow, lane, &birth, NULL, block_of(record, lane));
}

static void end_by_free(struct flow *flow, uint32_t stream, const struct wire_record *record)
{
    uint64_t stale = flow->left_out->stale_frees;
    uint32_t lane = lane_of(flow, stream);
    struct live_block block;

    if (!address_of(record))
        return;
    if (take(flow, record, &block))
        flow->sink->end(flow->sink->context, lane, &block);
    else
        flow->left_out->unknown_frees += flow->left_out->stale_frees == stale;
}

/* ---- Reallocs ------------------------------------------------------------------------------ */

static void begin_realloc(struct flow *flow, uint32_t number, const struct wire_record *record)
{
    struct stream *stream = stream_of(flow, number);
    struct pending *pending;

    lane_of(flow, number);
    if (stream->pending_count == stream->pending_room) {
        stream->pending_room = stream->pending_room ? 2 * stream->pending_room : 2;
        stream->pending =
            replay_realloc(stream->pending, stream->pending_room * sizeof *stream->pending);
    }
    pending = &stream->pending[stream->pending_count++];
    pending->known = address_of(record) && take(flow, record, &pending->block);
    flow->left_out->unknown_reallocs += address_of(record) && !pending->known;
}

static struct pending pop_pending(struct flow *flow, uint32_t number)
{
    struct stream *stream = stream_of(flow, number);

    return stream->pending_count ? stream->pending[--stream->pending_count]
                                 : (struct pending){.known = false};
}

static void end_realloc(struct flow *flow, uint32_t number, const struct wire_record *record)
{
    struct pending pending = pop_pending(flow, number);
    struct flow_birth birth =
        birth_of(record, pending.known ? SCRIPT_REALLOC : SCRIPT_MALLOC);
    uint32_t lane = lane_of(flow, number);

    if (address_of(record))
        place(flow, lane, &birth, pending.known ? &pending.block : NULL, block_of(record, lane));
    else if (pending.known)
        flow->sink->end(flow->sink->context, lane, &pending.block);
}

/* The block goes back to where it was, unless another has come there meanwhile. */
static void fail_realloc(struct flow *flow, uint32_t number)
{
    struct pending pending = pop_pending(flow, number);
    struct live_block *slot;

    flow->left_out->failed_calls++;
    if (!pending.known)
        return;
    slot = live_table_place(&flow->live, pending.block.address);
    if (slot->address) {
        flow->left_out->implied_frees++;
        flow->sink->end(flow->sink->context, lane_of(flow, number), &pending.block);
        return;
    }
    *slot = pending.block;
}

/* ---- Records ------------------------------------------------------------------------------- */

static void walk_other(struct flow *flow, uint32_t stream, const struct wire_record *record)
{
    switch (wire_kind(record->kind_address)) {
    case WIRE_THREAD_START:
        begin_lane(flow, stream);
        break;
    case WIRE_THREAD_END:
        end_lane(flow, stream);
        break;
    case WIRE_MMAP:
    case WIRE_MMAP | WIRE_FAILED:
    case WIRE_MUNMAP:
    case WIRE_BRK:
    case WIRE_BRK | WIRE_FAILED:
        flow->left_out->mappings++;
        break;
    case WIRE_LOST:
        flow->left_out->lost_events += address_of(record);
        break;
    case WIRE_MALLOC | WIRE_FAILED:
    case WIRE_CALLOC | WIRE_FAILED:
    case WIRE_ALIGNED | WIRE_FAILED:
    case WIRE_NEW | WIRE_FAILED:
    case WIRE_NEW_ARRAY | WIRE_FAILED:
        flow->left_out->failed_calls++;
        break;
    case WIRE_VOID:
    case WIRE_SPENT:
    case WIRE_STACK:
    case WIRE_STACK_LAYER:
    case WIRE_STACK_PEAK:
    case WIRE_MARK:
    case WIRE_REGION_BEGIN:
    case WIRE_REGION_END:
    /* Pools are the program's own: the allocator is asked for their chunks, which live on. */
    case WIRE_POOL:
    case WIRE_POOL_CHUNK:
    case WIRE_POOL_FREE:
    case WIRE_POOL_FREE_AT:
        break;
    default:
        flow->left_out->nonsense++;
    }
}

static void walk_record(struct flow *flow, uint32_t stream, const struct wire_record *record)
{
    switch (wire_kind(record->kind_address)) {
    case WIRE_MALLOC:
    case WIRE_NEW:
    case WIRE_NEW_ARRAY:
        allocate(flow, stream, record, SCRIPT_MALLOC);
        break;
    case WIRE_CALLOC:
        allocate(flow, stream, record, SCRIPT_CALLOC);
        break;
    case WIRE_ALIGNED:
        allocate(flow, stream, record, SCRIPT_ALIGNED);
        break;
    case WIRE_FREE:
    case WIRE_FREE_AT:
        end_by_free(flow, stream, record);
        break;
    case WIRE_REALLOC_BEGIN:
        begin_realloc(flow, stream, record);
        break;
    case WIRE_REALLOC_END:
        end_realloc(flow, stream, record);
        break;
    case WIRE_REALLOC_END | WIRE_FAILED:
        fail_realloc(flow, stream);
        break;
    default:
        walk_other(flow, stream, record);
    }
}

static void walk_run(struct flow *flow, const struct replay_run *run, const unsigned char *records)
{
    for (uint32_t at = 0; at + 16 <= run->bytes;) {
        struct wire_record record = {0};
        unsigned bytes;
        memcpy(&record, records + at, 16);
        bytes = wire_record_bytes(record.kind_address);
        if (bytes > run->bytes - at) {
            flow->left_out->nonsense++;
            return;
        }
        memcpy(&record, records + at, bytes);
        walk_record(flow, run->thread, &record);
        at += bytes;
    }
}

static int walk_block(struct flow *flow, const struct trace_events *events)
{
    const unsigned char *at = events->records;

    for (size_t i = 0; i < events->note_count; i++)
        if (events->notes[i].note.kind == TRACE_LOST)
            flow->left_out->lost_events += events->notes[i].note.values[0];
    for (size_t i = 0; i < events->run_count; at += events->runs[i++].bytes) {
        if (events->runs[i].thread >= SCRIPT_MAX_SEATS)
            return -EBADMSG;
        walk_run(flow, &events->runs[i], at);
    }
    return 0;
}

int flow_walk(const struct trace *trace, const struct flow_sink *sink,
              struct flow_left_out *left_out, int (*stop)(void *context, uint64_t events))
{
    struct flow flow = {.sink = sink, .left_out = left_out};
    struct trace_events events = {0};
    uint64_t done = 0;
    int error = 0;

    memset(left_out, 0, sizeof *left_out);
    live_table_init(&flow.live, FIRST_LIVE_LOG2);
    for (size_t i = 0; i < trace_block_count(trace) && !error; i++) {
        error = trace_events(trace, i, &events);
        if (error == -EBADMSG) {
            left_out->damaged_blocks++;
            error = 0;
            continue;
        }
        if (!error)
            error = walk_block(&flow, &events);
        done += error ? 0 : events.event_count;
        if (!error && stop)
            error = stop(sink->context, done);
    }
    trace_events_release(&events);
    live_table_release(&flow.live);
    for (size_t i = 0; i < flow.stream_count; i++)
        free(flow.streams[i].pending);
    free(flow.streams);
    return error;
}
