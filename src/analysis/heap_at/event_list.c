/* Events as they happened, filtered. A block of the trace is decoded, shown and forgotten. Blocks
 * before the first event that is wanted are decoded too: they say which threads there are, and in
 * which block an address lies. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/human.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text_table.h"
#include "heap_at/heap_at.h"
#include "heap_at/times.h"
#include "aggregate/frames.h"
#include "aggregate/match.h"
#include "model/mapping.h"
#include "wire/record_kinds.h"
#include "wire/wire.h"

enum { NUMBER = 11, TIME = 12, THREAD = 8, KIND = 12, ADDRESS = 14, SIZE = 10, GAP = 2 };

/* ---- Kinds --------------------------------------------------------------------------------- */

/* `tidemark events --kind` takes the filter words of records.def, and one more: readings of memory
 * are notes of the trace. */
enum { EVENTS_SAMPLES = 7 }; /* a number that is no record's */
static const char EVENTS_SAMPLE[] = "sample";

/* The numbers of the kinds that a word of `length` stands for; 0: it is none. */
static uint64_t events_numbers_of(const char *word, size_t length)
{
    uint64_t numbers = 0;

    for (unsigned i = 0; i < RECORD_NUMBERS; i++) {
        const char *filter = i == EVENTS_SAMPLES ? EVENTS_SAMPLE : record_kinds[i].filter;
        if (filter && strlen(filter) == length && memcmp(filter, word, length) == 0)
            numbers |= 1ull << i;
    }
    return numbers;
}

int events_kinds_parse(const char *list, uint64_t *kinds, char *wrong, size_t wrong_bytes)
{
    for (size_t length; *list; list += length + (list[length] == ',')) {
        uint64_t numbers;
        length = strcspn(list, ",");
        numbers = events_numbers_of(list, length);
        if (!numbers) {
            snprintf(wrong, wrong_bytes, "%.*s", (int)(length < 60 ? length : 60), list);
            return -EINVAL;
        }
        *kinds |= numbers;
    }
    return 0;
}

/* A kind of record, as its row of records.def has it. */
struct event_list_shown_kind {
    const char *name;        /* NULL: not to be shown */
    enum record_class class; /* without its flag */
    unsigned number;
    bool has_size, has_path, has_address;
    bool failed;
};

static bool events_is_free(enum record_class class)
{
    return class == RECORD_FREE || class == RECORD_POOL_FREE;
}

static struct event_list_shown_kind events_kind_of(unsigned kind)
{
    const struct record_kind *row = record_kind_of(kind);
    struct event_list_shown_kind what = {0};

    if (!row || !row->shown)
        return what;
    what.name = row->shown;
    what.class = (enum record_class)row->class;
    what.number = row->kind & WIRE_KIND_MASK;
    what.has_path = row->kind & WIRE_LONG;
    what.has_size = what.has_path && !events_is_free(what.class);
    what.has_address = what.class == RECORD_MAPPING ||
                       (what.class >= RECORD_BIRTH && what.class <= RECORD_REALLOC_END);
    what.failed = kind & WIRE_FAILED && row->flag != RECORD_FLAG_NEWEST;
    return what;
}

/* ---- The stream ---------------------------------------------------------------------------- */

struct stream {
    FILE *file;
    const struct trace *trace;
    const struct events_options *options;
    struct offline_clock clock;
    uint64_t from_ticks, to_ticks, from_event, to_event;
    struct profile *profile;
    bool *hidden, *wanted;
    uint32_t *tids; /* by stream */
    size_t tid_count, tid_room;
    /* of --address: the block that it lies in */
    bool has_block;
    uint64_t block_address, block_bytes, block_ticks;
    char *names[MARKS_NAMES]; /* by number; NULL: not told */
    struct style style;
    struct strbuf out;
};

static int events_no_memory(void)
{
    return error_set(-ENOMEM, "out of memory while reading a trace");
}

static uint32_t events_tid_of(const struct stream *stream, uint32_t number)
{
    return number < stream->tid_count ? stream->tids[number] : UINT32_MAX;
}

static int events_know_stream(struct stream *stream, uint32_t tid)
{
    if (!array_make_room(&stream->tids, &stream->tid_room, stream->tid_count, sizeof *stream->tids))
        return events_no_memory();
    stream->tids[stream->tid_count++] = tid;
    return 0;
}

static int events_know_name(void *context, uint32_t number, const char *name)
{
    struct stream *stream = context;

    free(stream->names[number]);
    stream->names[number] = strdup(name);
    return stream->names[number] ? 0 : events_no_memory();
}

/* What a mark says, or a region; "": nothing. */
static const char *events_said(const struct stream *stream, const struct wire_record *record)
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

static bool events_says(struct event_list_shown_kind what)
{
    return what.class == RECORD_SAID;
}

/* ---- What is wanted ------------------------------------------------------------------------ */

static uint32_t events_node_of(const struct stream *stream, const struct wire_record *record)
{
    uint32_t node = wire_detail_node(record->detail);

    return node < stream->profile->node_count ? node : 0;
}

/* Follows the block that --address lies in; true: the record is of it. *lived_ticks: how long it
 * lived if this ends it, else unknown. */
static bool events_is_of_address(struct stream *stream, const struct wire_record *record,
                                 struct event_list_shown_kind what, struct figure *lived_ticks)
{
    uint64_t wanted = stream->options->address, address = record->kind_address & WIRE_ADDRESS_MASK;
    bool covers = what.has_size && wanted >= address &&
                  wanted - address < (record->size_bytes ? record->size_bytes : 1);

    *lived_ticks = FIGURE_UNKNOWN;
    if (events_is_free(what.class) || what.class == RECORD_REALLOC_BEGIN) {
        if (address != wanted && !(stream->has_block && address == stream->block_address))
            return false;
        if (stream->has_block && address == stream->block_address) {
            *lived_ticks = figure_of(record->ticks - stream->block_ticks);
            stream->has_block = false;
        }
        return true;
    }
    if (covers && what.class != RECORD_MAPPING && address) {
        stream->has_block = true;
        stream->block_address = address;
        stream->block_bytes = record->size_bytes;
        stream->block_ticks = record->ticks;
    }
    return covers && address;
}

static bool events_is_wanted(const struct stream *stream, uint32_t number,
                             const struct wire_record *record, struct event_list_shown_kind what)
{
    const struct events_options *options = stream->options;

    if (options->kinds && !(options->kinds & 1ull << what.number))
        return false;
    if (options->tid != UINT64_MAX && events_tid_of(stream, number) != options->tid)
        return false;
    if ((options->least_bytes || options->most_bytes != UINT64_MAX ||
         options->conditions.size.is_said) &&
        (!what.has_size || record->size_bytes < options->least_bytes ||
         record->size_bytes > options->most_bytes ||
         !match_in_range(&options->conditions.size, record->size_bytes)))
        return false;
    if (options->conditions.has_thread &&
        !match_thread(&options->conditions, events_tid_of(stream, number)))
        return false;
    return !stream->wanted || (what.has_path && stream->wanted[events_node_of(stream, record)]);
}

/* ---- Text ---------------------------------------------------------------------------------- */

static const struct text_column events_columns[] = {
    {NULL, NUMBER, TEXT_RIGHT, 0}, {NULL, TIME, TEXT_RIGHT, 1},    {NULL, THREAD, TEXT_RIGHT, 1},
    {NULL, KIND, TEXT_LEFT, 1},    {NULL, ADDRESS, TEXT_RIGHT, 1}, {NULL, SIZE, TEXT_RIGHT, 1},
    {NULL, 0, TEXT_LEFT, GAP}};
enum { USED = NUMBER + TIME + THREAD + KIND + ADDRESS + SIZE + 5 + GAP }; /* before the last */

/* The first cells of an event, or of a note, which has no number. */
static struct text_row events_begin_row(struct stream *stream, const char *number, uint64_t ticks,
                                        uint32_t tid, const char *kind)
{
    struct text_row row = text_row_begin(&stream->out, events_columns);
    char text[32];

    text_row_add(&row, number);
    snprintf(text, sizeof text, "%.6fs", (double)heap_at_ns(&stream->clock, ticks) * 1e-9);
    text_row_add(&row, text);
    snprintf(text, sizeof text, "%u", tid);
    text_row_add(&row, tid == UINT32_MAX ? "-" : text);
    text_row_add(&row, kind);
    return row;
}

static void events_add_frames(struct stream *stream, uint32_t node, size_t used)
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
static void events_end_line(struct strbuf *out)
{
    size_t length = out->length;

    while (length && out->data[length - 1] == ' ')
        length--;
    strbuf_truncate(out, length);
    strbuf_add_char(out, '\n');
}

static const char *events_advice_name(uint32_t advice)
{
    static const char *const names[] = {"unknown", "dontneed", "free", "remove"};

    return names[advice < sizeof names / sizeof *names ? advice : 0];
}

/* Of a mapping: what it is, or what was done to it. */
static void events_add_mapping(struct strbuf *out, const struct wire_record *record)
{
    unsigned kind = wire_kind(record->kind_address);
    uint32_t said = wire_detail_slack(record->detail);

    if (kind == WIRE_MMAP && said)
        strbuf_addf(out, "%s%s%s%s%s%s%s  ",
                    mapping_kind_name((enum mapping_kind)wire_mapping_kind(said)),
                    wire_mapping_is_reserved(said) ? ", reserved" : "",
                    wire_mapping_is_moved(said) ? ", moved" : "",
                    wire_mapping_is_stack(said) ? ", stack" : "",
                    wire_mapping_is_fixed(said) ? ", fixed" : "",
                    wire_mapping_is_inherited(said) ? ", inherited" : "",
                    wire_mapping_is_allocators(said) ? ", the allocator's" : "");
    else if (kind == WIRE_MUNMAP && wire_detail_is_allocators(record->detail))
        strbuf_add_string(out, "the allocator's  ");
    else if (kind == WIRE_MPROTECT)
        strbuf_addf(out, "%s  ", said ? "no access" : "access");
    else if (kind == WIRE_MADVISE)
        strbuf_addf(out, "%s  ", events_advice_name(said));
}

static void events_add_address(struct text_row *row, const struct wire_record *record,
                               struct event_list_shown_kind what)
{
    char text[32] = "";

    if (what.failed)
        snprintf(text, sizeof text, "failed");
    else if (what.has_address)
        snprintf(text, sizeof text, "0x%llx",
                 (unsigned long long)(record->kind_address & WIRE_ADDRESS_MASK));
    text_row_add(row, text);
}

static void events_text_record(struct stream *stream, uint64_t number, uint32_t tid,
                               const struct wire_record *record, struct event_list_shown_kind what,
                               struct figure lived_ticks)
{
    struct strbuf *out = &stream->out;
    char text[32];

    snprintf(text, sizeof text, "#%llu", (unsigned long long)number);
    struct text_row row = events_begin_row(stream, text, record->ticks, tid, what.name);
    events_add_address(&row, record, what);
    text_row_add(&row, what.has_size ? human_exact(record->size_bytes).text : "");
    text_row_add(&row, "");
    if (figure_known(lived_ticks))
        strbuf_addf(
            out, "after %s  ",
            human_duration((uint64_t)(figure_double(lived_ticks) * stream->clock.tick_ns)).text);
    if (what.class == RECORD_MAPPING && !what.failed)
        events_add_mapping(out, record);
    if (what.has_path)
        events_add_frames(stream, events_node_of(stream, record), USED);
    else if (events_says(what))
        strbuf_addf(out, "%s\n", events_said(stream, record));
    else if (what.class == RECORD_LOST)
        strbuf_addf(out, "%llu events were lost\n",
                    (unsigned long long)(record->kind_address & WIRE_ADDRESS_MASK));
    else
        events_end_line(out);
}

static void events_text_note(struct stream *stream, const struct trace_note *note, const char *name,
                             uint64_t ticks, uint32_t tid)
{
    struct strbuf *out = &stream->out;

    events_begin_row(stream, "", ticks, tid, name);
    strbuf_add_char(out, ' ');
    if (note->kind == TRACE_SAMPLE)
        strbuf_addf(out, "resident %s, virtual %s", human_bytes(note->values[1]).text,
                    human_bytes(note->values[2]).text);
    else if (note->kind == TRACE_LOST)
        strbuf_addf(out, "%llu events were lost", (unsigned long long)note->values[0]);
    events_end_line(out);
}

/* ---- JSON lines ---------------------------------------------------------------------------- */

static void events_write_path(struct json *json, const struct stream *stream, uint32_t node)
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

static void events_write_head(struct json *json, const struct stream *stream, uint64_t ticks,
                              uint32_t tid, const char *name)
{
    json_unsigned(json, "time_ns", heap_at_ns(&stream->clock, ticks));
    if (tid == UINT32_MAX)
        json_null(json, "thread");
    else
        json_unsigned(json, "thread", tid);
    json_string(json, "kind", name);
}

/* What the slack of such records means instead (wire.h, "Mappings"). */
static void events_write_mapping(struct json *json, const struct wire_record *record)
{
    unsigned kind = wire_kind(record->kind_address);
    uint32_t said = wire_detail_slack(record->detail);

    if (kind == WIRE_MMAP) {
        json_string(json, "mapping", mapping_kind_name((enum mapping_kind)wire_mapping_kind(said)));
        json_bool(json, "reserved", wire_mapping_is_reserved(said));
        json_bool(json, "moved", wire_mapping_is_moved(said));
        json_bool(json, "stack", wire_mapping_is_stack(said));
        json_bool(json, "fixed", wire_mapping_is_fixed(said));
        json_bool(json, "inherited", wire_mapping_is_inherited(said));
        json_bool(json, "allocator", wire_mapping_is_allocators(said));
    } else if (kind == WIRE_MUNMAP) {
        json_bool(json, "allocator", wire_detail_is_allocators(record->detail));
    } else if (kind == WIRE_MPROTECT) {
        json_bool(json, "access", !said);
    } else if (kind == WIRE_MADVISE) {
        json_string(json, "advice", events_advice_name(said));
    }
}

static void events_json_record(struct stream *stream, uint64_t number, uint32_t tid,
                               const struct wire_record *record, struct event_list_shown_kind what,
                               struct figure lived_ticks)
{
    struct json json = json_begin(stream->file, false);

    json_object(&json, NULL);
    json_unsigned(&json, "event", number);
    events_write_head(&json, stream, record->ticks, tid, what.name);
    if (what.has_address)
        json_bool(&json, "failed", what.failed);
    if (what.has_address && !what.failed)
        json_unsigned(&json, "address", record->kind_address & WIRE_ADDRESS_MASK);
    if (events_says(what))
        json_string(&json, "name", events_said(stream, record));
    if (what.class == RECORD_LOST)
        json_unsigned(&json, "events", record->kind_address & WIRE_ADDRESS_MASK);
    if (what.has_size) {
        json_unsigned(&json, "size_bytes", record->size_bytes);
        json_unsigned(&json, "slack_bytes",
                      what.class != RECORD_MAPPING ? wire_detail_slack(record->detail) : 0);
    }
    if (what.class == RECORD_MAPPING && !what.failed)
        events_write_mapping(&json, record);
    if (figure_known(lived_ticks))
        json_unsigned(&json, "lifetime_ns",
                      (uint64_t)(figure_double(lived_ticks) * stream->clock.tick_ns));
    if (what.has_path) {
        json_unsigned(&json, "node", wire_detail_node(record->detail));
        events_write_path(&json, stream, events_node_of(stream, record));
    }
    json_end(&json);
    fputc('\n', stream->file);
}

static void events_json_note(struct stream *stream, const struct trace_note *note, const char *name,
                             uint64_t ticks, uint32_t tid)
{
    struct json json = json_begin(stream->file, false);

    json_object(&json, NULL);
    events_write_head(&json, stream, ticks, tid, name);
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

/* Writes out what is gathered; -EPIPE: the reader is gone. */
static int events_put(struct stream *stream)
{
    size_t length = stream->out.length;
    bool failed = length && fwrite(stream->out.data, 1, length, stream->file) != length;

    strbuf_reset(&stream->out);
    if (stream->options->shown)
        ++*stream->options->shown;
    return failed || ferror(stream->file) ? -(errno ? errno : EIO) : 0;
}

static int events_show_record(struct stream *stream, uint64_t number, uint32_t of,
                              const struct wire_record *record)
{
    struct event_list_shown_kind what = events_kind_of(wire_kind(record->kind_address));
    struct figure lived_ticks = FIGURE_UNKNOWN;

    if (!what.name)
        return 0;
    if (stream->options->address && !events_is_of_address(stream, record, what, &lived_ticks))
        return 0;
    if (number < stream->from_event || record->ticks < stream->from_ticks ||
        record->ticks > stream->to_ticks || !events_is_wanted(stream, of, record, what))
        return 0;
    if (stream->options->style.json)
        events_json_record(stream, number, events_tid_of(stream, of), record, what, lived_ticks);
    else
        events_text_record(stream, number, events_tid_of(stream, of), record, what, lived_ticks);
    return events_put(stream);
}

/* Does a note that stands before `event` belong to what is wanted? */
static bool events_is_within(const struct stream *stream, uint64_t ticks, uint64_t event)
{
    return ticks >= stream->from_ticks && ticks <= stream->to_ticks &&
           event >= stream->from_event && event <= stream->to_event;
}

/* Shows a note that says what happened at a time. The note stands before `event`. */
static int events_show_note(struct stream *stream, const struct trace_note *note, uint64_t event,
                            uint64_t now)
{
    const struct events_options *options = stream->options;
    uint64_t ticks = note->kind == TRACE_SAMPLE ? note->values[0] : now;
    unsigned kind = note->kind == TRACE_SAMPLE ? EVENTS_SAMPLES
                    : note->kind == TRACE_LOST ? WIRE_LOST
                                               : WIRE_THREAD_START;
    const char *name = note->kind == TRACE_SAMPLE         ? "sample"
                       : note->kind == TRACE_LOST         ? "lost"
                       : note->kind == TRACE_STREAM_BEGUN ? "thread-begun"
                       : note->kind == TRACE_STREAM_ENDED ? "thread-ended"
                                                          : NULL;
    uint32_t tid =
        kind == WIRE_THREAD_START ? events_tid_of(stream, (uint32_t)note->values[0]) : UINT32_MAX;

    if (kind == WIRE_THREAD_START && name)
        ticks = note->values[note->kind == TRACE_STREAM_BEGUN ? 2 : 1];
    if (!name || (kind == WIRE_LOST && !note->values[0]) || options->address || options->pattern ||
        options->least_bytes || options->most_bytes != UINT64_MAX ||
        !events_is_within(stream, ticks, event) ||
        (options->kinds && !(options->kinds & 1ull << kind)) ||
        (options->tid != UINT64_MAX && tid != options->tid))
        return 0;
    if (options->style.json)
        events_json_note(stream, note, name, ticks, tid);
    else
        events_text_note(stream, note, name, ticks, tid);
    return events_put(stream);
}

/* 1: the end of what is wanted. */
static int events_show_run(struct stream *stream, const struct replay_run *run,
                           const unsigned char *at, uint64_t *number, uint64_t *now)
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
        error = events_show_record(stream, (*number)++, run->thread, &record);
    }
    return error;
}

/* Streams are known from the block in which they began on: numbers come in that order. */
static int events_show_notes(struct stream *stream, const struct trace_events *events, size_t run,
                             size_t *next, uint64_t event, uint64_t now)
{
    int error = 0;

    for (; *next < events->note_count && events->notes[*next].before_run <= run && !error;
         ++*next) {
        const struct trace_note *note = &events->notes[*next].note;
        if (note->kind == TRACE_STREAM_BEGUN && note->values[0] == stream->tid_count)
            error = events_know_stream(stream, (uint32_t)note->values[1]);
        if (!error)
            error = events_show_note(stream, note, event, now);
    }
    return error;
}

static int events_show_block(struct stream *stream, size_t index, const struct trace_events *events)
{
    const struct trace_block *block = trace_block(stream->trace, index);
    const unsigned char *at = events->records;
    uint64_t number = block->first_event, now = block->start_ticks;
    size_t note = 0;
    int done = 0;

    for (size_t i = 0; i < events->run_count && !done; i++) {
        done = events_show_notes(stream, events, i, &note, number, now);
        if (!done)
            done = events_show_run(stream, &events->runs[i], at, &number, &now);
        at += events->runs[i].bytes;
    }
    return done ? done : events_show_notes(stream, events, events->run_count, &note, number, now);
}

static bool events_is_behind(const struct stream *stream, size_t index)
{
    const struct trace_block *block = trace_block(stream->trace, index);

    return block->first_ticks > stream->to_ticks || block->first_event > stream->to_event;
}

static int events_show_all(struct stream *stream)
{
    struct trace_events events = {0};
    uint64_t missing = 0;
    int done = 0;

    for (size_t i = 0; i < trace_block_count(stream->trace) && done >= 0; i++) {
        if (events_is_behind(stream, i))
            continue; /* late records may still come in others */
        done = trace_events(stream->trace, i, &events);
        if (done == -ENOMEM)
            break;
        missing += done == -EBADMSG;
        done = done ? 0 : events_show_block(stream, i, &events);
    }
    trace_events_release(&events);
    if (done == -ENOMEM)
        return events_no_memory();
    if (done < 0)
        return done;
    return missing ? error_set(-EBADMSG,
                               "the trace is damaged: %llu blocks of events cannot be read and are "
                               "not among these",
                               (unsigned long long)missing)
                   : 0;
}

/* ---- The whole ----------------------------------------------------------------------------- */

static int events_take_limits(struct stream *stream)
{
    const struct offline_moment *from = &stream->options->from, *to = &stream->options->to;
    struct trace_state state;

    stream->to_ticks = stream->to_event = UINT64_MAX;
    if (from->kind == OFFLINE_EVENT)
        stream->from_event = from->value;
    else if (from->kind != OFFLINE_NO_MOMENT)
        stream->from_ticks = offline_moment_ticks(stream->trace, from);
    if (to->kind == OFFLINE_EVENT)
        stream->to_event = to->value;
    else if (to->kind == OFFLINE_PEAK && heap_at_state(stream->trace, to, &state) == 0) {
        stream->to_event = state.event ? state.event - 1 : 0;
        trace_state_release(&state);
    } else if (to->kind != OFFLINE_NO_MOMENT) {
        stream->to_ticks = offline_moment_ticks(stream->trace, to);
    }
    return stream->from_event <= stream->to_event && stream->from_ticks <= stream->to_ticks
               ? 0
               : error_set(-EINVAL, "nothing can be shown: the window ends before it begins");
}

static int events_name_paths(struct stream *stream)
{
    const struct events_options *options = stream->options;

    if (offline_names(stream->trace, SIZE_MAX, NULL, &stream->profile))
        return -EBADMSG;
    if (options->pattern && match_frames(stream->profile, options->pattern, &stream->wanted))
        return events_no_memory();
    stream->hidden = options->style.hide_std ? frames_of_libraries_in_trace(stream->profile)
                                             : calloc(stream->profile->line_count + 1, 1);
    return stream->hidden ? 0 : events_no_memory();
}

int events_show(FILE *out, const struct trace *trace, const struct events_options *options)
{
    const struct heap_at_style *how = &options->style;
    struct stream stream = {.file = out,
                            .trace = trace,
                            .options = options,
                            .style = {how->colour, how->utf8, how->columns},
                            .out = STRBUF_INIT};
    int error;

    offline_clock(trace, &stream.clock);
    error = offline_each_name(trace, events_know_name, &stream);
    if (!error)
        error = events_take_limits(&stream);
    if (!error)
        error = events_name_paths(&stream);
    if (!error)
        error = events_show_all(&stream);
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
