/* Any bytes as a trace; or, if they begin with "N", as the body of a block of nodes; else as the
 * body of a block of events, of each version. Behind the N, or first, two bytes say how many.
 * Records and nodes that decode must come back from an encoder. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "trace/byte_columns.h"
#include "trace/decoder.h"
#include "trace/encoder.h"
#include "trace/node_columns.h"
#include "trace/trace.h"
#include "fuzz.h"

static void read_blocks(const struct trace *trace)
{
    struct trace_events events = {0};
    struct trace_net_delta *deltas;
    size_t count;

    for (size_t i = 0; i < trace_block_count(trace); i++) {
        trace_events(trace, i, &events);
        if (trace_block_net_deltas(trace, i, &deltas, &count) == 0)
            free(deltas);
    }
    trace_events_release(&events);
}

/* Whatever the file holds, a moment of it is found in bounded time and memory. */
static void read_states(const struct trace *trace)
{
    struct trace_state state;

    for (size_t i = 0; i < trace_block_count(trace) && i < 8; i++) {
        const struct trace_block *block = trace_block(trace, i);
        if (trace_state_at(trace, TRACE_AT_EVENT, block->first_event + block->events / 2, &state) ==
            0)
            trace_state_release(&state);
        if (trace_state_at(trace, TRACE_AT_TICKS, block->max_ticks, &state) == 0)
            trace_state_release(&state);
    }
    if (trace_state_at(trace, TRACE_AT_PEAK, 0, &state) == 0)
        trace_state_release(&state);
}

static void read_trace(const char *path)
{
    struct trace_module *modules;
    void *supplement;
    struct trace_node *nodes;
    struct trace *trace;
    size_t count;

    if (trace_open(&trace, path))
        return;
    read_blocks(trace);
    read_states(trace);
    if (trace_nodes(trace, SIZE_MAX, &nodes, &count) == 0)
        free(nodes);
    if (trace_supplement(trace, &supplement, &count) == 0)
        free(supplement);
    if (trace_modules(trace, SIZE_MAX, &modules, &count) == 0)
        free(modules);
    trace_close(trace);
}

static void read_file(const uint8_t *data, size_t size)
{
    int fd = memfd_create("trace", 0);
    char path[64];

    must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    read_trace(path);
    close(fd);
}

static void encode(struct encoder *encoder, const struct decoder *decoded)
{
    const unsigned char *at = decoded->records;
    size_t note = 0;

    for (size_t i = 0; i <= decoded->run_count; i++) {
        for (; note < decoded->note_count && decoded->notes[note].before_run == i; note++)
            encoder_note(encoder, &decoded->notes[note].note);
        if (i == decoded->run_count)
            break;
        /* The writer's table of streams grows with their numbers. */
        must(encoder_add(encoder, decoded->runs[i].thread % 64, at, decoded->runs[i].bytes) ==
             decoded->runs[i].bytes);
        at += decoded->runs[i].bytes;
    }
    encoder_end_block(encoder);
}

static void check_round_trip(const struct decoder *decoded, uint32_t events)
{
    struct encoder *encoder = malloc(sizeof *encoder);
    struct packer packer;
    struct decoder again = {0};

    must(encoder_init(encoder, 0, 0) == 0 && packer_init(&packer, PACK_STORED, 0) == 0);
    encode(encoder, decoded);
    if (encoder->events == events) { /* else two pieces of a record have come together as one */
        must(packer_pack(&packer, encoder->columns, COLUMNS, 0, 0) == 0);
        must(decoder_decode(&again, FORMAT_VERSION, packer.out.data, packer.out.count, events) ==
             0);
        must(again.bytes == decoded->bytes && again.note_count == decoded->note_count);
        must(memcmp(again.records, decoded->records, again.bytes) == 0);
    }
    decoder_release(&again);
    packer_release(&packer);
    encoder_release(encoder);
    free(encoder);
}

static void check_nodes(const struct trace_node *nodes, uint32_t count)
{
    struct node_columns_encoder *encoder = malloc(sizeof *encoder);
    struct node_columns_model *model = node_columns_model_new();
    struct trace_node *again = malloc((count + 1) * sizeof *again);
    struct byte_source columns[NODES_COLUMNS];

    must(node_columns_encoder_init(encoder) == 0 && model && again);
    for (uint32_t i = 0; i < count; i++)
        must(node_columns_add(encoder, &nodes[i]) == 0);
    for (int i = 0; i < NODES_COLUMNS; i++)
        columns[i] = (struct byte_source){
            encoder->columns[i].data, encoder->columns[i].data + encoder->columns[i].count, false};
    must(!count || node_columns_decode(model, columns, 0, count, again) == 0);
    for (uint32_t i = 0; i < count; i++)
        must(again[i].ip == nodes[i].ip && again[i].parent == nodes[i].parent);
    node_columns_model_free(model);
    node_columns_encoder_release(encoder);
    free(encoder);
    free(again);
}

static void read_nodes(const uint8_t *body, size_t size, uint32_t count)
{
    struct unpacker unpacker = {0};
    struct byte_source columns[NODES_COLUMNS];
    struct node_columns_model *model = node_columns_model_new();
    struct trace_node *nodes = calloc(count + 1, sizeof *nodes);

    must(model && nodes);
    if (unpacker_unpack(&unpacker, body, size, columns, NODES_COLUMNS) == 0 &&
        node_columns_decode(model, columns, 0, count, nodes) == 0)
        check_nodes(nodes, count);
    free(nodes);
    node_columns_model_free(model);
    unpacker_release(&unpacker);
}

static void read_events(const uint8_t *body, size_t size, uint32_t events)
{
    struct decoder decoder = {0};

    for (unsigned version = 1; version <= FORMAT_VERSION; version++)
        if (decoder_decode(&decoder, version, body, size, events) == 0)
            check_round_trip(&decoder, events);
    decoder_release(&decoder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t events;
    uint8_t *body;

    if (size >= 8 && !memcmp(data, FORMAT_MAGIC, 8)) {
        read_file(data, size);
        return 0;
    }
    if (size < 2)
        return 0;
    events = data[0] | (uint32_t)data[1] << 8;
    body = malloc(size > 2 ? size - 2 : 1); /* its own block, so that sanitizers see its ends */
    memcpy(body, data + 2, size - 2);
    if (data[0] == 'N' && size > 3)
        read_nodes(body + 1, size - 3, data[1] | (uint32_t)data[2] << 8);
    else
        read_events(body, size - 2, events);
    free(body);
    return 0;
}
