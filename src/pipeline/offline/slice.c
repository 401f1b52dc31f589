/* Cuts a decoded block of events at two records (slice.h). It walks the records by their lengths,
 * then copies the runs and the notes between the two places. */
#include "offline/slice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "wire/wire.h"

/* Goes through the records of a block. */
struct slice_walk {
    const struct trace_events *events;
    size_t run, at; /* bytes into the run */
    size_t offset;  /* of the record among all bytes */
    uint64_t record;
};

static bool slice_is_at_end(const struct slice_walk *walk)
{
    return walk->run >= walk->events->run_count;
}

/* Bytes of the record here; the last one of a run may be cut off. */
static size_t slice_record_bytes(const struct slice_walk *walk)
{
    size_t left = walk->events->runs[walk->run].bytes - walk->at, bytes;
    uint64_t word;
    if (left < 16)
        return left;
    memcpy(&word, walk->events->records + walk->offset, sizeof word);
    bytes = wire_kind(word) == WIRE_VOID ? 16 : wire_record_bytes(word);
    return bytes < left ? bytes : left;
}

static void slice_skip_empty_runs(struct slice_walk *walk)
{
    while (!slice_is_at_end(walk) && walk->at == walk->events->runs[walk->run].bytes) {
        walk->run++;
        walk->at = 0;
    }
}

static void slice_step(struct slice_walk *walk)
{
    size_t bytes = slice_record_bytes(walk);
    walk->at += bytes;
    walk->offset += bytes;
    walk->record++;
    slice_skip_empty_runs(walk);
}

static struct slice_walk slice_walk_begin(const struct trace_events *events)
{
    struct slice_walk walk = {.events = events};
    slice_skip_empty_runs(&walk);
    return walk;
}

/* Whether the record has a time. Void records have none. */
static bool slice_has_time(const struct slice_walk *walk)
{
    uint64_t word;
    if (slice_record_bytes(walk) < 16)
        return false;
    memcpy(&word, walk->events->records + walk->offset, sizeof word);
    return wire_kind(word) != WIRE_VOID;
}

static uint64_t slice_ticks_of(const struct slice_walk *walk)
{
    uint64_t ticks;
    memcpy(&ticks, walk->events->records + walk->offset + 8, sizeof ticks);
    return ticks;
}

/* ---- Borders ------------------------------------------------------------------------------- */

static struct border slice_end_of(const struct trace_block *block)
{
    return (struct border){block->first_event + block->events, block->last_ticks};
}

static void slice_search_ticks(const struct trace_events *events, uint64_t ticks,
                               struct border *border)
{
    uint64_t first = border->event;
    struct slice_walk walk = slice_walk_begin(events);
    for (; !slice_is_at_end(&walk); slice_step(&walk))
        if (slice_has_time(&walk) && slice_ticks_of(&walk) >= ticks)
            break;
    border->event = first + walk.record;
    border->ticks = ticks;
}

int border_at_ticks(const struct trace *trace, uint64_t ticks, struct border *border)
{
    struct trace_events events = {0};
    *border = (struct border){0, ticks};
    if (!trace_block_count(trace))
        return 0;
    size_t index = trace_block_at(trace, ticks);
    border->event = trace_block(trace, index)->first_event;
    int error = trace_events(trace, index, &events);
    if (!error)
        slice_search_ticks(&events, ticks, border);
    trace_events_release(&events);
    return error == -ENOMEM ? error : 0;
}

int border_at_event(const struct trace *trace, uint64_t event, struct border *border)
{
    struct trace_events events = {0};
    *border = (struct border){event, 0};
    if (!trace_block_count(trace))
        return 0;
    size_t index = trace_block_of_event(trace, event);
    const struct trace_block *block = trace_block(trace, index);
    if (event >= block->first_event + block->events) {
        *border = slice_end_of(block);
        border->event = event;
        return 0;
    }
    border->ticks = block->start_ticks;
    int error = trace_events(trace, index, &events);
    struct slice_walk walk = slice_walk_begin(&events);
    for (; !error && !slice_is_at_end(&walk); slice_step(&walk)) {
        if (slice_has_time(&walk) && slice_ticks_of(&walk) > border->ticks)
            border->ticks = slice_ticks_of(&walk);
        if (block->first_event + walk.record == event)
            break;
    }
    trace_events_release(&events);
    return error == -ENOMEM ? error : 0;
}

/* ---- Slices -------------------------------------------------------------------------------- */

/* A last run of which no record is taken is left out: its stream may begin there, and the note that
 * begins the stream belongs to the next slice. */
static void slice_take_runs(struct slice *slice, const struct slice_walk *begin,
                            const struct slice_walk *end)
{
    const struct replay_run *runs = begin->events->runs;
    size_t count = 0;
    for (size_t run = begin->run; run < begin->events->run_count && run <= end->run; run++) {
        size_t from = run == begin->run ? begin->at : 0;
        size_t to = run == end->run ? end->at : runs[run].bytes;
        if (run == end->run && to <= from)
            break;
        slice->runs[count++] = (struct replay_run){runs[run].thread, (uint32_t)(to - from)};
    }
    slice->events.runs = slice->runs;
    slice->events.run_count = count;
    slice->events.records = begin->events->records + begin->offset;
    slice->events.bytes = end->offset - begin->offset;
    slice->events.event_count = end->record - begin->record;
}

/* Notes stand before runs: one before the run in which the slice begins belongs to what was before
 * it, unless it begins with that run. */
static void slice_take_notes(struct slice *slice, const struct slice_walk *begin,
                             const struct slice_walk *end)
{
    const struct trace_events *events = begin->events;
    bool first = !begin->record, last = slice_is_at_end(end);
    size_t count = 0;
    for (size_t i = 0; i < events->note_count; i++) {
        size_t run = events->notes[i].before_run;
        bool after_begin = first || run > begin->run || (run == begin->run && !begin->at);
        bool before_end = last || run < end->run || (run == end->run && end->at);
        if (!after_begin || !before_end)
            continue;
        slice->notes[count] = events->notes[i];
        slice->notes[count++].before_run = run > begin->run ? run - begin->run : 0;
    }
    slice->events.notes = slice->notes;
    slice->events.note_count = count;
}

int slice_make(struct slice *slice, const struct trace_events *events, uint64_t from, uint64_t to)
{
    struct slice_walk begin = slice_walk_begin(events);
    *slice = (struct slice){.runs = malloc((events->run_count + 1) * sizeof *slice->runs),
                            .notes = malloc((events->note_count + 1) * sizeof *slice->notes)};
    if (!slice->runs || !slice->notes) {
        slice_release(slice);
        return -ENOMEM;
    }
    while (!slice_is_at_end(&begin) && begin.record < from)
        slice_step(&begin);
    struct slice_walk end = begin;
    while (!slice_is_at_end(&end) && end.record < to)
        slice_step(&end);
    slice_take_runs(slice, &begin, &end);
    slice_take_notes(slice, &begin, &end);
    return 0;
}

void slice_release(struct slice *slice)
{
    free(slice->runs);
    free(slice->notes);
    *slice = (struct slice){0};
}
