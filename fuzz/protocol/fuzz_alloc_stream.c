/* Any bytes as an allocation stream: what the driver reads before it runs it. Whatever comes out of
 * the reader lies within the limits that the header sets. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "alloc_stream/stream_reader.h"
#include "fuzz.h"

enum { SEATS = 64, OPS = 128, EPOCHS = 1 << 16 };

static void check_op(const struct stream_op *op, const struct stream_header *header,
                     const struct stream_seat *seat)
{
    uint32_t limit = op->flags & STREAM_SHARED ? header->shared_slots : seat->private_slots;
    uint32_t old_limit = op->flags & STREAM_OLD_SHARED ? header->shared_slots : seat->private_slots;

    must(op->kind < STREAM_KINDS);
    if (op->kind != STREAM_END && op->kind < STREAM_CALLS)
        must(op->slot < limit && op->turn < STREAM_MAX_TURN);
    if (op->kind == STREAM_REALLOC)
        must(op->old_slot < old_limit && op->new_bytes <= op->size_bytes);
    if (op->kind == STREAM_SPAWN || op->kind == STREAM_RELEASE)
        must(op->number < header->seat_count);
    if (op->kind == STREAM_EPOCH)
        must(op->number < header->epoch_count);
    if (op->kind == STREAM_SAMPLE)
        must(op->number < STREAM_READINGS);
    must(op->align_log2 <= STREAM_MAX_ALIGN_LOG2);
}

static void read_seat(int fd, const struct stream_header *header, uint64_t file_bytes,
                      uint32_t number)
{
    struct stream_cursor cursor;
    struct stream_seat seat;
    struct stream_op ops[OPS];
    unsigned char *buffer;
    int count;

    if (stream_read_seat(fd, header, file_bytes, number, &seat))
        return;
    buffer = malloc(seat.largest_chunk ? seat.largest_chunk : 1);
    stream_cursor_begin(&cursor, fd, file_bytes, header, number, &seat, buffer);
    while ((count = stream_decode(&cursor, ops, OPS)) > 0)
        for (int i = 0; i < count; i++)
            check_op(&ops[i], header, &seat);
    free(buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("stream", MFD_CLOEXEC);
    struct stream_header header;
    uint64_t file_bytes;

    must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    if (stream_read_header(fd, &header, &file_bytes) == 0) {
        for (uint32_t i = 0; i < header.seat_count && i < SEATS; i++)
            read_seat(fd, &header, file_bytes, i);
        if (header.epochs_offset && header.epoch_count <= EPOCHS) {
            uint32_t *epochs = malloc((header.epoch_count + 1) * sizeof *epochs);
            stream_read_epochs(fd, &header, epochs);
            free(epochs);
        }
    }
    close(fd);
    return 0;
}
