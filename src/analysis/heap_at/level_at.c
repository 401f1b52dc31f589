/* What is mapped at a moment of a trace. The trace's own sums know blocks of the heap alone, so its
 * records are replayed up to the moment, and the pieces of mappings that stand then are added up by
 * call path. */
#include <errno.h>
#include <stdlib.h>
#include "accounting/weight.h"
#include "base/array.h"
#include "base/error.h"
#include "heap_at/times.h"
#include "offline/slice.h"

int heap_at_no_memory(void)
{
    return error_set(-ENOMEM, "out of memory while looking at a trace");
}

const char *heap_at_words(enum memory_level of, uint64_t count)
{
    static const char *const words[MEMORY_LEVELS][2] = {
        [MEMORY_HEAP] = {"blocks", "block"},
        [MEMORY_MAPPED] = {"mappings", "mapping"},
        [MEMORY_ALL] = {"blocks and mappings", "block or mapping"},
        [MEMORY_RESIDENT] = {"pages", "page"},
    };
    return words[of][count == 1];
}

/* ---- Replaying ----------------------------------------------------------------------------- */

static int level_at_replay_block(struct heap_at_replay *into, size_t index,
                                 struct trace_events *events, uint32_t *streams)
{
    const struct trace_block *block = trace_block(into->trace, index);
    struct slice slice;
    int error = trace_events(into->trace, index, events);

    if (error || block->first_event + block->events <= into->until)
        return error ? error : trace_replay(events, into->replay, streams);
    error = slice_make(&slice, events, 0, into->until - block->first_event);
    if (error)
        return error;
    error = trace_replay(&slice.events, into->replay, streams);
    slice_release(&slice);
    return error;
}

static void level_at_tell(const struct heap_at_replay *into, uint64_t events, uint64_t of_events)
{
    if (into->progress)
        into->progress(into->context, events, of_events);
}

static int level_at_replay_all(struct heap_at_replay *into)
{
    struct trace_events events = {0};
    uint64_t of_events = heap_at_event_count(into->trace);
    uint32_t streams = 0;
    int error = 0;

    for (size_t i = 0; i < trace_block_count(into->trace) && error != -ENOMEM; i++) {
        uint64_t first = trace_block(into->trace, i)->first_event;
        if (first >= into->until && first)
            break;
        level_at_tell(into, first, into->until < of_events ? into->until : of_events);
        error = level_at_replay_block(into, i, &events, &streams);
        into->missing_blocks += error == -EBADMSG;
    }
    level_at_tell(into, of_events, of_events);
    trace_events_release(&events);
    return error == -ENOMEM ? heap_at_no_memory() : 0;
}

int heap_at_replay(struct heap_at_replay *into)
{
    struct trace_options options;

    trace_options(into->trace, &options);
    into->missing_blocks = 0;
    into->replay = replay_new(options.start_ticks, into->clock->first_tick_ns);
    if (options.flags & TRACE_FREE_STACKS)
        replay_know_frees(into->replay);
    if (options.flags & TRACE_TIMED)
        replay_know_times(into->replay);
    if (options.sample_bytes)
        replay_sample(into->replay, options.sample_bytes);
    return level_at_replay_all(into);
}

/* ---- Moments ------------------------------------------------------------------------------- */

int heap_at_level_moment(const struct trace *trace, const struct offline_clock *clock,
                         enum memory_level of, struct offline_moment *moment)
{
    struct heap_at_replay whole = {
        .trace = trace, .clock = clock, .until = heap_at_event_count(trace)};
    struct program_metrics program;

    if (moment->kind != OFFLINE_PEAK || of == MEMORY_HEAP)
        return 0;
    int error = heap_at_replay(&whole);
    if (!error) {
        replay_program(whole.replay, &program);
        struct figure ticks = of == MEMORY_ALL ? program.all_peak_ticks : program.mapped.peak_ticks;
        *moment = (struct offline_moment){.kind = OFFLINE_TICKS,
                                          .value = figure_or(ticks, clock->end_ticks)};
    }
    replay_free(whole.replay);
    return error;
}

/* ---- The state ----------------------------------------------------------------------------- */

struct level_at_sum {
    struct trace_net_delta *paths;
    size_t count, room;
    uint64_t each; /* what one mapping counts, as blocks of a sample do */
    bool no_memory;
};

static void level_at_add(void *context, const struct replay_mapping *mapping)
{
    struct level_at_sum *sum = context;
    if (mapping->is_reserved || mapping->is_allocators)
        return;
    if (!array_make_room(&sum->paths, &sum->room, sum->count, sizeof *sum->paths)) {
        sum->no_memory = true;
        return;
    }
    sum->paths[sum->count++] =
        (struct trace_net_delta){mapping->node, mapping->end - mapping->start, sum->each};
}

static int level_at_compare(const void *left, const void *right)
{
    const struct trace_net_delta *a = left, *b = right;
    return (a->node > b->node) - (a->node < b->node);
}

/* The paths of the state become those of the sum, each once. */
static void level_at_put(struct level_at_sum *sum, struct trace_state *state)
{
    size_t kept = 0;
    state->live_bytes = state->live_count = 0;
    if (sum->count)
        qsort(sum->paths, sum->count, sizeof *sum->paths, level_at_compare);
    for (size_t i = 0; i < sum->count; i++) {
        struct trace_net_delta *path = &sum->paths[i];
        state->live_bytes += path->bytes;
        state->live_count += path->count;
        if (kept && sum->paths[kept - 1].node == path->node) {
            sum->paths[kept - 1].bytes += path->bytes;
            sum->paths[kept - 1].count += path->count;
        } else {
            sum->paths[kept++] = *path;
        }
    }
    free(state->paths);
    state->paths = sum->paths;
    state->path_count = kept;
    sum->paths = NULL;
}

static void level_at_add_heap(struct level_at_sum *sum, const struct trace_state *state)
{
    for (size_t i = 0; i < state->path_count; i++) {
        if (!array_make_room(&sum->paths, &sum->room, sum->count, sizeof *sum->paths)) {
            sum->no_memory = true;
            return;
        }
        sum->paths[sum->count++] = state->paths[i];
    }
}

int heap_at_level_state(const struct trace *trace, const struct offline_clock *clock,
                        enum memory_level of, struct trace_state *state)
{
    struct heap_at_replay replay = {.trace = trace, .clock = clock, .until = state->event};
    struct trace_options options;
    struct level_at_sum sum = {.each = 1};

    if (of == MEMORY_HEAP)
        return 0;
    trace_options(trace, &options);
    if (options.sample_bytes)
        sum.each <<= WEIGHT_SHIFT;
    int error = heap_at_replay(&replay);
    if (!error && of == MEMORY_ALL)
        level_at_add_heap(&sum, state);
    if (!error)
        replay_mapped(replay.replay, level_at_add, &sum);
    if (!error && sum.no_memory)
        error = heap_at_no_memory();
    if (!error)
        level_at_put(&sum, state);
    free(sum.paths);
    replay_free(replay.replay);
    return error;
}
