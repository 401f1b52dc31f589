/* Reads and decodes the allocation stream (stream_reader.h). Chunks of a seat are linked by offsets
 * and read by pread into one buffer. Each operation is a byte of kind and flags followed by
 * varints. Every number is compared with the header's limits before it is used. */
#include "alloc_stream/stream_reader.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int stream_read_at(int fd, void *bytes, size_t count, uint64_t offset)
{
    char *at = bytes;

    while (count) {
        ssize_t got = pread(fd, at, count, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got ? -errno : -EBADMSG;
        at += got;
        count -= (size_t)got;
        offset += (uint64_t)got;
    }
    return 0;
}

static bool stream_lies_in(uint64_t offset, uint64_t bytes, uint64_t file_bytes)
{
    return offset <= file_bytes && bytes <= file_bytes - offset;
}

int stream_read_header(int fd, struct stream_header *header, uint64_t *file_bytes)
{
    struct stat facts;
    int error;

    if (fstat(fd, &facts) < 0)
        return -errno;
    *file_bytes = (uint64_t)facts.st_size;
    error = stream_read_at(fd, header, sizeof *header, 0);
    if (error)
        return error;
    if (header->magic != STREAM_MAGIC || !header->seat_count ||
        header->seat_count > STREAM_MAX_SEATS ||
        !stream_lies_in(header->seats_offset, header->seat_count * sizeof(struct stream_seat),
                        *file_bytes))
        return -EBADMSG;
    if (header->epochs_offset &&
        !stream_lies_in(header->epochs_offset, header->epoch_count * sizeof(uint32_t), *file_bytes))
        return -EBADMSG;
    return 0;
}

int stream_read_seat(int fd, const struct stream_header *header, uint64_t file_bytes,
                     uint32_t number, struct stream_seat *seat)
{
    int error =
        stream_read_at(fd, seat, sizeof *seat, header->seats_offset + number * sizeof *seat);

    if (error)
        return error;
    if (seat->largest_chunk > STREAM_CHUNK_BYTES ||
        !stream_lies_in(seat->first_chunk, seat->largest_chunk, file_bytes))
        return -EBADMSG;
    return 0;
}

int stream_read_epochs(int fd, const struct stream_header *header, uint32_t *epochs)
{
    return stream_read_at(fd, epochs, header->epoch_count * sizeof *epochs, header->epochs_offset);
}

void stream_cursor_begin(struct stream_cursor *cursor, int fd, uint64_t file_bytes,
                         const struct stream_header *header, uint32_t number,
                         const struct stream_seat *seat, void *buffer)
{
    *cursor = (struct stream_cursor){
        .fd = fd,
        .file_bytes = file_bytes,
        .next = seat->first_chunk,
        .limits = {number, header->seat_count, seat->private_slots, header->shared_slots,
                   header->epoch_count},
        .buffer = buffer,
        .room = seat->largest_chunk,
    };
}

/* Reads the next chunk of the seat. 1: it was read; 0: there is none; or -errno. Offsets of chunks
 * have to rise, so that a damaged file cannot make an endless loop. */
static int stream_next_chunk(struct stream_cursor *cursor)
{
    struct stream_chunk head;
    uint64_t offset = cursor->next;
    int error;

    if (!offset)
        return 0;
    error = stream_read_at(cursor->fd, &head, sizeof head, offset);
    if (error)
        return error;
    if (head.seat != cursor->limits.seat || cursor->room < sizeof head ||
        head.bytes > cursor->room - sizeof head || (head.next && head.next <= offset))
        return -EBADMSG;
    error = stream_read_at(cursor->fd, cursor->buffer, head.bytes, offset + sizeof head);
    if (error)
        return error;
    cursor->at = cursor->buffer;
    cursor->end = cursor->buffer + head.bytes;
    cursor->next = head.next;
    return 1;
}

/* ---- Operations ---------------------------------------------------------------------------- */

static inline uint64_t stream_get(struct stream_cursor *cursor, bool *sound)
{
    uint64_t number = 0;

    for (unsigned shift = 0; shift < 64 && cursor->at < cursor->end; shift += 7) {
        unsigned byte = *cursor->at++;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return number;
    }
    *sound = false;
    return 0;
}

static inline uint32_t stream_get_below(struct stream_cursor *cursor, uint64_t limit, bool *sound)
{
    uint64_t number = stream_get(cursor, sound);

    if (number < limit)
        return (uint32_t)number;
    *sound = false;
    return 0;
}

static inline uint32_t stream_get_slot(struct stream_cursor *cursor, bool shared, uint32_t *turn,
                                       bool *sound)
{
    const struct stream_limits *limits = &cursor->limits;
    uint32_t slot =
        stream_get_below(cursor, shared ? limits->shared_slots : limits->private_slots, sound);

    if (shared)
        *turn = stream_get_below(cursor, STREAM_MAX_TURN, sound);
    return slot;
}

static inline void stream_get_call(struct stream_cursor *cursor, struct stream_op *op, bool *sound)
{
    if (op->kind == STREAM_ALIGNED)
        op->align_log2 = (uint8_t)stream_get_below(cursor, STREAM_MAX_ALIGN_LOG2 + 1, sound);
    if (op->kind != STREAM_FREE)
        op->size_bytes = stream_get(cursor, sound);
    if (op->kind == STREAM_REALLOC) {
        op->new_bytes = stream_get(cursor, sound);
        if (op->new_bytes > op->size_bytes)
            *sound = false;
        op->old_slot = stream_get_slot(cursor, op->flags & STREAM_OLD_SHARED, &op->old_turn, sound);
    } else {
        op->new_bytes = op->size_bytes;
    }
    op->slot = stream_get_slot(cursor, op->flags & STREAM_SHARED, &op->turn, sound);
}

static uint64_t stream_control_limit(const struct stream_limits *limits, unsigned kind)
{
    return kind == STREAM_EPOCH    ? limits->epoch_count
           : kind == STREAM_SAMPLE ? STREAM_READINGS
                                   : limits->seat_count;
}

static inline bool stream_get_op(struct stream_cursor *cursor, struct stream_op *op)
{
    unsigned byte = *cursor->at++;
    bool sound = true;

    *op = (struct stream_op){.kind = byte & STREAM_KIND_MASK,
                             .flags = (uint8_t)(byte & ~STREAM_KIND_MASK)};
    if (op->kind >= STREAM_KINDS)
        return false;
    if (op->kind != STREAM_END && op->kind < STREAM_CALLS)
        stream_get_call(cursor, op, &sound);
    else if (op->kind != STREAM_END)
        op->number =
            stream_get_below(cursor, stream_control_limit(&cursor->limits, op->kind), &sound);
    if (op->kind == STREAM_SPAWN)
        op->turn = stream_get_below(cursor, STREAM_MAX_TURN, &sound);
    return sound;
}

int stream_decode(struct stream_cursor *cursor, struct stream_op *ops, int room)
{
    int count = 0;

    while (cursor->at == cursor->end) {
        int more = stream_next_chunk(cursor);
        if (more <= 0)
            return more;
    }
    while (count < room && cursor->at < cursor->end) {
        struct stream_op *op = &ops[count++];
        if (!stream_get_op(cursor, op))
            return -EBADMSG;
        if (op->kind == STREAM_END || op->kind >= STREAM_CALLS)
            break;
    }
    return count;
}
