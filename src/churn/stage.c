/* See stage.h. */
#include "churn/stage.h"

#include <errno.h>
#include <sys/mman.h>
#include "churn/measure.h"

void *stage_map(struct churn_result *result, uint64_t bytes)
{
    void *memory = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    if (memory == MAP_FAILED)
        measure_fail(result, "no memory for the stream itself", errno);
    return memory;
}

/* Of a stack only what is used needs to be resident. */
static void *map_stack(struct churn_result *result)
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

static void set_seat(struct stage *stage, int script, uint64_t file_bytes, uint32_t number)
{
    struct seat *seat = &stage->seats[number];
    struct script_seat facts;
    int error = script_read_seat(script, &stage->header, file_bytes, number, &facts);

    if (error)
        measure_fail(stage->result, "the script of a thread cannot be read", error);
    seat->stage = stage;
    seat->number = number;
    seat->slots = stage_map(stage->result, (uint64_t)facts.private_slots * sizeof *seat->slots);
    if (number)
        seat->stack = map_stack(stage->result);
    script_cursor_begin(&seat->cursor, script, file_bytes, &stage->header, number, &facts,
                        stage_map(stage->result, facts.largest_chunk));
}

void stage_set(struct stage *stage, int script, struct churn_result *result)
{
    uint64_t file_bytes;
    int error = script_read_header(script, &stage->header, &file_bytes);

    stage->result = result;
    if (error || stage->header.seat_count != result->seat_count)
        measure_fail(result, "the script cannot be read", error ? error : EBADMSG);
    stage->shared = stage_map(result, stage->header.shared_slots * sizeof *stage->shared);
    stage->seats = stage_map(result, stage->header.seat_count * sizeof *stage->seats);
    if (stage->header.epochs_offset) {
        uint32_t *epochs = stage_map(result, stage->header.epoch_count * sizeof *epochs);
        error = script_read_epochs(script, &stage->header, epochs);
        if (error)
            measure_fail(result, "the script's epochs cannot be read", error);
        stage->epochs = (_Atomic uint32_t *)epochs;
    }
    for (uint32_t i = 0; i < stage->header.seat_count; i++)
        set_seat(stage, script, file_bytes, i);
}
