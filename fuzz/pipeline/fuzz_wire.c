/* Any bytes as what a program does to the memory that it shares with the collector: it grows it,
 * records, logs modules and names, and scribbles over all of it. What must hold whatever it did: no
 * crash, no endless loop, and the sums add up.
 *
 * The input is a list of strokes: a byte that says which, and what it needs. The collector's own
 * mutex in the header is left alone: glibc keeps a list through it. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "collector/ring_merge.h"
#include "collector/shared_view.h"
#include "replay/replay.h"
#include "fuzz.h"
#include "input.h"

enum { CHUNKS = 12, RING = WIRE_MIN_RING_BYTES, PASSES = 16 };

/* ---- The program ---- */

struct program {
    struct view view;
    char *chunk[CHUNKS]; /* its own mappings of the same memory */
    struct ring_merge *merge;
    struct replay *replay;
    size_t module_cursor;
    uint32_t next_name, passes;
};

static struct wire_header *header_of(const struct program *program)
{
    return (struct wire_header *)program->chunk[0];
}

static void add_chunk(struct program *program, struct input *input)
{
    struct wire_header *header = header_of(program);
    uint32_t index = atomic_load(&header->chunk_count);
    uint8_t kind = (uint8_t)(take(input, 1) % 8);
    if (index < WIRE_MAX_CHUNKS)
        atomic_store(&header->chunk_kind[index], kind);
    atomic_store(&header->chunk_count, index + 1);
}

static void set_count(struct program *program, struct input *input)
{
    struct wire_header *header = header_of(program);
    _Atomic uint32_t *const counts[] = {&header->chunk_count, &header->ring_count,
                                        &header->node_count, &header->name_count};
    unsigned which = (unsigned)take(input, 1);
    atomic_store(counts[which % 4], (uint32_t)take(input, which & 4 ? 4 : 1));
}

/* Bytes anywhere. */
static void scribble(struct program *program, struct input *input)
{
    char *chunk = program->chunk[take(input, 1) % CHUNKS];
    size_t offset = take(input, 3) % WIRE_CHUNK_BYTES, count = take(input, 1);
    for (; count-- && offset < WIRE_CHUNK_BYTES && input->at < input->end; offset++)
        chunk[offset] = (char)take(input, 1);
}

static struct wire_ring *choose_ring(struct program *program, struct input *input, char **data)
{
    uint32_t count = shared_view_ring_count(&program->view), index = (uint32_t)take(input, 1);
    if (!count)
        return NULL;
    *data = shared_view_ring_data(&program->view, index % count);
    return shared_view_ring(&program->view, index % count);
}

/* Records as the recorder writes them, though what they say may be anything. */
static void record(struct program *program, struct input *input)
{
    char *data;
    struct wire_ring *ring = choose_ring(program, input, &data);
    uint64_t kind = take(input, 1), address = take(input, 2), count = take(input, 1) % 8 + 1;
    uint64_t size = take(input, 2), node = take(input, 1);
    for (; ring && count--; address += 16) {
        uint64_t head = atomic_load(&ring->head);
        struct wire_record *to = (void *)(data + (head & (RING - 16)));
        to->ticks = atomic_load(&ring->last_ticks) + 1;
        if (kind & WIRE_LONG) {
            to->size_bytes = size;
            to->detail = wire_detail((uint32_t)node, node, 4);
        }
        to->kind_address = kind << 56 | address;
        atomic_store(&ring->head, head + wire_record_bytes(to->kind_address));
        atomic_store(&ring->last_ticks, to->ticks);
    }
}

static void set_ring(struct program *program, struct input *input)
{
    char *data;
    struct wire_ring *ring = choose_ring(program, input, &data);
    unsigned field = (unsigned)take(input, 1);
    uint64_t value = take(input, field & 8 ? 8 : 2);
    if (!ring)
        return;
    switch (field % 8) {
    case 0:
        atomic_store(&ring->head, value);
        break;
    case 1:
        atomic_store(&ring->last_ticks, value);
        break;
    case 2:
        atomic_store(&ring->busy, (uint32_t)value);
        break;
    case 3:
        atomic_store(&ring->state, (uint32_t)value);
        break;
    case 4:
        atomic_store(&ring->tid, (uint32_t)value);
        break;
    case 5:
        atomic_store(&ring->waits, (uint32_t)value);
        break;
    case 6:
        atomic_store(&ring->deepest_bytes, value);
        break;
    default:
        atomic_store(&ring->tail, value);
    }
}

/* ---- The collector ---- */

static void visit_module(void *context, const struct wire_module *module)
{
    (void)context;
    must(module->start < module->end && module->build_id_bytes <= sizeof module->build_id);
    must(strlen(module->path) < module->entry_bytes);
}

static void visit_name(void *context, uint32_t number, const char *name)
{
    struct program *program = context;
    must(strlen(name) < WIRE_NAME_BYTES);
    replay_name(program->replay, number, name);
}

static void collect(struct program *program, bool final)
{
    struct view *view = &program->view;
    if (!final && program->passes++ >= PASSES)
        return;
    shared_view_refresh(view);
    shared_view_modules(view, &program->module_cursor, visit_module, program);
    shared_view_names(view, &program->next_name, visit_name, program);
    ring_merge_pass(program->merge, final);
    ring_merge_tell_stacks(program->merge);
    uint64_t waits, wait_ticks;
    ring_merge_tell_waits(program->merge, &waits, &wait_ticks);
    ring_merge_untold_events(program->merge);
    struct origins origins = shared_view_origins(view);
    for (uint32_t i = 0, count = origins.node_count(origins.context); i < count && i < 1000; i++)
        origins.node(origins.context, i);
    shared_view_touched_bytes(view);
}

static void check(const struct program *program)
{
    struct program_metrics all;
    replay_program(program->replay, &all);
    must(figure_equal(all.total.at_peak_bytes, all.total.peak_bytes));
    must(!figure_less(all.total.peak_bytes, all.total.live_bytes));
    must(!figure_less(all.live_peak_count, all.total.live_count));
}

static void play(struct program *program, struct input *input)
{
    static void (*const strokes[])(struct program *, struct input *) = {add_chunk, set_count,
                                                                        scribble, record, set_ring};
    while (input->at < input->end) {
        unsigned which = (unsigned)take(input, 1) % 6;
        if (which < 5)
            strokes[which](program, input);
        else
            collect(program, false);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_header options = {.ring_bytes = RING, .chunk_limit = CHUNKS};
    struct program program = {.next_name = 1};
    struct input input = {data, data + size};
    if (shared_view_open(&program.view, &options))
        return 0;
    for (int i = 0; i < CHUNKS; i++) {
        program.chunk[i] = mmap(NULL, WIRE_CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
                                program.view.fd, (off_t)i * WIRE_CHUNK_BYTES);
        must(program.chunk[i] != MAP_FAILED);
    }
    program.replay = replay_new(1000, 1.0);
    struct event_sink sink = {.replay = program.replay};
    program.merge = ring_merge_new(&program.view, &sink);
    must(program.replay && program.merge);
    play(&program, &input);
    collect(&program, true);
    check(&program);
    ring_merge_free(program.merge);
    replay_free(program.replay);
    shared_view_close(&program.view);
    for (int i = 0; i < CHUNKS; i++)
        munmap(program.chunk[i], WIRE_CHUNK_BYTES);
    return 0;
}
