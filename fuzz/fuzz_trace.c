/* Any bytes as a trace, or (if they do not begin like one) as the body of a block of events: the
 * first two say how many. Records that decode must come back from an encoder. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "trace/columns.h"
#include "trace/decoder.h"
#include "trace/encoder.h"
#include "trace/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
    if (!holds)
        abort();
}

static void read_blocks(const struct trace *trace)
{
    struct trace_events events = {0};
    struct trace_net *nets;
    size_t count;

    for (size_t i = 0; i < trace_block_count(trace); i++) {
        trace_events(trace, i, &events);
        if (trace_block_nets(trace, i, &nets, &count) == 0)
            free(nets);
    }
    trace_events_release(&events);
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
        must(packer_pack(&packer, encoder->columns, COLUMNS, 0) == 0);
        must(decoder_decode(&again, packer.out.data, packer.out.count, events) == 0);
        must(again.bytes == decoded->bytes && again.note_count == decoded->note_count);
        must(memcmp(again.records, decoded->records, again.bytes) == 0);
    }
    decoder_release(&again);
    packer_release(&packer);
    encoder_release(encoder);
    free(encoder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct decoder decoder = {0};
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
    if (decoder_decode(&decoder, body, size - 2, events) == 0)
        check_round_trip(&decoder, events);
    decoder_release(&decoder);
    free(body);
    return 0;
}
