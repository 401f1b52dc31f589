/* The way through the records.
 *
 * Speed is a matter of cache misses: a block's slot and its call path's metrics are somewhere in
 * tens of megabytes. So two cursors run ahead of the replay through the same records: the far one
 * asks for the slots, the near one, when they have come, for the metrics that they lead to. */
#include <assert.h>
#include <string.h>
#include "replay/steps.h"

#define FAR_RECORDS  24
#define NEAR_RECORDS 10

/* ---- Cursors ------------------------------------------------------------------------------- */

/* The whole records in [at, end). Nothing is assumed of their alignment. */
struct cursor {
    const unsigned char *at, *end;
};

static inline uint64_t word(const unsigned char *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof(value));
    return value;
}

/* Bytes of the record at the cursor; 0 if there is no whole one any more. */
static inline size_t cursor_record_bytes(const struct cursor *cursor)
{
    size_t left = (size_t)(cursor->end - cursor->at);
    size_t bytes;

    if (left < 16)
        return 0;
    bytes = wire_record_bytes(word(cursor->at));
    return bytes <= left ? bytes : 0;
}

static inline void ask_for_slot(const struct replay *replay, struct cursor *far)
{
    size_t bytes = cursor_record_bytes(far);
    uint64_t address;

    if (!bytes)
        return;
    address = word(far->at) & WIRE_ADDRESS_MASK;
    __builtin_prefetch(live_table_home(&replay->live, address), 1);
    if (bytes == 32)
        sites_number_prefetch(&replay->sites, wire_detail_node(word(far->at + 24)));
    far->at += bytes;
}

static inline void ask_for_site_of_block(const struct replay *replay, const struct cursor *near)
{
    uint64_t address = word(near->at) & WIRE_ADDRESS_MASK;
    struct live_block *block = address ? live_table_find(&replay->live, address) : NULL;

    if (block)
        site_prefetch(&replay->sites, regions_site(&replay->regions, block->site));
}

static inline void ask_for_site(const struct replay *replay, struct cursor *near)
{
    size_t bytes = cursor_record_bytes(near);

    if (bytes == 32) {
        uint32_t number = sites_number(&replay->sites, wire_detail_node(word(near->at + 24)));
        if (number)
            site_prefetch(&replay->sites, number - 1);
        if ((near->at[7] & ~WIRE_NEWEST) == WIRE_FREE_AT) /* its top byte: the kind */
            ask_for_site_of_block(replay, near);
    } else if (bytes == 16) {
        ask_for_site_of_block(replay, near);
    }
    near->at += bytes;
}

static inline void replay_record(struct replay *replay, const unsigned char *at, size_t bytes)
{
    struct wire_record record = {word(at), word(at + 8), 0, 0};
    record_handler *handler;

    if (bytes == 32) {
        record.size_bytes = word(at + 16);
        record.detail = word(at + 24);
    }
    handler = replay->handlers[wire_kind(record.kind_address)];
    if (handler)
        handler(replay, &record);
    else
        count_malformed(replay);
}

static size_t bytes_of(const struct replay_run *runs, size_t count)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += runs[i].bytes;
    return bytes;
}

void replay_runs(struct replay *replay, const struct replay_run *runs, size_t count,
                 const void *records)
{
    const unsigned char *begin = records;
    struct cursor far = {begin, begin + bytes_of(runs, count)}, near = far, now = far;
    size_t record_bytes;

    for (int i = 0; i < FAR_RECORDS; i++)
        ask_for_slot(replay, &far);
    for (int i = 0; i < NEAR_RECORDS; i++)
        ask_for_site(replay, &near);
    for (const struct replay_run *run = runs; run < runs + count; run++) {
        assert(run->thread < replay->threads.stream_count);
        replay->stream = run->thread;
        replay->running = threads_of_stream(&replay->threads, run->thread);
        now.end = now.at + run->bytes;
        while ((record_bytes = cursor_record_bytes(&now))) {
            ask_for_slot(replay, &far);
            ask_for_site(replay, &near);
            replay_record(replay, now.at, record_bytes);
            now.at += record_bytes;
        }
        if (now.at != now.end)
            count_malformed(replay);
        now.at = now.end;
    }
}

void replay_records(struct replay *replay, uint32_t thread, const void *records, size_t bytes)
{
    struct replay_run run = {thread, (uint32_t)bytes};

    assert(bytes <= UINT32_MAX);
    replay_runs(replay, &run, 1, records);
}
