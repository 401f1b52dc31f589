/* Copies runs of records without the allocations that are not drawn (thinning.h). The draw counts
 * down the bytes until the next sample. The distance is exponential, so it makes no difference
 * where the last sample was, nor which thread made it. */
#include "collector/thinning.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/ticks.h"
#include "blocks/arena.h"
#include "wire/record_kinds.h"

struct thinning {
    unsigned level;
    uint64_t left_bytes; /* until the next sample: one of size >= left_bytes is drawn */
    unsigned short random[3];
    uint64_t *newest; /* by stream: the address of its newest block; 0: none */
    size_t stream_room;
    struct replay_run *runs;
    size_t run_room;
    char *records;
    size_t record_room;
};

static void thinning_draw_next(struct thinning *thinning)
{
    double uniform = 1 - erand48(thinning->random); /* in (0, 1] */
    thinning->left_bytes = (uint64_t)(-log(uniform) * (double)wire_level_bytes(thinning->level));
}

void thinning_set_level(struct thinning *thinning, unsigned level)
{
    thinning->level = level;
    thinning_draw_next(thinning);
}

unsigned thinning_level(const struct thinning *thinning)
{
    return thinning->level;
}

struct thinning *thinning_new(void)
{
    struct thinning *thinning = arena_calloc(1, sizeof *thinning);
    uint64_t seed = ticks_now();
    memcpy(thinning->random, &seed, sizeof thinning->random);
    thinning_set_level(thinning, 1);
    return thinning;
}

void thinning_free(struct thinning *thinning)
{
    if (!thinning)
        return;
    free(thinning->newest);
    free(thinning->runs);
    free(thinning->records);
    free(thinning);
}

static void thinning_make_room(struct thinning *thinning, size_t runs, size_t bytes)
{
    if (runs > thinning->run_room) {
        free(thinning->runs);
        thinning->runs = arena_calloc(runs, sizeof *thinning->runs);
        thinning->run_room = runs;
    }
    if (bytes > thinning->record_room) {
        free(thinning->records);
        thinning->records = arena_calloc(bytes, 1);
        thinning->record_room = bytes;
    }
}

/* The place of a stream, which may be new. */
static uint64_t *thinning_newest_of(struct thinning *thinning, uint32_t stream)
{
    if (stream >= thinning->stream_room) {
        size_t room = 2 * ((size_t)stream + 8);
        uint64_t *newest = arena_calloc(room, sizeof *newest);
        if (thinning->stream_room)
            memcpy(newest, thinning->newest, thinning->stream_room * sizeof *newest);
        free(thinning->newest);
        thinning->newest = newest;
        thinning->stream_room = room;
    }
    return &thinning->newest[stream];
}

static bool thinning_draws(struct thinning *thinning, uint64_t size_bytes)
{
    if (size_bytes < thinning->left_bytes) {
        thinning->left_bytes -= size_bytes + 1;
        return false;
    }
    thinning_draw_next(thinning);
    return true;
}

static void thinning_mark(struct wire_record *record, unsigned level)
{
    unsigned align_log2 = wire_level_align(wire_detail_align_log2(record->detail), level);
    record->detail = (record->detail & ~(0xffull << 56)) | (uint64_t)align_log2 << 56;
}

/* False: it is not in the sample. */
static bool thinning_keeps_birth(struct thinning *thinning, struct wire_record *record,
                                 uint64_t *newest)
{
    *newest = record->kind_address & WIRE_ADDRESS_MASK;
    thinning_mark(record, thinning->level);
    return thinning_draws(thinning, record->size_bytes);
}

/* The end of a realloc completes its beginning in any case. If its new block is not drawn, the
 * record gets the address 0. Its size must not be 0 then, which would make it a free. */
static void thinning_end_realloc(struct thinning *thinning, struct wire_record *record,
                                 uint64_t *newest)
{
    if (!(record->kind_address & WIRE_ADDRESS_MASK) ||
        thinning_keeps_birth(thinning, record, newest))
        return;
    record->kind_address &= ~WIRE_ADDRESS_MASK;
    record->size_bytes |= !record->size_bytes;
}

static void thinning_end_block(struct wire_record *record, uint64_t *newest, bool is_free)
{
    uint64_t address = record->kind_address & WIRE_ADDRESS_MASK;
    if (!address || address != *newest)
        return;
    *newest = 0;
    if (is_free)
        record->kind_address |= (uint64_t)WIRE_NEWEST << 56;
}

static bool thinning_keeps(struct thinning *thinning, struct wire_record *record, uint64_t *newest)
{
    RECORD_SWITCH_BEGIN
    switch (record_class_of(false, record->kind_address)) {
    case RECORD_BIRTH:
    case RECORD_POOL_BIRTH:
        return thinning_keeps_birth(thinning, record, newest);
    case RECORD_REALLOC_END:
        thinning_end_realloc(thinning, record, newest);
        return true;
    case RECORD_FAILED:
    case RECORD_REALLOC_FAILED:
        thinning_mark(record, 0); /* all of them are kept */
        return true;
    case RECORD_FREE:
    case RECORD_POOL_FREE:
    case RECORD_REALLOC_BEGIN:
    case RECORD_POOL_CHUNK: {
        enum record_class class = record_class_of(false, record->kind_address);
        thinning_end_block(record, newest, class == RECORD_FREE || class == RECORD_POOL_FREE);
        return true;
    }
    case RECORD_THREAD_START:
        *newest = 0;
        return true;
    case RECORD_NONSENSE:
    case RECORD_VOID:
    case RECORD_SPENT:
    case RECORD_THREAD_END:
    case RECORD_LOST:
    case RECORD_SAID:
    case RECORD_MAPPING:
    case RECORD_STACK:
    case RECORD_DEVICE:
        return true;
    case RECORD_CLASSES:
        break;
    }
    RECORD_SWITCH_END
    return true;
}

/* Returns the bytes that were written to `to`. Bytes that are no whole record are copied, and the
 * replay counts them as damage. */
static uint32_t thinning_copy_run(struct thinning *thinning, uint32_t stream, const char *from,
                                  size_t bytes, char *to)
{
    uint64_t *newest = thinning_newest_of(thinning, stream);
    const char *end = from + bytes, *begin = to;
    while (end - from >= 16) {
        struct wire_record record = {0, 0, 0, 0};
        memcpy(&record, from, 16);
        size_t length = wire_record_bytes(record.kind_address);
        if ((size_t)(end - from) < length)
            break;
        memcpy(&record, from, length);
        if (thinning_keeps(thinning, &record, newest)) {
            memcpy(to, &record, length);
            to += length;
        }
        from += length;
    }
    memcpy(to, from, (size_t)(end - from));
    return (uint32_t)(to + (end - from) - begin);
}

struct thinned thinning_runs(struct thinning *thinning, const struct replay_run *runs, size_t count,
                             const void *records)
{
    const char *from = records;
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += runs[i].bytes;
    thinning_make_room(thinning, count, bytes + 1);
    char *to = thinning->records;
    for (size_t i = 0; i < count; i++) {
        thinning->runs[i] = (struct replay_run){
            runs[i].thread, thinning_copy_run(thinning, runs[i].thread, from, runs[i].bytes, to)};
        from += runs[i].bytes;
        to += thinning->runs[i].bytes;
    }
    return (struct thinned){thinning->runs, thinning->records};
}
