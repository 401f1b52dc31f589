/* Walks over the blocks of a trace with the one rule of a block's life (blocks/walker.h) and turns
 * what the walker says into calls of lanes. This file adds what the walker does not decide: which
 * lane makes a call, and what cannot be run again. */
#include "whatif/flow.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "blocks/arena.h"
#include "blocks/walker.h"
#include "wire/record_kinds.h"

enum { FLOW_MAIN_LANE = 0 };

enum flow_lane { FLOW_LANE_UNSEEN, FLOW_LANE_RUNS, FLOW_LANE_OVER };

struct flow {
    const struct flow_sink *sink;
    struct flow_left_out *left_out;
    struct walker walker;
    enum flow_lane *lanes; /* by stream */
    size_t lane_room;
    uint32_t lane; /* that makes the call under way */
};

/* ---- Lanes --------------------------------------------------------------------------------- */

static enum flow_lane *flow_lane_at(struct flow *flow, uint32_t number)
{
    if (number >= flow->lane_room) {
        size_t room = flow->lane_room ? 2 * flow->lane_room : 16;
        while (room <= number)
            room *= 2;
        flow->lanes = arena_realloc(flow->lanes, room * sizeof *flow->lanes);
        for (size_t i = flow->lane_room; i < room; i++)
            flow->lanes[i] = FLOW_LANE_UNSEEN;
        flow->lane_room = room;
    }
    return &flow->lanes[number];
}

static void flow_begin_lane(struct flow *flow, uint32_t number)
{
    enum flow_lane *lane = flow_lane_at(flow, number);

    if (number != FLOW_MAIN_LANE && *lane == FLOW_LANE_RUNS)
        flow->sink->stop(flow->sink->context, number);
    if (number != FLOW_MAIN_LANE)
        flow->sink->start(flow->sink->context, number);
    *lane = FLOW_LANE_RUNS;
}

static void flow_end_lane(struct flow *flow, uint32_t number)
{
    enum flow_lane *lane = flow_lane_at(flow, number);

    if (number == FLOW_MAIN_LANE || *lane != FLOW_LANE_RUNS)
        return;
    flow->sink->stop(flow->sink->context, number);
    *lane = FLOW_LANE_OVER;
}

/* The lane that makes a call of this stream. */
static uint32_t flow_lane_of(struct flow *flow, uint32_t number)
{
    enum flow_lane lane = *flow_lane_at(flow, number);

    if (number == FLOW_MAIN_LANE || lane == FLOW_LANE_RUNS)
        return number;
    if (lane == FLOW_LANE_OVER)
        return FLOW_MAIN_LANE;
    flow_begin_lane(flow, number);
    return number;
}

/* ---- What the walker says ------------------------------------------------------------------ */

static enum stream_kind flow_call_of(unsigned kind, const struct live_block *old)
{
    return kind == WIRE_CALLOC    ? STREAM_CALLOC
           : kind == WIRE_ALIGNED ? STREAM_ALIGNED
           : old                  ? STREAM_REALLOC
                                  : STREAM_MALLOC;
}

static void flow_born(void *context, const struct walker_step *step, const struct live_block *old,
                      struct live_block *block)
{
    struct flow *flow = context;
    unsigned align_log2 = wire_detail_align_log2(step->record->detail);
    struct flow_birth birth = {
        .kind = flow_call_of(wire_kind(step->record->kind_address), old),
        .align_log2 = align_log2 < STREAM_MAX_ALIGN_LOG2 ? align_log2 : STREAM_MAX_ALIGN_LOG2,
        .size_bytes = block->size_bytes,
    };

    live_block_set_owner(block, flow->lane);
    if (old)
        flow->sink->change(flow->sink->context, flow->lane, &birth, old, block);
    else
        flow->sink->birth(flow->sink->context, flow->lane, &birth, block);
}

/* The end of a block that is reallocated is part of the change that follows. */
static void flow_ended(void *context, const struct walker_step *step,
                       const struct live_block *block, enum walker_end how)
{
    struct flow *flow = context;

    (void)step;
    if (how == WALKER_REALLOCED)
        return;
    flow->left_out->implied_frees += how == WALKER_REPLACED;
    flow->sink->end(flow->sink->context, flow->lane, block);
}

/* A free that was owed has been run when another block came to its address. */
static void flow_missed(void *context, const struct walker_step *step, enum walker_miss why)
{
    struct flow_left_out *left_out = ((struct flow *)context)->left_out;

    if (why == WALKER_SETTLED) {
        left_out->stale_frees++;
        left_out->implied_frees--;
    } else if (why == WALKER_UNKNOWN && step->class == RECORD_FREE) {
        left_out->unknown_frees++;
    }
    left_out->unknown_reallocs += step->class == RECORD_REALLOC_BEGIN && why != WALKER_NULL;
}

static void flow_failed(void *context, const struct walker_step *step)
{
    (void)step;
    ((struct flow *)context)->left_out->failed_calls++;
}

static void flow_other(void *context, const struct walker_step *step)
{
    struct flow *flow = context;

    if (step->class == RECORD_THREAD_START)
        flow_begin_lane(flow, step->stream);
    else if (step->class == RECORD_THREAD_END)
        flow_end_lane(flow, step->stream);
    else if (step->class == RECORD_MAPPING)
        flow->left_out->mappings++;
    else if (step->class == RECORD_LOST)
        flow->left_out->lost_events += walker_address(step);
    else if (step->class == RECORD_NONSENSE)
        flow->left_out->nonsense++;
}

static const struct walker_sink flow_walker_sink = {.ended = flow_ended,
                                                    .born = flow_born,
                                                    .missed = flow_missed,
                                                    .failed = flow_failed,
                                                    .other = flow_other};

/* ---- Records ------------------------------------------------------------------------------- */

static void flow_record(struct flow *flow, uint32_t stream, const struct wire_record *record)
{
    enum record_class class = record_class_of(false, record->kind_address);

    RECORD_SWITCH_BEGIN
    switch (class) {
    case RECORD_BIRTH:
    case RECORD_FREE:
    case RECORD_REALLOC_BEGIN:
    case RECORD_REALLOC_END:
    case RECORD_REALLOC_FAILED:
        flow->lane = flow_lane_of(flow, stream);
        break;
    /* Pools are the program's own: the allocator is asked for their chunks, which live on. */
    case RECORD_POOL_BIRTH:
    case RECORD_POOL_FREE:
    case RECORD_POOL_CHUNK:
        return;
    case RECORD_NONSENSE:
    case RECORD_VOID:
    case RECORD_SPENT:
    case RECORD_FAILED:
    case RECORD_THREAD_START:
    case RECORD_THREAD_END:
    case RECORD_LOST:
    case RECORD_SAID:
    case RECORD_MAPPING:
    case RECORD_STACK:
    case RECORD_DEVICE:
    case RECORD_CLASSES:
        break;
    }
    RECORD_SWITCH_END
    walker_record(&flow->walker, &flow_walker_sink, flow, class, stream, record);
}

static void flow_run(struct flow *flow, const struct replay_run *run, const unsigned char *records)
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
        flow_record(flow, run->thread, &record);
        at += bytes;
    }
}

static int flow_block(struct flow *flow, const struct trace_events *events)
{
    const unsigned char *at = events->records;

    for (size_t i = 0; i < events->note_count; i++)
        if (events->notes[i].note.kind == TRACE_LOST)
            flow->left_out->lost_events += events->notes[i].note.values[0];
    for (size_t i = 0; i < events->run_count; at += events->runs[i++].bytes) {
        if (events->runs[i].thread >= STREAM_MAX_SEATS)
            return -EBADMSG;
        flow_run(flow, &events->runs[i], at);
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
    walker_init(&flow.walker, false);
    for (size_t i = 0; i < trace_block_count(trace) && !error; i++) {
        error = trace_events(trace, i, &events);
        if (error == -EBADMSG) {
            left_out->damaged_blocks++;
            error = 0;
            continue;
        }
        if (!error)
            error = flow_block(&flow, &events);
        done += error ? 0 : events.event_count;
        if (!error && stop)
            error = stop(sink->context, done);
    }
    trace_events_release(&events);
    walker_release(&flow.walker);
    free(flow.lanes);
    return error;
}
