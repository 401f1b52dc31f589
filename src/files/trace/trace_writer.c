/* The writer of a trace. It gathers records, nodes, modules and notes in one block per kind, and
 * writes only whole blocks. Nodes and modules are written before the events that name them. At the
 * end come the index and the tail. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/alive.h"
#include "base/error.h"
#include "base/new_file.h"
#include "base/whole.h"
#include "trace/byte_columns.h"
#include "trace/encoder.h"
#include "trace/trace_format.h"
#include "trace/net_deltas.h"
#include "trace/node_columns.h"
#include "trace/delta_index.h"
#include "trace/trace.h"

enum { TEXT_BYTES_MAX = 1 << 20, SMALL_BLOCK_FULL = 4 << 20 };

/* Modules or facts that are not yet written. */
struct gathered {
    struct byte_sink text;
    uint32_t count;
    uint64_t first;
};

struct trace_writer {
    int fd, error; /* fd -1: at rest */
    void *lock;    /* a page of the file, whose mapping keeps the lock while at rest; NULL: none */
    dev_t device;  /* of the file at rest */
    ino_t inode;
    char *path;
    uint64_t bytes;
    uint32_t blocks;
    uint64_t events; /* in blocks written */
    uint32_t start_threads;
    uint64_t start_ticks, start_bytes, start_count; /* as the block of events under way began */
    struct encoder encoder;
    struct net_deltas deltas; /* of the block just ended; it and its columns are kept for their
                             * room */
    struct byte_sink net_columns[NET_COLUMNS];
    struct node_columns_encoder nodes;
    struct delta_index delta_index;
    struct gathered modules, facts;
    struct packer packer;
    struct byte_sink index; /* offset and header of each block */
};

/* ---- The file ------------------------------------------------------------------------------ */

static int trace_writer_fail(struct trace_writer *writer, int error)
{
    if (!writer->error)
        writer->error = error;
    if (writer->error == -ENOMEM)
        return error_set(-ENOMEM, "out of memory while writing %s", writer->path);
    return error_set(writer->error, "cannot write %s: %s", writer->path, strerror(-writer->error));
}

/* 0 if it is still our file that has the name. */
static int trace_writer_open_again(struct trace_writer *writer)
{
    struct stat file;
    int error = 0;
    int fd = open(writer->path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0)
        return -errno;
    if (fstat(fd, &file))
        error = -errno;
    else if (file.st_dev != writer->device || file.st_ino != writer->inode)
        error = -ESTALE;
    else if (lseek(fd, (off_t)writer->bytes, SEEK_SET) < 0)
        error = -errno;
    if (error)
        close(fd);
    else
        writer->fd = fd;
    return error;
}

static int trace_writer_wake(struct trace_writer *writer)
{
    int error = writer->fd < 0 ? trace_writer_open_again(writer) : 0;

    return error ? trace_writer_fail(writer, error) : 0;
}

bool trace_writer_rest(struct trace_writer *writer)
{
    struct stat file;

    if (writer->fd < 0)
        return true;
    if (!writer->lock) {
        void *page = mmap(NULL, 1, PROT_NONE, MAP_SHARED, writer->fd, 0);
        writer->lock = page == MAP_FAILED ? NULL : page;
    }
    if (!writer->lock || fstat(writer->fd, &file))
        return false;
    writer->device = file.st_dev;
    writer->inode = file.st_ino;
    if (close(writer->fd))
        trace_writer_fail(writer, -errno);
    writer->fd = -1;
    return true;
}

static int trace_writer_write_all(struct trace_writer *writer, const void *bytes, size_t count)
{
    if (trace_writer_wake(writer))
        return writer->error;
    int error = whole_write(writer->fd, bytes, count);
    if (error)
        return trace_writer_fail(writer, error);
    writer->bytes += count;
    return 0;
}

/* Cuts off a block that was written in part, to give its room back. A failure does no harm. */
static void trace_writer_cut_off(struct trace_writer *writer, uint64_t offset)
{
    if (writer->fd >= 0 && ftruncate(writer->fd, (off_t)offset) == 0)
        writer->bytes = offset;
}

static int trace_writer_remember_block(struct trace_writer *writer, const unsigned char *header)
{
    if (sink_reserve(&writer->index, NUMBER_BYTES + FORMAT_BLOCK_BYTES))
        return trace_writer_fail(writer, -ENOMEM);
    numbers_sink_varint(&writer->index, writer->bytes);
    numbers_sink_bytes(&writer->index, header, FORMAT_BLOCK_BYTES);
    return 0;
}

/* What the packer holds: `paths_bytes` of paths and then the body. */
static int trace_writer_write_block(struct trace_writer *writer, struct trace_format_block *block,
                                    size_t paths_bytes)
{
    struct byte_sink *packed = &writer->packer.out;
    unsigned char *header = packed->data;
    uint64_t offset;

    block->number = writer->blocks++;
    block->paths_bytes = (uint32_t)paths_bytes;
    block->body_bytes = (uint32_t)(packed->count - FORMAT_BLOCK_BYTES - paths_bytes);
    block->paths_hash = trace_format_hash(header + FORMAT_BLOCK_BYTES, paths_bytes);
    block->body_hash =
        trace_format_hash(header + FORMAT_BLOCK_BYTES + paths_bytes, block->body_bytes);
    trace_format_put_block(header, block);
    if (block->kind != FORMAT_INDEX && trace_writer_remember_block(writer, header))
        return writer->error;
    offset = writer->bytes;
    if (trace_writer_write_all(writer, packed->data, packed->count))
        trace_writer_cut_off(writer, offset);
    return writer->error;
}

/* Leaves room for the header. */
static int trace_writer_begin_block(struct trace_writer *writer)
{
    writer->packer.out.count = 0;
    if (sink_reserve(&writer->packer.out, FORMAT_BLOCK_BYTES))
        return trace_writer_fail(writer, -ENOMEM);
    writer->packer.out.count = FORMAT_BLOCK_BYTES;
    return 0;
}

static int trace_writer_write_columns(struct trace_writer *writer, struct trace_format_block *block,
                                      const struct byte_sink *columns, size_t count)
{
    if (trace_writer_begin_block(writer))
        return writer->error;
    if (packer_pack(&writer->packer, columns, count, 0, 0))
        return trace_writer_fail(writer, -ENOMEM);
    return trace_writer_write_block(writer, block, 0);
}

/* ---- Blocks -------------------------------------------------------------------------------- */

static int trace_writer_write_nodes(struct trace_writer *writer)
{
    struct node_columns_encoder *nodes = &writer->nodes;
    struct trace_format_block block = {
        .kind = FORMAT_NODES, .first = nodes->first, .count = nodes->count};
    int error = 0;

    if (nodes->count)
        error = trace_writer_write_columns(writer, &block, nodes->columns, NODES_COLUMNS);
    node_columns_begin_block(nodes);
    return error;
}

static int trace_writer_write_gathered(struct trace_writer *writer, struct gathered *gathered,
                                       enum trace_format_block_kind kind)
{
    struct trace_format_block block = {
        .kind = kind, .first = gathered->first, .count = gathered->count};
    int error = 0;

    if (gathered->count)
        error = trace_writer_write_columns(writer, &block, &gathered->text, 1);
    gathered->first += gathered->count;
    gathered->count = 0;
    gathered->text.count = 0;
    return error;
}

/* Paths of a block; `more`: columns behind the net deltas. */
static int trace_writer_pack_paths(struct trace_writer *writer, const struct net_deltas *deltas,
                                   const struct byte_sink *more, size_t more_count)
{
    struct byte_sink columns[NET_COLUMNS + ENDS_COLUMNS];
    int error = 0;

    for (int i = 0; i < NET_COLUMNS && !error; i++) {
        writer->net_columns[i].count = 0;
        error = sink_reserve(&writer->net_columns[i], (deltas->count + 1) * NUMBER_BYTES);
    }
    if (error)
        return trace_writer_fail(writer, error);
    net_deltas_put(deltas, writer->net_columns);
    memcpy(columns, writer->net_columns, sizeof writer->net_columns);
    if (more_count)
        memcpy(columns + NET_COLUMNS, more, more_count * sizeof *more);
    error = packer_pack(&writer->packer, columns, NET_COLUMNS + more_count, 0, 0);
    return error ? trace_writer_fail(writer, error) : 0;
}

/* Copies, since `lives` refers to its own net deltas by position. */
static int trace_writer_copy_deltas(struct net_deltas *deltas, const struct live_set *lives)
{
    if (deltas->room < lives->net_count) {
        net_deltas_release(deltas);
        deltas->all = malloc(lives->net_room * sizeof *deltas->all);
        if (!deltas->all)
            return -ENOMEM;
        deltas->room = lives->net_room;
    }
    deltas->count = lives->net_count;
    if (deltas->count)
        memcpy(deltas->all, lives->net, deltas->count * sizeof *deltas->all);
    net_deltas_settle(deltas);
    return 0;
}

/* Net deltas, and behind them the ends that no record of the block tells. */
static int trace_writer_pack_digest(struct trace_writer *writer, struct trace_format_block *block)
{
    struct live_set *lives = &writer->encoder.lives;
    const struct byte_sink *ends = block_ends_end_block(&writer->encoder.ends, lives);

    if (trace_writer_copy_deltas(&writer->deltas, lives))
        return trace_writer_fail(writer, -ENOMEM);
    block->path_count = (uint32_t)writer->deltas.count;
    return trace_writer_pack_paths(writer, &writer->deltas, ends, ENDS_COLUMNS);
}

static int trace_writer_write_sum(struct trace_writer *writer,
                                  const struct delta_index_level *level)
{
    struct trace_format_block block = level->digest;
    const struct byte_sink none = {0};
    size_t paths_bytes;

    block.path_count = (uint32_t)level->deltas.count;
    if (trace_writer_begin_block(writer) ||
        trace_writer_pack_paths(writer, &level->deltas, NULL, 0))
        return writer->error;
    paths_bytes = writer->packer.out.count - FORMAT_BLOCK_BYTES;
    if (packer_pack(&writer->packer, &none, 0, 0, 0))
        return trace_writer_fail(writer, -ENOMEM);
    return trace_writer_write_block(writer, &block, paths_bytes);
}

/* A block of events has been written: the sums that it completes follow. A column holds 2^23 bytes:
 * a sum that could have more is left out. */
static int trace_writer_write_sums(struct trace_writer *writer,
                                   const struct trace_format_block *block,
                                   const struct net_deltas *deltas)
{
    for (int i = 0; i < DELTA_INDEX_LEVELS; i++) {
        struct delta_index_level *level = &writer->delta_index.levels[i];
        if (delta_index_add(level, block, deltas))
            return trace_writer_fail(writer, -ENOMEM);
        if (!delta_index_level_is_full(level))
            return 0;
        if (level->deltas.count <= FORMAT_COLUMN_BYTES / NUMBER_BYTES &&
            trace_writer_write_sum(writer, level))
            return writer->error;
        block = &level->digest;
        deltas = &level->deltas;
    }
    return 0;
}

static void trace_writer_note_start(struct trace_writer *writer)
{
    writer->start_ticks = writer->encoder.lives.now;
    writer->start_bytes = writer->encoder.lives.bytes;
    writer->start_count = writer->encoder.lives.count;
    writer->start_threads = writer->encoder.thread_count;
}

static void trace_writer_fill_digest(const struct trace_writer *writer,
                                     struct trace_format_block *block)
{
    const struct encoder *encoder = &writer->encoder;
    const struct live_set *lives = &encoder->lives;
    bool has_times = encoder->first_ticks <= encoder->last_ticks;

    *block = (struct trace_format_block){
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

static int trace_writer_write_events(struct trace_writer *writer)
{
    struct encoder *encoder = &writer->encoder;
    struct trace_format_block block;
    size_t paths_bytes = 0;

    trace_writer_fill_digest(writer, &block);
    encoder_end_block(encoder);
    if (!trace_writer_begin_block(writer) && !trace_writer_pack_digest(writer, &block)) {
        paths_bytes = writer->packer.out.count - FORMAT_BLOCK_BYTES;
        if (packer_pack(&writer->packer, encoder->columns, COLUMNS, MODEL_NOISE, MODEL_BITS))
            trace_writer_fail(writer, -ENOMEM);
    }
    writer->events += encoder->events;
    encoder_begin_block(encoder);
    trace_writer_note_start(writer);
    if (!writer->error && !trace_writer_write_block(writer, &block, paths_bytes))
        trace_writer_write_sums(writer, &block, &writer->deltas);
    return writer->error;
}

/* Facts, modules and nodes come before the events that may name them. */
int trace_writer_flush(struct trace_writer *writer)
{
    if (writer->error)
        return trace_writer_fail(writer, 0);
    if (trace_writer_write_gathered(writer, &writer->facts, FORMAT_FACTS) ||
        trace_writer_write_gathered(writer, &writer->modules, FORMAT_MODULES) ||
        trace_writer_write_nodes(writer))
        return writer->error;
    return encoder_is_empty(&writer->encoder) ? 0 : trace_writer_write_events(writer);
}

/* ---- Opening and finishing ----------------------------------------------------------------- */

static int trace_writer_write_header(struct trace_writer *writer,
                                     const struct trace_options *options)
{
    unsigned char bytes[FORMAT_HEADER_BYTES];
    struct trace_format_header header = {
        .version = FORMAT_VERSION,
        .flags = options->flags,
        .method = options->compression,
        .level = (uint32_t)writer->packer.level,
        .start_ticks = options->start_ticks,
        .sample_bytes = options->sample_bytes,
    };

    trace_format_put_header(bytes, &header);
    return trace_writer_write_all(writer, bytes, sizeof bytes);
}

static void trace_writer_release(struct trace_writer *writer)
{
    if (writer->fd >= 0)
        close(writer->fd);
    if (writer->lock)
        munmap(writer->lock, 1);
    encoder_release(&writer->encoder);
    net_deltas_release(&writer->deltas);
    for (int i = 0; i < NET_COLUMNS; i++)
        free(writer->net_columns[i].data);
    node_columns_encoder_release(&writer->nodes);
    packer_release(&writer->packer);
    delta_index_release(&writer->delta_index);
    free(writer->modules.text.data);
    free(writer->facts.text.data);
    free(writer->index.data);
    free(writer->path);
    free(writer);
}

static int trace_writer_make_parts(struct trace_writer *writer, const struct trace_options *options)
{
    int level = options->compression == TRACE_ZSTD ? options->level ? options->level : 3 : 0;
    int error = packer_init(&writer->packer, (enum pack_method)options->compression, level);

    if (!error)
        error = node_columns_encoder_init(&writer->nodes);
    if (!error)
        error = encoder_init(&writer->encoder, options->start_ticks, options->sample_bytes);
    return error;
}

/* The file has its header, and is locked, before it has the name. */
static int trace_writer_begin_file(struct trace_writer *writer, const struct trace_options *options)
{
    struct new_file file;
    int error = new_file_open(&file, writer->path);

    writer->fd = file.fd;
    if (!error) {
        alive_lock(file.fd);
        error = trace_writer_write_header(writer, options);
    }
    if (!error)
        error = new_file_place(&file, writer->path);
    if (error)
        writer->fd = -1;
    new_file_release(&file);
    return error;
}

int trace_writer_open(struct trace_writer **out, const char *path,
                      const struct trace_options *options)
{
    struct trace_writer *writer = calloc(1, sizeof *writer);
    int error;

    if (!writer || !(writer->path = strdup(path))) {
        free(writer);
        return error_set(-ENOMEM, "out of memory while creating %s", path);
    }
    writer->fd = -1;
    error = trace_writer_make_parts(writer, options);
    if (!error)
        trace_writer_note_start(writer);
    if (!error)
        error = trace_writer_begin_file(writer, options);
    if (error) {
        trace_writer_release(writer);
        return error_set(error, "cannot create %s: %s", path, strerror(-error));
    }
    *out = writer;
    return 0;
}

static int trace_writer_write_index(struct trace_writer *writer)
{
    struct trace_format_block block = {.kind = FORMAT_INDEX, .count = writer->blocks};
    unsigned char tail[FORMAT_TAIL_BYTES];
    uint64_t offset = writer->bytes;

    if (writer->index.count > FORMAT_COLUMN_BYTES) /* a reader will look at the blocks instead */
        writer->index.count = block.count = 0;
    if (trace_writer_write_columns(writer, &block, &writer->index, 1))
        return writer->error;
    trace_format_put_tail(tail, offset);
    return trace_writer_write_all(writer, tail, sizeof tail);
}

void trace_writer_abandon(struct trace_writer *writer)
{
    trace_writer_release(writer);
}

int trace_writer_finish(struct trace_writer *writer)
{
    int error = trace_writer_flush(writer);

    if (!error)
        error = trace_writer_write_index(writer);
    if (!error && close(writer->fd))
        error = trace_writer_fail(writer, -errno);
    else if (error && writer->fd >= 0)
        close(writer->fd);
    writer->fd = -1;
    trace_writer_release(writer);
    return error;
}

/* ---- What is told -------------------------------------------------------------------------- */

static int trace_writer_add_run(struct trace_writer *writer, uint32_t stream,
                                const unsigned char *records, size_t bytes)
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
        return trace_writer_fail(writer, 0);
    for (size_t i = 0; i < count; at += runs[i++].bytes)
        if (trace_writer_add_run(writer, runs[i].thread, at, runs[i].bytes))
            return writer->error;
    return 0;
}

int trace_writer_note(struct trace_writer *writer, const struct trace_note *note)
{
    if (writer->error)
        return trace_writer_fail(writer, 0);
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
        return trace_writer_fail(writer, 0);
    if (first != nodes_next(&writer->nodes))
        return trace_writer_fail(writer, -EINVAL);
    for (size_t i = 0; i < count; i++) {
        if (node_columns_add(&writer->nodes, &nodes[i]))
            return trace_writer_fail(writer, -ENOMEM);
        if (writer->nodes.count == FORMAT_BLOCK_NODES && trace_writer_write_nodes(writer))
            return writer->error;
    }
    return 0;
}

/* Room for some numbers and texts; what is full goes to the file. */
static int trace_writer_make_room(struct trace_writer *writer, struct gathered *gathered,
                                  enum trace_format_block_kind kind, size_t bytes)
{
    if (writer->error)
        return trace_writer_fail(writer, 0);
    if (bytes > TEXT_BYTES_MAX)
        return error_set(-E2BIG, "cannot write %s: a text of %zu bytes is too long", writer->path,
                         bytes);
    if (gathered->text.count + bytes > SMALL_BLOCK_FULL &&
        trace_writer_write_gathered(writer, gathered, kind))
        return writer->error;
    return sink_reserve(&gathered->text, bytes) ? trace_writer_fail(writer, -ENOMEM) : 0;
}

static void trace_writer_put_text(struct byte_sink *sink, const void *text, size_t length)
{
    numbers_sink_varint(sink, length);
    numbers_sink_bytes(sink, text, length);
}

int trace_writer_module(struct trace_writer *writer, const struct trace_module *module)
{
    struct byte_sink *sink = &writer->modules.text;
    size_t length = strlen(module->path);
    size_t id_bytes = module->build_id_bytes < sizeof module->build_id ? module->build_id_bytes
                                                                       : sizeof module->build_id;

    if (trace_writer_make_room(writer, &writer->modules, FORMAT_MODULES,
                               8 * NUMBER_BYTES + 32 + length))
        return writer->error ? writer->error : -E2BIG;
    numbers_sink_varint(sink, module->number);
    numbers_sink_varint(sink, module->born);
    numbers_sink_varint(sink, module->died);
    numbers_sink_varint(sink, module->bias);
    numbers_sink_varint(sink, module->start);
    numbers_sink_varint(sink, module->end - module->start);
    trace_writer_put_text(sink, module->build_id, id_bytes);
    trace_writer_put_text(sink, module->path, length);
    writer->modules.count++;
    return 0;
}

int trace_writer_fact(struct trace_writer *writer, const char *key, const char *value)
{
    size_t key_bytes = strlen(key), value_bytes = strlen(value);

    if (trace_writer_make_room(writer, &writer->facts, FORMAT_FACTS,
                               2 * NUMBER_BYTES + key_bytes + value_bytes))
        return writer->error ? writer->error : -E2BIG;
    trace_writer_put_text(&writer->facts.text, key, key_bytes);
    trace_writer_put_text(&writer->facts.text, value, value_bytes);
    writer->facts.count++;
    return 0;
}

/* Behind all that was told: what the events need is whole in a file that is cut off in here. Pieces
 * of a column each; what is in them is packed as a rule, and then stored as it is. */
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
        struct trace_format_block block = {
            .kind = FORMAT_SUPPLEMENT, .first = at, .count = (uint32_t)count};
        numbers_sink_varint(&columns[0], size);
        if (trace_writer_write_columns(writer, &block, columns, 2))
            return writer->error;
        at += count;
    } while (at < size);
    return 0;
}
