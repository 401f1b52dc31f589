/* Traces of which all is known, for the scenario whatif:
 *
 *   known_trace KIND FILE
 *
 *   stairs     1024 blocks of 64 KiB, every second one freed, as many again; 96 MiB at the end, of
 *              which 64 MiB were the first peak. In between 20,000 small ones come and go
 *   handover   4 threads make 20,000 blocks each, 4 others free them
 *   brief      2000 threads, one after the other, of ten blocks each; every tenth block is freed by
 *              the main thread
 *   growth     one array that grows by realloc from 1 KiB to 16 MiB
 *   unknown    frees and reallocs of blocks that nobody made
 *   sampled    nothing, of a sample
 *   huge       a block of 1 TiB */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "trace/trace.h"
#include "base/error.h"
#include "wire/wire.h"

static struct trace_writer *writer;
static uint64_t ticks = 1000, next_address = 0x7f0000000000;

static void must(int error)
{
    if (!error)
        return;
    fprintf(stderr, "known_trace: %s\n", error_text());
    exit(1);
}

static void put(uint32_t stream, unsigned kind, uint64_t address, uint64_t size, unsigned align)
{
    struct wire_record record = {(uint64_t)kind << 56 | address, ticks += 10, size,
                                 wire_detail(1, 0, align)};
    struct replay_run run = {stream, wire_record_bytes(record.kind_address)};

    must(trace_writer_events(writer, &run, 1, &record));
}

static uint64_t make(uint32_t stream, uint64_t size)
{
    uint64_t address = next_address;

    next_address += (size + 4095) / 4096 * 4096 + 4096;
    put(stream, WIRE_MALLOC, address, size, 0);
    return address;
}

static void begin(uint32_t stream)
{
    static uint32_t begun;

    if (stream == begun) {
        struct trace_note note = {.kind = TRACE_STREAM_BEGUN,
                                  .values = {stream, 100 + stream, ticks}};
        must(trace_writer_note(writer, &note));
        begun++;
    }
    put(stream, WIRE_THREAD_START, 100 + stream, 0, 0);
}

static void stairs(void)
{
    enum { BLOCKS = 1024, BYTES = 64 << 10 };
    uint64_t blocks[BLOCKS];

    begin(0);
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = make(0, BYTES);
    for (int i = 0; i < BLOCKS; i += 2)
        put(0, WIRE_FREE, blocks[i], 0, 0);
    for (int i = 0; i < 20000; i++)
        put(0, WIRE_FREE, make(0, 100), 0, 0);
    for (int i = 0; i < BLOCKS; i++)
        make(0, BYTES);
}

static void handover(void)
{
    enum { PAIRS = 4, BLOCKS = 20000, BEHIND = 50 };
    static uint64_t blocks[PAIRS][BLOCKS];

    for (uint32_t i = 0; i <= 2 * PAIRS; i++)
        begin(i);
    for (int i = 0; i < BLOCKS + BEHIND; i++)
        for (uint32_t pair = 0; pair < PAIRS; pair++) {
            if (i < BLOCKS)
                blocks[pair][i] = make(1 + pair, 32 + (uint64_t)i % 500);
            if (i >= BEHIND)
                put(1 + PAIRS + pair, WIRE_FREE, blocks[pair][i - BEHIND], 0, 0);
        }
    for (uint32_t i = 1; i <= 2 * PAIRS; i++)
        put(i, WIRE_THREAD_END, 0, 0, 0);
}

static void brief(void)
{
    begin(0);
    for (int i = 0; i < 2000; i++) {
        uint64_t blocks[10];
        begin(1);
        for (int k = 0; k < 10; k++)
            blocks[k] = make(1, 1000);
        for (int k = 0; k < 9; k++)
            put(1, WIRE_FREE, blocks[k], 0, 0);
        put(1, WIRE_THREAD_END, 0, 0, 0);
        put(0, WIRE_FREE, blocks[9], 0, 0);
    }
}

static void growth(void)
{
    uint64_t block;

    begin(0);
    block = make(0, 1 << 10);
    for (uint64_t size = 2 << 10; size <= 16 << 20; size += size / 2 + 1) {
        put(0, WIRE_REALLOC_BEGIN, block, 0, 0);
        put(0, WIRE_REALLOC_END, block, size, 0);
    }
    put(0, WIRE_REALLOC_BEGIN, block, 0, 0);
    put(0, WIRE_REALLOC_END, block, 16 << 20, 0);
}

static void unknown(void)
{
    begin(0);
    for (uint64_t i = 0; i < 7; i++)
        put(0, WIRE_FREE, 0x10000 + 16 * i, 0, 0);
    for (uint64_t i = 0; i < 3; i++) {
        put(0, WIRE_REALLOC_BEGIN, 0x20000 + 16 * i, 0, 0);
        put(0, WIRE_REALLOC_END, 0x30000 + 4096 * i, 4096, 0);
    }
    put(0, WIRE_MALLOC | WIRE_FAILED, 0, 1ull << 46, 0);
    put(0, WIRE_MMAP, 0x50000, 4096, 0);
    put(0, WIRE_MALLOC, 0x30000, 100, 0);
}

static void huge(void)
{
    begin(0);
    make(0, 1ull << 40);
}

static void nothing(void)
{
    begin(0);
}

static const struct {
    const char *name;
    void (*write)(void);
    uint64_t sample_bytes;
} kinds[] = {
    {"stairs", stairs, 0},   {"handover", handover, 0}, {"brief", brief, 0},
    {"growth", growth, 0},   {"unknown", unknown, 0},   {"sampled", nothing, 4096},
    {"nothing", nothing, 0}, {"huge", huge, 0},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 3 && i < sizeof kinds / sizeof *kinds; i++) {
        struct trace_options options = {.start_ticks = 999, .sample_bytes = kinds[i].sample_bytes};
        if (strcmp(argv[1], kinds[i].name) != 0)
            continue;
        must(trace_writer_open(&writer, argv[2], &options));
        kinds[i].write();
        must(trace_writer_finish(writer));
        return 0;
    }
    fprintf(stderr, "usage: known_trace KIND FILE\n");
    return 2;
}
