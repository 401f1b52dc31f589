/* Random recordings of which it is known what happened: the generator keeps its own list of live
 * blocks, so what it says of them owes nothing to what is tested. */
#ifndef TIDEMARK_TESTS_WHATIF_STREAMS_H
#define TIDEMARK_TESTS_WHATIF_STREAMS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "alloc_stream/stream_format.h"
#include "trace/trace.h"
#include "wire/wire.h"

enum { STREAMS_MAX = 12, CALLS_MAX = 60000, BLOCKS_MAX = 600 };

/* One call as it must be run: by whom, what, on which block (numbered by birth; 0: none). */
struct known_call {
    uint32_t lane;
    unsigned kind, align_log2;
    uint64_t size_bytes, new_bytes;
    uint32_t block, old;
};

struct known_block {
    uint32_t number;
    uint64_t address, size_bytes;
    bool gone; /* a realloc of it is under way */
};

struct known {
    uint64_t random, ticks;
    struct trace_writer *writer;
    struct known_call calls[CALLS_MAX];
    size_t call_count;
    struct known_block live[BLOCKS_MAX];
    size_t live_count;
    uint32_t births;
    uint64_t live_bytes, peak_bytes;
    uint32_t streams, lanes;
    uint32_t begun;
    enum { LANE_NEW, LANE_RUNS, LANE_OVER } state[STREAMS_MAX];
    struct known_block pending[STREAMS_MAX];
    bool has_pending[STREAMS_MAX];
    uint64_t unknown_frees, failed_calls;
};

static inline uint64_t known_next(struct known *known)
{
    uint64_t z = known->random += 0x9E3779B97F4A7C15ull;

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

static inline uint64_t known_below(struct known *known, uint64_t limit)
{
    return known_next(known) % limit;
}

static inline void known_put(struct known *known, uint32_t stream, unsigned kind, uint64_t address,
                             uint64_t size, unsigned align_log2)
{
    struct wire_record record = {(uint64_t)kind << 56 | address,
                                 known->ticks += 1 + known_below(known, 9), size,
                                 wire_detail(1, 8, align_log2)};
    struct replay_run run = {stream, wire_record_bytes(record.kind_address)};

    if (trace_writer_events(known->writer, &run, 1, &record))
        abort();
}

/* An address at which nothing lives, used again often. */
static inline uint64_t known_address(struct known *known)
{
    for (;;) {
        uint64_t address = 0x7f0000000000 + 4096 * (1 + known_below(known, 2 * BLOCKS_MAX));
        size_t i = 0;
        while (i < known->live_count && known->live[i].address != address)
            i++;
        if (i == known->live_count)
            return address;
    }
}

/* Who makes the calls of a stream: the first lane those of threads that are over. */
static inline uint32_t known_lane(struct known *known, uint32_t stream)
{
    if (stream && known->state[stream] == LANE_OVER)
        return 0;
    if (stream && known->state[stream] == LANE_NEW) {
        known->state[stream] = LANE_RUNS;
        known->lanes++;
    }
    return stream;
}

static inline struct known_call *known_call(struct known *known, uint32_t stream, unsigned kind)
{
    struct known_call *call = &known->calls[known->call_count++];

    *call = (struct known_call){.lane = known_lane(known, stream), .kind = kind};
    return call;
}

static inline void known_live(struct known *known, struct known_call *call, uint64_t address)
{
    call->block = ++known->births;
    known->live[known->live_count++] =
        (struct known_block){call->block, address, call->size_bytes, false};
    known->live_bytes += call->size_bytes;
    if (known->live_bytes > known->peak_bytes)
        known->peak_bytes = known->live_bytes;
}

static inline struct known_block known_take(struct known *known, size_t i)
{
    struct known_block block = known->live[i];

    known->live[i] = known->live[--known->live_count];
    return block;
}

static inline uint64_t known_size(struct known *known)
{
    return known_below(known, 3) ? known_below(known, 300) : known_below(known, 30000);
}

static inline void known_birth(struct known *known, uint32_t stream)
{
    static const unsigned wires[] = {WIRE_MALLOC, WIRE_NEW, WIRE_CALLOC, WIRE_ALIGNED};
    static const unsigned kinds[] = {STREAM_MALLOC, STREAM_MALLOC, STREAM_CALLOC, STREAM_ALIGNED};
    unsigned which = (unsigned)known_below(known, 4);
    uint64_t address = known_address(known);
    struct known_call *call = known_call(known, stream, kinds[which]);

    call->size_bytes = call->new_bytes = known_size(known);
    call->align_log2 = which == 3 ? (unsigned)known_below(known, 13) : 0;
    known_put(known, stream, wires[which], address, call->size_bytes, call->align_log2);
    known_live(known, call, address);
}

static inline void known_free(struct known *known, uint32_t stream)
{
    struct known_block block = known_take(known, known_below(known, known->live_count));

    known_put(known, stream, known_below(known, 2) ? WIRE_FREE : WIRE_FREE_AT, block.address, 0, 0);
    known_call(known, stream, STREAM_FREE)->old = block.number;
    known->live_bytes -= block.size_bytes;
}

/* In two records, between which other streams go on, at the old address too. */
static inline void known_begin_realloc(struct known *known, uint32_t stream)
{
    known->pending[stream] = known_take(known, known_below(known, known->live_count));
    known->has_pending[stream] = true;
    known_lane(known, stream);
    known_put(known, stream, WIRE_REALLOC_BEGIN, known->pending[stream].address, 0, 0);
}

static inline void known_end_realloc(struct known *known, uint32_t stream)
{
    struct known_block old = known->pending[stream];
    uint64_t address = known_address(known);
    struct known_call *call = known_call(known, stream, STREAM_REALLOC);

    known->has_pending[stream] = false;
    call->old = old.number;
    if (!known_below(known, 8)) {
        call->kind = STREAM_FREE;
        known_put(known, stream, WIRE_REALLOC_END, 0, 0, 0);
        known->live_bytes -= old.size_bytes;
        return;
    }
    call->size_bytes = known_size(known);
    call->new_bytes = call->size_bytes > old.size_bytes ? call->size_bytes - old.size_bytes : 0;
    known_put(known, stream, WIRE_REALLOC_END, address, call->size_bytes, 0);
    known->live_bytes -= old.size_bytes;
    known_live(known, call, address);
}

static inline void known_announce(struct known *known, uint32_t stream)
{
    if (known->has_pending[stream])
        return;
    known_put(known, stream, WIRE_THREAD_START, 100 + stream, 0, 0);
    if (!stream)
        return;
    known->state[stream] = LANE_RUNS;
    known->lanes++;
}

static inline void known_leave(struct known *known, uint32_t stream)
{
    known_put(known, stream, WIRE_THREAD_END, 0, 0, 0);
    if (stream && known->state[stream] == LANE_RUNS)
        known->state[stream] = LANE_OVER;
}

static inline void known_foreign(struct known *known, uint32_t stream)
{
    if (known_below(known, 2)) {
        known_lane(known, stream);
        known_put(known, stream, WIRE_FREE, 0x1000 + 16 * known_below(known, 50), 0, 0);
        known->unknown_frees++;
    } else {
        known_put(known, stream, WIRE_MALLOC | WIRE_FAILED, 0, 1 << 30, 0);
        known->failed_calls++;
    }
}

static inline void known_step(struct known *known)
{
    uint32_t stream = (uint32_t)known_below(known, known->streams);
    unsigned what = (unsigned)known_below(known, 1000);

    if (stream == known->begun) {
        struct trace_note note = {.kind = TRACE_STREAM_BEGUN, .values = {stream, 1, known->ticks}};
        if (trace_writer_note(known->writer, &note))
            abort();
        known->begun++;
    }
    if (stream >= known->begun)
        return;
    if (known->has_pending[stream] && what < 600)
        known_end_realloc(known, stream);
    else if (what < 10)
        known_announce(known, stream);
    else if (what < 20)
        known_leave(known, stream);
    else if (what < 30)
        known_foreign(known, stream);
    else if (known->live_count && what < 130 && !known->has_pending[stream])
        known_begin_realloc(known, stream);
    else if (known->live_count < BLOCKS_MAX - STREAMS_MAX && (!known->live_count || what < 570))
        known_birth(known, stream);
    else if (known->live_count)
        known_free(known, stream);
}

static inline struct known *known_make(const char *path, uint64_t seed, uint32_t streams,
                                       size_t steps)
{
    struct known *known = calloc(1, sizeof *known);
    struct trace_options options = {.start_ticks = 1};

    known->random = seed;
    known->streams = streams;
    known->lanes = 1;
    known->ticks = 1000;
    if (trace_writer_open(&known->writer, path, &options))
        abort();
    for (size_t i = 0; i < steps && known->call_count < CALLS_MAX; i++)
        known_step(known);
    if (trace_writer_finish(known->writer))
        abort();
    return known;
}

#endif
