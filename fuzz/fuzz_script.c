/* Any bytes as a script: what churn reads before it runs it. Whatever comes out of the reader lies
 * within the limits that the header sets. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "script/reader.h"
#include "fuzz.h"

enum { SEATS = 64, OPS = 128, EPOCHS = 1 << 16 };

static void check_op(const struct script_op *op, const struct script_header *header,
                     const struct script_seat *seat)
{
    uint32_t limit = op->flags & SCRIPT_SHARED ? header->shared_slots : seat->private_slots;
    uint32_t old_limit = op->flags & SCRIPT_OLD_SHARED ? header->shared_slots : seat->private_slots;

    must(op->kind < SCRIPT_KINDS);
    if (op->kind != SCRIPT_END && op->kind < SCRIPT_CALLS)
        must(op->slot < limit && op->turn < SCRIPT_MAX_TURN);
    if (op->kind == SCRIPT_REALLOC)
        must(op->old_slot < old_limit && op->new_bytes <= op->size_bytes);
    if (op->kind == SCRIPT_SPAWN || op->kind == SCRIPT_RELEASE)
        must(op->number < header->seat_count);
    if (op->kind == SCRIPT_EPOCH)
        must(op->number < header->epoch_count);
    if (op->kind == SCRIPT_SAMPLE)
        must(op->number < SCRIPT_READINGS);
    must(op->align_log2 <= SCRIPT_MAX_ALIGN_LOG2);
}

static void read_seat(int fd, const struct script_header *header, uint64_t file_bytes,
                      uint32_t number)
{
    struct script_cursor cursor;
    struct script_seat seat;
    struct script_op ops[OPS];
    unsigned char *buffer;
    int count;

    if (script_read_seat(fd, header, file_bytes, number, &seat))
        return;
    buffer = malloc(seat.largest_chunk ? seat.largest_chunk : 1);
    script_cursor_begin(&cursor, fd, file_bytes, header, number, &seat, buffer);
    while ((count = script_decode(&cursor, ops, OPS)) > 0)
        for (int i = 0; i < count; i++)
            check_op(&ops[i], header, &seat);
    free(buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("script", MFD_CLOEXEC);
    struct script_header header;
    uint64_t file_bytes;

    must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    if (script_read_header(fd, &header, &file_bytes) == 0) {
        for (uint32_t i = 0; i < header.seat_count && i < SEATS; i++)
            read_seat(fd, &header, file_bytes, i);
        if (header.epochs_offset && header.epoch_count <= EPOCHS) {
            uint32_t *epochs = malloc((header.epoch_count + 1) * sizeof *epochs);
            script_read_epochs(fd, &header, epochs);
            free(epochs);
        }
    }
    close(fd);
    return 0;
}
