/* See stream_author.h. Slots are dense: a private one serves again at once, the last that came free
 * first; a shared one only after a thousand others, so that the thread that puts a block into it
 * seldom has to wait for a late thread that takes out the block before.
 *
 * Which thread begins another is not recorded: it is taken to be the one with the last call before.
 * Likewise a thread that is over leaves at the next call of another. */
#include "whatif/stream_author.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "blocks/arena.h"
#include "alloc_stream/stream_writer.h"

enum {
    EPOCH_CALLS = 4096, /* of an epoch at most, with WHATIF_NEAR */
    EPOCH_SHARE = 100,  /* and this part of the peak may begin or end in one; at least */
    EPOCH_BYTES = 64 << 10,
    SHARED_REST = 1024, /* shared slots that are free and not used again yet */
    NO_LANE = -1,
};

struct lane {
    bool runs;
    uint32_t epoch_1; /* 1 + the epoch that it was last told of */
    uint32_t *free;   /* private slots */
    uint32_t free_count, free_room, slot_count;
};

struct author {
    const struct survey *survey;
    struct stream_writer *writer;
    enum whatif_order order;
    struct lane *lanes;
    uint32_t lane_count, lane_room;
    int64_t last;      /* the lane that did something last */
    uint32_t *leaving; /* lanes that are over and not released yet */
    size_t leaving_count, leaving_room;
    uint32_t *shared_turns; /* of each shared slot the turn under way */
    uint32_t shared_count, shared_room;
    uint32_t *resting; /* a ring of free shared slots; room is a power of two */
    uint32_t resting_first, resting_count, resting_room;
    uint32_t *epochs; /* lanes that take part */
    uint32_t epoch, epoch_room;
    uint64_t epoch_calls, epoch_bytes; /* of the epoch under way: calls; begun and ended */
    uint64_t births, calls, next_sample;
    int error;
};

/* An array of u32 with room for one more. */
static uint32_t *stream_author_with_room(uint32_t *array, size_t count, size_t *room)
{
    if (count < *room)
        return array;
    *room = *room ? 2 * *room : 16;
    return arena_realloc(array, *room * sizeof *array);
}

/* ---- Lanes --------------------------------------------------------------------------------- */

static struct lane *stream_author_lane_of(struct author *author, uint32_t number)
{
    if (number >= author->lane_room) {
        uint32_t room = author->lane_room ? 2 * author->lane_room : 16;
        while (room <= number)
            room *= 2;
        author->lanes = arena_realloc(author->lanes, room * sizeof *author->lanes);
        memset(author->lanes + author->lane_room, 0,
               (room - author->lane_room) * sizeof *author->lanes);
        author->lane_room = room;
    }
    if (number >= author->lane_count)
        author->lane_count = number + 1;
    return &author->lanes[number];
}

static void stream_author_take_part(struct author *author, uint32_t epoch)
{
    if (epoch >= author->epoch_room) {
        uint32_t room = author->epoch_room ? 2 * author->epoch_room : 256;
        while (room <= epoch)
            room *= 2;
        author->epochs = arena_realloc(author->epochs, room * sizeof *author->epochs);
        memset(author->epochs + author->epoch_room, 0,
               (room - author->epoch_room) * sizeof *author->epochs);
        author->epoch_room = room;
    }
    author->epochs[epoch]++;
}

/* Is the epoch over? Short epochs make what is alive at once differ little from the recording,
 * however the threads run. */
static bool stream_author_is_epoch_over(const struct author *author, uint32_t lane, uint64_t bytes)
{
    uint64_t share = author->survey->peak_bytes / EPOCH_SHARE;
    uint64_t limit = share > EPOCH_BYTES ? share : EPOCH_BYTES;

    if (author->order == WHATIF_STRICT)
        return author->last != lane && author->last != NO_LANE;
    return author->epoch_calls >= EPOCH_CALLS ||
           (author->epoch_calls && author->epoch_bytes + bytes > limit);
}

static void stream_author_enter_epoch(struct author *author, uint32_t number, uint64_t bytes)
{
    struct lane *lane = stream_author_lane_of(author, number);

    if (author->order == WHATIF_FREE)
        return;
    if (stream_author_is_epoch_over(author, number, bytes)) {
        author->epoch++;
        author->epoch_calls = author->epoch_bytes = 0;
    }
    if (lane->epoch_1 == author->epoch + 1)
        return;
    if (author->epoch >= STREAM_MAX_TURN)
        author->error = -EFBIG;
    lane->epoch_1 = author->epoch + 1;
    if (author->order == WHATIF_NEAR)
        stream_author_take_part(author, author->epoch);
    stream_put_control(author->writer, number, STREAM_EPOCH, author->epoch);
}

/* The lane does something now, to blocks of so many bytes. */
static void stream_author_enter(struct author *author, uint32_t number, uint64_t bytes)
{
    stream_author_enter_epoch(author, number, bytes);
    author->last = number;
    for (size_t i = 0; i < author->leaving_count; i++)
        stream_put_control(author->writer, number, STREAM_RELEASE, author->leaving[i]);
    author->leaving_count = 0;
}

static void stream_author_start_lane(void *context, uint32_t number)
{
    struct author *author = context;
    bool can = author->last != NO_LANE && author->last != number &&
               (!author->last || stream_author_lane_of(author, (uint32_t)author->last)->runs);
    uint32_t by = can ? (uint32_t)author->last : 0;

    stream_author_enter(author, by, 0);
    stream_put_control(author->writer, by, STREAM_SPAWN, number);
    stream_author_lane_of(author, number)->runs = true;
    stream_author_lane_of(author, number)->epoch_1 = 0;
}

static void stream_author_stop_lane(void *context, uint32_t number)
{
    struct author *author = context;
    size_t room = author->leaving_room;

    stream_put_control(author->writer, number, STREAM_END, 0);
    stream_author_lane_of(author, number)->runs = false;
    author->leaving = stream_author_with_room(author->leaving, author->leaving_count, &room);
    author->leaving_room = room;
    author->leaving[author->leaving_count++] = number;
}

/* ---- Slots --------------------------------------------------------------------------------- */

static uint32_t stream_author_take_private(struct lane *lane)
{
    return lane->free_count ? lane->free[--lane->free_count] : lane->slot_count++;
}

static void stream_author_give_private(struct lane *lane, uint32_t slot)
{
    size_t room = lane->free_room;

    lane->free = stream_author_with_room(lane->free, lane->free_count, &room);
    lane->free_room = (uint32_t)room;
    lane->free[lane->free_count++] = slot;
}

static uint32_t stream_author_take_shared(struct author *author)
{
    size_t room = author->shared_room;
    uint32_t slot;

    if (author->resting_count > SHARED_REST) {
        slot = author->resting[author->resting_first];
        author->resting_first = (author->resting_first + 1) & (author->resting_room - 1);
        author->resting_count--;
        return slot;
    }
    author->shared_turns =
        stream_author_with_room(author->shared_turns, author->shared_count, &room);
    author->shared_room = (uint32_t)room;
    author->shared_turns[author->shared_count] = 0;
    return author->shared_count++;
}

static void stream_author_grow_resting(struct author *author)
{
    uint32_t room = author->resting_room ? 2 * author->resting_room : 2 * SHARED_REST;
    uint32_t *resting = arena_calloc(room, sizeof *resting);

    for (uint32_t i = 0; i < author->resting_count; i++)
        resting[i] = author->resting[(author->resting_first + i) & (author->resting_room - 1)];
    free(author->resting);
    author->resting = resting;
    author->resting_first = 0;
    author->resting_room = room;
}

/* A slot whose turns are used up is not used again. */
static void stream_author_give_shared(struct author *author, uint32_t slot)
{
    if (++author->shared_turns[slot] >= STREAM_MAX_TURN - 1)
        return;
    if (author->resting_count == author->resting_room)
        stream_author_grow_resting(author);
    author
        ->resting[(author->resting_first + author->resting_count++) & (author->resting_room - 1)] =
        slot;
}

/* A block's `site` is its slot, `slack_bytes` whether that is shared. */
static struct stream_slot stream_author_slot_of(const struct author *author,
                                                const struct live_block *block)
{
    bool shared = block->slack_bytes;

    return (struct stream_slot){block->site, shared,
                                shared ? author->shared_turns[block->site] : 0};
}

static struct stream_slot stream_author_take_slot(struct author *author, uint32_t lane,
                                                  struct live_block *block)
{
    bool shared = survey_crosses(author->survey, author->births++);

    block->slack_bytes = shared;
    block->site = shared ? stream_author_take_shared(author)
                         : stream_author_take_private(stream_author_lane_of(author, lane));
    return stream_author_slot_of(author, block);
}

static void stream_author_give_slot(struct author *author, uint32_t lane,
                                    const struct live_block *block)
{
    if (block->slack_bytes)
        stream_author_give_shared(author, block->site);
    else
        stream_author_give_private(stream_author_lane_of(author, lane), block->site);
}

/* ---- Calls --------------------------------------------------------------------------------- */

static void stream_author_count_call(struct author *author, uint32_t lane, uint64_t bytes)
{
    uint64_t sample;

    author->calls++;
    author->epoch_calls++;
    author->epoch_bytes += bytes;
    if (author->calls == author->survey->peak_call)
        stream_put_control(author->writer, lane, STREAM_SAMPLE, STREAM_PEAK_SAMPLE);
    for (; (sample = author->next_sample) < STREAM_SAMPLES - 1; author->next_sample++) {
        if (author->calls < author->survey->call_count * (sample + 1) / STREAM_SAMPLES)
            break;
        stream_put_control(author->writer, lane, STREAM_SAMPLE, (uint32_t)sample);
    }
}

static void stream_author_write_birth(void *context, uint32_t lane, const struct flow_birth *birth,
                                      struct live_block *block)
{
    struct author *author = context;
    struct stream_slot slot;

    stream_author_enter(author, lane, birth->size_bytes);
    slot = stream_author_take_slot(author, lane, block);
    stream_put_birth(author->writer, lane, birth->kind, birth->align_log2, birth->size_bytes,
                     &slot);
    stream_author_count_call(author, lane, block->size_bytes);
}

static void stream_author_write_change(void *context, uint32_t lane, const struct flow_birth *birth,
                                       const struct live_block *old, struct live_block *block)
{
    struct author *author = context;
    struct stream_slot from = stream_author_slot_of(author, old), to;
    uint64_t grown = birth->size_bytes > old->size_bytes ? birth->size_bytes - old->size_bytes : 0;

    stream_author_enter(author, lane, old->size_bytes + birth->size_bytes);
    stream_author_give_slot(author, lane, old);
    to = stream_author_take_slot(author, lane, block);
    stream_put_realloc(author->writer, lane, birth->size_bytes, grown, &from, &to);
    stream_author_count_call(author, lane, old->size_bytes + block->size_bytes);
}

static void stream_author_write_end(void *context, uint32_t lane, const struct live_block *block)
{
    struct author *author = context;
    struct stream_slot slot = stream_author_slot_of(author, block);

    stream_author_enter(author, lane, block->size_bytes);
    stream_put_free(author->writer, lane, &slot);
    stream_author_give_slot(author, lane, block);
    stream_author_count_call(author, lane, block->size_bytes);
}

/* ---- The whole ----------------------------------------------------------------------------- */

static int stream_author_asked_to_stop(void *context, uint64_t events)
{
    (void)events;
    return ((struct author *)context)->error;
}

static int stream_author_complete(struct author *author, struct stream_header *header)
{
    stream_author_lane_of(author, 0);
    for (uint32_t i = 0; i < author->lane_count; i++) {
        if (i == 0 || author->lanes[i].runs)
            stream_put_control(author->writer, i, STREAM_END, 0);
        stream_count_private(author->writer, i, author->lanes[i].slot_count);
    }
    *header = (struct stream_header){
        .shared_slots = author->shared_count,
        .epoch_count = author->order == WHATIF_FREE ? 0 : author->epoch + 1,
    };
    memcpy(header->calls, author->survey->calls, sizeof header->calls);
    if (author->order == WHATIF_NEAR)
        stream_author_take_part(author, author->epoch + 1); /* so that there is an array */
    return stream_writer_finish(author->writer, header, author->epochs);
}

static void stream_author_release(struct author *author)
{
    for (uint32_t i = 0; i < author->lane_count; i++)
        free(author->lanes[i].free);
    free(author->lanes);
    free(author->leaving);
    free(author->shared_turns);
    free(author->resting);
    free(author->epochs);
    stream_writer_free(author->writer);
}

int stream_author_write(const struct trace *trace, const struct survey *survey,
                        enum whatif_order order, int fd, struct stream_header *header,
                        uint64_t *stream_bytes)
{
    struct author author = {.survey = survey, .order = order, .last = NO_LANE};
    struct flow_sink sink = {&author,
                             stream_author_start_lane,
                             stream_author_stop_lane,
                             stream_author_write_birth,
                             stream_author_write_change,
                             stream_author_write_end};
    struct flow_left_out left_out;
    int error = -ENOMEM;

    author.writer = stream_writer_new(fd);
    if (author.writer)
        error = flow_walk(trace, &sink, &left_out, stream_author_asked_to_stop);
    if (!error)
        error = author.error;
    if (!error)
        error = stream_author_complete(&author, header);
    if (author.writer)
        *stream_bytes = stream_writer_bytes(author.writer);
    stream_author_release(&author);
    return error;
}
