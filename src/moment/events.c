/* Events as they happened, filtered. A block of the trace is decoded, shown and forgotten. Blocks
 * before the first event that is wanted are decoded too: they say which threads there are, and in
 * which block an address lies. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/human.h"
#include "base/json.h"
#include "base/text.h"
#include "moment/error.h"
#include "moment/moment.h"
#include "moment/times.h"
#include "present/frames.h"
#include "present/match.h"
#include "wire/wire.h"

enum { NUMBER = 11, TIME = 12, THREAD = 8, KIND = 12, ADDRESS = 14, SIZE = 10, GAP = 2 };

/* ---- Kinds --------------------------------------------------------------------------------- */

enum events_kind {
    KIND_MALLOC,
    KIND_CALLOC,
    KIND_ALIGNED,
    KIND_NEW,
    KIND_POOL,
    KIND_REALLOC,
    KIND_FREE,
    KIND_MMAP,
    KIND_MUNMAP,
    KIND_BRK,
    KIND_THREAD,
    KIND_SAMPLE,
    KIND_MARK,
    KIND_REGION,
    KIND_LOST,
    KINDS
};
static const char *const kind_words[KINDS] = {
    "malloc", "calloc", "aligned", "new",    "pool",   "realloc", "free", "mmap",
    "munmap", "brk",    "thread",  "sample", "mark",   "region",  "lost"};

int events_kinds_parse(const char *list, uint32_t *kinds, char *wrong, size_t wrong_bytes)
{
    for (size_t length; *list; list += length + (list[length] == ',')) {
        unsigned i = 0;
        length = strcspn(list, ",");
        while (i < KINDS &&
               (strlen(kind_words[i]) != length || memcmp(kind_words[i], list, length)))
            i++;
        if (i == KINDS) {
            snprintf(wrong, wrong_bytes, "%.*s", (int)(length < 60 ? length : 60), list);
            return -EINVAL;
        }
        *kinds |= 1u << i;
    }
    return 0;
}

/* What a record is called. A free that a sample's recorder doubts carries WIRE_NEWEST. */
struct record_kind {
    const char *name; /* NULL: not to be shown */
    enum events_kind kind;
    bool has_size, has_path, has_address;
};

static struct record_kind kind_of(unsigned kind)
{
    switch (kind & ~(unsigned)WIRE_FAILED) {
    case WIRE_MALLOC:
        return (struct record_kind){"malloc", KIND_MALLOC, true, true, true};
    case WIRE_CALLOC:
        return (struct record_kind){"calloc", KIND_CALLOC, true, true, true};
    case WIRE_ALIGNED:
        return (struct record_kind){"aligned", KIND_ALIGNED, true, true, true};
    case WIRE_NEW:
        return (struct record_kind){"new", KIND_NEW, true, true, true};
    case WIRE_NEW_ARRAY:
        return (struct record_kind){"new[]", KIND_NEW, true, true, true};
    case WIRE_REALLOC_BEGIN:
        return (struct record_kind){"realloc-of", KIND_REALLOC, false, false, true};
    case WIRE_REALLOC_END:
        return (struct record_kind){"realloc-to", KIND_REALLOC, true, true, true};
    case WIRE_FREE:
    case WIRE_FREE | WIRE_NEWEST:
        return (struct record_kind){"free", KIND_FREE, false, false, true};
    case WIRE_FREE_AT:
    case WIRE_FREE_AT | WIRE_NEWEST:
        return (struct record_kind){"free", KIND_FREE, false, true, true};
    case WIRE_MMAP:
        return (struct record_kind){"mmap", KIND_MMAP, true, true, true};
    case WIRE_MUNMAP:
        return (struct record_kind){"munmap", KIND_MUNMAP, true, true, true};
    case WIRE_BRK:
        return (struct record_kind){"brk", KIND_BRK, true, true, true};
    case WIRE_THREAD_START:
        return (struct record_kind){"thread-start", KIND_THREAD, false, false, false};
    case WIRE_THREAD_END:
        return (struct record_kind){"thread-end", KIND_THREAD, false, false, false};
    case WIRE_POOL:
        return (struct record_kind){"pool", KIND_POOL, true, true, true};
    case WIRE_POOL_CHUNK:
        return (struct record_kind){"pool-chunk", KIND_POOL, false, false, true};
    case WIRE_POOL_FREE:
    case WIRE_POOL_FREE | WIRE_NEWEST:
        return (struct record_kind){"pool-free", KIND_FREE, false, false, true};
    case WIRE_POOL_FREE_AT:
    case WIRE_POOL_FREE_AT | WIRE_NEWEST:
        return (struct record_kind){"pool-free", KIND_FREE, false, true, true};
    case WIRE_MARK:
        return (struct record_kind){"mark", KIND_MARK, false, false, false};
    case WIRE_REGION_BEGIN:
        return (struct record_kind){"region-begin", KIND_REGION, false, false, false};
    case WIRE_REGION_END:
        return (struct record_kind){"region-end", KIND_REGION, false, false, false};
    case WIRE_LOST:
        return (struct record_kind){"lost", KIND_LOST, false, false, false};
    default:
        return (struct record_kind){0};
    }
}

/* ---- The stream ---------------------------------------------------------------------------- */

struct stream {
    FILE *file;
    const struct trace *trace;
    const struct events_options *options;
    struct rerun_clock clock;
    uint64_t from_ticks, to_ticks, from_event, to_event;
    struct profile *profile;
    bool *hidden, *wanted;
    uint32_t *tids; /* by stream */
    size_t tid_count;
    /* of --address: the block that it lies in */
    bool has_block;
    uint64_t block_address, block_bytes, block_ticks;
    char *names[MARKS_NAMES]; /* by number; NULL: not told */
    struct style style;
    struct strbuf out;
};

static int no_memory(void)
{
    return moment_fail(-ENOMEM, "out of memory while reading a trace");
}

static uint32_t tid_of(const struct stream *stream, uint32_t number)
{
    return number < stream->tid_count ? stream->tids[number] : UINT32_MAX;
}

static int know_stream(struct stream *stream, uint32_t tid)
{
    uint32_t *tids = realloc(stream->tids, (stream->tid_count + 1) * sizeof *tids);

    if (!tids)
        return no_memory();
    stream->tids = tids;
    tids[stream->tid_count++] = tid;
    return 0;
}

static int know_name(void *context, uint32_t number, const char *name)
{
    struct stream *stream = context;

    free(stream->names[number]);
    stream->names[number] = strdup(name);
    return stream->names[number] ? 0 : no_memory();
}

/* What a mark says, or a region; "": nothing. */
static const char *said(const struct stream *stream, const struct wire_record *record)
{
    static const char *const instead[WIRE_MARK_KINDS] = {
        [WIRE_MARK_PAUSED] = "recording paused", [WIRE_MARK_RESUMED] = "recording resumed"};
    uint64_t address = record->kind_address & WIRE_ADDRESS_MASK, kind = address >> 32;
    uint32_t number = (uint32_t)address;

    if (kind < WIRE_MARK_KINDS && instead[kind])
        return instead[kind];
    if (!number)
        return "";
    return number < MARKS_NAMES && stream->names[number] ? stream->names[number] : "?";
}

static bool says(struct record_kind what)
{
    return what.kind == KIND_MARK || what.kind == KIND_REGION;
}

/* ---- What is wanted ------------------------------------------------------------------------ */

static uint32_t node_of(const struct stream *stream, const struct wire_record *record)
{
    uint32_t node = wire_detail_node(record->detail);

    return node < stream->profile->node_count ? node : 0;
}

/* Follows the block that --address lies in; true: the record is of it. *lived_ticks: how long it
 * lived if this ends it, else UINT64_MAX. */
static bool is_of_address(struct stream *stream, const struct wire_record *record,
                          struct record_kind what, uint64_t *lived_ticks)
{
    uint64_t wanted = stream->options->address, address = record->kind_address & WIRE_ADDRESS_MASK;
    bool covers = what.has_size && wanted >= address &&
                  wanted - address < (record->size_bytes ? record->size_bytes : 1);

    *lived_ticks = UINT64_MAX;
    if (what.kind == KIND_FREE || (what.kind == KIND_REALLOC && !what.has_size)) {
        if (address != wanted && !(stream->has_block && address == stream->block_address))
            return false;
        if (stream->has_block && address == stream->block_address) {
            *lived_ticks = record->ticks - stream->block_ticks;
            stream->has_block = false;
        }
        return true;
    }
    if (covers && what.kind <= KIND_REALLOC && address) {
        stream->has_block = true;
        stream->block_address = address;
        stream->block_bytes = record->size_bytes;
        stream->block_ticks = record->ticks;
    }
    return covers && address;
}

static bool is_wanted(const struct stream *stream, uint32_t number,
                      const struct wire_record *record, struct record_kind what)
{
    const struct events_options *options = stream->options;

    if (options->kinds && !(options->kinds & 1u << what.kind))
        return false;
    if (options->tid != UINT64_MAX && tid_of(stream, number) != options->tid)
        return false;
    if ((options->least_bytes || options->most_bytes != UINT64_MAX) &&
        (!what.has_size || record->size_bytes < options->least_bytes ||
         record->size_bytes > options->most_bytes))
        return false;
    return !stream->wanted || (what.has_path && stream->wanted[node_of(stream, record)]);
}

/* ---- Text ---------------------------------------------------------------------------------- */

static void cell(struct strbuf *out, const char *text, size_t columns, bool left)
{
    size_t width = text_width(text), room = columns > width ? columns - width : 0;

    if (!left)
        strbuf_add_repeated(out, " ", room);
    strbuf_add_string(out, text);
    if (left)
        strbuf_add_repeated(out, " ", room);
    strbuf_add_char(out, ' ');
}

static struct human text_of(uint32_t tid)
{
    struct human text;

    snprintf(text.text, sizeof text.text, "%u", tid);
    return text;
}

static void add_time(struct stream *stream, uint64_t ticks)
{
    char text[32];

    snprintf(text, sizeof text, "%.6fs", (double)moment_ns(&stream->clock, ticks) * 1e-9);
    cell(&stream->out, text, TIME, false);
}

static void add_frames(struct stream *stream, uint32_t node, size_t used)
{
    struct frame_walk walk;
    struct frame frame = frame_walk_begin(&walk, stream->profile, stream->hidden, node);

    frame_add_tight_line(&stream->out, &stream->style, stream->profile, frame, used);
    while (stream->options->stacks && frame_walk_next(&walk, &frame)) {
        strbuf_add_repeated(&stream->out, " ", NUMBER + GAP);
        style_add(&stream->out, &stream->style, TONE_DIM, style_sign(&stream->style, "↑ ", "^ "));
        frame_add_line(&stream->out, &stream->style, stream->profile, frame, NUMBER + GAP + 2,
                       false);
    }
}

/* A line without a path ends in empty cells. */
static void end_line(struct strbuf *out)
{
    size_t length = out->length;

    while (length && out->data[length - 1] == ' ')
        length--;
    strbuf_truncate(out, length);
    strbuf_add_char(out, '\n');
}

static void text_record(struct stream *stream, uint64_t number, uint32_t tid,
                        const struct wire_record *record, struct record_kind what,
                        uint64_t lived_ticks)
{
    struct strbuf *out = &stream->out;
    bool failed = wire_kind(record->kind_address) & WIRE_FAILED;
    char text[32];

    snprintf(text, sizeof text, "#%llu", (unsigned long long)number);
    cell(out, text, NUMBER, false);
    add_time(stream, record->ticks);
    cell(out, tid == UINT32_MAX ? "-" : text_of(tid).text, THREAD, false);
    cell(out, what.name, KIND, true);
    if (what.has_address && !failed) {
        snprintf(text, sizeof text, "0x%llx",
                 (unsigned long long)(record->kind_address & WIRE_ADDRESS_MASK));
        cell(out, text, ADDRESS, false);
    } else {
        cell(out, failed ? "failed" : "", ADDRESS, false);
    }
    cell(out, what.has_size ? human_exact(record->size_bytes).text : "", SIZE, false);
    strbuf_add_char(out, ' ');
    if (lived_ticks != UINT64_MAX)
        strbuf_addf(out, "after %s  ",
                    human_duration((uint64_t)((double)lived_ticks * stream->clock.tick_ns)).text);
    if (what.has_path)
        add_frames(stream, node_of(stream, record),
                   NUMBER + TIME + THREAD + KIND + ADDRESS + SIZE + 7);
    else if (says(what))
        strbuf_addf(out, "%s\n", said(stream, record));
    else if (what.kind == KIND_LOST)
        strbuf_addf(out, "%llu events were lost\n",
                    (unsigned long long)(record->kind_address & WIRE_ADDRESS_MASK));
    else
        end_line(out);
}

static void text_note(struct stream *stream, const struct trace_note *note, const char *name,
                      uint64_t ticks, uint32_t tid)
{
    struct strbuf *out = &stream->out;

    cell(out, "", NUMBER, false);
    add_time(stream, ticks);
    cell(out, tid == UINT32_MAX ? "-" : text_of(tid).text, THREAD, false);
    cell(out, name, KIND, true);
    if (note->kind == TRACE_SAMPLE)
        strbuf_addf(out, "resident %s, virtual %s", human_bytes(note->values[1]).text,
                    human_bytes(note->values[2]).text);
    else if (note->kind == TRACE_LOST)
        strbuf_addf(out, "%llu events were lost", (unsigned long long)note->values[0]);
    end_line(out);
}

/* ---- JSON lines ---------------------------------------------------------------------------- */

static void write_path(struct json *json, const struct stream *stream, uint32_t node)
{
    struct frame_walk walk;
    struct frame frame = frame_walk_begin(&walk, stream->profile, stream->hidden, node);
    bool more = true;

    json_array(json, "frames");
    for (; more; more = stream->options->stacks && frame_walk_next(&walk, &frame)) {
        json_object(json, NULL);
        frame_write(json, stream->profile, frame);
        json_end(json);
    }
    json_end(json);
}

static void write_head(struct json *json, const struct stream *stream, uint64_t ticks, uint32_t tid,
                       const char *name)
{
    json_unsigned(json, "time_ns", moment_ns(&stream->clock, ticks));
    if (tid == UINT32_MAX)
        json_null(json, "thread");
    else
        json_unsigned(json, "thread", tid);
    json_string(json, "kind", name);
}

static void json_record(struct stream *stream, uint64_t number, uint32_t tid,
                        const struct wire_record *record, struct record_kind what,
                        uint64_t lived_ticks)
{
    struct json json = json_begin(stream->file, false);
    bool failed = wire_kind(record->kind_address) & WIRE_FAILED;

    json_object(&json, NULL);
    json_unsigned(&json, "event", number);
    write_head(&json, stream, record->ticks, tid, what.name);
    if (what.kind <= KIND_BRK)
        json_bool(&json, "failed", failed);
    if (what.has_address && !failed)
        json_unsigned(&json, "address", record->kind_address & WIRE_ADDRESS_MASK);
    if (says(what))
        json_string(&json, "name", said(stream, record));
    if (what.kind == KIND_LOST)
        json_unsigned(&json, "events", record->kind_address & WIRE_ADDRESS_MASK);
    if (what.has_size) {
        json_unsigned(&json, "size_bytes", record->size_bytes);
        json_unsigned(&json, "slack_bytes",
                      what.kind != KIND_MUNMAP ? wire_detail_slack(record->detail) : 0);
    }
    if (lived_ticks != UINT64_MAX)
        json_unsigned(&json, "lifetime_ns",
                      (uint64_t)((double)lived_ticks * stream->clock.tick_ns));
    if (what.has_path) {
        json_unsigned(&json, "node", wire_detail_node(record->detail));
        write_path(&json, stream, node_of(stream, record));
    }
    json_end(&json);
    fputc('\n', stream->file);
}

static void json_note(struct stream *stream, const struct trace_note *note, const char *name,
                      uint64_t ticks, uint32_t tid)
{
    struct json json = json_begin(stream->file, false);

    json_object(&json, NULL);
    write_head(&json, stream, ticks, tid, name);
    if (note->kind == TRACE_SAMPLE) {
        json_unsigned(&json, "resident_bytes", note->values[1]);
        json_unsigned(&json, "virtual_bytes", note->values[2]);
    } else if (note->kind == TRACE_LOST) {
        json_unsigned(&json, "events", note->values[0]);
    }
    json_end(&json);
    fputc('\n', stream->file);
}

/* ---- Walking ------------------------------------------------------------------------------- */

/* What is gathered goes out; -EPIPE: nobody reads any more. */
static int put(struct stream *stream)
{
    size_t length = stream->out.length;
    bool failed = length && fwrite(stream->out.data, 1, length, stream->file) != length;

    strbuf_reset(&stream->out);
    if (stream->options->shown)
        ++*stream->options->shown;
    return failed || ferror(stream->file) ? -(errno ? errno : EIO) : 0;
}

static int show_record(struct stream *stream, uint64_t number, uint32_t of,
                       const struct wire_record *record)
{
    struct record_kind what = kind_of(wire_kind(record->kind_address));
    uint64_t lived_ticks = UINT64_MAX;

    if (!what.name)
        return 0;
    if (stream->options->address && !is_of_address(stream, record, what, &lived_ticks))
        return 0;
    if (number < stream->from_event || record->ticks < stream->from_ticks ||
        record->ticks > stream->to_ticks || !is_wanted(stream, of, record, what))
        return 0;
    if (stream->options->style.json)
        json_record(stream, number, tid_of(stream, of), record, what, lived_ticks);
    else
        text_record(stream, number, tid_of(stream, of), record, what, lived_ticks);
    return put(stream);
}

/* Does a note that stands before `event` belong to what is wanted? */
static bool is_within(const struct stream *stream, uint64_t ticks, uint64_t event)
{
    return ticks >= stream->from_ticks && ticks <= stream->to_ticks &&
           event >= stream->from_event && event <= stream->to_event;
}

/* Notes that say something happened at a time; it stands before `event`. */
static int show_note(struct stream *stream, const struct trace_note *note, uint64_t event,
                     uint64_t now)
{
    const struct events_options *options = stream->options;
    uint64_t ticks = note->kind == TRACE_SAMPLE ? note->values[0] : now;
    enum events_kind kind = note->kind == TRACE_SAMPLE ? KIND_SAMPLE
                            : note->kind == TRACE_LOST ? KIND_LOST
                                                       : KIND_THREAD;
    const char *name = note->kind == TRACE_SAMPLE         ? "sample"
                       : note->kind == TRACE_LOST         ? "lost"
                       : note->kind == TRACE_STREAM_BEGUN ? "thread-begun"
                       : note->kind == TRACE_STREAM_ENDED ? "thread-ended"
                                                          : NULL;
    uint32_t tid = kind == KIND_THREAD ? tid_of(stream, (uint32_t)note->values[0]) : UINT32_MAX;

    if (kind == KIND_THREAD && name)
        ticks = note->values[note->kind == TRACE_STREAM_BEGUN ? 2 : 1];
    if (!name || (kind == KIND_LOST && !note->values[0]) || options->address || options->pattern ||
        options->least_bytes || options->most_bytes != UINT64_MAX ||
        !is_within(stream, ticks, event) || (options->kinds && !(options->kinds & 1u << kind)) ||
        (options->tid != UINT64_MAX && tid != options->tid))
        return 0;
    if (options->style.json)
        json_note(stream, note, name, ticks, tid);
    else
        text_note(stream, note, name, ticks, tid);
    return put(stream);
}

/* 1: the end of what is wanted. */
static int show_run(struct stream *stream, const struct replay_run *run, const unsigned char *at,
                    uint64_t *number, uint64_t *now)
{
    const unsigned char *end = at + run->bytes;
    int error = 0;

    while (end - at >= 16 && !error) {
        struct wire_record record = {0};
        size_t bytes;
        memcpy(&record, at, 16);
        bytes = wire_record_bytes(record.kind_address);
        if (bytes > (size_t)(end - at))
            break;
        memcpy(&record, at, bytes);
        at += bytes;
        if (*number > stream->to_event)
            return 1;
        *now = record.ticks;
        error = show_record(stream, (*number)++, run->thread, &record);
    }
    return error;
}

/* Streams are known from the block in which they began on: numbers come in that order. */
static int show_notes(struct stream *stream, const struct trace_events *events, size_t run,
                      size_t *next, uint64_t event, uint64_t now)
{
    int error = 0;

    for (; *next < events->note_count && events->notes[*next].before_run <= run && !error;
         ++*next) {
        const struct trace_note *note = &events->notes[*next].note;
        if (note->kind == TRACE_STREAM_BEGUN && note->values[0] == stream->tid_count)
            error = know_stream(stream, (uint32_t)note->values[1]);
        if (!error)
            error = show_note(stream, note, event, now);
    }
    return error;
}

static int show_block(struct stream *stream, size_t index, const struct trace_events *events)
{
    const struct trace_block *block = trace_block(stream->trace, index);
    const unsigned char *at = events->records;
    uint64_t number = block->first_event, now = block->start_ticks;
    size_t note = 0;
    int done = 0;

    for (size_t i = 0; i < events->run_count && !done; i++) {
        done = show_notes(stream, events, i, &note, number, now);
        if (!done)
            done = show_run(stream, &events->runs[i], at, &number, &now);
        at += events->runs[i].bytes;
    }
    return done ? done : show_notes(stream, events, events->run_count, &note, number, now);
}

static bool is_behind(const struct stream *stream, size_t index)
{
    const struct trace_block *block = trace_block(stream->trace, index);

    return block->first_ticks > stream->to_ticks || block->first_event > stream->to_event;
}

static int show_all(struct stream *stream)
{
    struct trace_events events = {0};
    uint64_t missing = 0;
    int done = 0;

    for (size_t i = 0; i < trace_block_count(stream->trace) && done >= 0; i++) {
        if (is_behind(stream, i))
            continue; /* late records may still come in others */
        done = trace_events(stream->trace, i, &events);
        if (done == -ENOMEM)
            break;
        missing += done == -EBADMSG;
        done = done ? 0 : show_block(stream, i, &events);
    }
    trace_events_release(&events);
    if (done == -ENOMEM)
        return no_memory();
    if (done < 0)
        return done;
    return missing
               ? moment_fail(-EBADMSG,
                             "the trace is damaged: %llu blocks of events cannot be read and are "
                             "not among these",
                             (unsigned long long)missing)
               : 0;
}

/* ---- The whole ----------------------------------------------------------------------------- */

static int take_limits(struct stream *stream)
{
    const struct rerun_moment *from = &stream->options->from, *to = &stream->options->to;
    struct trace_state state;

    stream->to_ticks = stream->to_event = UINT64_MAX;
    if (from->kind == RERUN_EVENT)
        stream->from_event = from->value;
    else if (from->kind != RERUN_NO_MOMENT)
        stream->from_ticks = rerun_moment_ticks(stream->trace, from);
    if (to->kind == RERUN_EVENT)
        stream->to_event = to->value;
    else if (to->kind == RERUN_PEAK && moment_state(stream->trace, to, &state) == 0) {
        stream->to_event = state.event ? state.event - 1 : 0;
        trace_state_release(&state);
    } else if (to->kind != RERUN_NO_MOMENT) {
        stream->to_ticks = rerun_moment_ticks(stream->trace, to);
    }
    return stream->from_event <= stream->to_event && stream->from_ticks <= stream->to_ticks
               ? 0
               : moment_fail(-EINVAL, "nothing can be shown: the window ends before it begins");
}

static int name_paths(struct stream *stream)
{
    const struct events_options *options = stream->options;

    if (rerun_names(stream->trace, SIZE_MAX, NULL, &stream->profile))
        return moment_fail(-EBADMSG, "%s", rerun_error());
    if (options->pattern && match_paths(stream->profile, options->pattern, &stream->wanted))
        return no_memory();
    stream->hidden = options->style.hide_std ? frames_of_libraries(stream->profile)
                                             : calloc(stream->profile->line_count + 1, 1);
    return stream->hidden ? 0 : no_memory();
}

int events_show(FILE *out, const struct trace *trace, const struct events_options *options)
{
    const struct moment_style *how = &options->style;
    struct stream stream = {.file = out,
                            .trace = trace,
                            .options = options,
                            .style = {how->colour, how->utf8, how->columns},
                            .out = STRBUF_INIT};
    int error;

    rerun_clock(trace, &stream.clock);
    error = rerun_each_name(trace, know_name, &stream);
    if (!error)
        error = take_limits(&stream);
    if (!error)
        error = name_paths(&stream);
    if (!error)
        error = show_all(&stream);
    if (!error && fflush(out))
        error = -errno;
    profile_free(stream.profile);
    free(stream.hidden);
    free(stream.wanted);
    for (size_t i = 0; i < MARKS_NAMES; i++)
        free(stream.names[i]);
    free(stream.tids);
    strbuf_release(&stream.out);
    return error;
}
