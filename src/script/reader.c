/* See reader.h. */
#include "script/reader.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_at(int fd, void *bytes, size_t count, uint64_t offset)
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

static bool lies_in(uint64_t offset, uint64_t bytes, uint64_t file_bytes)
{
    return offset <= file_bytes && bytes <= file_bytes - offset;
}

int script_read_header(int fd, struct script_header *header, uint64_t *file_bytes)
{
    struct stat facts;
    int error;

    if (fstat(fd, &facts) < 0)
        return -errno;
    *file_bytes = (uint64_t)facts.st_size;
    error = read_at(fd, header, sizeof *header, 0);
    if (error)
        return error;
    if (header->magic != SCRIPT_MAGIC || !header->seat_count ||
        header->seat_count > SCRIPT_MAX_SEATS ||
        !lies_in(header->seats_offset, header->seat_count * sizeof(struct script_seat),
                 *file_bytes))
        return -EBADMSG;
    if (header->epochs_offset && !lies_in(header->epochs_offset,
                                          header->epoch_count * sizeof(uint32_t), *file_bytes))
        return -EBADMSG;
    return 0;
}

int script_read_seat(int fd, const struct script_header *header, uint64_t file_bytes,
                     uint32_t number, struct script_seat *seat)
{
    int error = read_at(fd, seat, sizeof *seat, header->seats_offset + number * sizeof *seat);

    if (error)
        return error;
    if (seat->largest_chunk > SCRIPT_CHUNK_BYTES ||
        !lies_in(seat->first_chunk, seat->largest_chunk, file_bytes))
        return -EBADMSG;
    return 0;
}

int script_read_epochs(int fd, const struct script_header *header, uint32_t *epochs)
{
    return read_at(fd, epochs, header->epoch_count * sizeof *epochs, header->epochs_offset);
}

void script_cursor_begin(struct script_cursor *cursor, int fd, uint64_t file_bytes,
                         const struct script_header *header, uint32_t number,
                         const struct script_seat *seat, void *buffer)
{
    *cursor = (struct script_cursor){
        .fd = fd,
        .file_bytes = file_bytes,
        .next = seat->first_chunk,
        .limits = {number, header->seat_count, seat->private_slots, header->shared_slots,
                   header->epoch_count},
        .buffer = buffer,
        .room = seat->largest_chunk,
    };
}

/* 1: there is one; 0: there is none. Chunks come in the order of the file, so it ends. */
static int next_chunk(struct script_cursor *cursor)
{
    struct script_chunk head;
    uint64_t offset = cursor->next;
    int error;

    if (!offset)
        return 0;
    error = read_at(cursor->fd, &head, sizeof head, offset);
    if (error)
        return error;
    if (head.seat != cursor->limits.seat || cursor->room < sizeof head ||
        head.bytes > cursor->room - sizeof head || (head.next && head.next <= offset))
        return -EBADMSG;
    error = read_at(cursor->fd, cursor->buffer, head.bytes, offset + sizeof head);
    if (error)
        return error;
    cursor->at = cursor->buffer;
    cursor->end = cursor->buffer + head.bytes;
    cursor->next = head.next;
    return 1;
}

/* ---- Operations ---------------------------------------------------------------------------- */

static inline uint64_t get(struct script_cursor *cursor, bool *sound)
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

static inline uint32_t get_below(struct script_cursor *cursor, uint64_t limit, bool *sound)
{
    uint64_t number = get(cursor, sound);

    if (number < limit)
        return (uint32_t)number;
    *sound = false;
    return 0;
}

static inline uint32_t get_slot(struct script_cursor *cursor, bool shared, uint32_t *turn,
                                bool *sound)
{
    const struct script_limits *limits = &cursor->limits;
    uint32_t slot =
        get_below(cursor, shared ? limits->shared_slots : limits->private_slots, sound);

    if (shared)
        *turn = get_below(cursor, SCRIPT_MAX_TURN, sound);
    return slot;
}

static inline void get_call(struct script_cursor *cursor, struct script_op *op, bool *sound)
{
    if (op->kind == SCRIPT_ALIGNED)
        op->align_log2 = (uint8_t)get_below(cursor, SCRIPT_MAX_ALIGN_LOG2 + 1, sound);
    if (op->kind != SCRIPT_FREE)
        op->size_bytes = get(cursor, sound);
    if (op->kind == SCRIPT_REALLOC) {
        op->new_bytes = get(cursor, sound);
        if (op->new_bytes > op->size_bytes)
            *sound = false;
        op->old_slot =
            get_slot(cursor, op->flags & SCRIPT_OLD_SHARED, &op->old_turn, sound);
    } else {
        op->new_bytes = op->size_bytes;
    }
    op->slot = get_slot(cursor, op->flags & SCRIPT_SHARED, &op->turn, sound);
}

static uint64_t control_limit(const struct script_limits *limits, unsigned kind)
{
    return kind == SCRIPT_EPOCH ? limits->epoch_count
           : kind == SCRIPT_SAMPLE ? SCRIPT_READINGS
                                   : limits->seat_count;
}

static inline bool get_op(struct script_cursor *cursor, struct script_op *op)
{
    unsigned byte = *cursor->at++;
    bool sound = true;

    *op = (struct script_op){.kind = byte & SCRIPT_KIND_MASK,
                             .flags = (uint8_t)(byte & ~SCRIPT_KIND_MASK)};
    if (op->kind >= SCRIPT_KINDS)
        return false;
    if (op->kind != SCRIPT_END && op->kind < SCRIPT_CALLS)
        get_call(cursor, op, &sound);
    else if (op->kind != SCRIPT_END)
        op->number = get_below(cursor, control_limit(&cursor->limits, op->kind), &sound);
    if (op->kind == SCRIPT_SPAWN)
        op->turn = get_below(cursor, SCRIPT_MAX_TURN, &sound);
    return sound;
}

int script_decode(struct script_cursor *cursor, struct script_op *ops, int room)
{
    int count = 0;

    while (cursor->at == cursor->end) {
        int more = next_chunk(cursor);
        if (more <= 0)
            return more;
    }
    while (count < room && cursor->at < cursor->end) {
        struct script_op *op = &ops[count++];
        if (!get_op(cursor, op))
            return -EBADMSG;
        if (op->kind == SCRIPT_END || op->kind >= SCRIPT_CALLS)
            break;
    }
    return count;
}
