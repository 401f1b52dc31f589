/* A small trace with some of everything, always the same: the golden files are of it, and the tests
 * of damage break it. Several blocks of events of which the records follow from their numbers. */
#ifndef TIDEMARK_TESTS_TRACE_SAMPLE_H
#define TIDEMARK_TESTS_TRACE_SAMPLE_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "trace/trace.h"
#include "wire/wire.h"

enum { SAMPLE_BLOCKS = 4, SAMPLE_RUNS = 6, SAMPLE_RECORDS = 20, SAMPLE_NODES = 40 };

/* Every kind takes its turn; most records allocate and free. */
static inline struct wire_record sample_record(unsigned n)
{
    /* clang-format off */
    static const unsigned kinds[] = {
        WIRE_MALLOC, WIRE_CALLOC, WIRE_FREE, WIRE_NEW, WIRE_SPENT, WIRE_FREE, WIRE_REALLOC_BEGIN,
        WIRE_REALLOC_END, WIRE_MALLOC, WIRE_FREE_AT, WIRE_ALIGNED, WIRE_NEW_ARRAY, WIRE_MALLOC,
        WIRE_FREE, WIRE_MMAP, WIRE_MALLOC | WIRE_FAILED, WIRE_STACK, WIRE_VOID, WIRE_LOST, WIRE_BRK,
        WIRE_MUNMAP, 7,
    };
    /* clang-format on */
    unsigned kind = kinds[n % (sizeof kinds / sizeof *kinds)];
    uint64_t address = 0x7f0000001000 + n * 7 % 64 * 48;

    if (kind == (WIRE_MALLOC | WIRE_FAILED))
        address = 0;
    if (kind == WIRE_SPENT || kind == WIRE_LOST)
        address = n % 50;
    return (struct wire_record){(uint64_t)kind << 56 | address, 1000000 + n * 260ull + n % 17 / 16,
                                n * 13 % 200, wire_detail(n * n % SAMPLE_NODES, n % 16, n % 5)};
}

static inline int sample_write_run(struct trace_writer *writer, unsigned number)
{
    unsigned char records[SAMPLE_RECORDS * 32];
    struct replay_run run = {number % 2, 0};

    for (unsigned i = 0; i < SAMPLE_RECORDS; i++) {
        struct wire_record record = sample_record(number * SAMPLE_RECORDS + i);
        memcpy(records + run.bytes, &record, wire_record_bytes(record.kind_address));
        run.bytes += wire_record_bytes(record.kind_address);
    }
    return trace_writer_events(writer, &run, 1, records);
}

static inline struct trace_note sample_note(unsigned number)
{
    struct trace_note note = {TRACE_SAMPLE, {1000000 + number, 1 << 20, 1 << 24, number}, ""};

    if (number < 2)
        return (struct trace_note){TRACE_STREAM_BEGUN, {number, 100 + number, 999}, ""};
    if (number % 2)
        note = (struct trace_note){TRACE_THREAD_NAMED, {100 + number % 4 / 2}, "worker"};
    return note;
}

static inline struct trace_node sample_node(uint32_t number)
{
    return number ? (struct trace_node){0x555500001000 + number * 37 % 11 * 64, number / 2}
                  : (struct trace_node){0, 0};
}

static inline struct trace_module sample_module(uint32_t number)
{
    return (struct trace_module){.number = number,
                                 .born = number,
                                 .died = number == 1 ? 30 : UINT32_MAX,
                                 .bias = 0x555500000000,
                                 .start = 0x555500001000,
                                 .end = 0x555500002000,
                                 .build_id_bytes = 4,
                                 .build_id = {1, 2, 3, (uint8_t)number},
                                 .path = number ? "/lib/libone.so" : ""};
}

static inline int sample_write_block(struct trace_writer *writer, unsigned block)
{
    struct trace_node nodes[SAMPLE_NODES / SAMPLE_BLOCKS];
    uint32_t first = block * (SAMPLE_NODES / SAMPLE_BLOCKS);
    struct trace_module module = sample_module(block % 2);
    int error;

    for (uint32_t i = 0; i < SAMPLE_NODES / SAMPLE_BLOCKS; i++)
        nodes[i] = sample_node(first + i);
    error = trace_writer_nodes(writer, first, nodes, SAMPLE_NODES / SAMPLE_BLOCKS);
    if (!error)
        error = trace_writer_module(writer, &module);
    for (unsigned i = 0; i < SAMPLE_RUNS && !error; i++) {
        struct trace_note note = sample_note(block * SAMPLE_RUNS + i);
        error = trace_writer_note(writer, &note);
        if (!error && block * SAMPLE_RUNS + i > 0) /* the second stream has begun then */
            error = sample_write_run(writer, block * SAMPLE_RUNS + i);
    }
    return error ? error : trace_writer_flush(writer);
}

static inline struct trace_options sample_options(enum trace_compression compression)
{
    return (struct trace_options){compression, 0, TRACE_FREE_STACKS | TRACE_TIMED, 999, 0};
}

static inline int sample_write(const char *path, enum trace_compression compression)
{
    struct trace_options options = sample_options(compression);
    struct trace_writer *writer;
    int error = trace_writer_open(&writer, path, &options);

    if (error)
        return error;
    error = trace_writer_fact(writer, "program", "sample");
    if (!error)
        error = trace_writer_fact(writer, "end", "running");
    for (unsigned block = 0; block < SAMPLE_BLOCKS && !error; block++)
        error = sample_write_block(writer, block);
    if (!error)
        error = trace_writer_fact(writer, "end", "exit");
    return error ? (trace_writer_finish(writer), error) : trace_writer_finish(writer);
}

/* ---- Does it say what was written? --------------------------------------------------------- */

/* The records of block number `first_event` / … as they were written: 0 if they are the same. */
static inline int sample_compare_events(const struct trace_block *block,
                                        const struct trace_events *events)
{
    unsigned number = (unsigned)block->first_event + SAMPLE_RECORDS; /* run 0 has none */
    size_t at = 0;

    for (uint32_t i = 0; i < block->events; i++) {
        struct wire_record record = sample_record(number + i);
        size_t bytes = wire_record_bytes(record.kind_address);
        if (at + bytes > events->bytes || memcmp(events->records + at, &record, bytes))
            return 1;
        at += bytes;
    }
    return at != events->bytes || events->event_count != block->events ||
           events->note_count != SAMPLE_RUNS;
}

static inline int sample_compare_nodes(const struct trace_node *nodes, size_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct trace_node wanted = sample_node(i);
        if (nodes[i].ip != wanted.ip || nodes[i].parent != wanted.parent)
            return 1;
    }
    return 0;
}

#endif
