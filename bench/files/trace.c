/* Bytes per event of a trace, where they go, and how fast one core writes and reads it:
 *
 *   tidemark record --trace -o x.tmk PROGRAM
 *   bench_trace x.tmt                 as it was written
 *   bench_trace x.tmt zstd:9|lz4|none [OUT.tmt]
 *   bench_trace --sizes x.tmt         the bytes of each column
 *   bench_trace --json x.tmt …        for bench/trace.sh
 *
 * What the file holds (events, notes, call paths, modules, facts) is written once more, and read:
 * it must be the same. The supplement is counted as it lies in the file. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "trace/trace_format.h"
#include "base/error.h"
#include "trace/prediction.h"
#include "trace/node_columns.h"
#include "trace/trace.h"

/* One block of events, and the nodes that there were when it was written. */
struct piece {
    struct replay_run *runs;
    size_t run_count;
    unsigned char *records;
    size_t bytes;
    struct trace_placed_note *notes;
    size_t note_count, node_count;
};

struct recording {
    struct trace_options options;
    struct piece *pieces;
    size_t piece_count, events, bytes;
    struct trace_node *nodes;
    size_t node_count;
    struct trace_module *modules;
    size_t module_count;
    void *supplement;
    size_t supplement_bytes;
    struct trace *trace; /* holds the facts */
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
        die(error_text());
}

static void *copy(const void *bytes, size_t count)
{
    void *made = malloc(count + 1);

    if (!made)
        die("out of memory");
    return memcpy(made, bytes, count);
}

/* ---- What is in the file ------------------------------------------------------------------- */

/* At least those that the block names. */
static size_t nodes_of(const struct trace_events *events)
{
    size_t count = 0;
    struct wire_record record;

    for (size_t at = 0; at + 16 <= events->bytes; at += wire_record_bytes(record.kind_address)) {
        memcpy(&record.kind_address, events->records + at, 8);
        if (!(record.kind_address >> 63) || at + 32 > events->bytes)
            continue;
        memcpy(&record, events->records + at, sizeof record);
        if (wire_detail_node(record.detail) >= count)
            count = wire_detail_node(record.detail) + 1;
    }
    return count;
}

static void load(struct recording *recording, const char *path)
{
    struct trace_events events = {0};
    size_t nodes = 0;

    must(trace_open(&recording->trace, path));
    trace_options(recording->trace, &recording->options);
    recording->piece_count = trace_block_count(recording->trace);
    recording->pieces = calloc(recording->piece_count + 1, sizeof *recording->pieces);
    for (size_t i = 0; i < recording->piece_count; i++) {
        must(trace_events(recording->trace, i, &events));
        recording->pieces[i] =
            (struct piece){copy(events.runs, events.run_count * sizeof *events.runs),
                           events.run_count,
                           copy(events.records, events.bytes),
                           events.bytes,
                           copy(events.notes, events.note_count * sizeof *events.notes),
                           events.note_count,
                           nodes_of(&events)};
        if (recording->pieces[i].node_count < nodes)
            recording->pieces[i].node_count = nodes;
        nodes = recording->pieces[i].node_count;
        recording->events += events.event_count;
        recording->bytes += events.bytes;
    }
    trace_events_release(&events);
    must(trace_nodes(recording->trace, SIZE_MAX, &recording->nodes, &recording->node_count));
    must(trace_modules(recording->trace, SIZE_MAX, &recording->modules, &recording->module_count));
    must(trace_supplement(recording->trace, &recording->supplement, &recording->supplement_bytes));
}

/* ---- Writing ------------------------------------------------------------------------------- */

static size_t write_runs(struct trace_writer *writer, const struct piece *piece, size_t from,
                         size_t to, size_t at)
{
    size_t bytes = 0;

    for (size_t i = from; i < to; i++)
        bytes += piece->runs[i].bytes;
    must(trace_writer_events(writer, piece->runs + from, to - from, piece->records + at));
    return at + bytes;
}

static void write_piece(struct trace_writer *writer, const struct piece *piece)
{
    size_t run = 0, at = 0;

    for (size_t i = 0; i < piece->note_count; i++) {
        at = write_runs(writer, piece, run, piece->notes[i].before_run, at);
        run = piece->notes[i].before_run;
        must(trace_writer_note(writer, &piece->notes[i].note));
    }
    write_runs(writer, piece, run, piece->run_count, at);
}

static void write_rest(struct trace_writer *writer, const struct recording *recording)
{
    for (size_t i = 0; i < recording->module_count; i++)
        must(trace_writer_module(writer, &recording->modules[i]));
    for (size_t i = 0; i < trace_fact_count(recording->trace); i++) {
        const char *key, *value;
        trace_fact_at(recording->trace, i, &key, &value);
        must(trace_writer_fact(writer, key, value));
    }
}

static double write_recording(const struct recording *recording, const char *path,
                              const struct trace_options *options)
{
    double start = seconds();
    struct trace_writer *writer;
    size_t nodes = 0;

    unlink(path);
    must(trace_writer_open(&writer, path, options));
    write_rest(writer, recording);
    for (size_t i = 0; i < recording->piece_count; i++) {
        const struct piece *piece = &recording->pieces[i];
        must(trace_writer_nodes(writer, (uint32_t)nodes, recording->nodes + nodes,
                                piece->node_count - nodes));
        nodes = piece->node_count;
        write_piece(writer, piece);
    }
    must(trace_writer_nodes(writer, (uint32_t)nodes, recording->nodes + nodes,
                            recording->node_count - nodes));
    if (recording->supplement)
        must(trace_writer_supplement(writer, recording->supplement, recording->supplement_bytes));
    must(trace_writer_finish(writer));
    return seconds() - start;
}

/* ---- Reading ------------------------------------------------------------------------------- */

struct reading {
    double open, events, deltas, nodes; /* seconds */
    size_t net_count;
};

/* Blocks may be cut elsewhere: records are compared as one row of bytes. */
struct comparison {
    const struct recording *recording;
    size_t piece, at;
};

static void compare(struct comparison *with, const unsigned char *records, size_t bytes)
{
    while (bytes) {
        const struct piece *piece = &with->recording->pieces[with->piece];
        size_t left = piece->bytes - with->at, count = left < bytes ? left : bytes;
        if (with->piece == with->recording->piece_count)
            die("more was read than was written");
        if (memcmp(records, piece->records + with->at, count))
            die("what was read is not what was written");
        records += count;
        bytes -= count;
        with->at += count;
        if (with->at == piece->bytes) {
            with->piece++;
            with->at = 0;
        }
    }
}

static void compare_nodes(const struct recording *recording, const struct trace *trace)
{
    struct trace_node *nodes;
    size_t count;

    must(trace_nodes(trace, SIZE_MAX, &nodes, &count));
    if (count != recording->node_count)
        die("not all call paths were read");
    for (size_t i = 0; i < count; i++)
        if (nodes[i].ip != recording->nodes[i].ip || nodes[i].parent != recording->nodes[i].parent)
            die("the call paths that were read are not those that were written");
    free(nodes);
}

static double read_events(const struct trace *trace, const struct recording *recording)
{
    struct comparison with = {recording, 0, 0};
    struct trace_events events = {0};
    double start = seconds(), took;
    size_t bytes = 0;

    for (size_t i = 0; i < trace_block_count(trace); i++) {
        must(trace_events(trace, i, &events));
        bytes += events.bytes;
    }
    took = seconds() - start;
    if (bytes != recording->bytes)
        die("not all was read");
    for (size_t i = 0; i < trace_block_count(trace); i++) {
        must(trace_events(trace, i, &events));
        compare(&with, events.records, events.bytes);
    }
    trace_events_release(&events);
    return took;
}

static double read_nets(const struct trace *trace, size_t *count)
{
    double start = seconds();

    *count = 0;
    for (size_t i = 0; i < trace_block_count(trace); i++) {
        struct trace_net_delta *deltas;
        size_t net_deltas_of_block;
        must(trace_block_net_deltas(trace, i, &deltas, &net_deltas_of_block));
        *count += net_deltas_of_block;
        free(deltas);
    }
    return seconds() - start;
}

static double read_nodes(const struct trace *trace)
{
    double start = seconds();
    struct trace_node *nodes;
    size_t count;

    must(trace_nodes(trace, SIZE_MAX, &nodes, &count));
    free(nodes);
    return seconds() - start;
}

static struct reading read_back(const char *path, const struct recording *recording)
{
    struct reading reading;
    struct trace *trace;
    double start = seconds();

    must(trace_open(&trace, path));
    reading.open = seconds() - start;
    reading.events = read_events(trace, recording);
    reading.deltas = read_nets(trace, &reading.net_count);
    reading.nodes = read_nodes(trace);
    compare_nodes(recording, trace);
    trace_close(trace);
    return reading;
}

/* ---- Where the bytes go -------------------------------------------------------------------- */

/* clang-format off */
static const char *const event_columns[COLUMNS] = {
    "kinds",     "runs",         "ops",         "time rest",  "offs",       "paths",
    "fresh",     "fresh rest",   "old",         "old rest",   "known",      "known rest",
    "size",      "size rest",    "slack",       "slack rest", "align",      "age",
    "age rest",  "step",         "step rest",   "address",    "address rest", "value",
    "value rest", "raw",         "notes",       "time: free, free", "time: free, birth",
    "time: birth, free", "time: birth, birth", "time: fresh, free", "time: fresh, birth",
    "bits", "places"};
/* clang-format on */
static const char *const net_columns[] = {"node",       "node rest", "bytes",
                                          "bytes rest", "count",     "count rest"};
static const char *const kinds[] = {"?",     "events", "nodes",      "modules",
                                    "facts", "index",  "supplement", "?"};

enum { PATHS_OF_BLOCKS = 7, SORTS };
struct sizes {
    uint64_t packed[SORTS + 1][FORMAT_COLUMNS], plain[SORTS + 1][FORMAT_COLUMNS];
};

static void add_body(struct sizes *sizes, unsigned sort, const unsigned char *body, size_t bytes)
{
    struct byte_source source = {body, body + bytes, false};
    unsigned count = numbers_source_byte(&source);

    for (unsigned i = 0; i < count && i < FORMAT_COLUMNS; i++) {
        unsigned method = numbers_source_byte(&source);
        uint64_t plain = numbers_source_varint(&source),
                 packed = method ? numbers_source_varint(&source) : plain;
        sizes->plain[sort][i] += plain;
        sizes->packed[sort][i] += packed;
    }
}

static const char *column_name(unsigned sort, unsigned column)
{
    static char number[16];

    if (sort == FORMAT_EVENTS && column < COLUMNS)
        return event_columns[column];
    if (sort == PATHS_OF_BLOCKS && column < sizeof net_columns / sizeof *net_columns)
        return net_columns[column];
    if (sort == FORMAT_NODES && column < NODES_COLUMNS)
        return nodes_column_names[column];
    snprintf(number, sizeof number, "%u", column);
    return number;
}

static void print_sizes(const char *path)
{
    struct sizes sizes = {0};
    struct stat file;
    FILE *stream = fopen(path, "rb");
    unsigned char *bytes;
    uint64_t events = 0, blocks = 0;

    if (!stream || fstat(fileno(stream), &file))
        die("cannot read the file");
    bytes = malloc((size_t)file.st_size);
    if (!bytes || fread(bytes, 1, (size_t)file.st_size, stream) != (size_t)file.st_size)
        die("cannot read the file");
    fclose(stream);
    for (size_t at = FORMAT_HEADER_BYTES; at + FORMAT_BLOCK_BYTES < (size_t)file.st_size;) {
        struct trace_format_block block;
        const unsigned char *body = bytes + at + FORMAT_BLOCK_BYTES;
        if (!trace_format_get_block(bytes + at, &block))
            die("the file is damaged");
        if (block.paths_bytes)
            add_body(&sizes, PATHS_OF_BLOCKS, body, block.paths_bytes);
        add_body(&sizes, block.kind < PATHS_OF_BLOCKS ? block.kind : SORTS,
                 body + block.paths_bytes, block.body_bytes);
        events += block.kind == FORMAT_EVENTS ? block.count : 0;
        blocks++;
        at += FORMAT_BLOCK_BYTES + block.paths_bytes + block.body_bytes;
    }
    printf("%-11s %-13s %10s %10s  %s\n", "block", "column", "bytes", "unpacked", "per event");
    for (unsigned sort = 0; sort <= SORTS; sort++)
        for (unsigned i = 0; i < FORMAT_COLUMNS; i++)
            if (sizes.packed[sort][i])
                printf("%-11s %-13s %10" PRIu64 " %10" PRIu64 "  %.4f\n",
                       sort == PATHS_OF_BLOCKS ? "paths" : kinds[sort], column_name(sort, i),
                       sizes.packed[sort][i], sizes.plain[sort][i],
                       (double)sizes.packed[sort][i] / (double)(events ? events : 1));
    printf("%-11s %-13s %10" PRIu64 " %10s  %.4f\n", "", "headers", blocks * FORMAT_BLOCK_BYTES, "",
           (double)(blocks * FORMAT_BLOCK_BYTES) / (double)(events ? events : 1));
    free(bytes);
}

/* ---- The command --------------------------------------------------------------------------- */

static void choose(struct trace_options *options, const char *how)
{
    options->level = 0;
    if (!strcmp(how, "lz4"))
        options->compression = TRACE_LZ4;
    else if (!strcmp(how, "none"))
        options->compression = TRACE_STORED;
    else if (!strncmp(how, "zstd", 4))
        *options = (struct trace_options){TRACE_ZSTD, how[4] ? atoi(how + 5) : 0, options->flags,
                                          options->start_ticks, options->sample_bytes};
    else
        die("how to pack: zstd, zstd:LEVEL, lz4 or none");
}

static void print_text(const struct recording *recording, uint64_t bytes, double wrote,
                       const struct reading *reading)
{
    double events = (double)recording->events;

    printf("%zu events, %zu call-path nodes, %.2f MB: %.3f bytes per event (raw %.1f)\n",
           recording->events, recording->node_count, (double)bytes / 1e6, (double)bytes / events,
           (double)recording->bytes / events);
    printf("written at %.1f M events/s (%.1f ns each), read at %.1f (%.1f ns)\n",
           events / wrote / 1e6, wrote / events * 1e9, events / reading->events / 1e6,
           reading->events / events * 1e9);
    printf("opened in %.2f ms; nodes read in %.1f ms; %zu changes of call paths in %.1f ms\n",
           reading->open * 1e3, reading->nodes * 1e3, reading->net_count, reading->deltas * 1e3);
}

static void print_json(const struct recording *recording, uint64_t bytes, double wrote,
                       const struct reading *reading)
{
    double events = (double)recording->events;

    printf("{\"events\": %zu, \"nodes\": %zu, \"bytes\": %" PRIu64 ", \"bytes_per_event\": %.4f, "
           "\"raw_bytes_per_event\": %.2f, \"write_ns_per_event\": %.2f, "
           "\"read_ns_per_event\": %.2f, \"open_ms\": %.3f, \"nodes_ms\": %.3f}\n",
           recording->events, recording->node_count, bytes, (double)bytes / events,
           (double)recording->bytes / events, wrote / events * 1e9, reading->events / events * 1e9,
           reading->open * 1e3, reading->nodes * 1e3);
}

static void free_recording(struct recording *recording)
{
    for (size_t i = 0; i < recording->piece_count; i++) {
        free(recording->pieces[i].runs);
        free(recording->pieces[i].records);
        free(recording->pieces[i].notes);
    }
    free(recording->pieces);
    free(recording->nodes);
    free(recording->modules);
    free(recording->supplement);
    trace_close(recording->trace);
}

int main(int argc, char **argv)
{
    bool json = argc > 1 && !strcmp(argv[1], "--json");
    struct recording recording = {0};
    struct reading reading;
    struct stat file;
    const char *path;
    double wrote;

    if (argc == 3 && !strcmp(argv[1], "--sizes")) {
        print_sizes(argv[2]);
        return 0;
    }
    argv += json;
    argc -= json;
    if (argc < 2)
        die("usage: bench_trace [--json] FILE.tmt [HOW [OUT.tmt]] | --sizes FILE.tmt");
    load(&recording, argv[1]);
    if (argc > 2)
        choose(&recording.options, argv[2]);
    path = argc > 3 ? argv[3] : "/tmp/bench_trace.tmt";
    wrote = write_recording(&recording, path, &recording.options);
    reading = read_back(path, &recording);
    if (stat(path, &file))
        die("the file is gone");
    (json ? print_json : print_text)(&recording, (uint64_t)file.st_size, wrote, &reading);
    if (argc <= 3)
        unlink(path);
    free_recording(&recording);
    return 0;
}
