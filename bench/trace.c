/* Bytes per event of a trace, and how fast one core writes and reads it. The stream is a real one:
 * what bench_tidemark (tap.c) kept of a recording.
 *
 *   TIDEMARK_TAP=/tmp/tap bench_tidemark record PROGRAM
 *   bench_trace /tmp/tap.0 [/tmp/out.tmt [zstd level | 0: lz4 | -1: stored]]
 *
 * All that is read must be what was written. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "trace/trace.h"

enum { BATCH_BYTES = 64 << 10 }; /* as the collector's */

struct stream {
    unsigned char *records;
    struct replay_run *runs;
    size_t bytes, run_count, run_room, events;
};

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void die(const char *what)
{
    fprintf(stderr, "bench_trace: %s\n", what);
    exit(1);
}

static void must(int error)
{
    if (error)
        die(trace_error());
}

static void add_run(struct stream *stream, const struct replay_run *run)
{
    if (stream->run_count == stream->run_room) {
        stream->run_room = stream->run_room ? 2 * stream->run_room : 1024;
        stream->runs = realloc(stream->runs, stream->run_room * sizeof *stream->runs);
    }
    stream->runs[stream->run_count++] = *run;
}

static void count_events(struct stream *stream)
{
    uint64_t word;

    for (size_t at = 0; at < stream->bytes; at += wire_record_bytes(word), stream->events++)
        memcpy(&word, stream->records + at, sizeof word);
}

static void load(struct stream *stream, const char *path)
{
    FILE *file = fopen(path, "rb");
    struct replay_run run;
    size_t room;

    if (!file || fseek(file, 0, SEEK_END))
        die("cannot read the stream");
    room = (size_t)ftell(file);
    rewind(file);
    stream->records = malloc(room + 1);
    while (fread(&run, sizeof run, 1, file) == 1) {
        if (fread(stream->records + stream->bytes, 1, run.bytes, file) != run.bytes)
            die("the stream is cut off");
        stream->bytes += run.bytes;
        add_run(stream, &run);
    }
    fclose(file);
    count_events(stream);
}

static void write_stream(struct trace_writer *writer, const struct stream *stream)
{
    const unsigned char *at = stream->records;
    size_t first = 0, bytes = 0;

    for (size_t i = 0; i < stream->run_count; i++) {
        bytes += stream->runs[i].bytes;
        if (bytes < BATCH_BYTES && i + 1 < stream->run_count)
            continue;
        must(trace_writer_events(writer, stream->runs + first, i + 1 - first, at));
        at += bytes;
        first = i + 1;
        bytes = 0;
    }
}

static double read_back(const char *path, const struct stream *stream, int compare)
{
    struct trace_events events = {0};
    struct trace *trace;
    double start = seconds(), took;
    size_t at = 0;

    must(trace_open(&trace, path));
    for (size_t i = 0; i < trace_block_count(trace); i++) {
        must(trace_events(trace, i, &events));
        if (compare && memcmp(events.records, stream->records + at, events.bytes))
            die("what was read is not what was written");
        at += events.bytes;
    }
    took = seconds() - start;
    if (at != stream->bytes)
        die("not all was read");
    trace_events_release(&events);
    trace_close(trace);
    return took;
}

static double sum_digests(const char *path, size_t *nets)
{
    double start = seconds(), took;
    struct trace_net *list;
    struct trace *trace;
    size_t count;

    must(trace_open(&trace, path));
    *nets = 0;
    for (size_t i = 0; i < trace_block_count(trace); i++) {
        must(trace_block_nets(trace, i, &list, &count));
        *nets += count;
        free(list);
    }
    took = seconds() - start;
    trace_close(trace);
    return took;
}

static struct trace_options options_of(int level)
{
    return (struct trace_options){.compression = level > 0    ? TRACE_ZSTD
                                                 : level == 0 ? TRACE_LZ4
                                                              : TRACE_STORED,
                                  .level = level > 0 ? level : 0};
}

int main(int argc, char **argv)
{
    struct stream stream = {0};
    struct trace_options options = options_of(argc > 3 ? atoi(argv[3]) : 3);
    const char *path = argc > 2 ? argv[2] : "/tmp/bench_trace.tmt";
    struct trace_writer *writer;
    double start, wrote, read, digests, events;
    uint64_t bytes;
    size_t nets;

    if (argc < 2)
        die("usage: bench_trace STREAM [OUT [LEVEL]]");
    load(&stream, argv[1]);
    events = (double)stream.events;
    unlink(path);
    start = seconds();
    must(trace_writer_open(&writer, path, &options));
    write_stream(writer, &stream);
    must(trace_writer_flush(writer));
    bytes = trace_writer_file_bytes(writer);
    must(trace_writer_finish(writer));
    wrote = seconds() - start;
    read_back(path, &stream, 1);
    read = read_back(path, &stream, 0);
    digests = sum_digests(path, &nets);
    printf("%zu events, %.2f MB: %.3f bytes per event (raw %.1f)\n", stream.events,
           (double)bytes / 1e6, (double)bytes / events, (double)stream.bytes / events);
    printf("written at %.1f M events/s (%.1f ns each), read at %.1f (%.1f ns)\n",
           events / wrote / 1e6, wrote / events * 1e9, events / read / 1e6, read / events * 1e9);
    printf("opened, and %zu changes of call paths read, in %.1f ms\n", nets, digests * 1e3);
    free(stream.records);
    free(stream.runs);
    return 0;
}
