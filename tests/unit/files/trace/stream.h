/* Random streams of records and notes, as they come from the collector's merge or as they never
 * should, and what comes out of a replay of them as one string of bytes. */
#ifndef TIDEMARK_TESTS_TRACE_STREAM_H
#define TIDEMARK_TESTS_TRACE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "../../model/numbers.h"
#include "base/strbuf.h"
#include "trace/trace.h"
#include "wire/wire.h"

#define STREAMS   5
#define ADDRESSES 512
#define START     1000000u

struct shape {
    const char *name;
    unsigned wild_percent; /* records of any bits */
    unsigned odd_percent;  /* kinds that are rare; addresses that do not live */
    unsigned late_percent;
    unsigned run_records;  /* at most */
    unsigned step_ticks;   /* of the clock */
    unsigned note_percent; /* between runs */
    uint64_t sample_bytes;
};

static const struct shape shapes[] = {
    {"a loop", 0, 0, 0, 2000, 26, 1, 0},
    {"threads by turns", 0, 5, 0, 3, 1, 5, 0},
    {"late records, odd kinds", 0, 40, 20, 40, 7, 10, 0},
    {"nonsense", 60, 60, 50, 20, 1, 20, 0},
    {"a sample", 0, 10, 2, 60, 26, 5, 4096},
};
#define SHAPES (sizeof(shapes) / sizeof(*shapes))

struct author {
    uint64_t random;
    const struct shape *shape;
    uint64_t ticks;
    uint64_t live[ADDRESSES];
    size_t live_count;
    unsigned pending[STREAMS];
};

static inline uint64_t next(struct author *author)
{
    uint64_t z = author->random += 0x9E3779B97F4A7C15ull;

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

static inline uint64_t below(struct author *author, uint64_t limit)
{
    return next(author) % limit;
}

static inline bool chance(struct author *author, unsigned percent)
{
    return below(author, 100) < percent;
}

static inline uint64_t some_ticks(struct author *author)
{
    author->ticks += below(author, 6) * author->shape->step_ticks;
    if (chance(author, 2))
        author->ticks += below(author, 1ull << below(author, 40)) / 26 * author->shape->step_ticks;
    if (chance(author, author->shape->late_percent))
        return author->ticks - below(author, 4000);
    return author->ticks + chance(author, 2);
}

static inline uint64_t some_detail(struct author *author, uint64_t size)
{
    uint64_t slack = chance(author, 90) ? (0 - size - 8) & 15 : next(author);

    return wire_detail((uint32_t)(below(author, 30) * below(author, 30)), slack & 0xffffff,
                       chance(author, 10) ? (unsigned)below(author, 64) : 0);
}

/* Bits without sense, extremes among them. */
static inline struct wire_record wild_record(struct author *author)
{
    uint64_t words[4];

    for (int i = 0; i < 4; i++)
        words[i] = chance(author, 20) ? UINT64_MAX : chance(author, 20) ? 0 : next(author);
    return (struct wire_record){words[0], words[1], words[2], words[3]};
}

static inline struct wire_record odd_record(struct author *author, unsigned stream)
{
    /* clang-format off */
    static const unsigned kinds[] = {
        WIRE_VOID, WIRE_THREAD_START, WIRE_THREAD_END, WIRE_LOST, WIRE_SPENT, WIRE_MMAP,
        WIRE_MMAP | WIRE_FAILED, WIRE_MUNMAP, WIRE_BRK, WIRE_BRK | WIRE_FAILED, WIRE_STACK, WIRE_DEVICE_ALLOC, WIRE_DEVICE_FREE, WIRE_DEVICE_HOLD,
        WIRE_MALLOC | WIRE_FAILED, WIRE_CALLOC | WIRE_FAILED, WIRE_REALLOC_END,
        WIRE_REALLOC_END | WIRE_FAILED, WIRE_FREE, WIRE_FREE_AT, WIRE_FREE | WIRE_NEWEST,
        WIRE_MALLOC, WIRE_NEW_ARRAY, 7, 39 | WIRE_LONG, WIRE_POOL, WIRE_POOL_CHUNK, WIRE_POOL_FREE,
        WIRE_POOL_FREE_AT, WIRE_POOL_FREE | WIRE_NEWEST, WIRE_MARK, WIRE_REGION_BEGIN,
        WIRE_REGION_END,
    };
    /* clang-format on */
    unsigned kind = kinds[below(author, sizeof kinds / sizeof *kinds)];
    uint64_t address = chance(author, 30) ? 0 : 0x7f0000000000 + 16 * below(author, 600);

    if (kind & WIRE_FAILED && kind & WIRE_LONG)
        address = 0;
    if (kind == WIRE_SPENT || kind == WIRE_LOST || kind == WIRE_THREAD_START)
        address = below(author, 3000);
    if (kind == WIRE_MARK || kind == WIRE_REGION_BEGIN || kind == WIRE_REGION_END)
        address = below(author, 8) | below(author, 5) / 4 << 32;
    author->pending[stream] = 0;
    return (struct wire_record){(uint64_t)kind << 56 | address, some_ticks(author),
                                below(author, 1ull << below(author, 63)), some_detail(author, 100)};
}

static inline struct wire_record allocation(struct author *author, unsigned kind)
{
    uint64_t size = chance(author, 70) ? 8 * below(author, 20) : below(author, 100000);
    uint64_t address = 0x7f0000000000 + 16 * (below(author, 1000) + size % 64 * 4096);

    if (author->live_count < ADDRESSES)
        author->live[author->live_count++] = address;
    return (struct wire_record){(uint64_t)kind << 56 | address, some_ticks(author), size,
                                some_detail(author, size)};
}

static inline struct wire_record end_of_block(struct author *author, unsigned kind)
{
    size_t i = chance(author, 60) ? author->live_count - 1 : below(author, author->live_count);
    uint64_t address = author->live[i];

    author->live[i] = author->live[--author->live_count];
    return (struct wire_record){(uint64_t)kind << 56 | address, some_ticks(author), 0,
                                some_detail(author, 0)};
}

static inline struct wire_record some_record(struct author *author, unsigned stream)
{
    static const unsigned births[] = {WIRE_MALLOC, WIRE_MALLOC, WIRE_CALLOC, WIRE_ALIGNED,
                                      WIRE_NEW};

    if (chance(author, author->shape->wild_percent))
        return wild_record(author);
    if (chance(author, author->shape->odd_percent))
        return odd_record(author, stream);
    if (author->pending[stream]) {
        author->pending[stream]--;
        return allocation(author, WIRE_REALLOC_END);
    }
    if (author->live_count < 4 || (author->live_count < ADDRESSES && chance(author, 50)))
        return allocation(author, births[below(author, 5)]);
    if (chance(author, 8)) {
        author->pending[stream]++;
        return end_of_block(author, WIRE_REALLOC_BEGIN);
    }
    return end_of_block(author, chance(author, 30) ? WIRE_FREE_AT : WIRE_FREE);
}

static inline struct trace_note some_note(struct author *author)
{
    struct trace_note note = {.kind = TRACE_STREAM_WAITED + (uint32_t)below(author, 5)};

    if (note.kind == TRACE_STREAM_WAITED) {
        note.values[0] = below(author, STREAMS);
        note.values[1] = 1;
        note.values[2] = below(author, 1000);
    } else if (note.kind == TRACE_SAMPLE) {
        note.values[0] = author->ticks;
        for (int i = 1; i < 4; i++)
            note.values[i] = below(author, 1ull << 34);
    } else if (note.kind == TRACE_LOST) {
        note.values[0] = below(author, 5);
    } else {
        note.values[0] = 100 + below(author, STREAMS);
        for (int i = 1; note.kind == TRACE_THREAD_STACK && i < 4; i++)
            note.values[i] = below(author, 1 << 20);
        if (note.kind == TRACE_THREAD_NAMED)
            snprintf(note.name, sizeof note.name, "thread %u", (unsigned)below(author, 100));
    }
    return note;
}

static inline uint64_t some_seed(void)
{
    const char *given = getenv("TIDEMARK_TEST_SEED");
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return given ? strtoull(given, NULL, 10)
                 : (uint64_t)now.tv_sec * 1000003 ^ (uint64_t)now.tv_nsec;
}

/* ---- A replay as bytes --------------------------------------------------------------------- */

static inline void dump_row(void *context, const struct distribution_row *row)
{
    strbuf_addf(context, "row %d %llu %llu %llu %llu\n", (int)row->kind, (unsigned long long)row->x,
                (unsigned long long)row->y, (unsigned long long)row->count,
                (unsigned long long)row->bytes);
}

static inline void dump_curve(void *context, const struct curve *curve)
{
    strbuf_add(context, &curve->node, sizeof curve->node);
    strbuf_add(context, curve->points, curve->count * sizeof *curve->points);
}

static inline void dump_exchange(void *context, const struct exchange *exchange)
{
    strbuf_add(context, exchange, sizeof *exchange);
}

static inline void dump_sites(void *context, uint32_t first, struct replay_site *sites,
                              size_t count)
{
    strbuf_addf(context, "sites from %u\n", first);
    for (size_t i = 0; i < count; i++) {
        strbuf_add(context, &sites[i].node, sizeof sites[i].node);
        strbuf_add(context, &sites[i].metrics, sizeof sites[i].metrics);
    }
}

static inline void dump_block(void *context, const struct replay_block *block)
{
    strbuf_addf(context, "block %llx %llu %llu %u %u\n", (unsigned long long)block->address,
                (unsigned long long)block->size_bytes, (unsigned long long)block->birth_ticks,
                block->node, block->owner);
}

static inline void dump_mapping(void *context, const struct replay_mapping *mapping)
{
    strbuf_addf(context, "mapped %llx-%llx by %u at %llu: %d %d\n",
                (unsigned long long)mapping->start, (unsigned long long)mapping->end, mapping->node,
                (unsigned long long)mapping->birth_ticks, mapping->kind, mapping->is_reserved);
}

/* Everything that a replay says. */
static inline void dump_replay(struct replay *replay, struct strbuf *out)
{
    static struct peak peaks[PEAKS_MAX];
    struct program_metrics program;
    uint64_t width;
    size_t count;
    const struct timeline_bucket *buckets;

    replay_changed_blocks(replay, dump_sites, out);
    memset(&program, 0, sizeof program);
    replay_program(replay, &program);
    strbuf_add(out, &program, sizeof program);
    for (size_t i = 0; i < replay_thread_count(replay); i++) {
        struct thread_metrics thread = replay_thread(replay, i);
        strbuf_add(out, &thread, sizeof thread);
    }
    buckets = replay_timeline(replay, &count, &width);
    strbuf_addf(out, "%zu buckets of %llu\n", count, (unsigned long long)width);
    strbuf_add(out, buckets, count * sizeof *buckets);
    replay_distributions(replay, dump_row, out);
    memset(peaks, 0, sizeof peaks);
    count = replay_peaks(replay, peaks);
    for (size_t i = 0; i < count; i++) {
        strbuf_addf(out, "peak %llu %llu %llu %llu\n", (unsigned long long)peaks[i].ticks,
                    (unsigned long long)peaks[i].bytes,
                    (unsigned long long)number_of(peaks[i].valley_bytes),
                    (unsigned long long)peaks[i].rest_bytes);
        for (size_t k = 0; k < peaks[i].share_count; k++)
            strbuf_addf(out, "share %u %llu\n", peaks[i].shares[k].node,
                        (unsigned long long)peaks[i].shares[k].bytes);
    }
    replay_changed_curves(replay, dump_curve, out);
    replay_exchanges(replay, dump_exchange, out);
    replay_live_blocks(replay, dump_block, out);
    replay_mapped(replay, dump_mapping, out);
}

#endif
