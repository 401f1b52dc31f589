/* The way through the records.
 *
 * Speed is a matter of cache misses: a block's slot and its call path's metrics are somewhere in
 * tens of megabytes. So records go in batches through three stages. The first two only prefetch;
 * the second needs what the first has prefetched:
 *
 *     gather ─▶ the block's slot, by the table's guess, and the number of the call path
 *     reach ─▶ the metrics of the call path that made the block, or makes it
 *     replay
 *
 * While a batch is replayed the next two are being prefetched. The first two stages have no branch
 * that depends on the blocks: a mispredicted branch would wait for the memory that they
 * prefetch. */
#include <assert.h>
#include <string.h>
#include "replay/plain_steps.h"

enum { BATCH = 32, BATCHES = 3 };
enum { RECORD_LEAST = 16, RECORD_MOST = 32 }; /* bytes: wire_record_bytes() */

/* A record; or, where `at` is replay_run_begins, the beginning of a run of the stream
 * `clue.number`. NO_STREAM: the run ended with a part of a record. */
struct replay_run_step {
    const unsigned char *at;
    struct clue clue;
};
#define NO_STREAM UINT32_MAX

/* Of a kind that is not plain, so that plain records are not asked whether they are one. */
static const unsigned char replay_run_begins[RECORD_LEAST];

struct replay_run_batch {
    struct replay_run_step steps[BATCH + 1]; /* behind the last one is one that is no record */
    size_t ends[BATCH];                      /* the slots of the blocks whose lives probably end */
    unsigned count, end_count;
    size_t buckets; /* of the live blocks' table: slots are of this one */
};

/* What is left to gather: [at, end) of the run before `next`, of any alignment, and the runs from
 * `next` on. A record begins only where at least `least` bytes are left, and may reach `beyond`
 * bytes over the end. */
struct replay_run_way {
    const unsigned char *at, *end;
    ptrdiff_t least, beyond;
    const struct replay_run *next, *last;
};

static inline uint64_t replay_run_word(const unsigned char *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

static inline struct wire_record replay_run_long(const unsigned char *at)
{
    return (struct wire_record){replay_run_word(at), replay_run_word(at + 8),
                                replay_run_word(at + 16), replay_run_word(at + 24)};
}

/* ---- Prefetching ---------------------------------------------------------------------------- */

/* The path of a long record. */
static inline uint32_t replay_run_node_at(const unsigned char *at)
{
    return wire_detail_node(replay_run_word(at + 24));
}

/* The step between two runs; false: there is no further run. */
static bool replay_run_gather(struct replay_run_way *way, struct replay_run_step *step)
{
    bool is_cut = way->at < way->end;

    if (!is_cut && way->next == way->last)
        return false;
    *step = (struct replay_run_step){.at = replay_run_begins,
                                     .clue.number = is_cut ? NO_STREAM : way->next->thread};
    way->at = way->end;
    if (!is_cut)
        way->end += way->next++->bytes;
    return true;
}

/* Does a record begin here, before the end of the run? */
static inline bool replay_run_has_record(const struct replay_run_way *way)
{
    ptrdiff_t left = way->end - way->at;

    return left >= way->least && left + way->beyond >= wire_record_bytes(replay_run_word(way->at));
}

/* The last place where a record of any kind fits into the run. */
static inline intptr_t replay_run_last(const struct replay_run_way *way)
{
    return (intptr_t)way->end - RECORD_MOST;
}

/* Returns the slot. */
static inline size_t replay_run_prefetch_slot(const struct live_table *live, size_t slot)
{
    __builtin_prefetch(&live->slots[slot], 1);
    return slot;
}

/* Of a long record: most likely a block is born, by a call path that has been seen before. */
static inline void replay_run_clue_of_long(const struct live_table *live, const struct sites *sites,
                                           struct clue *clue, const unsigned char *at)
{
    clue->slot = replay_run_prefetch_slot(live, live_table_guess_new(live, clue->hash));
    clue->number = sites_number(sites, replay_run_node_at(at));
    site_prefetch_number(sites, clue->number);
}

/* `freed`: frees may come with a path of their own, in long records. `live`: what is written
 * meanwhile cannot change a copy, so it stays in registers. */
EVENT void replay_run_gather_batch(const struct replay *replay, struct replay_run_way *way,
                                   struct replay_run_batch *batch, bool freed)
{
    const struct live_table live = replay->live;
    struct replay_run_step *step = batch->steps, *end = step + BATCH;
    size_t *ends = batch->ends;
    const unsigned char *at = way->at;
    intptr_t last = replay_run_last(way);

    for (; step < end; step++) {
        if ((intptr_t)at > last && ((way->at = at), !replay_run_has_record(way))) {
            if (!replay_run_gather(way, step))
                break;
            at = way->at;
            last = replay_run_last(way);
            continue;
        }
        step->at = at;
        step->clue.hash = live_hash(replay_run_word(at) & WIRE_ADDRESS_MASK);
        if (wire_record_bytes(replay_run_word(at)) == RECORD_MOST) {
            replay_run_clue_of_long(&live, &replay->sites, &step->clue, at);
            if (freed)
                *ends++ = live_table_guess(&live, step->clue.hash);
            at += RECORD_MOST;
        } else {
            step->clue.slot = *ends++ =
                replay_run_prefetch_slot(&live, live_table_guess(&live, step->clue.hash));
            at += RECORD_LEAST;
        }
    }
    way->at = at;
    step->at = replay_run_begins;
    batch->count = (unsigned)(step - batch->steps);
    batch->end_count = (unsigned)(ends - batch->ends);
    batch->buckets = replay->live.buckets;
}

static void __attribute__((noinline))
replay_gather(const struct replay *replay, struct replay_run_way *way,
              struct replay_run_batch *batch)
{
    if (__builtin_expect(replay->sites.freed != NULL, 0))
        replay_run_gather_batch(replay, way, batch, true);
    else
        replay_run_gather_batch(replay, way, batch, false);
}

/* The slot may hold another block, or none, so the result is good for prefetching only. */
static inline uint32_t replay_run_site_in_slot(const struct replay *replay, size_t slot)
{
    uint32_t site = replay->live.slots[slot].site, label = site & ~REGIONS_LABEL;

    if (__builtin_expect(site == label, 1))
        return site;
    return label < replay->regions.label_count ? replay->regions.labels[label].site : 0;
}

EVENT void replay_run_reach(const struct replay *replay, const struct replay_run_batch *batch,
                            enum mode mode)
{
    if (mode == EVERY && !replay->regions.label_count)
        for (unsigned i = 0; i < batch->end_count; i++)
            site_prefetch(&replay->sites, replay->live.slots[batch->ends[i]].site);
    else
        for (unsigned i = 0; i < batch->end_count; i++)
            site_prefetch(&replay->sites, replay_run_site_in_slot(replay, batch->ends[i]));
}

/* ---- The stage that replays ---------------------------------------------------------------- */

static void replay_run_begin(struct replay *replay, uint32_t stream)
{
    if (stream == NO_STREAM) {
        steps_count_malformed(replay);
        return;
    }
    assert(stream < replay->threads.stream_count);
    replay_state_run(replay, stream);
}

EVENT void replay_step(struct replay *replay, const struct replay_run_step *step, enum mode mode)
{
    struct wire_record record = {replay_run_word(step->at), replay_run_word(step->at + 8), 0, 0};
    unsigned kind = wire_kind(record.kind_address);
    record_handler *handler;

    if (mode == EVERY && kind == WIRE_FREE) {
        steps_on_free_at_clue(replay, &record, &step->clue, mode);
        return;
    }
    if (kind & WIRE_LONG) {
        record.size_bytes = replay_run_word(step->at + 16);
        record.detail = replay_run_word(step->at + 24);
    }
    if (mode == EVERY && kind - WIRE_MALLOC <= WIRE_NEW_ARRAY - WIRE_MALLOC) {
        steps_on_allocation_at_clue(replay, &record, &step->clue, mode);
        return;
    }
    handler = replay_handlers[mode][kind];
    if (handler)
        handler(replay, &record);
    else
        steps_count_malformed(replay);
}

EVENT void replay_any_step(struct replay *replay, const struct replay_run_step *step,
                           enum mode mode)
{
    if (step->at == replay_run_begins)
        replay_run_begin(replay, step->clue.number);
    else
        replay_step(replay, step, mode);
}

/* Replays a step that is not plain. False: the steps behind it are not plain either. */
static bool __attribute__((noinline))
replay_rare_step(struct replay *replay, const struct replay_run_batch *batch,
                 const struct replay_run_step *step)
{
    plain_leave(replay);
    replay_any_step(replay, step, EVERY);
    if (!plain_is_on(replay, batch->buckets, BATCH))
        return false;
    plain_enter(replay);
    return true;
}

/* An allocation whose block is not small, or has size 0. */
static bool __attribute__((noinline))
replay_plain_large(struct replay *replay, const struct replay_run_step *step, size_t kind)
{
    struct wire_record record = replay_run_long(step->at);

    return plain_allocate(replay, &record, &step->clue, kind, PLAIN_LARGE);
}

/* Replays a step, or two. `*last` becomes the last of them. False: the step is not plain, and
 * nothing has changed. */
EVENT bool replay_plain_step(struct replay *replay, const struct replay_run_step **last)
{
    const struct replay_run_step *step = *last;
    uint64_t word = replay_run_word(step->at), above = word >> LIVE_ADDRESS_BITS, kind;
    struct wire_record record;

    if (above == WIRE_FREE << 8)
        return plain_free(replay, word, replay_run_word(step->at + 8), &step->clue);
    above -= WIRE_MALLOC << 8; /* of the eight bits below the kind none is set, or kind is large */
    kind = above >> 8 | above << 56;
    if (kind >= PLAIN_KINDS || kind == WIRE_ALIGNED - WIRE_MALLOC)
        return false;
    record = replay_run_long(step->at);
    if (!plain_is_small(&record))
        return replay_plain_large(replay, step, kind);
    if (plain_frees_at_once(word, replay_run_word(step[1].at)) &&
        plain_pair(replay, &record, &step->clue, kind, replay_run_word(step[1].at + 8))) {
        ++*last;
        return true;
    }
    return plain_allocate(replay, &record, &step->clue, kind, PLAIN_SMALL);
}

/* Replays steps as long as the batch is plain. Returns the first one that it has not replayed. The
 * first step of a call begins a run, which tells of the running thread; so where records were not
 * plain before, a step that is not plain comes first. */
static const struct replay_run_step *__attribute__((noinline))
replay_plain_steps(struct replay *replay, const struct replay_run_batch *batch,
                   const struct replay_run_step *end)
{
    const struct replay_run_step *step = batch->steps;

    if (!plain_is_on(replay, batch->buckets, BATCH)) {
        plain_leave(replay);
        return step;
    }
    if (!replay->plain.is_on && !replay_rare_step(replay, batch, step++))
        return step;
    for (; step < end; step++)
        if (!replay_plain_step(replay, &step) && !replay_rare_step(replay, batch, step))
            return step + 1;
    return step;
}

EVENT void replay_batch(struct replay *replay, const struct replay_run_batch *batch, enum mode mode)
{
    const struct replay_run_step *step = batch->steps, *end = step + batch->count;

    if (mode == EVERY)
        step = replay_plain_steps(replay, batch, end);
    for (; step < end; step++)
        replay_any_step(replay, step, mode);
}

EVENT void replay_go(struct replay *replay, struct replay_run_way *way, enum mode mode)
{
    struct replay_run_batch batches[BATCHES], *now = &batches[0], *next = &batches[1],
                                              *gathered = &batches[2], *over;

    replay_gather(replay, way, now);
    replay_gather(replay, way, next);
    for (replay_run_reach(replay, now, mode); now->count;
         now = next, next = gathered, gathered = over) {
        replay_gather(replay, way, gathered);
        replay_run_reach(replay, next, mode);
        replay_batch(replay, now, mode);
        over = now;
    }
}

static void replay_run_go_in_mode(struct replay *replay, struct replay_run_way *way)
{
    if (replay_state_mode_of(replay) == EVERY)
        replay_go(replay, way, EVERY);
    else
        replay_go(replay, way, SAMPLED);
    plain_leave(replay);
}

void replay_runs(struct replay *replay, const struct replay_run *runs, size_t count,
                 const void *records)
{
    struct replay_run_way way = {records, records, RECORD_LEAST, 0, runs, runs + count};

    replay_run_go_in_mode(replay, &way);
}

size_t replay_stretch(struct replay *replay, uint32_t thread, const void *records, size_t bytes)
{
    struct replay_run run = {thread, (uint32_t)bytes};
    struct replay_run_way way = {records, records, 1, RECORD_MOST - RECORD_LEAST, &run, &run + 1};

    assert(bytes <= UINT32_MAX && bytes % RECORD_LEAST == 0);
    replay_run_go_in_mode(replay, &way);
    return (size_t)(way.at - (const unsigned char *)records);
}

void replay_records(struct replay *replay, uint32_t thread, const void *records, size_t bytes)
{
    struct replay_run run = {thread, (uint32_t)bytes};

    assert(bytes <= UINT32_MAX);
    replay_runs(replay, &run, 1, records);
}
