/* See lives.h. */
#include "trace/lives.h"

#include <stdlib.h>
#include <string.h>
#include "replay/region.h"

enum { FIRST_LIVE_LOG2 = 12, FIRST_OWED_LOG2 = 6 };

void lives_init(struct lives *lives, uint64_t start_ticks, uint64_t sample_bytes)
{
    memset(lives, 0, sizeof *lives);
    live_table_init(&lives->live, FIRST_LIVE_LOG2);
    live_table_init(&lives->owed, FIRST_OWED_LOG2);
    live_table_init(&lives->chunks, FIRST_OWED_LOG2);
    lives->sample_bytes = sample_bytes;
    lives->now = start_ticks;
    node_map_init(&lives->map);
    lives_begin_block(lives);
}

void lives_release(struct lives *lives)
{
    live_table_release(&lives->live);
    live_table_release(&lives->owed);
    live_table_release(&lives->chunks);
    for (size_t i = 0; i < lives->stream_count; i++)
        free(lives->streams[i].pending);
    free(lives->streams);
    node_map_release(&lives->map);
    free(lives->net);
}

size_t lives_memory_bytes(const struct lives *lives)
{
    return live_table_memory_bytes(&lives->live) + live_table_memory_bytes(&lives->owed) +
           live_table_memory_bytes(&lives->chunks) +
           node_map_memory_bytes(&lives->map) + lives->net_room * sizeof *lives->net;
}

void lives_begin_block(struct lives *lives)
{
    node_map_begin_block(&lives->map);
    lives->net_count = 0;
    lives->alloc_count = lives->free_count = 0;
    lives->max_bytes = lives->bytes;
    lives->max_ticks = lives->now;
}

/* ---- Levels -------------------------------------------------------------------------------- */

static struct trace_net *net_of(struct lives *lives, uint32_t node)
{
    struct node_slot *slot = node_map_slot(&lives->map, node);

    if (slot->net_1)
        return &lives->net[slot->net_1 - 1];
    if (lives->net_count == lives->net_room) {
        lives->net_room = lives->net_room ? 2 * lives->net_room : 1024;
        lives->net = replay_realloc(lives->net, lives->net_room * sizeof *lives->net);
    }
    lives->net[lives->net_count] = (struct trace_net){.node = node};
    slot->net_1 = (uint32_t)++lives->net_count;
    return &lives->net[lives->net_count - 1];
}

size_t lives_index_of(struct lives *lives, uint32_t node)
{
    return (size_t)(net_of(lives, node) - lives->net);
}

/* Slack counts for no level. */
struct weight lives_weigh(uint64_t sample_bytes, uint64_t size_bytes)
{
    if (!sample_bytes)
        return (struct weight){1, size_bytes, 0, 0};
    return weight_of_sample(sample_bytes, size_bytes, 0);
}

static void begin_life(struct lives *lives, const struct live_block *block)
{
    struct weight weight = lives_weigh(lives->sample_bytes, block->size_bytes);
    struct trace_net *net = net_of(lives, block->site);

    lives->alloc_count++;
    lives->bytes += weight.bytes;
    lives->count += weight.count;
    net->bytes += weight.bytes;
    net->count += weight.count;
}

static void end_life(struct lives *lives, const struct live_block *block)
{
    struct weight weight = lives_weigh(lives->sample_bytes, block->size_bytes);
    struct trace_net *net = net_of(lives, block->site);

    lives->free_count++;
    lives->ended[lives->ended_count++] = (struct lives_life){block->site, block->size_bytes};
    lives->bytes -= weight.bytes;
    lives->count -= weight.count;
    net->bytes -= weight.bytes;
    net->count -= weight.count;
}

static void see_level(struct lives *lives)
{
    if (lives->bytes <= lives->max_bytes)
        return;
    lives->max_bytes = lives->bytes;
    lives->max_ticks = lives->now;
}

/* ---- The table ----------------------------------------------------------------------------- */

static uint64_t address_of(const struct wire_record *record)
{
    return record->kind_address & WIRE_ADDRESS_MASK;
}

static void owe_free(struct lives *lives, uint64_t address, uint64_t until_ticks)
{
    struct live_block *debt = live_table_place(&lives->owed, address);

    if (debt->address != address)
        *debt = (struct live_block){.address = address};
    debt->size_bytes++;
    if (until_ticks > debt->birth_ticks)
        debt->birth_ticks = until_ticks;
}

static bool settle_owed(struct lives *lives, uint64_t address, uint64_t ticks)
{
    struct live_block *debt;

    if (!lives->owed.count)
        return false;
    debt = live_table_find(&lives->owed, address);
    if (!debt || ticks >= debt->birth_ticks)
        return false;
    if (--debt->size_bytes == 0)
        live_table_remove(&lives->owed, debt);
    return true;
}

static void place_block(struct lives *lives, const struct live_block *block)
{
    struct live_block *slot = live_table_place(&lives->live, block->address), over;

    if (slot->address != block->address) {
        *slot = *block;
        return;
    }
    over = *slot;
    if (slot->birth_ticks > block->birth_ticks)
        over = *block;
    else
        *slot = *block;
    owe_free(lives, over.address, slot->birth_ticks);
    end_life(lives, &over);
}

static bool take_block(struct lives *lives, uint64_t address, uint64_t ticks,
                       struct live_block *out)
{
    struct live_block *slot;

    if (settle_owed(lives, address, ticks) || !(slot = live_table_find(&lives->live, address)))
        return false;
    *out = *slot;
    lives->has_taken = true;
    lives->taken = (struct lives_life){slot->site, slot->size_bytes};
    live_table_remove(&lives->live, slot);
    return true;
}

/* ---- Records ------------------------------------------------------------------------------- */

static struct lives_stream *stream_of(struct lives *lives, uint32_t number)
{
    if (number >= lives->stream_count) {
        size_t count = (size_t)number + 1;
        lives->streams = replay_realloc(lives->streams, count * sizeof *lives->streams);
        memset(lives->streams + lives->stream_count, 0,
               (count - lives->stream_count) * sizeof *lives->streams);
        lives->stream_count = count;
    }
    return &lives->streams[number];
}

static void take_time(struct lives *lives, uint64_t ticks)
{
    if (ticks > lives->now)
        lives->now = ticks;
}

/* A free, or a beginning of a realloc, of a pool's chunk: it is none any more. */
static bool ends_chunk(struct lives *lives, const struct wire_record *record)
{
    return lives->chunks.count && address_of(record) &&
           live_table_drop(&lives->chunks, address_of(record));
}

static void allocate(struct lives *lives, const struct wire_record *record, uint32_t serial)
{
    uint64_t size = record->size_bytes < LIVE_MAX_SIZE ? record->size_bytes : LIVE_MAX_SIZE;
    struct live_block block = {
        .address = address_of(record),
        .size_bytes = size,
        .birth_ticks = record->ticks,
        .site = wire_detail_node(record->detail),
        .slack_bytes = wire_detail_slack(record->detail),
    };

    live_block_set_owner(&block, serial & 0xffffff);
    begin_life(lives, &block);
    place_block(lives, &block);
}

static uint32_t end_by_free(struct lives *lives, const struct wire_record *record)
{
    struct live_block block;

    if (!address_of(record) || !take_block(lives, address_of(record), record->ticks, &block))
        return LIVES_NO_SERIAL;
    end_life(lives, &block);
    return live_block_owner(&block);
}

static uint32_t begin_chunk(struct lives *lives, const struct wire_record *record)
{
    uint64_t address = address_of(record);
    uint32_t serial;

    if (!address || !live_table_find(&lives->live, address))
        return LIVES_NO_SERIAL;
    serial = end_by_free(lives, record);
    if (serial != LIVES_NO_SERIAL && !lives->sample_bytes)
        live_table_place(&lives->chunks, address)->address = address;
    return serial;
}

static struct lives_pending *push_pending(struct lives_stream *stream)
{
    if (stream->pending_count == stream->pending_room) {
        stream->pending_room = stream->pending_room ? 2 * stream->pending_room : 2;
        stream->pending =
            replay_realloc(stream->pending, stream->pending_room * sizeof *stream->pending);
    }
    stream->pending[stream->pending_count] = (struct lives_pending){0};
    return &stream->pending[stream->pending_count++];
}

static uint32_t begin_realloc(struct lives *lives, struct lives_stream *stream,
                              const struct wire_record *record)
{
    struct lives_pending *pending = push_pending(stream);
    uint64_t address = address_of(record);

    pending->old = address ? LIVES_OLD_UNKNOWN : LIVES_OLD_NONE;
    if (!address || ends_chunk(lives, record) || !take_block(lives, address, record->ticks, &pending->block))
        return LIVES_NO_SERIAL;
    pending->old = LIVES_OLD_LIVE;
    return live_block_owner(&pending->block);
}

static struct lives_pending pop_pending(struct lives_stream *stream)
{
    if (!stream->pending_count)
        return (struct lives_pending){.old = LIVES_OLD_UNKNOWN};
    return stream->pending[--stream->pending_count];
}

static void end_realloc(struct lives *lives, struct lives_stream *stream,
                        const struct wire_record *record, uint32_t serial)
{
    struct lives_pending pending = pop_pending(stream);

    if (pending.old == LIVES_OLD_LIVE)
        end_life(lives, &pending.block);
    if (address_of(record))
        allocate(lives, record, serial);
}

static void fail_realloc(struct lives *lives, struct lives_stream *stream)
{
    struct lives_pending pending = pop_pending(stream);

    if (pending.old == LIVES_OLD_LIVE)
        place_block(lives, &pending.block);
}

/* Another thread in the same stream knows nothing of the reallocs of the one before. */
static void announce(struct lives_stream *stream)
{
    if (stream->announced)
        stream->pending_count = 0;
    stream->announced = true;
}

bool lives_moves_time(unsigned kind, uint64_t address)
{
    switch (kind) {
    case WIRE_MALLOC:
    case WIRE_CALLOC:
    case WIRE_ALIGNED:
    case WIRE_NEW:
    case WIRE_NEW_ARRAY:
    case WIRE_POOL:
        return address != 0;
    case WIRE_MARK:
    case WIRE_REGION_BEGIN:
    case WIRE_REGION_END:
    case WIRE_POOL_CHUNK:
    case WIRE_POOL_FREE:
    case WIRE_POOL_FREE_AT:
    case WIRE_FREE:
    case WIRE_FREE_AT:
    case WIRE_REALLOC_BEGIN:
    case WIRE_REALLOC_END:
    case WIRE_REALLOC_END | WIRE_FAILED:
    case WIRE_THREAD_START:
    case WIRE_THREAD_END:
    case WIRE_LOST:
    case WIRE_MALLOC | WIRE_FAILED:
    case WIRE_CALLOC | WIRE_FAILED:
    case WIRE_ALIGNED | WIRE_FAILED:
    case WIRE_NEW | WIRE_FAILED:
    case WIRE_NEW_ARRAY | WIRE_FAILED:
    case WIRE_MMAP:
    case WIRE_MMAP | WIRE_FAILED:
    case WIRE_MUNMAP:
    case WIRE_BRK:
    case WIRE_BRK | WIRE_FAILED:
    case WIRE_STACK:
    case WIRE_STACK_LAYER:
    case WIRE_STACK_PEAK:
        return true;
    default:
        return false;
    }
}

uint32_t lives_record(struct lives *lives, uint32_t stream, const struct wire_record *record,
                      uint32_t serial)
{
    uint32_t met = LIVES_NO_SERIAL;
    unsigned kind = wire_kind(record->kind_address);

    lives->has_taken = false;
    lives->ended_count = 0;
    if (lives->sample_bytes)
        kind = lives_kind_of_sample(kind);
    switch (kind) {
    case WIRE_MALLOC:
    case WIRE_CALLOC:
    case WIRE_ALIGNED:
    case WIRE_NEW:
    case WIRE_NEW_ARRAY:
    case WIRE_POOL:
        if (!address_of(record))
            return met;
        take_time(lives, record->ticks);
        if (lives->chunks.count && kind != WIRE_POOL)
            live_table_drop(&lives->chunks, address_of(record));
        allocate(lives, record, serial);
        break;
    case WIRE_FREE:
    case WIRE_FREE_AT:
        take_time(lives, record->ticks);
        if (!ends_chunk(lives, record))
            met = end_by_free(lives, record);
        break;
    case WIRE_POOL_FREE:
    case WIRE_POOL_FREE_AT:
        take_time(lives, record->ticks);
        met = end_by_free(lives, record);
        break;
    case WIRE_POOL_CHUNK:
        take_time(lives, record->ticks);
        met = begin_chunk(lives, record);
        break;
    case WIRE_REALLOC_BEGIN:
        take_time(lives, record->ticks);
        met = begin_realloc(lives, stream_of(lives, stream), record);
        break;
    case WIRE_REALLOC_END:
        take_time(lives, record->ticks);
        end_realloc(lives, stream_of(lives, stream), record, serial);
        break;
    case WIRE_REALLOC_END | WIRE_FAILED:
        take_time(lives, record->ticks);
        fail_realloc(lives, stream_of(lives, stream));
        break;
    case WIRE_THREAD_START:
        take_time(lives, record->ticks);
        announce(stream_of(lives, stream));
        break;
    default:
        if (!lives_moves_time(kind, 0))
            return met;
        take_time(lives, record->ticks);
    }
    see_level(lives);
    return met;
}
