/* The live memory of each path at a given time. It is the sum of the digests of all blocks before,
 * the largest sums first, and of the records of the block up to that time. A birth's record gives
 * its path and size; the columns of ends give those of each end. The lists are merged in pairs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "trace/decoder.h"
#include "base/array.h"
#include "base/error.h"
#include "base/search.h"
#include "trace/block_ends.h"
#include "trace/node_map.h"
#include "trace/trace_reader.h"
#include "trace/trace.h"

/* ---- Lists --------------------------------------------------------------------------------- */

/* What is to be added up. */
struct lists {
    struct net_deltas *all;
    size_t count, room;
};

static void trace_state_release_lists(struct lists *lists)
{
    for (size_t i = 0; i < lists->count; i++)
        net_deltas_release(&lists->all[i]);
    free(lists->all);
}

/* Owns the net deltas from then on, whatever it returns. */
static int trace_state_add_list(struct lists *lists, struct net_deltas deltas)
{
    if (!array_make_bare_room(&lists->all, &lists->room, lists->count, sizeof *lists->all)) {
        net_deltas_release(&deltas);
        return -ENOMEM;
    }
    lists->all[lists->count++] = deltas;
    return 0;
}

/* Neighbours by twos, until there is one: each net is looked at log2(lists) times. */
static int trace_state_merge_lists(struct lists *lists)
{
    for (size_t step = 1; step < lists->count; step *= 2)
        for (size_t i = 0; i + step < lists->count; i += 2 * step) {
            struct net_deltas *into = &lists->all[i], *from = &lists->all[i + step];
            if (net_deltas_merge(into, from->all, from->count))
                return -ENOMEM;
            net_deltas_release(from);
        }
    return 0;
}

/* ---- Digests before the block -------------------------------------------------------------- */

struct summing {
    const struct trace *trace;
    const struct trace_reader_sum *sums;
    size_t sum_count;
    struct unpacker unpacker;
    struct lists lists;
    uint64_t missing_blocks;
};

/* -EBADMSG: it cannot be read. */
static int trace_state_add_place(struct summing *summing, size_t place)
{
    struct byte_source columns[NET_COLUMNS];
    struct net_deltas deltas = {0};
    int error = trace_reader_paths(summing->trace, place, &summing->unpacker, columns, NET_COLUMNS,
                                   &deltas);

    return error ? error : trace_state_add_list(&summing->lists, deltas);
}

/* The first sum that begins at `event` or later. */
static size_t trace_state_first_sum(const struct summing *summing, uint64_t event)
{
    size_t first = 0;

    SEARCH_FIRST(first, summing->sum_count, at, summing->sums[at].first_event < event);
    return first;
}

/* The longest sum from `event` on that does not go beyond `until`: adds it, and gives the event
 * behind it; `event` if there is none. */
static uint64_t trace_state_add_sum(struct summing *summing, uint64_t event, uint64_t until,
                                    int *error)
{
    for (size_t i = trace_state_first_sum(summing, event);
         i < summing->sum_count && summing->sums[i].first_event == event; i++) {
        const struct trace_reader_sum *sum = &summing->sums[i];
        if (!sum->events || sum->events > until - event)
            continue;
        *error = trace_state_add_place(summing, sum->place);
        if (*error != -EBADMSG)
            return event + sum->events;
        *error = 0; /* a shorter one, or the blocks themselves, may be whole */
    }
    return event;
}

/* All that comes before block `limit`. Blocks that are lost may still be in a sum. */
static int trace_state_add_digests(struct summing *summing, size_t limit)
{
    const struct trace *trace = summing->trace;
    uint64_t until =
        limit < trace_block_count(trace) ? trace_block(trace, limit)->first_event : UINT64_MAX;
    uint64_t event = 0, next;
    size_t i = 0;
    int error = 0;

    while (!error && event < until) {
        next = trace_state_add_sum(summing, event, until, &error);
        while (i < limit && trace_block(trace, i)->first_event < next)
            i++; /* part of the sum */
        if (error || next > event) {
            event = next;
            continue;
        }
        if (i == limit) {
            /* Blocks are lost right before the limit; after the trace's end none are known of. */
            summing->missing_blocks += until != UINT64_MAX;
            break;
        }
        if (trace_block(trace, i)->first_event > event) {
            summing->missing_blocks++;
            event = trace_block(trace, i)->first_event;
            continue;
        }
        error = trace_state_add_place(summing, trace_reader_place(trace, i));
        if (error == -EBADMSG) {
            summing->missing_blocks++;
            error = 0;
        }
        event = trace_block(trace, i)->first_event + trace_block(trace, i)->events;
        i++;
    }
    return error;
}

/* ---- A part of the block ------------------------------------------------------------------- */

struct trace_state_limit {
    enum trace_when when;
    uint64_t value; /* events within the block, ticks, or bytes */
};

struct trace_state_part {
    struct trace_options options;
    struct trace_state_limit limit;
    struct trace_events events;
    uint32_t *met;
    struct live_set_life *births;
    uint32_t birth_count;
    struct block_ends_reader ends;
    struct node_map map;
    struct net_deltas deltas;  /* with room for all that a block can change */
    struct trace_state *state; /* which moves on */
    /* NULL, or told of the level behind each record. */
    void (*visit)(void *context, uint64_t ticks, uint64_t live_bytes);
    void *context;
};

enum { PART_DELTAS = 2 * FORMAT_BLOCK_EVENTS };

static void trace_state_release_part(struct trace_state_part *part)
{
    trace_events_release(&part->events);
    block_ends_reader_release(&part->ends);
    net_deltas_release(&part->deltas);
    free(part->met);
    free(part->births);
    node_map_release(&part->map);
}

static int trace_state_init_part(struct trace_state_part *part)
{
    part->met = malloc(FORMAT_BLOCK_EVENTS * sizeof *part->met);
    part->births = malloc(FORMAT_BLOCK_EVENTS * sizeof *part->births);
    node_map_init(&part->map);
    part->deltas.all = malloc(PART_DELTAS * sizeof *part->deltas.all);
    return part->met && part->births && part->deltas.all ? 0 : -ENOMEM;
}

/* Two at most of a record end, one begins: more than PART_DELTAS different paths are damage. */
static bool trace_state_change(struct trace_state_part *part, const struct live_set_life *life,
                               uint64_t sign)
{
    struct weight weight = live_set_weigh(part->options.sample_bytes, life->size_bytes);
    struct node_slot *slot = node_map_slot(&part->map, life->node);
    struct trace_net_delta net = {life->node, sign * weight.bytes, sign * weight.count};

    if (!slot->net_1) {
        if (part->deltas.count == PART_DELTAS)
            return false;
        part->deltas.all[part->deltas.count++] = (struct trace_net_delta){.node = life->node};
        slot->net_1 = (uint32_t)part->deltas.count;
    }
    net_deltas_add(&part->deltas.all[slot->net_1 - 1], &net);
    part->state->live_bytes += net.bytes;
    part->state->live_count += net.count;
    return true;
}

static bool trace_state_is_reached(const struct trace_state_part *part, uint64_t index,
                                   uint64_t ticks)
{
    switch (part->limit.when) {
    case TRACE_AT_EVENT:
        return index == part->limit.value;
    case TRACE_AT_TICKS:
        return ticks > part->limit.value;
    default:
        return part->state->live_bytes == part->limit.value;
    }
}

/* Records in `raw` have no number as births, and their times do not count as they may be nonsense.
 */
static int trace_state_apply(struct trace_state_part *part, uint32_t stream,
                             const struct wire_record *record, uint32_t met)
{
    bool sampled = part->options.sample_bytes != 0;
    uint64_t address = record->kind_address & WIRE_ADDRESS_MASK;
    bool is_birth = prediction_op_class_of(wire_kind(record->kind_address)) == OP_BIRTH;
    struct live_set_life ended[2], begun = live_set_life_of(record);
    int count;

    if (is_birth && met != DECODER_UNNUMBERED)
        part->births[part->birth_count++] = begun;
    count = block_ends_read(&part->ends, stream, block_ends_class(record->kind_address, sampled),
                            address, met < part->birth_count ? &part->births[met] : NULL, ended);
    for (int i = 0; i < count; i++)
        if (!trace_state_change(part, &ended[i], -1ull))
            return -EBADMSG;
    if (count < 0 || (is_birth && address && !trace_state_change(part, &begun, 1)))
        return -EBADMSG;
    if (record_moves_time(record_class_of(sampled, record->kind_address)) &&
        record->ticks > part->state->ticks)
        part->state->ticks = record->ticks;
    return 0;
}

/* 1: the moment has come. `index`: of the record in the block. */
static int trace_state_apply_run(struct trace_state_part *part, const struct replay_run *run,
                                 const unsigned char *at, uint64_t *index)
{
    const unsigned char *end = at + run->bytes;
    struct wire_record record = {0};
    enum record_class class;
    size_t bytes;

    while (end - at >= 16) {
        memcpy(&record, at, 16);
        bytes = wire_record_bytes(record.kind_address);
        if (bytes > (size_t)(end - at))
            break;
        memcpy(&record, at, bytes);
        class = record_class_of(part->options.sample_bytes != 0, record.kind_address);
        if (trace_state_is_reached(part, *index, record_moves_time(class) ? record.ticks : 0))
            return 1;
        if (trace_state_apply(part, run->thread, &record, part->met[*index]))
            return -EBADMSG;
        if (part->visit)
            part->visit(part->context, part->state->ticks, part->state->live_bytes);
        ++*index;
        at += bytes;
    }
    return 0;
}

/* Notes before a run. */
static void trace_state_apply_notes(const struct trace_events *events, size_t run, size_t *next,
                                    uint32_t *threads)
{
    for (; *next < events->note_count && events->notes[*next].before_run <= run; ++*next) {
        uint32_t kind = events->notes[*next].note.kind;
        if (*threads == UINT32_MAX)
            continue;
        *threads += kind == TRACE_STREAM_BEGUN;
        *threads -= kind == TRACE_STREAM_ENDED && *threads;
    }
}

static int trace_state_apply_runs(struct trace_state_part *part)
{
    const unsigned char *at = part->events.records;
    uint64_t index = 0;
    size_t note = 0;
    int done = 0;

    for (size_t i = 0; i < part->events.run_count && !done; i++) {
        trace_state_apply_notes(&part->events, i, &note, &part->state->threads);
        done = trace_state_apply_run(part, &part->events.runs[i], at, &index);
        at += part->events.runs[i].bytes;
    }
    part->state->event += index;
    return done < 0 ? done : 0;
}

static int trace_state_read_part(const struct trace *trace, size_t block,
                                 struct trace_state_part *part, struct unpacker *unpacker)
{
    struct byte_source columns[NET_COLUMNS + ENDS_COLUMNS];
    struct net_deltas deltas = {0};
    int error = trace_reader_paths(trace, trace_reader_place(trace, block), unpacker, columns,
                                   NET_COLUMNS + ENDS_COLUMNS, &deltas);

    net_deltas_release(&deltas);
    if (!error)
        error = block_ends_reader_begin(&part->ends, columns + NET_COLUMNS);
    if (!error)
        error = trace_reader_events(trace, block, &part->events, part->met);
    return error ? error : trace_state_apply_runs(part);
}

/* The state moves on into the block; if that goes wrong it stays at its beginning and is rough. */
static int trace_state_add_part(const struct trace *trace, size_t block,
                                struct trace_state_limit limit, struct trace_state *state,
                                struct lists *lists)
{
    struct trace_state before = *state;
    struct trace_state_part part = {.limit = limit, .state = state};
    struct unpacker unpacker = {0};
    int error = trace_state_init_part(&part);

    trace_options(trace, &part.options);
    if (!error)
        error = trace_state_read_part(trace, block, &part, &unpacker);
    if (error == -EBADMSG) {
        *state = before;
        state->is_rough = true;
        state->missing_blocks++;
        error = 0;
    } else if (!error) {
        net_deltas_settle(&part.deltas);
        error = trace_state_add_list(lists, part.deltas);
        part.deltas = (struct net_deltas){0};
    }
    unpacker_release(&unpacker);
    trace_state_release_part(&part);
    return error;
}

/* ---- The whole ----------------------------------------------------------------------------- */

/* The block in which the moment lies, trace_block_count() if it is the end, and where in it. */
static size_t trace_state_find_block(const struct trace *trace, enum trace_when when,
                                     uint64_t value, struct trace_state_limit *limit)
{
    size_t count = trace_block_count(trace), index;
    uint64_t first;

    *limit = (struct trace_state_limit){when, value};
    if (!count)
        return 0;
    switch (when) {
    case TRACE_AT_EVENT:
        index = trace_block_of_event(trace, value);
        first = trace_block(trace, index)->first_event;
        limit->value = value > first ? value - first : 0; /* 0: blocks before it are lost */
        return limit->value > 0 && limit->value >= trace_block(trace, index)->events ? index + 1
                                                                                     : index;
    case TRACE_AT_TICKS:
        return value == UINT64_MAX ? count : trace_block_at(trace, value + 1);
    default:
        index = trace_block_of_peak(trace);
        limit->value = trace_block(trace, index)->max_bytes;
        return index;
    }
}

static void trace_state_begin_at(const struct trace *trace, size_t index, struct trace_state *state)
{
    size_t count = trace_block_count(trace);
    const struct trace_block *block =
        count ? trace_block(trace, index < count ? index : count - 1) : NULL;
    struct trace_options options;

    trace_options(trace, &options);
    *state = (struct trace_state){.ticks = options.start_ticks, .threads = UINT32_MAX};
    if (!block)
        return;
    state->block = index < count ? index : count - 1;
    state->event = block->first_event;
    state->ticks = block->start_ticks;
    state->live_bytes = block->live_bytes;
    state->live_count = block->live_count;
    state->threads = block->threads;
    if (index < count)
        return;
    state->event += block->events;
    state->ticks = block->last_ticks > state->ticks ? block->last_ticks : state->ticks;
    state->live_bytes += block->net_bytes;
    state->live_count += block->net_count;
}

/* After the last block no header says the threads; they are counted here. */
static void trace_state_count_threads_at_end(const struct trace *trace, struct trace_state *state)
{
    struct trace_events events = {0};
    size_t note = 0;

    if (state->threads == UINT32_MAX || trace_events(trace, state->block, &events))
        state->threads = UINT32_MAX;
    else
        trace_state_apply_notes(&events, SIZE_MAX, &note, &state->threads);
    trace_events_release(&events);
}

static bool trace_state_lies_within(const struct trace_state_limit *limit,
                                    const struct trace_block *block)
{
    if (limit->when == TRACE_AT_EVENT)
        return limit->value > 0;
    return limit->when == TRACE_AT_TICKS || limit->value != block->live_bytes;
}

int trace_state_at(const struct trace *trace, enum trace_when when, uint64_t value,
                   struct trace_state *state)
{
    struct trace_state_limit limit;
    size_t block = trace_state_find_block(trace, when, value, &limit);
    struct summing summing = {.trace = trace};
    int error;

    trace_state_begin_at(trace, block, state);
    if (block && block == trace_block_count(trace))
        trace_state_count_threads_at_end(trace, state);
    summing.sums = trace_reader_sums(trace, &summing.sum_count);
    error = trace_state_add_digests(&summing, block);
    state->missing_blocks = summing.missing_blocks;
    if (!error && block < trace_block_count(trace) &&
        trace_state_lies_within(&limit, trace_block(trace, block)))
        error = trace_state_add_part(trace, block, limit, state, &summing.lists);
    if (!error)
        error = trace_state_merge_lists(&summing.lists);
    if (!error && summing.lists.count) {
        state->paths = summing.lists.all[0].all;
        state->path_count = summing.lists.all[0].count;
        summing.lists.all[0] = (struct net_deltas){0};
    }
    trace_state_release_lists(&summing.lists);
    unpacker_release(&summing.unpacker);
    return error ? error_set(error, "out of memory while adding up a trace") : 0;
}

void trace_state_release(struct trace_state *state)
{
    free(state->paths);
    *state = (struct trace_state){0};
}

int trace_block_levels(const struct trace *trace, size_t index,
                       void (*visit)(void *context, uint64_t ticks, uint64_t live_bytes),
                       void *context)
{
    struct trace_state state;
    struct unpacker unpacker = {0};
    struct trace_state_part part = {
        .limit = {TRACE_AT_EVENT, UINT64_MAX}, .state = &state, .visit = visit, .context = context};
    int error = trace_state_init_part(&part);

    trace_state_begin_at(trace, index, &state);
    trace_options(trace, &part.options);
    if (!error)
        error = trace_state_read_part(trace, index, &part, &unpacker);
    unpacker_release(&unpacker);
    trace_state_release_part(&part);
    return error == -ENOMEM ? error_set(error, "out of memory while adding up a trace") : error;
}
