/* See writer.h. Chunks of a seat grow from 1 KiB, so that ten thousand short-lived seats cost no
 * more than they need; where a chunk will lie is settled when it is begun, so that the one before
 * can say it. */
#include "script/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_CHUNK_BYTES = 1 << 10, CHUNK_GROWTH = 4 };

struct seat {
    unsigned char *chunk; /* the one under way, its header included; NULL: none */
    uint32_t used, room;
    uint64_t offset; /* where it will lie */
    uint32_t spawned; /* its lanes that have begun */
    struct script_seat facts;
};

struct script_writer {
    int fd, error;
    uint64_t bytes; /* of the file, chunks under way included */
    struct seat *seats;
    uint32_t seat_count, seat_room;
};

struct script_writer *script_writer_new(int fd)
{
    struct script_writer *writer = calloc(1, sizeof *writer);

    if (!writer)
        return NULL;
    writer->fd = fd;
    writer->bytes = sizeof(struct script_header);
    return writer;
}

void script_writer_free(struct script_writer *writer)
{
    if (!writer)
        return;
    for (uint32_t i = 0; i < writer->seat_count; i++)
        free(writer->seats[i].chunk);
    free(writer->seats);
    free(writer);
}

uint64_t script_writer_bytes(const struct script_writer *writer)
{
    return writer->bytes;
}

static void fail(struct script_writer *writer, int error)
{
    if (!writer->error)
        writer->error = error;
}

static void write_at(struct script_writer *writer, const void *bytes, size_t count, uint64_t offset)
{
    const char *at = bytes;

    while (count && !writer->error) {
        ssize_t wrote = pwrite(writer->fd, at, count, (off_t)offset);
        if (wrote < 0 && errno != EINTR)
            fail(writer, -errno);
        if (wrote > 0) {
            at += wrote;
            count -= (size_t)wrote;
            offset += (uint64_t)wrote;
        }
    }
}

/* ---- Chunks -------------------------------------------------------------------------------- */

static struct seat *seat_of(struct script_writer *writer, uint32_t number)
{
    if (number >= writer->seat_room) {
        uint32_t room = writer->seat_room ? 2 * writer->seat_room : 16;
        struct seat *seats;
        while (room <= number)
            room *= 2;
        seats = realloc(writer->seats, room * sizeof *seats);
        if (!seats) {
            fail(writer, -ENOMEM);
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

static void end_chunk(struct script_writer *writer, struct seat *seat, uint64_t next)
{
    struct script_chunk head = {(uint32_t)(seat - writer->seats),
                                seat->used - (uint32_t)sizeof head, next};

    memcpy(seat->chunk, &head, sizeof head);
    write_at(writer, seat->chunk, seat->room, seat->offset);
}

static uint32_t next_room(const struct seat *seat)
{
    uint32_t room = seat->room ? seat->room * CHUNK_GROWTH : FIRST_CHUNK_BYTES;

    return room < SCRIPT_CHUNK_BYTES ? room : SCRIPT_CHUNK_BYTES;
}

static bool begin_chunk(struct script_writer *writer, struct seat *seat)
{
    uint32_t room = next_room(seat);
    unsigned char *chunk = seat->chunk;

    if (chunk)
        end_chunk(writer, seat, writer->bytes);
    if (room != seat->room && !(chunk = realloc(seat->chunk, room))) {
        fail(writer, -ENOMEM);
        return false;
    }
    if (!seat->facts.first_chunk)
        seat->facts.first_chunk = writer->bytes;
    memset(chunk, 0, room);
    seat->chunk = chunk;
    seat->room = seat->facts.largest_chunk = room;
    seat->used = sizeof(struct script_chunk);
    seat->offset = writer->bytes;
    writer->bytes += room;
    return true;
}

/* ---- Operations ---------------------------------------------------------------------------- */

static struct seat *begin_op(struct script_writer *writer, uint32_t number, unsigned op)
{
    struct seat *seat = seat_of(writer, number);

    if (!seat || writer->error)
        return NULL;
    if (seat->used + SCRIPT_OP_BYTES > seat->room && !begin_chunk(writer, seat))
        return NULL;
    seat->chunk[seat->used++] = (unsigned char)op;
    return seat;
}

static void put(struct seat *seat, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        seat->chunk[seat->used++] = (unsigned char)(number | 0x80);
    seat->chunk[seat->used++] = (unsigned char)number;
}

static void put_slot(struct seat *seat, const struct script_slot *slot)
{
    put(seat, slot->number);
    if (slot->shared)
        put(seat, slot->turn);
}

static unsigned flag(const struct script_slot *slot, unsigned flag)
{
    return slot->shared ? flag : 0;
}

void script_put_birth(struct script_writer *writer, uint32_t seat_number, enum script_kind kind,
                      unsigned align_log2, uint64_t size_bytes, const struct script_slot *slot)
{
    struct seat *seat = begin_op(writer, seat_number, kind | flag(slot, SCRIPT_SHARED));

    if (!seat)
        return;
    if (kind == SCRIPT_ALIGNED)
        put(seat, align_log2);
    put(seat, size_bytes);
    put_slot(seat, slot);
}

void script_put_realloc(struct script_writer *writer, uint32_t seat_number, uint64_t size_bytes,
                        uint64_t new_bytes, const struct script_slot *old,
                        const struct script_slot *slot)
{
    unsigned flags = flag(old, SCRIPT_OLD_SHARED) | flag(slot, SCRIPT_SHARED);
    struct seat *seat = begin_op(writer, seat_number, SCRIPT_REALLOC | flags);

    if (!seat)
        return;
    put(seat, size_bytes);
    put(seat, new_bytes);
    put_slot(seat, old);
    put_slot(seat, slot);
}

void script_put_free(struct script_writer *writer, uint32_t seat_number,
                     const struct script_slot *slot)
{
    struct seat *seat = begin_op(writer, seat_number, SCRIPT_FREE | flag(slot, SCRIPT_SHARED));

    if (seat)
        put_slot(seat, slot);
}

void script_put_control(struct script_writer *writer, uint32_t seat_number, enum script_kind kind,
                        uint32_t number)
{
    struct seat *spawned = kind == SCRIPT_SPAWN ? seat_of(writer, number) : NULL;
    uint32_t lane = spawned ? ++spawned->spawned : 0;
    struct seat *seat = begin_op(writer, seat_number, kind); /* may move seats */

    if (!seat)
        return;
    if (kind == SCRIPT_END)
        seat->facts.lanes++;
    else
        put(seat, number);
    if (kind == SCRIPT_SPAWN)
        put(seat, lane);
}

void script_count_private(struct script_writer *writer, uint32_t seat_number, uint32_t slots)
{
    struct seat *seat = seat_of(writer, seat_number);

    if (seat)
        seat->facts.private_slots = slots;
}

/* ---- The end ------------------------------------------------------------------------------- */

static void write_seats(struct script_writer *writer)
{
    for (uint32_t i = 0; i < writer->seat_count; i++) {
        if (writer->seats[i].chunk)
            end_chunk(writer, &writer->seats[i], 0);
        write_at(writer, &writer->seats[i].facts, sizeof writer->seats[i].facts, writer->bytes);
        writer->bytes += sizeof writer->seats[i].facts;
    }
}

int script_writer_finish(struct script_writer *writer, struct script_header *header,
                         const uint32_t *epochs)
{
    header->magic = SCRIPT_MAGIC;
    header->seat_count = writer->seat_count;
    header->seats_offset = writer->bytes;
    write_seats(writer);
    header->epochs_offset = epochs ? writer->bytes : 0;
    if (epochs) {
        write_at(writer, epochs, header->epoch_count * sizeof *epochs, writer->bytes);
        writer->bytes += header->epoch_count * sizeof *epochs;
    }
    write_at(writer, header, sizeof *header, 0);
    return writer->error;
}
