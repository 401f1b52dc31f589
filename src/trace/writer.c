/* The writer: gathers a block of each kind, and writes whole blocks only. Nodes and modules go to
 * the file before the events that were told after them. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/alive.h"
#include "trace/columns.h"
#include "trace/encoder.h"
#include "trace/error.h"
#include "trace/format.h"
#include "trace/nets.h"
#include "trace/nodes.h"
#include "trace/sums.h"
#include "trace/trace.h"

enum { TEXT_BYTES_MAX = 1 << 20, SMALL_BLOCK_FULL = 4 << 20 };

/* Modules or facts that are not yet written. */
struct gathered {
    struct byte_sink text;
    uint32_t count;
    uint64_t first;
};

struct trace_writer {
    int fd, error;
    char *path;
    uint64_t bytes;
    uint32_t blocks;
    uint64_t events; /* in blocks written */
    uint32_t start_threads;
    uint64_t start_ticks, start_bytes, start_count; /* as the block of events under way began */
    struct encoder encoder;
    struct nets nets; /* of the block just ended; it and its columns are kept for their room */
    struct byte_sink net_columns[NET_COLUMNS];
    struct nodes_encoder nodes;
    struct sums sums;
    struct gathered modules, facts;
    struct packer packer;
    struct byte_sink index; /* offset and header of each block */
};

/* ---- The file ------------------------------------------------------------------------------ */

static int fail(struct trace_writer *writer, int error)
{
    if (!writer->error)
        writer->error = error;
    if (writer->error == -ENOMEM)
        return trace_fail(-ENOMEM, "out of memory while writing %s", writer->path);
    return trace_fail(writer->error, "cannot write %s: %s", writer->path, strerror(-writer->error));
}

static int write_all(struct trace_writer *writer, const void *bytes, size_t count)
{
    const char *at = bytes;

    while (count) {
        ssize_t written = write(writer->fd, at, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return fail(writer, written ? -errno : -EIO);
        at += written;
        count -= (size_t)written;
        writer->bytes += (uint64_t)written;
    }
    return 0;
}

/* Part of a block is of no use to anybody, and its room may be. Can do no harm where it fails. */
static void cut_off(struct trace_writer *writer, uint64_t offset)
{
    if (ftruncate(writer->fd, (off_t)offset) == 0)
        writer->bytes = offset;
}

static int remember_block(struct trace_writer *writer, const unsigned char *header)
{
    if (sink_reserve(&writer->index, NUMBER_BYTES + FORMAT_BLOCK_BYTES))
        return fail(writer, -ENOMEM);
    sink_varint(&writer->index, writer->bytes);
    sink_bytes(&writer->index, header, FORMAT_BLOCK_BYTES);
    return 0;
}

/* What the packer holds: `paths_bytes` of paths and then the body. */
static int write_block(struct trace_writer *writer, struct format_block *block, size_t paths_bytes)
{
    struct byte_sink *packed = &writer->packer.out;
    unsigned char *header = packed->data;
    uint64_t offset;

    block->number = writer->blocks++;
    block->paths_bytes = (uint32_t)paths_bytes;
    block->body_bytes = (uint32_t)(packed->count - FORMAT_BLOCK_BYTES - paths_bytes);
    block->paths_hash = format_hash(header + FORMAT_BLOCK_BYTES, paths_bytes);
    block->body_hash = format_hash(header + FORMAT_BLOCK_BYTES + paths_bytes, block->body_bytes);
    format_put_block(header, block);
    if (block->kind != FORMAT_INDEX && remember_block(writer, header))
        return writer->error;
    offset = writer->bytes;
    if (write_all(writer, packed->data, packed->count))
        cut_off(writer, offset);
    return writer->error;
}

/* Leaves room for the header. */
static int begin_block(struct trace_writer *writer)
{
    writer->packer.out.count = 0;
    if (sink_reserve(&writer->packer.out, FORMAT_BLOCK_BYTES))
        return fail(writer, -ENOMEM);
    writer->packer.out.count = FORMAT_BLOCK_BYTES;
    return 0;
}

static int write_columns(struct trace_writer *writer, struct format_block *block,
                         const struct byte_sink *columns, size_t count)
{
    if (begin_block(writer))
        return writer->error;
    if (packer_pack(&writer->packer, columns, count, 0, 0))
        return fail(writer, -ENOMEM);
    return write_block(writer, block, 0);
}

/* ---- Blocks -------------------------------------------------------------------------------- */

static int write_nodes(struct trace_writer *writer)
{
    struct nodes_encoder *nodes = &writer->nodes;
    struct format_block block = {
        .kind = FORMAT_NODES, .first = nodes->first, .count = nodes->count};
    int error = 0;

    if (nodes->count)
        error = write_columns(writer, &block, nodes->columns, NODES_COLUMNS);
    nodes_begin_block(nodes);
    return error;
}

static int write_gathered(struct trace_writer *writer, struct gathered *gathered,
                          enum format_block_kind kind)
{
    struct format_block block = {.kind = kind, .first = gathered->first, .count = gathered->count};
    int error = 0;

    if (gathered->count)
        error = write_columns(writer, &block, &gathered->text, 1);
    gathered->first += gathered->count;
    gathered->count = 0;
    gathered->text.count = 0;
    return error;
}

/* Paths of a block; `more`: columns behind the nets. */
static int pack_paths(struct trace_writer *writer, const struct nets *nets,
                      const struct byte_sink *more, size_t more_count)
{
    struct byte_sink columns[NET_COLUMNS + ENDS_COLUMNS];
    int error = 0;

    for (int i = 0; i < NET_COLUMNS && !error; i++) {
        writer->net_columns[i].count = 0;
        error = sink_reserve(&writer->net_columns[i], (nets->count + 1) * NUMBER_BYTES);
    }
    if (error)
        return fail(writer, error);
    nets_put(nets, writer->net_columns);
    memcpy(columns, writer->net_columns, sizeof writer->net_columns);
    if (more_count)
        memcpy(columns + NET_COLUMNS, more, more_count * sizeof *more);
    error = packer_pack(&writer->packer, columns, NET_COLUMNS + more_count, 0, 0);
    return error ? fail(writer, error) : 0;
}

/* A copy, since `lives` knows its own by their places. */
static int copy_nets(struct nets *nets, const struct lives *lives)
{
    if (nets->room < lives->net_count) {
        nets_release(nets);
        nets->all = malloc(lives->net_room * sizeof *nets->all);
        if (!nets->all)
            return -ENOMEM;
        nets->room = lives->net_room;
    }
    nets->count = lives->net_count;
    if (nets->count)
        memcpy(nets->all, lives->net, nets->count * sizeof *nets->all);
    nets_settle(nets);
    return 0;
}

/* Nets, and behind them the ends that no record of the block tells. */
static int pack_digest(struct trace_writer *writer, struct format_block *block)
{
    struct lives *lives = &writer->encoder.lives;
    const struct byte_sink *ends = ends_end_block(&writer->encoder.ends, lives);

    if (copy_nets(&writer->nets, lives))
        return fail(writer, -ENOMEM);
    block->path_count = (uint32_t)writer->nets.count;
    return pack_paths(writer, &writer->nets, ends, ENDS_COLUMNS);
}

static int write_sum(struct trace_writer *writer, const struct sums_level *level)
{
    struct format_block block = level->digest;
    const struct byte_sink none = {0};
    size_t paths_bytes;

    block.path_count = (uint32_t)level->nets.count;
    if (begin_block(writer) || pack_paths(writer, &level->nets, NULL, 0))
        return writer->error;
    paths_bytes = writer->packer.out.count - FORMAT_BLOCK_BYTES;
    if (packer_pack(&writer->packer, &none, 0, 0, 0))
        return fail(writer, -ENOMEM);
    return write_block(writer, &block, paths_bytes);
}

/* A block of events has been written: the sums that it completes follow. A column holds 2^23 bytes:
 * a sum that could have more is left out. */
static int write_sums(struct trace_writer *writer, const struct format_block *block,
                      const struct nets *nets)
{
    for (int i = 0; i < SUMS_LEVELS; i++) {
        struct sums_level *level = &writer->sums.levels[i];
        if (sums_add(level, block, nets))
            return fail(writer, -ENOMEM);
        if (!sums_is_full(level))
            return 0;
        if (level->nets.count <= FORMAT_COLUMN_BYTES / NUMBER_BYTES && write_sum(writer, level))
            return writer->error;
        block = &level->digest;
        nets = &level->nets;
    }
    return 0;
}

static void note_start(struct trace_writer *writer)
{
    writer->start_ticks = writer->encoder.lives.now;
    writer->start_bytes = writer->encoder.lives.bytes;
    writer->start_count = writer->encoder.lives.count;
    writer->start_threads = writer->encoder.thread_count;
}

static void fill_digest(const struct trace_writer *writer, struct format_block *block)
{
    const struct encoder *encoder = &writer->encoder;
    const struct lives *lives = &encoder->lives;
    bool has_times = encoder->first_ticks <= encoder->last_ticks;

    *block = (struct format_block){
        .kind = FORMAT_EVENTS,
        .first = writer->events,
        .count = encoder->events,
        .first_ticks = has_times ? encoder->first_ticks : writer->start_ticks,
        .last_ticks = has_times ? encoder->last_ticks : writer->start_ticks,
        .start_ticks = writer->start_ticks,
        .alloc_count = lives->alloc_count,
        .free_count = lives->free_count,
        .live_bytes = writer->start_bytes,
        .live_count = writer->start_count,
        .net_bytes = lives->bytes - writer->start_bytes,
        .net_count = lives->count - writer->start_count,
        .max_bytes = lives->max_bytes,
        .max_ticks = lives->max_ticks,
        .threads_1 = writer->start_threads + 1,
    };
}

static int write_events(struct trace_writer *writer)
{
    struct encoder *encoder = &writer->encoder;
    struct format_block block;
    size_t paths_bytes = 0;

    fill_digest(writer, &block);
    encoder_end_block(encoder);
    if (!begin_block(writer) && !pack_digest(writer, &block)) {
        paths_bytes = writer->packer.out.count - FORMAT_BLOCK_BYTES;
        if (packer_pack(&writer->packer, encoder->columns, COLUMNS, MODEL_NOISE, MODEL_BITS))
            fail(writer, -ENOMEM);
    }
    writer->events += encoder->events;
    encoder_begin_block(encoder);
    note_start(writer);
    if (!writer->error && !write_block(writer, &block, paths_bytes))
        write_sums(writer, &block, &writer->nets);
    return writer->error;
}

/* What events may name comes first. */
int trace_writer_flush(struct trace_writer *writer)
{
    if (writer->error)
        return fail(writer, 0);
    if (write_gathered(writer, &writer->facts, FORMAT_FACTS) ||
        write_gathered(writer, &writer->modules, FORMAT_MODULES) || write_nodes(writer))
        return writer->error;
    return encoder_is_empty(&writer->encoder) ? 0 : write_events(writer);
}

/* ---- Opening and finishing ----------------------------------------------------------------- */

static int write_header(struct trace_writer *writer, const struct trace_options *options)
{
    unsigned char bytes[FORMAT_HEADER_BYTES];
    struct format_header header = {
        .version = FORMAT_VERSION,
        .flags = options->flags,
        .method = options->compression,
        .level = (uint32_t)writer->packer.level,
        .start_ticks = options->start_ticks,
        .sample_bytes = options->sample_bytes,
    };

    format_put_header(bytes, &header);
    return write_all(writer, bytes, sizeof bytes);
}

static void release(struct trace_writer *writer)
{
    if (writer->fd >= 0)
        close(writer->fd);
    encoder_release(&writer->encoder);
    nets_release(&writer->nets);
    for (int i = 0; i < NET_COLUMNS; i++)
        free(writer->net_columns[i].data);
    nodes_encoder_release(&writer->nodes);
    packer_release(&writer->packer);
    sums_release(&writer->sums);
    free(writer->modules.text.data);
    free(writer->facts.text.data);
    free(writer->index.data);
    free(writer->path);
    free(writer);
}

static int make_parts(struct trace_writer *writer, const struct trace_options *options)
{
    int level = options->compression == TRACE_ZSTD ? options->level ? options->level : 3 : 0;
    int error = packer_init(&writer->packer, (enum pack_method)options->compression, level);

    if (!error)
        error = nodes_encoder_init(&writer->nodes);
    if (!error)
        error = encoder_init(&writer->encoder, options->start_ticks, options->sample_bytes);
    return error;
}

int trace_writer_open(struct trace_writer **out, const char *path,
                      const struct trace_options *options)
{
    struct trace_writer *writer = calloc(1, sizeof *writer);
    int error;

    if (!writer || !(writer->path = strdup(path))) {
        free(writer);
        return trace_fail(-ENOMEM, "out of memory while creating %s", path);
    }
    writer->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (writer->fd < 0) {
        error = trace_fail(-errno, "cannot create %s: %s", path, strerror(errno));
        free(writer->path);
        free(writer);
        return error;
    }
    alive_lock(writer->fd);
    error = make_parts(writer, options);
    if (error)
        fail(writer, error);
    else
        note_start(writer);
    if (!error)
        error = write_header(writer, options);
    if (error) {
        unlink(path);
        release(writer);
        return error;
    }
    *out = writer;
    return 0;
}

static int write_index(struct trace_writer *writer)
{
    struct format_block block = {.kind = FORMAT_INDEX, .count = writer->blocks};
    unsigned char tail[FORMAT_TAIL_BYTES];
    uint64_t offset = writer->bytes;

    if (writer->index.count > FORMAT_COLUMN_BYTES) /* a reader will look at the blocks instead */
        writer->index.count = block.count = 0;
    if (write_columns(writer, &block, &writer->index, 1))
        return writer->error;
    format_put_tail(tail, offset);
    return write_all(writer, tail, sizeof tail);
}

void trace_writer_abandon(struct trace_writer *writer)
{
    release(writer);
}

int trace_writer_finish(struct trace_writer *writer)
{
    int error = trace_writer_flush(writer);

    if (!error)
        error = write_index(writer);
    if (!error && close(writer->fd))
        error = fail(writer, -errno);
    else if (error)
        close(writer->fd);
    writer->fd = -1;
    release(writer);
    return error;
}

/* ---- What is told -------------------------------------------------------------------------- */

static int add_run(struct trace_writer *writer, uint32_t stream, const unsigned char *records,
                   size_t bytes)
{
    while (bytes) {
        size_t taken = encoder_add(&writer->encoder, stream, records, bytes);
        records += taken;
        bytes -= taken;
        if (encoder_is_full(&writer->encoder) && trace_writer_flush(writer))
            return writer->error;
    }
    return 0;
}

int trace_writer_events(struct trace_writer *writer, const struct replay_run *runs, size_t count,
                        const void *records)
{
    const unsigned char *at = records;

    if (writer->error)
        return fail(writer, 0);
    for (size_t i = 0; i < count; at += runs[i++].bytes)
        if (add_run(writer, runs[i].thread, at, runs[i].bytes))
            return writer->error;
    return 0;
}

int trace_writer_note(struct trace_writer *writer, const struct trace_note *note)
{
    if (writer->error)
        return fail(writer, 0);
    encoder_note(&writer->encoder, note);
    return encoder_is_full(&writer->encoder) ? trace_writer_flush(writer) : 0;
}

int trace_writer_sample(struct trace_writer *writer, uint64_t ticks, uint64_t physical_bytes,
                        uint64_t virtual_bytes, uint64_t tool_bytes)
{
    struct trace_note note = {TRACE_SAMPLE, {ticks, physical_bytes, virtual_bytes, tool_bytes}, ""};

    return trace_writer_note(writer, &note);
}

int trace_writer_nodes(struct trace_writer *writer, uint32_t first, const struct trace_node *nodes,
                       size_t count)
{
    if (writer->error)
        return fail(writer, 0);
    if (first != nodes_next(&writer->nodes))
        return fail(writer, -EINVAL);
    for (size_t i = 0; i < count; i++) {
        if (nodes_add(&writer->nodes, &nodes[i]))
            return fail(writer, -ENOMEM);
        if (writer->nodes.count == FORMAT_BLOCK_NODES && write_nodes(writer))
            return writer->error;
    }
    return 0;
}

/* Room for some numbers and texts; what is full goes to the file. */
static int make_room(struct trace_writer *writer, struct gathered *gathered,
                     enum format_block_kind kind, size_t bytes)
{
    if (writer->error)
        return fail(writer, 0);
    if (bytes > TEXT_BYTES_MAX)
        return trace_fail(-E2BIG, "cannot write %s: a text of %zu bytes is too long", writer->path,
                          bytes);
    if (gathered->text.count + bytes > SMALL_BLOCK_FULL && write_gathered(writer, gathered, kind))
        return writer->error;
    return sink_reserve(&gathered->text, bytes) ? fail(writer, -ENOMEM) : 0;
}

static void put_text(struct byte_sink *sink, const void *text, size_t length)
{
    sink_varint(sink, length);
    sink_bytes(sink, text, length);
}

int trace_writer_module(struct trace_writer *writer, const struct trace_module *module)
{
    struct byte_sink *sink = &writer->modules.text;
    size_t length = strlen(module->path);
    size_t id_bytes = module->build_id_bytes < sizeof module->build_id ? module->build_id_bytes
                                                                        : sizeof module->build_id;

    if (make_room(writer, &writer->modules, FORMAT_MODULES, 8 * NUMBER_BYTES + 32 + length))
        return writer->error ? writer->error : -E2BIG;
    sink_varint(sink, module->number);
    sink_varint(sink, module->born);
    sink_varint(sink, module->died);
    sink_varint(sink, module->bias);
    sink_varint(sink, module->start);
    sink_varint(sink, module->end - module->start);
    put_text(sink, module->build_id, id_bytes);
    put_text(sink, module->path, length);
    writer->modules.count++;
    return 0;
}

int trace_writer_fact(struct trace_writer *writer, const char *key, const char *value)
{
    size_t key_bytes = strlen(key), value_bytes = strlen(value);

    if (make_room(writer, &writer->facts, FORMAT_FACTS,
                  2 * NUMBER_BYTES + key_bytes + value_bytes))
        return writer->error ? writer->error : -E2BIG;
    put_text(&writer->facts.text, key, key_bytes);
    put_text(&writer->facts.text, value, value_bytes);
    writer->facts.count++;
    return 0;
}

/* Behind all that was told: what the events need is whole in a file that is cut off in here. Pieces of
 * a column each; what is in them is packed as a rule, and then stored as it is. */
int trace_writer_supplement(struct trace_writer *writer, const void *bytes, size_t size)
{
    size_t at = 0;

    if (trace_writer_flush(writer))
        return writer->error;
    do {
        size_t left = size - at, count = left < FORMAT_COLUMN_BYTES ? left : FORMAT_COLUMN_BYTES;
        unsigned char total[NUMBER_BYTES];
        struct byte_sink columns[] = {{.data = total, .room = sizeof total},
                                      {.data = (unsigned char *)bytes + at, .count = count}};
        struct format_block block = {
            .kind = FORMAT_SUPPLEMENT, .first = at, .count = (uint32_t)count};
        sink_varint(&columns[0], size);
        if (write_columns(writer, &block, columns, 2))
            return writer->error;
        at += count;
    } while (at < size);
    return 0;
}

/* ---- What it takes ------------------------------------------------------------------------- */

uint64_t trace_writer_file_bytes(const struct trace_writer *writer)
{
    return writer->bytes;
}

/* Tables and columns have room for the largest block, and are resident as far as blocks went. */
size_t trace_writer_memory_bytes(const struct trace_writer *writer)
{
    const struct encoder *encoder = &writer->encoder;

    return lives_memory_bytes(&encoder->lives) + sums_memory_bytes(&writer->sums) +
           offsetof(struct model, births) +
           encoder->room_events * (sizeof *encoder->model->births + sizeof *encoder->model->paths) +
           encoder->most_bytes + writer->packer.out.room + writer->index.room +
           writer->nets.room * sizeof *writer->nets.all +
           writer->modules.text.room + writer->facts.text.room;
}
