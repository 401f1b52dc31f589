/* Encodes operations into chunks and writes them (stream_writer.h). Chunks of a seat grow from 1
 * KiB, so that ten thousand short-lived seats take little memory. A chunk gets its offset in the
 * file when it is begun, so that the chunk before can be written with that offset. */
#include "alloc_stream/stream_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_CHUNK_BYTES = 1 << 10, CHUNK_GROWTH = 4 };

struct stream_writer_seat {
    unsigned char *chunk; /* the one under way, its header included; NULL: none */
    uint32_t used, room;
    uint64_t offset;  /* of the chunk under way, in the file */
    uint32_t spawned; /* its lanes that have begun */
    struct stream_seat facts;
};

struct stream_writer {
    int fd, error;
    uint64_t bytes; /* of the file, chunks under way included */
    struct stream_writer_seat *seats;
    uint32_t seat_count, seat_room;
};

struct stream_writer *stream_writer_new(int fd)
{
    struct stream_writer *writer = calloc(1, sizeof *writer);

    if (!writer)
        return NULL;
    writer->fd = fd;
    writer->bytes = sizeof(struct stream_header);
    return writer;
}

void stream_writer_free(struct stream_writer *writer)
{
    if (!writer)
        return;
    for (uint32_t i = 0; i < writer->seat_count; i++)
        free(writer->seats[i].chunk);
    free(writer->seats);
    free(writer);
}

uint64_t stream_writer_bytes(const struct stream_writer *writer)
{
    return writer->bytes;
}

static void stream_fail(struct stream_writer *writer, int error)
{
    if (!writer->error)
        writer->error = error;
}

static void stream_write_at(struct stream_writer *writer, const void *bytes, size_t count,
                            uint64_t offset)
{
    const char *at = bytes;

    while (count && !writer->error) {
        ssize_t wrote = pwrite(writer->fd, at, count, (off_t)offset);
        if (wrote < 0 && errno != EINTR)
            stream_fail(writer, -errno);
        if (wrote > 0) {
            at += wrote;
            count -= (size_t)wrote;
            offset += (uint64_t)wrote;
        }
    }
}

/* ---- Chunks -------------------------------------------------------------------------------- */

static struct stream_writer_seat *stream_seat_of(struct stream_writer *writer, uint32_t number)
{
    if (number >= writer->seat_room) {
        uint32_t room = writer->seat_room ? 2 * writer->seat_room : 16;
        struct stream_writer_seat *seats;
        while (room <= number)
            room *= 2;
        seats = realloc(writer->seats, room * sizeof *seats);
        if (!seats) {
            stream_fail(writer, -ENOMEM);
            return NULL;
        }
        memset(seats + writer->seat_room, 0, (room - writer->seat_room) * sizeof *seats);
        writer->seats = seats;
        writer->seat_room = room;
    }
    if (number >= writer->seat_count)
        writer->seat_count = number + 1;
    return &writer->seats[number];
}

static void stream_end_chunk(struct stream_writer *writer, struct stream_writer_seat *seat,
                             uint64_t next)
{
    struct stream_chunk head = {(uint32_t)(seat - writer->seats),
                                seat->used - (uint32_t)sizeof head, next};

    memcpy(seat->chunk, &head, sizeof head);
    stream_write_at(writer, seat->chunk, seat->room, seat->offset);
}

static uint32_t stream_next_room(const struct stream_writer_seat *seat)
{
    uint32_t room = seat->room ? seat->room * CHUNK_GROWTH : FIRST_CHUNK_BYTES;

    return room < STREAM_CHUNK_BYTES ? room : STREAM_CHUNK_BYTES;
}

static bool stream_begin_chunk(struct stream_writer *writer, struct stream_writer_seat *seat)
{
    uint32_t room = stream_next_room(seat);
    unsigned char *chunk = seat->chunk;

    if (chunk)
        stream_end_chunk(writer, seat, writer->bytes);
    if (room != seat->room && !(chunk = realloc(seat->chunk, room))) {
        stream_fail(writer, -ENOMEM);
        return false;
    }
    if (!seat->facts.first_chunk)
        seat->facts.first_chunk = writer->bytes;
    memset(chunk, 0, room);
    seat->chunk = chunk;
    seat->room = seat->facts.largest_chunk = room;
    seat->used = sizeof(struct stream_chunk);
    seat->offset = writer->bytes;
    writer->bytes += room;
    return true;
}

/* ---- Operations ---------------------------------------------------------------------------- */

static struct stream_writer_seat *stream_begin_op(struct stream_writer *writer, uint32_t number,
                                                  unsigned op)
{
    struct stream_writer_seat *seat = stream_seat_of(writer, number);

    if (!seat || writer->error)
        return NULL;
    if (seat->used + STREAM_OP_BYTES > seat->room && !stream_begin_chunk(writer, seat))
        return NULL;
    seat->chunk[seat->used++] = (unsigned char)op;
    return seat;
}

static void stream_put(struct stream_writer_seat *seat, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        seat->chunk[seat->used++] = (unsigned char)(number | 0x80);
    seat->chunk[seat->used++] = (unsigned char)number;
}

static void stream_put_slot(struct stream_writer_seat *seat, const struct stream_slot *slot)
{
    stream_put(seat, slot->number);
    if (slot->shared)
        stream_put(seat, slot->turn);
}

static unsigned stream_flag(const struct stream_slot *slot, unsigned flag)
{
    return slot->shared ? flag : 0;
}

void stream_put_birth(struct stream_writer *writer, uint32_t seat_number, enum stream_kind kind,
                      unsigned align_log2, uint64_t size_bytes, const struct stream_slot *slot)
{
    struct stream_writer_seat *seat =
        stream_begin_op(writer, seat_number, kind | stream_flag(slot, STREAM_SHARED));

    if (!seat)
        return;
    if (kind == STREAM_ALIGNED)
        stream_put(seat, align_log2);
    stream_put(seat, size_bytes);
    stream_put_slot(seat, slot);
}

void stream_put_realloc(struct stream_writer *writer, uint32_t seat_number, uint64_t size_bytes,
                        uint64_t new_bytes, const struct stream_slot *old,
                        const struct stream_slot *slot)
{
    unsigned flags = stream_flag(old, STREAM_OLD_SHARED) | stream_flag(slot, STREAM_SHARED);
    struct stream_writer_seat *seat = stream_begin_op(writer, seat_number, STREAM_REALLOC | flags);

    if (!seat)
        return;
    stream_put(seat, size_bytes);
    stream_put(seat, new_bytes);
    stream_put_slot(seat, old);
    stream_put_slot(seat, slot);
}

void stream_put_free(struct stream_writer *writer, uint32_t seat_number,
                     const struct stream_slot *slot)
{
    struct stream_writer_seat *seat =
        stream_begin_op(writer, seat_number, STREAM_FREE | stream_flag(slot, STREAM_SHARED));

    if (seat)
        stream_put_slot(seat, slot);
}

void stream_put_control(struct stream_writer *writer, uint32_t seat_number, enum stream_kind kind,
                        uint32_t number)
{
    struct stream_writer_seat *spawned =
        kind == STREAM_SPAWN ? stream_seat_of(writer, number) : NULL;
    uint32_t lane = spawned ? ++spawned->spawned : 0;
    struct stream_writer_seat *seat =
        stream_begin_op(writer, seat_number, kind); /* may move seats */

    if (!seat)
        return;
    if (kind == STREAM_END)
        seat->facts.lanes++;
    else
        stream_put(seat, number);
    if (kind == STREAM_SPAWN)
        stream_put(seat, lane);
}

void stream_count_private(struct stream_writer *writer, uint32_t seat_number, uint32_t slots)
{
    struct stream_writer_seat *seat = stream_seat_of(writer, seat_number);

    if (seat)
        seat->facts.private_slots = slots;
}

/* ---- The end ------------------------------------------------------------------------------- */

static void stream_write_seats(struct stream_writer *writer)
{
    for (uint32_t i = 0; i < writer->seat_count; i++) {
        if (writer->seats[i].chunk)
            stream_end_chunk(writer, &writer->seats[i], 0);
        stream_write_at(writer, &writer->seats[i].facts, sizeof writer->seats[i].facts,
                        writer->bytes);
        writer->bytes += sizeof writer->seats[i].facts;
    }
}

int stream_writer_finish(struct stream_writer *writer, struct stream_header *header,
                         const uint32_t *epochs)
{
    header->magic = STREAM_MAGIC;
    header->seat_count = writer->seat_count;
    header->seats_offset = writer->bytes;
    stream_write_seats(writer);
    header->epochs_offset = epochs ? writer->bytes : 0;
    if (epochs) {
        stream_write_at(writer, epochs, header->epoch_count * sizeof *epochs, writer->bytes);
        writer->bytes += header->epoch_count * sizeof *epochs;
    }
    stream_write_at(writer, header, sizeof *header, 0);
    return writer->error;
}
