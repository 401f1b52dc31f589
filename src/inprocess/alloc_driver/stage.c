/* Maps all memory of the driver before the stream begins (stage.h). Tables are made resident by
 * MAP_POPULATE, of each stack only the topmost pages by writing to them. */
#include "alloc_driver/stage.h"

#include <errno.h>
#include <sys/mman.h>
#include "alloc_driver/self_measure.h"

void *stage_map(struct driver_result *result, uint64_t bytes)
{
    void *memory = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    if (memory == MAP_FAILED)
        measure_fail(result, "no memory for the stream itself", errno);
    return memory;
}

/* Maps a stack, of which only the used pages need to be resident. */
static void *stage_map_stack(struct driver_result *result)
{
    char *stack = mmap(NULL, STAGE_STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

    if (stack == MAP_FAILED)
        measure_fail(result, "no memory for a thread's stack", errno);
    madvise(stack, STAGE_STACK_BYTES, MADV_NOHUGEPAGE);
    for (size_t at = STAGE_STACK_BYTES - STAGE_STACK_TOUCHED; at < STAGE_STACK_BYTES; at += 4096)
        *(volatile char *)(stack + at) = 0;
    return stack;
}

static void stage_set_seat(struct stage *stage, int stream_fd, uint64_t file_bytes, uint32_t number)
{
    struct seat *seat = &stage->seats[number];
    struct stream_seat facts;
    int error = stream_read_seat(stream_fd, &stage->header, file_bytes, number, &facts);

    if (error)
        measure_fail(stage->result, "the stream of a thread cannot be read", error);
    seat->stage = stage;
    seat->number = number;
    seat->slots = stage_map(stage->result, (uint64_t)facts.private_slots * sizeof *seat->slots);
    if (number)
        seat->stack = stage_map_stack(stage->result);
    stream_cursor_begin(&seat->cursor, stream_fd, file_bytes, &stage->header, number, &facts,
                        stage_map(stage->result, facts.largest_chunk));
}

void stage_set(struct stage *stage, int stream_fd, struct driver_result *result)
{
    uint64_t file_bytes;
    int error = stream_read_header(stream_fd, &stage->header, &file_bytes);

    stage->result = result;
    if (error || stage->header.seat_count != result->seat_count)
        measure_fail(result, "the stream cannot be read", error ? error : EBADMSG);
    stage->shared = stage_map(result, stage->header.shared_slots * sizeof *stage->shared);
    stage->seats = stage_map(result, stage->header.seat_count * sizeof *stage->seats);
    if (stage->header.epochs_offset) {
        uint32_t *epochs = stage_map(result, stage->header.epoch_count * sizeof *epochs);
        error = stream_read_epochs(stream_fd, &stage->header, epochs);
        if (error)
            measure_fail(result, "the stream's epochs cannot be read", error);
        stage->epochs = (_Atomic uint32_t *)epochs;
    }
    for (uint32_t i = 0; i < stage->header.seat_count; i++)
        stage_set_seat(stage, stream_fd, file_bytes, i);
}
