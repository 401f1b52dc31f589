/* See feed.h. The replay first: it knows the number of a stream. */
#include "collector/feed.h"

#include <stdio.h>
#include <string.h>
#include "collector/tracer.h"

static void tell(struct feed *feed, const struct trace_note *note)
{
    if (feed->tracer)
        tracer_note(feed->tracer, note);
}

uint32_t feed_thread_begin(struct feed *feed, uint32_t tid, uint64_t ticks)
{
    uint32_t thread = replay_thread_begin(feed->replay, tid, ticks);
    tell(feed, &(struct trace_note){TRACE_STREAM_BEGUN, {thread, tid, ticks}, ""});
    return thread;
}

void feed_thread_waited(struct feed *feed, uint32_t thread, uint64_t waits, uint64_t ticks)
{
    replay_thread_waited(feed->replay, thread, waits, ticks);
    tell(feed, &(struct trace_note){TRACE_STREAM_WAITED, {thread, waits, ticks}, ""});
}

void feed_thread_named(struct feed *feed, uint32_t tid, const char *name)
{
    struct trace_note note = {TRACE_THREAD_NAMED, {tid}, ""};
    replay_thread_named(feed->replay, tid, name);
    snprintf(note.name, sizeof note.name, "%s", name);
    tell(feed, &note);
}

void feed_thread_stack(struct feed *feed, uint32_t tid, uint64_t deepest_bytes,
                       uint64_t touched_bytes, uint32_t node)
{
    replay_thread_stack(feed->replay, tid, deepest_bytes, touched_bytes, node);
    tell(feed, &(struct trace_note){
                   TRACE_THREAD_STACK, {tid, deepest_bytes, touched_bytes, node}, ""});
}

static void pass(struct feed *feed, const struct replay_run *runs, size_t count,
                 const void *records)
{
    replay_runs(feed->replay, runs, count, records);
    if (feed->tracer)
        tracer_runs(feed->tracer, runs, count, records);
}

/* A stretch of one thread, which a mark may cut into what is recorded and what is not. The mark that
 * begins the recording is in it, and so is the one that ends it: it passes through the open gate. */
static void pass_gated(struct feed *feed, struct replay_run run, const char *records)
{
    enum { MARK_BYTES = 16 };
    struct gate *gate = feed->gate;
    while (run.bytes && gate->state != GATE_SHUT) {
        const char *mark;
        uint64_t ticks;
        struct replay_run part = {run.thread, gate_scan(gate, records, run.bytes, &mark, &ticks)};
        struct replay_run alone = {run.thread, MARK_BYTES};
        if (part.bytes)
            pass(feed, &part, 1, records);
        if (mark) {
            bool begins = gate->state == GATE_BEFORE;
            if (begins)
                gate_turn(gate, mark, ticks);
            pass(feed, &alone, 1, records + part.bytes);
            if (!begins)
                gate_turn(gate, mark, ticks);
            part.bytes += MARK_BYTES;
        }
        records += part.bytes;
        run.bytes -= part.bytes;
    }
}

void feed_runs(struct feed *feed, const struct replay_run *runs, size_t count, const void *records)
{
    const char *at = records;
    if (!gate_watches(feed->gate)) {
        pass(feed, runs, count, records);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        pass_gated(feed, runs[i], at);
        at += runs[i].bytes;
    }
}

bool feed_takes_stretches(const struct feed *feed)
{
    return !gate_watches(feed->gate);
}

size_t feed_stretch(struct feed *feed, uint32_t thread, const void *records, size_t bytes)
{
    size_t taken = replay_stretch(feed->replay, thread, records, bytes);
    struct replay_run run = {thread, (uint32_t)taken};
    if (feed->tracer)
        tracer_runs(feed->tracer, &run, 1, records);
    return taken;
}

void feed_lost(struct feed *feed, uint64_t events)
{
    replay_lost(feed->replay, events);
    tell(feed, &(struct trace_note){TRACE_LOST, {events}, ""});
}

void feed_memory_sample(struct feed *feed, uint64_t ticks, uint64_t physical_bytes,
                        uint64_t virtual_bytes, uint64_t tool_bytes)
{
    replay_memory_sample(feed->replay, ticks, physical_bytes, virtual_bytes, tool_bytes);
    tell(feed, &(struct trace_note){
                   TRACE_SAMPLE, {ticks, physical_bytes, virtual_bytes, tool_bytes}, ""});
}

void feed_name(struct feed *feed, uint32_t number, const char *name)
{
    replay_name(feed->replay, number, name);
}

void feed_watch_peak(struct feed *feed, uint32_t tid)
{
    replay_watch_peak(feed->replay, tid);
}

void feed_snapshot(struct feed *feed, uint64_t ticks, double tick_ns)
{
    struct trace_note note = {TRACE_SNAPSHOT, {ticks}, ""};
    memcpy(&note.values[1], &tick_ns, sizeof tick_ns);
    tell(feed, &note);
}
