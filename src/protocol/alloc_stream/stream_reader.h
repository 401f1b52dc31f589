/* Reads an allocation stream (stream_format.h), a seat at a time, and checks every number in it.
 * Uses no memory but the caller's, because the only allocator in the driver's process is the one
 * that is measured. */
#ifndef TIDEMARK_ALLOC_STREAM_STREAM_READER_H
#define TIDEMARK_ALLOC_STREAM_STREAM_READER_H

#include <stddef.h>
#include <stdint.h>
#include "alloc_stream/stream_format.h"

/* Reads and checks the header: seats and epochs lie in the file. 0, -EBADMSG, or -errno. The others
 * return the same. */
int stream_read_header(int fd, struct stream_header *header, uint64_t *file_bytes);
int stream_read_seat(int fd, const struct stream_header *header, uint64_t file_bytes,
                     uint32_t number, struct stream_seat *seat);
int stream_read_epochs(int fd, const struct stream_header *header, uint32_t *epochs);

struct stream_op {
    uint8_t kind; /* enum stream_kind */
    uint8_t flags, align_log2;
    uint32_t slot, old_slot;
    uint32_t turn, old_turn;
    uint32_t number; /* of a seat, an epoch or a sample; of SPAWN the turn is the lane's number */
    uint64_t size_bytes, new_bytes;
};

struct stream_limits {
    uint32_t seat, seat_count, private_slots, shared_slots, epoch_count;
};

struct stream_cursor {
    int fd;
    uint64_t file_bytes, next; /* next: the offset of the next chunk; 0: there is none */
    struct stream_limits limits;
    unsigned char *buffer;
    size_t room;
    const unsigned char *at, *end;
};

/* `buffer` has room for seat->largest_chunk bytes. */
void stream_cursor_begin(struct stream_cursor *cursor, int fd, uint64_t file_bytes,
                         const struct stream_header *header, uint32_t number,
                         const struct stream_seat *seat, void *buffer);

/* Decodes at most `room` operations and returns their number. An operation that is no call of the
 * allocator is the last one. All numbers of slots, seats and so on are within the limits. 0: no
 * operations are left; -EBADMSG, or -errno. */
int stream_decode(struct stream_cursor *cursor, struct stream_op *ops, int room);

#endif
