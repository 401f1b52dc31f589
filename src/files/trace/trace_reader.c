/* The reader of a trace. It finds the blocks by the index. Without an index it walks from header to
 * header; behind damage it searches for the next whole header. Each body is read with pread() on
 * demand, so a file that shrinks does no harm and threads share no file position. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "trace/byte_columns.h"
#include "base/array.h"
#include "base/error.h"
#include "base/regular.h"
#include "base/search.h"
#include "base/whole.h"
#include "trace/decoder.h"
#include "trace/trace_format.h"
#include "trace/node_columns.h"
#include "trace/trace_reader.h"
#include "trace/trace.h"

enum {
    SEARCH_BYTES = 1 << 16,
    FACTS_MAX = 4096, /* they are searched one by one: what is above that is damage */
    MODULES_MAX = 65536,
};

/* A block of any kind and where it stands. */
struct trace_reader_place {
    struct trace_format_block block;
    uint64_t offset;
};

struct places {
    struct trace_reader_place *all;
    size_t count, room;
};

struct trace_reader_fact {
    char *key, *value;
};

struct trace {
    int fd;
    char *path;
    uint64_t file_bytes;
    struct trace_format_header header;
    struct places places;
    struct trace_block *blocks; /* of events */
    size_t *block_places;       /* their indices in `places` */
    size_t block_count, peak_block;
    struct trace_reader_sum *sums;
    size_t sum_count;
    struct trace_reader_fact *facts;
    size_t fact_count, fact_room;
    bool cut_off;
    uint64_t lost_blocks;
    _Atomic uint64_t bad_blocks, bad_events; /* found when their bodies were read */
};

struct trace_scratch {
    struct decoder decoder;
    unsigned char *body;
    size_t room;
};

/* ---- The file ------------------------------------------------------------------------------ */

static bool trace_reader_read_at(const struct trace *trace, void *bytes, size_t count,
                                 uint64_t offset)
{
    return offset <= trace->file_bytes && count <= trace->file_bytes - offset &&
           whole_read_at(trace->fd, bytes, count, offset) == (ssize_t)count;
}

static uint64_t trace_reader_end_of(const struct trace_reader_place *place)
{
    return place->offset + FORMAT_BLOCK_BYTES + place->block.paths_bytes + place->block.body_bytes;
}

static int trace_reader_add_place(struct places *places, const struct trace_reader_place *place)
{
    if (!array_make_room(&places->all, &places->room, places->count, sizeof *places->all))
        return -ENOMEM;
    places->all[places->count++] = *place;
    return 0;
}

/* ---- Finding the blocks -------------------------------------------------------------------- */

static bool trace_reader_get_place(const struct trace *trace, uint64_t offset,
                                   struct trace_reader_place *place)
{
    unsigned char header[FORMAT_BLOCK_BYTES];

    place->offset = offset;
    return trace_reader_read_at(trace, header, sizeof header, offset) &&
           trace_format_get_block(header, &place->block) &&
           trace_reader_end_of(place) <= trace->file_bytes;
}

/* The next whole header at or behind `offset`; false: there is none. */
static bool trace_reader_search_place(const struct trace *trace, uint64_t offset,
                                      struct trace_reader_place *place)
{
    unsigned char bytes[SEARCH_BYTES];

    while (offset < trace->file_bytes) {
        uint64_t left = trace->file_bytes - offset;
        size_t count = left < sizeof bytes ? (size_t)left : sizeof bytes;
        if (count < FORMAT_BLOCK_BYTES || !trace_reader_read_at(trace, bytes, count, offset))
            return false;
        for (size_t i = 0; i + 4 <= count; i++)
            if (!memcmp(bytes + i, "TMTB", 4) && trace_reader_get_place(trace, offset + i, place))
                return true;
        offset += count - 3;
    }
    return false;
}

/* Blocks come with rising numbers; what does not is not believed. */
static bool trace_reader_follows(const struct trace *trace, const struct trace_reader_place *place)
{
    const struct places *places = &trace->places;

    return !places->count ||
           (place->block.number > places->all[places->count - 1].block.number &&
            place->offset >= trace_reader_end_of(&places->all[places->count - 1]));
}

static int trace_reader_walk(struct trace *trace)
{
    uint64_t offset = FORMAT_HEADER_BYTES;
    struct trace_reader_place place;

    trace->places.count = 0;
    trace->cut_off = true;
    while (offset < trace->file_bytes) {
        if (!trace_reader_get_place(trace, offset, &place) &&
            !trace_reader_search_place(trace, offset + 1, &place))
            break;
        if (!trace_reader_follows(trace, &place)) {
            offset = place.offset + 1;
            continue;
        }
        if (place.block.kind == FORMAT_INDEX)
            trace->cut_off = trace_reader_end_of(&place) + FORMAT_TAIL_BYTES != trace->file_bytes;
        if (trace_reader_add_place(&trace->places, &place))
            return -ENOMEM;
        offset = trace_reader_end_of(&place);
    }
    return 0;
}

static unsigned char *trace_reader_read_part(const struct trace *trace, uint64_t offset,
                                             size_t bytes, uint64_t hash)
{
    unsigned char *part = malloc(bytes + 1);

    if (part && (!trace_reader_read_at(trace, part, bytes, offset) ||
                 trace_format_hash(part, bytes) != hash)) {
        free(part);
        part = NULL;
        errno = EBADMSG;
    } else if (!part) {
        errno = ENOMEM;
    }
    return part;
}

static unsigned char *trace_reader_read_paths(const struct trace *trace,
                                              const struct trace_reader_place *place)
{
    return trace_reader_read_part(trace, place->offset + FORMAT_BLOCK_BYTES,
                                  place->block.paths_bytes, place->block.paths_hash);
}

static unsigned char *trace_reader_read_body(const struct trace *trace,
                                             const struct trace_reader_place *place)
{
    return trace_reader_read_part(trace,
                                  place->offset + FORMAT_BLOCK_BYTES + place->block.paths_bytes,
                                  place->block.body_bytes, place->block.body_hash);
}

/* The columns of a body, with what must be released. -EBADMSG, -ENOMEM. */
static int trace_reader_open_body(const struct trace *trace, const struct trace_reader_place *place,
                                  struct unpacker *unpacker, struct byte_source *columns,
                                  size_t count)
{
    unsigned char *body = trace_reader_read_body(trace, place);
    int error;

    if (!body)
        return -errno;
    error = unpacker_unpack(unpacker, body, place->block.body_bytes, columns, count);
    free(body);
    return error;
}

static bool trace_reader_read_index_entries(struct trace *trace, struct byte_source *source,
                                            uint32_t count)
{
    struct trace_reader_place place;

    while (count--) {
        const unsigned char *header;
        place.offset = numbers_source_varint(source);
        header = numbers_source_bytes(source, FORMAT_BLOCK_BYTES);
        if (!header || !trace_format_get_block(header, &place.block) ||
            place.offset > trace->file_bytes || trace_reader_end_of(&place) > trace->file_bytes ||
            !trace_reader_follows(trace, &place) || trace_reader_add_place(&trace->places, &place))
            return false;
    }
    return !numbers_source_left(source);
}

/* False: there is no sound index. */
static bool trace_reader_read_index(struct trace *trace)
{
    unsigned char tail[FORMAT_TAIL_BYTES];
    struct unpacker unpacker = {0};
    struct byte_source column;
    struct trace_reader_place place;
    uint64_t offset;
    bool sound;

    if (trace->file_bytes < FORMAT_HEADER_BYTES + FORMAT_TAIL_BYTES ||
        !trace_reader_read_at(trace, tail, sizeof tail, trace->file_bytes - sizeof tail) ||
        !trace_format_get_tail(tail, &offset) || !trace_reader_get_place(trace, offset, &place) ||
        place.block.kind != FORMAT_INDEX || place.block.count != place.block.number ||
        trace_reader_end_of(&place) + FORMAT_TAIL_BYTES != trace->file_bytes)
        return false;
    sound = trace_reader_open_body(trace, &place, &unpacker, &column, 1) == 0 &&
            trace_reader_read_index_entries(trace, &column, place.block.count) &&
            trace_reader_add_place(&trace->places, &place) == 0;
    unpacker_release(&unpacker);
    return sound;
}

/* ---- What the blocks say ------------------------------------------------------------------- */

static struct trace_block trace_reader_block_at(const struct trace_reader_place *place)
{
    const struct trace_format_block *block = &place->block;

    return (struct trace_block){
        .first_event = block->first,
        .events = block->count,
        .first_ticks = block->first_ticks,
        .last_ticks = block->last_ticks,
        .start_ticks = block->start_ticks,
        .alloc_count = block->alloc_count,
        .free_count = block->free_count,
        .live_bytes = block->live_bytes,
        .live_count = block->live_count,
        .net_bytes = block->net_bytes,
        .net_count = block->net_count,
        .max_bytes = block->max_bytes,
        .max_ticks = block->max_ticks,
        .file_bytes = trace_reader_end_of(place) - place->offset,
        .threads = block->threads_1 - 1,
    };
}

static int trace_reader_list_blocks(struct trace *trace)
{
    size_t count = trace->places.count + 1;

    trace->blocks = malloc(count * sizeof *trace->blocks);
    trace->block_places = malloc(count * sizeof *trace->block_places);
    if (!trace->blocks || !trace->block_places)
        return -ENOMEM;
    for (size_t i = 0; i < trace->places.count; i++) {
        const struct trace_reader_place *place = &trace->places.all[i];
        if (place->block.kind != FORMAT_EVENTS)
            continue;
        trace->blocks[trace->block_count] = trace_reader_block_at(place);
        trace->block_places[trace->block_count] = i;
        if (trace->blocks[trace->block_count].max_bytes >
            trace->blocks[trace->peak_block].max_bytes)
            trace->peak_block = trace->block_count;
        trace->block_count++;
    }
    return 0;
}

static int trace_reader_by_first_event(const void *a, const void *b)
{
    const struct trace_reader_sum *x = a, *y = b;

    if (x->first_event != y->first_event)
        return x->first_event < y->first_event ? -1 : 1;
    return (x->events < y->events) - (x->events > y->events);
}

static int trace_reader_list_sums(struct trace *trace)
{
    trace->sums = malloc((trace->places.count + 1) * sizeof *trace->sums);
    if (!trace->sums)
        return -ENOMEM;
    for (size_t i = 0; i < trace->places.count; i++) {
        const struct trace_format_block *block = &trace->places.all[i].block;
        if (block->kind == FORMAT_SUMS)
            trace->sums[trace->sum_count++] =
                (struct trace_reader_sum){block->first, block->count, i};
    }
    qsort(trace->sums, trace->sum_count, sizeof *trace->sums, trace_reader_by_first_event);
    return 0;
}

static void trace_reader_count_lost(struct trace *trace)
{
    uint64_t next = 0;

    for (size_t i = 0; i < trace->places.count; i++) {
        trace->lost_blocks += trace->places.all[i].block.number - next;
        next = (uint64_t)trace->places.all[i].block.number + 1;
    }
}

static void trace_reader_note_bad(const struct trace *trace, const struct trace_reader_place *place)
{
    struct trace *counted = (struct trace *)trace; /* its counters are for all threads */

    atomic_fetch_add(&counted->bad_blocks, 1);
    if (place->block.kind == FORMAT_EVENTS)
        atomic_fetch_add(&counted->bad_events, place->block.count);
}

/* ---- Facts --------------------------------------------------------------------------------- */

static char *trace_reader_read_text(struct byte_source *source)
{
    uint64_t length = numbers_source_varint(source);
    const unsigned char *bytes = numbers_source_bytes(source, length);

    return bytes && !source->overrun ? strndup((const char *)bytes, length) : NULL;
}

static int trace_reader_keep_fact(struct trace *trace, char *key, char *value)
{
    for (size_t i = 0; i < trace->fact_count; i++) {
        if (strcmp(trace->facts[i].key, key))
            continue;
        free(key);
        free(trace->facts[i].value);
        trace->facts[i].value = value;
        return 0;
    }
    if (trace->fact_count == FACTS_MAX)
        return -EBADMSG;
    if (!array_make_room(&trace->facts, &trace->fact_room, trace->fact_count, sizeof *trace->facts))
        return -ENOMEM;
    trace->facts[trace->fact_count++] = (struct trace_reader_fact){key, value};
    return 0;
}

static int trace_reader_read_facts(struct trace *trace, struct byte_source *source, uint32_t count)
{
    while (count--) {
        char *key = trace_reader_read_text(source),
             *value = key ? trace_reader_read_text(source) : NULL;
        int error = !value ? (source->overrun ? -EBADMSG : -ENOMEM)
                           : trace_reader_keep_fact(trace, key, value);
        if (error) {
            free(key);
            free(value);
            return error;
        }
    }
    return numbers_source_left(source) ? -EBADMSG : 0;
}

static int trace_reader_read_all_facts(struct trace *trace)
{
    struct unpacker unpacker = {0};
    struct byte_source column;
    int error = 0;

    for (size_t i = 0; i < trace->places.count && error != -ENOMEM; i++) {
        const struct trace_reader_place *place = &trace->places.all[i];
        if (place->block.kind != FORMAT_FACTS)
            continue;
        error = trace_reader_open_body(trace, place, &unpacker, &column, 1);
        if (!error)
            error = trace_reader_read_facts(trace, &column, place->block.count);
        if (error == -EBADMSG)
            trace_reader_note_bad(trace, place);
    }
    unpacker_release(&unpacker);
    return error == -ENOMEM ? error : 0;
}

const char *trace_fact(const struct trace *trace, const char *key)
{
    for (size_t i = 0; i < trace->fact_count; i++)
        if (!strcmp(trace->facts[i].key, key))
            return trace->facts[i].value;
    return NULL;
}

size_t trace_fact_count(const struct trace *trace)
{
    return trace->fact_count;
}

void trace_fact_at(const struct trace *trace, size_t index, const char **key, const char **value)
{
    *key = trace->facts[index].key;
    *value = trace->facts[index].value;
}

/* ---- Opening ------------------------------------------------------------------------------- */

static int trace_reader_read_header(struct trace *trace)
{
    unsigned char bytes[FORMAT_HEADER_BYTES];

    if (trace->file_bytes >= sizeof bytes && trace_reader_read_at(trace, bytes, sizeof bytes, 0)) {
        if (!trace_format_is_trace(bytes))
            return error_set(-EBADMSG, "%s is not a trace (a .tmt, of `tidemark record --trace`)",
                             trace->path);
        if (!trace_format_get_header(bytes, &trace->header))
            return error_set(-EBADMSG, "%s is damaged: its header makes no sense", trace->path);
        if (!trace->header.version || trace->header.version > FORMAT_VERSION)
            return error_set(-EPROTONOSUPPORT,
                             "%s was written by a newer version of tidemark: update to read it",
                             trace->path);
        if (trace->header.sample_bytes > FORMAT_SAMPLE_MOST)
            return error_set(-EBADMSG, "%s is damaged: its header makes no sense", trace->path);
        return 0;
    }
    return error_set(-EBADMSG,
                     "%s is no trace, or cut off after %llu bytes: nothing in it can be read",
                     trace->path, (unsigned long long)trace->file_bytes);
}

static int trace_reader_open_file(struct trace *trace, const char *path)
{
    struct stat stat;

    trace->fd = regular_file_open(path, &stat);
    if (trace->fd < 0)
        return error_set(trace->fd, "cannot read %s: %s", path,
                         trace->fd == -EINVAL ? "it is no regular file" : strerror(-trace->fd));
    trace->file_bytes = (uint64_t)stat.st_size;
    return 0;
}

static int trace_reader_read_everything_else(struct trace *trace)
{
    int error = 0;

    if (!trace_reader_read_index(trace))
        error = trace_reader_walk(trace);
    if (!error)
        error = trace_reader_list_blocks(trace);
    if (!error)
        error = trace_reader_list_sums(trace);
    if (!error)
        error = trace_reader_read_all_facts(trace);
    if (error)
        return error_set(error, "out of memory while reading %s", trace->path);
    trace_reader_count_lost(trace);
    return 0;
}

int trace_open(struct trace **out, const char *path)
{
    struct trace *trace = calloc(1, sizeof *trace);
    int error;

    if (!trace)
        return error_set(-ENOMEM, "out of memory while reading %s", path);
    trace->fd = -1;
    trace->path = strdup(path);
    error = trace->path ? trace_reader_open_file(trace, path)
                        : error_set(-ENOMEM, "out of memory while reading %s", path);
    if (!error)
        error = trace_reader_read_header(trace);
    if (!error)
        error = trace_reader_read_everything_else(trace);
    if (error) {
        trace_close(trace);
        return error;
    }
    *out = trace;
    return 0;
}

void trace_close(struct trace *trace)
{
    if (!trace)
        return;
    if (trace->fd >= 0)
        close(trace->fd);
    for (size_t i = 0; i < trace->fact_count; i++) {
        free(trace->facts[i].key);
        free(trace->facts[i].value);
    }
    free(trace->facts);
    free(trace->blocks);
    free(trace->block_places);
    free(trace->sums);
    free(trace->places.all);
    free(trace->path);
    free(trace);
}

void trace_options(const struct trace *trace, struct trace_options *options)
{
    *options = (struct trace_options){
        .compression = (enum trace_compression)trace->header.method,
        .level = (int)trace->header.level,
        .flags = trace->header.flags,
        .start_ticks = trace->header.start_ticks,
        .sample_bytes = trace->header.sample_bytes,
    };
}

/* ---- Damage -------------------------------------------------------------------------------- */

/* Events in the gaps between the blocks that are there. */
static uint64_t trace_reader_missing_events(const struct trace *trace)
{
    uint64_t next = 0, missing = 0;

    for (size_t i = 0; i < trace->block_count; i++) {
        const struct trace_block *block = &trace->blocks[i];
        if (block->first_event > next)
            missing += block->first_event - next;
        next = block->first_event + block->events;
    }
    return missing;
}

void trace_damage(const struct trace *trace, struct trace_damage *damage, char *sentence,
                  size_t sentence_bytes)
{
    struct trace_damage found = {
        .cut_off = trace->cut_off,
        .blocks = trace->lost_blocks + atomic_load(&trace->bad_blocks),
        .lost_blocks = trace->lost_blocks,
        .events = trace_reader_missing_events(trace) + atomic_load(&trace->bad_events),
    };

    *damage = found;
    if (!sentence || !sentence_bytes)
        return;
    *sentence = '\0';
    if (found.blocks)
        snprintf(sentence, sentence_bytes,
                 "%s is damaged%s: %llu blocks cannot be read, with %llu events or more",
                 trace->path, found.cut_off ? " and cut off" : "", (unsigned long long)found.blocks,
                 (unsigned long long)found.events);
    else if (found.cut_off)
        snprintf(sentence, sentence_bytes,
                 "%s is cut off after %zu whole blocks of events: what came later is missing",
                 trace->path, trace->block_count);
}

static int trace_reader_damaged(const struct trace *trace, const struct trace_reader_place *place,
                                int error)
{
    if (error != -EBADMSG)
        return error_set(error, "out of memory while reading %s", trace->path);
    trace_reader_note_bad(trace, place);
    return error_set(-EBADMSG, "%s is damaged: the block at byte %llu cannot be read", trace->path,
                     (unsigned long long)place->offset);
}

/* ---- Blocks of events ---------------------------------------------------------------------- */

size_t trace_block_count(const struct trace *trace)
{
    return trace->block_count;
}

const struct trace_block *trace_block(const struct trace *trace, size_t index)
{
    return &trace->blocks[index];
}

static const struct trace_reader_place *trace_reader_place_of(const struct trace *trace,
                                                              size_t index)
{
    return &trace->places.all[trace->block_places[index]];
}

int trace_reader_paths(const struct trace *trace, size_t index, struct unpacker *unpacker,
                       struct byte_source *columns, size_t count, struct net_deltas *deltas)
{
    const struct trace_reader_place *place = &trace->places.all[index];
    unsigned char *paths = trace_reader_read_paths(trace, place);
    int error =
        paths ? unpacker_unpack(unpacker, paths, place->block.paths_bytes, columns, count) : -errno;

    if (!error)
        error = net_deltas_get(columns, place->block.path_count, deltas);
    free(paths);
    return error ? trace_reader_damaged(trace, place, error) : 0;
}

int trace_block_net_deltas(const struct trace *trace, size_t index, struct trace_net_delta **deltas,
                           size_t *count)
{
    struct unpacker unpacker = {0};
    struct byte_source columns[NET_COLUMNS];
    struct net_deltas list = {0};
    int error = trace_reader_paths(trace, trace->block_places[index], &unpacker, columns,
                                   NET_COLUMNS, &list);

    unpacker_release(&unpacker);
    *deltas = list.all;
    *count = list.count;
    return error;
}

size_t trace_reader_place(const struct trace *trace, size_t index)
{
    return trace->block_places[index];
}

const struct trace_reader_sum *trace_reader_sums(const struct trace *trace, size_t *count)
{
    *count = trace->sum_count;
    return trace->sums;
}

/* The last block for which `is_before` still holds; 0 if it does for none. They are in order. */
static size_t trace_reader_last_block(const struct trace *trace, uint64_t limit,
                                      bool (*is_before)(const struct trace_block *block,
                                                        uint64_t limit))
{
    size_t first = 1;

    SEARCH_FIRST(first, trace->block_count, at, is_before(&trace->blocks[at], limit));
    return first - 1;
}

static bool trace_reader_starts_before(const struct trace_block *block, uint64_t ticks)
{
    return block->start_ticks < ticks;
}

static bool trace_reader_begins_with_or_before(const struct trace_block *block, uint64_t event)
{
    return block->first_event <= event;
}

size_t trace_block_at(const struct trace *trace, uint64_t ticks)
{
    return trace_reader_last_block(trace, ticks, trace_reader_starts_before);
}

size_t trace_block_of_event(const struct trace *trace, uint64_t event)
{
    return trace_reader_last_block(trace, event, trace_reader_begins_with_or_before);
}

size_t trace_block_of_peak(const struct trace *trace)
{
    return trace->peak_block;
}

/* ---- Events -------------------------------------------------------------------------------- */

static int trace_reader_read_into(const struct trace *trace, const struct trace_reader_place *place,
                                  struct trace_scratch *scratch)
{
    size_t bytes = place->block.body_bytes;

    if (bytes + 1 > scratch->room) {
        free(scratch->body);
        scratch->body = malloc(bytes + 1);
        scratch->room = scratch->body ? bytes + 1 : 0;
    }
    if (!scratch->body)
        return -ENOMEM;
    if (!trace_reader_read_at(trace, scratch->body, bytes,
                              place->offset + FORMAT_BLOCK_BYTES + place->block.paths_bytes) ||
        trace_format_hash(scratch->body, bytes) != place->block.body_hash)
        return -EBADMSG;
    return 0;
}

int trace_reader_events(const struct trace *trace, size_t index, struct trace_events *events,
                        uint32_t *met)
{
    const struct trace_reader_place *place = trace_reader_place_of(trace, index);
    struct trace_scratch *scratch = events->scratch;
    struct decoder *decoder;
    int error;

    if (!scratch && !(scratch = events->scratch = calloc(1, sizeof *scratch)))
        return trace_reader_damaged(trace, place, -ENOMEM);
    decoder = &scratch->decoder;
    decoder->met = met;
    error = trace_reader_read_into(trace, place, scratch);
    if (!error)
        error = decoder_decode(decoder, trace->header.version, scratch->body,
                               place->block.body_bytes, place->block.count);
    *events = (struct trace_events){.scratch = scratch};
    if (error)
        return trace_reader_damaged(trace, place, error);
    *events = (struct trace_events){
        decoder->runs,      decoder->run_count, decoder->records,    decoder->bytes,
        place->block.count, decoder->notes,     decoder->note_count, scratch};
    return 0;
}

int trace_events(const struct trace *trace, size_t index, struct trace_events *events)
{
    return trace_reader_events(trace, index, events, NULL);
}

void trace_events_release(struct trace_events *events)
{
    if (events->scratch) {
        decoder_release(&events->scratch->decoder);
        free(events->scratch->body);
        free(events->scratch);
    }
    *events = (struct trace_events){0};
}

/* ---- Nodes and modules --------------------------------------------------------------------- */

static size_t trace_reader_place_limit(const struct trace *trace, size_t index)
{
    return index < trace->block_count ? trace->block_places[index] : trace->places.count;
}

static int trace_reader_grow_nodes(struct trace_node **nodes, size_t *count, size_t needed)
{
    struct trace_node *grown;

    if (needed <= *count)
        return 0;
    grown = realloc(*nodes, needed * sizeof *grown);
    if (!grown)
        return -ENOMEM;
    memset(grown + *count, 0, (needed - *count) * sizeof *grown);
    *nodes = grown;
    *count = needed;
    return 0;
}

/* Nodes may be missing before these, as many as the blocks that are lost can hold. */
static int trace_reader_add_nodes(const struct trace *trace, const struct trace_reader_place *place,
                                  struct unpacker *unpacker, struct node_columns_model *model,
                                  struct trace_node **nodes, size_t *count)
{
    const struct trace_format_block *block = &place->block;
    struct byte_source columns[NODES_COLUMNS];
    uint64_t most = ((uint64_t)block->number + 1) * FORMAT_BLOCK_EVENTS;
    int error = trace_reader_open_body(trace, place, unpacker, columns, NODES_COLUMNS);

    if (!error && (block->first + block->count > most || block->first < *count ||
                   block->first > UINT32_MAX - block->count ||
                   block->count > numbers_source_left(&columns[NODES_FIRST]) +
                                      numbers_source_left(&columns[NODES_NEXT])))
        error = -EBADMSG;
    if (!error)
        error = trace_reader_grow_nodes(nodes, count, block->first + block->count);
    if (error)
        return error;
    error = node_columns_decode(model, columns, (uint32_t)block->first, block->count,
                                *nodes + block->first);
    if (error)
        memset(*nodes + block->first, 0, block->count * sizeof **nodes);
    return error;
}

int trace_nodes(const struct trace *trace, size_t index, struct trace_node **nodes, size_t *count)
{
    struct unpacker unpacker = {0};
    struct node_columns_model *model = node_columns_model_new();
    size_t limit = trace_reader_place_limit(trace, index);
    int error = model ? 0 : -ENOMEM;

    *nodes = NULL;
    *count = 0;
    for (size_t i = 0; i < limit && error != -ENOMEM; i++) {
        const struct trace_reader_place *place = &trace->places.all[i];
        if (place->block.kind != FORMAT_NODES)
            continue;
        error = trace_reader_add_nodes(trace, place, &unpacker, model, nodes, count);
        if (error == -EBADMSG)
            trace_reader_note_bad(trace, place);
    }
    unpacker_release(&unpacker);
    node_columns_model_free(model);
    if (error != -ENOMEM)
        return 0;
    free(*nodes);
    *nodes = NULL;
    return error_set(-ENOMEM, "out of memory while reading %s", trace->path);
}

/* Modules and, behind them in one piece of memory, their paths. */
struct module_list {
    struct trace_module *all;
    char **paths;
    size_t count, room, path_room;
};

static int trace_reader_place_module(struct module_list *list, const struct trace_module *module,
                                     char *path)
{
    size_t i = 0;

    while (i < list->count && list->all[i].number != module->number)
        i++;
    if (i == MODULES_MAX)
        return -EBADMSG;
    if (!array_make_bare_room(&list->all, &list->room, i, sizeof *list->all) ||
        !array_make_bare_room(&list->paths, &list->path_room, i, sizeof *list->paths))
        return -ENOMEM;
    if (i == list->count)
        list->count++;
    else
        free(list->paths[i]);
    list->all[i] = *module;
    list->paths[i] = path;
    return 0;
}

static int trace_reader_read_module(struct byte_source *source, struct module_list *list)
{
    struct trace_module module = {0};
    const unsigned char *id;
    uint64_t id_bytes;
    char *path;
    int error;

    module.number = (uint32_t)numbers_source_varint(source);
    module.born = (uint32_t)numbers_source_varint(source);
    module.died = (uint32_t)numbers_source_varint(source);
    module.bias = numbers_source_varint(source);
    module.start = numbers_source_varint(source);
    module.end = module.start + numbers_source_varint(source);
    id_bytes = numbers_source_varint(source);
    id = numbers_source_bytes(source, id_bytes);
    if (source->overrun || id_bytes > sizeof module.build_id)
        return -EBADMSG;
    memcpy(module.build_id, id, id_bytes);
    module.build_id_bytes = (uint8_t)id_bytes;
    path = trace_reader_read_text(source);
    if (!path)
        return source->overrun ? -EBADMSG : -ENOMEM;
    error = trace_reader_place_module(list, &module, path);
    if (error)
        free(path);
    return error;
}

static int trace_reader_read_modules(const struct trace *trace,
                                     const struct trace_reader_place *place,
                                     struct unpacker *unpacker, struct module_list *list)
{
    struct byte_source column;
    int error = trace_reader_open_body(trace, place, unpacker, &column, 1);

    for (uint32_t i = 0; i < place->block.count && !error; i++)
        error = trace_reader_read_module(&column, list);
    return error ? error : numbers_source_left(&column) ? -EBADMSG : 0;
}

static struct trace_module *trace_reader_pack_modules(const struct module_list *list)
{
    size_t bytes = list->count * sizeof *list->all + 1;
    struct trace_module *all;
    char *at;

    for (size_t i = 0; i < list->count; i++)
        bytes += strlen(list->paths[i]) + 1;
    all = malloc(bytes);
    if (!all)
        return NULL;
    at = (char *)(all + list->count);
    for (size_t i = 0; i < list->count; i++) {
        all[i] = list->all[i];
        all[i].path = strcpy(at, list->paths[i]);
        at += strlen(at) + 1;
    }
    return all;
}

int trace_modules(const struct trace *trace, size_t index, struct trace_module **modules,
                  size_t *count)
{
    struct unpacker unpacker = {0};
    struct module_list list = {0};
    size_t limit = trace_reader_place_limit(trace, index);
    int error = 0;

    for (size_t i = 0; i < limit && error != -ENOMEM; i++) {
        const struct trace_reader_place *place = &trace->places.all[i];
        if (place->block.kind != FORMAT_MODULES)
            continue;
        error = trace_reader_read_modules(trace, place, &unpacker, &list);
        if (error == -EBADMSG)
            trace_reader_note_bad(trace, place);
    }
    *modules = error == -ENOMEM ? NULL : trace_reader_pack_modules(&list);
    *count = *modules ? list.count : 0;
    for (size_t i = 0; i < list.count; i++)
        free(list.paths[i]);
    free(list.paths);
    free(list.all);
    unpacker_release(&unpacker);
    return *modules ? 0 : error_set(-ENOMEM, "out of memory while reading %s", trace->path);
}

/* ---- The supplement ------------------------------------------------------------------------ */

struct trace_reader_supplement {
    unsigned char *bytes;
    size_t size, total;
};

static int trace_reader_add_piece(const struct trace *trace, const struct trace_reader_place *place,
                                  struct unpacker *unpacker,
                                  struct trace_reader_supplement *supplement)
{
    struct byte_source columns[2];
    int error = trace_reader_open_body(trace, place, unpacker, columns, 2);
    size_t count = error ? 0 : numbers_source_left(&columns[1]);
    uint64_t total = error ? 0 : numbers_source_varint(&columns[0]);
    unsigned char *grown;

    if (error)
        return error;
    if (!place->block.first)
        supplement->size = 0;
    if (columns[0].overrun || place->block.count != count ||
        place->block.first != supplement->size || total - supplement->size < count ||
        total < supplement->size)
        return -EBADMSG;
    grown = realloc(supplement->bytes, supplement->size + count + 1);
    if (!grown)
        return -ENOMEM;
    memcpy(grown + supplement->size, numbers_source_bytes(&columns[1], count), count);
    *supplement = (struct trace_reader_supplement){grown, supplement->size + count, total};
    return 0;
}

int trace_supplement(const struct trace *trace, void **bytes, size_t *size)
{
    struct unpacker unpacker = {0};
    struct trace_reader_supplement supplement = {0};
    int error = 0;

    for (size_t i = 0; i < trace->places.count && error != -ENOMEM; i++) {
        const struct trace_reader_place *place = &trace->places.all[i];
        if (place->block.kind != FORMAT_SUPPLEMENT)
            continue;
        error = trace_reader_add_piece(trace, place, &unpacker, &supplement);
        if (error == -EBADMSG) {
            trace_reader_note_bad(trace, place);
            supplement.size = 0;
        }
    }
    unpacker_release(&unpacker);
    *bytes = supplement.bytes;
    *size = supplement.size;
    if (error != -ENOMEM && supplement.size && supplement.size == supplement.total)
        return 0;
    free(supplement.bytes);
    *bytes = NULL;
    *size = 0;
    return error == -ENOMEM ? error_set(error, "out of memory while reading %s", trace->path) : 0;
}
