/* Passes events on to the replay and then to the trace writer (event_sink.h). The replay comes
 * first, because it gives each stream its number. */
#include "collector/event_sink.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include "collector/thinning.h"
#include "collector/tracer.h"

static void event_sink_tell(struct event_sink *sink, const struct trace_note *note)
{
    if (sink->tracer)
        tracer_note(sink->tracer, note);
}

uint32_t event_sink_thread_begin(struct event_sink *sink, uint32_t tid, uint64_t ticks)
{
    uint32_t thread = replay_thread_begin(sink->replay, tid, ticks);
    event_sink_tell(sink, &(struct trace_note){TRACE_STREAM_BEGUN, {thread, tid, ticks}, ""});
    return thread;
}

void event_sink_thread_waited(struct event_sink *sink, uint32_t thread, uint64_t waits,
                              uint64_t ticks)
{
    replay_thread_waited(sink->replay, thread, waits, ticks);
    event_sink_tell(sink, &(struct trace_note){TRACE_STREAM_WAITED, {thread, waits, ticks}, ""});
}

void event_sink_thread_named(struct event_sink *sink, uint32_t tid, const char *name)
{
    struct trace_note note = {TRACE_THREAD_NAMED, {tid}, ""};
    replay_thread_named(sink->replay, tid, name);
    snprintf(note.name, sizeof note.name, "%s", name);
    event_sink_tell(sink, &note);
}

void event_sink_thread_stack(struct event_sink *sink, uint32_t tid, uint64_t deepest_bytes,
                             uint64_t touched_bytes, uint32_t node)
{
    replay_thread_stack(sink->replay, tid, deepest_bytes, touched_bytes, node);
    event_sink_tell(sink, &(struct trace_note){
                              TRACE_THREAD_STACK, {tid, deepest_bytes, touched_bytes, node}, ""});
}

void event_sink_expect(struct event_sink *sink, size_t bytes)
{
    enum { ALLOCATION_BYTES = 32 };
    if (sink->expect)
        sink->expect(sink->bounder, bytes / ALLOCATION_BYTES);
}

static void event_sink_expect_runs(struct event_sink *sink, const struct replay_run *runs,
                                   size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += runs[i].bytes;
    event_sink_expect(sink, bytes);
}

static void event_sink_pass(struct event_sink *sink, const struct replay_run *runs, size_t count,
                            const void *records)
{
    event_sink_expect_runs(sink, runs, count);
    if (sink->follow)
        sink->follow(sink->follower, runs, count, records);
    if (sink->thinning) {
        struct thinned thinned = thinning_runs(sink->thinning, runs, count, records);
        replay_runs(sink->replay, thinned.runs, count, thinned.records);
        return;
    }
    replay_runs(sink->replay, runs, count, records);
    if (sink->tracer)
        tracer_runs(sink->tracer, runs, count, records);
}

/* Passes on a run of one thread's records. A mark in it can begin or end the recording. Both marks
 * belong to the recording. */
static void event_sink_pass_gated(struct event_sink *sink, struct replay_run run,
                                  const char *records)
{
    enum { MARK_BYTES = 16 };
    struct window_gate *gate = sink->gate;
    uint32_t in_time = window_gate_in_time(gate, records, run.bytes);
    bool is_over = in_time < run.bytes;
    run.bytes = in_time;
    while (run.bytes && gate->state != GATE_SHUT) {
        const char *mark;
        uint64_t ticks;
        struct replay_run part = {run.thread,
                                  window_gate_scan(gate, records, run.bytes, &mark, &ticks)};
        struct replay_run alone = {run.thread, MARK_BYTES};
        if (part.bytes)
            event_sink_pass(sink, &part, 1, records);
        if (mark) {
            bool begins = gate->state == GATE_BEFORE;
            if (begins)
                window_gate_turn(gate, mark, ticks);
            event_sink_pass(sink, &alone, 1, records + part.bytes);
            if (!begins)
                window_gate_turn(gate, mark, ticks);
            part.bytes += MARK_BYTES;
        }
        records += part.bytes;
        run.bytes -= part.bytes;
    }
    if (is_over && gate->state == GATE_OPEN)
        window_gate_time_out(gate);
}

void event_sink_runs(struct event_sink *sink, const struct replay_run *runs, size_t count,
                     const void *records)
{
    const char *at = records;
    if (!window_gate_watches(sink->gate)) {
        event_sink_pass(sink, runs, count, records);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        event_sink_pass_gated(sink, runs[i], at);
        at += runs[i].bytes;
    }
}

bool event_sink_takes_stretches(const struct event_sink *sink)
{
    return !sink->thinning && !window_gate_watches(sink->gate);
}

size_t event_sink_stretch(struct event_sink *sink, uint32_t thread, const void *records,
                          size_t bytes)
{
    size_t taken = replay_stretch(sink->replay, thread, records, bytes);
    struct replay_run run = {thread, (uint32_t)taken};
    if (sink->follow)
        sink->follow(sink->follower, &run, 1, records);
    if (sink->tracer)
        tracer_runs(sink->tracer, &run, 1, records);
    return taken;
}

void event_sink_thin(struct event_sink *sink, unsigned level)
{
    assert(!sink->tracer);
    if (!sink->thinning) {
        sink->thinning = thinning_new();
        replay_begin_to_adapt(sink->replay);
    }
    thinning_set_level(sink->thinning, level);
}

unsigned event_sink_thinned(const struct event_sink *sink)
{
    return sink->thinning ? thinning_level(sink->thinning) : 0;
}

void event_sink_lost(struct event_sink *sink, uint64_t events)
{
    replay_lost(sink->replay, events);
    event_sink_tell(sink, &(struct trace_note){TRACE_LOST, {events}, ""});
}

void event_sink_memory_sample(struct event_sink *sink, uint64_t ticks, uint64_t physical_bytes,
                              uint64_t virtual_bytes, uint64_t tool_bytes)
{
    replay_memory_sample(sink->replay, ticks, physical_bytes, virtual_bytes, tool_bytes);
    event_sink_tell(
        sink,
        &(struct trace_note){TRACE_SAMPLE, {ticks, physical_bytes, virtual_bytes, tool_bytes}, ""});
}

void event_sink_name(struct event_sink *sink, uint32_t number, const char *name)
{
    replay_name(sink->replay, number, name);
}

void event_sink_watch_peak(struct event_sink *sink, uint32_t tid)
{
    replay_watch_peak(sink->replay, tid);
}

void event_sink_snapshot(struct event_sink *sink, uint64_t ticks, double tick_ns)
{
    struct trace_note note = {TRACE_SNAPSHOT, {ticks}, ""};
    memcpy(&note.values[1], &tick_ns, sizeof tick_ns);
    event_sink_tell(sink, &note);
}
