/* A trace becomes a profile, by the same replay and the same writer that made the recording's: at
 * the places among the events where the recording wrote, and with the nanoseconds a tick that it
 * then had, since what did not change later keeps what it was written with. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "assembly/naming.h"
#include "assembly/snapshot.h"
#include "assembly/writer.h"
#include "base/room.h"
#include "rerun/ahead.h"
#include "rerun/doubt.h"
#include "rerun/error.h"
#include "rerun/origins.h"
#include "rerun/rerun.h"
#include "rerun/slice.h"
#include "rerun/writing.h"

struct rerun {
    struct trace *trace;
    const struct rerun_options *options;
    struct rerun_result *result;
    struct rerun_clock clock;
    struct trace_origins origins;
    struct profile *supplement; /* NULL: there is none */
    struct naming *naming;
    struct writer *writer;
    struct replay *replay;
    unsigned threads; /* besides this one */
    struct writing writing;
    struct sighting *sightings;
    size_t sighting_count;
    struct trace_player player;
    bool has_window;
    bool has_begun;          /* the window */
    struct border from, to;  /* `to` is not included */
    /* Readings of the window that stand before its events. */
    struct trace_note *early;
    size_t early_count, early_room;
    bool is_short_of_memory;
    uint64_t last_ticks;     /* of the recording's last snapshot; 0: not known */
    bool is_complete;        /* it has been written … */
    uint64_t written_events; /* … after so many events */
};

/* ---- Before -------------------------------------------------------------------------------- */

static int read_supplement(struct rerun *rerun)
{
    void *bytes;
    size_t size;
    int error = trace_supplement(rerun->trace, &bytes, &size);
    if (error)
        return rerun_fail(error, "%s", trace_error());
    /* One that cannot be read is none, and the profile says so. */
    if (bytes && profile_read_supplement(&rerun->supplement, bytes, size, "the trace's supplement",
                                         rerun->origins.node_count, false) < 0)
        rerun->supplement = NULL;
    free(bytes);
    rerun->result->from_files = !rerun->supplement;
    return 0;
}

static const char *fact_of(const struct rerun *rerun, const char *key)
{
    char name[128];
    if (rerun->supplement)
        return profile_get(rerun->supplement, key);
    snprintf(name, sizeof name, TRACE_FACT_META "%s", key);
    return trace_fact(rerun->trace, name);
}

static uint64_t number_of(const struct rerun *rerun, const char *key)
{
    const char *text = fact_of(rerun, key);
    return text ? strtoull(text, NULL, 10) : 0;
}

static int open_writer(struct rerun *rerun, const char *path)
{
    const char *executable = fact_of(rerun, PROFILE_META_EXECUTABLE);
    rerun->naming = rerun->supplement ? naming_of_profile(rerun->supplement) : naming_open(0);
    if (!rerun->naming)
        return -ENOMEM;
    int error =
        writer_open_named(&rerun->writer, path, rerun->naming, executable ? executable : "");
    if (error) {
        naming_close(rerun->naming);
        return rerun_fail(error, "%s", profile_error());
    }
    if (rerun->supplement)
        writer_give_known(rerun->writer, rerun->supplement);
    return 0;
}

static int give_name(void *context, uint32_t number, const char *name)
{
    replay_name(context, number, name);
    return 0;
}

static void begin_replay(struct rerun *rerun)
{
    struct trace_options options;
    trace_options(rerun->trace, &options);
    rerun->replay = replay_new(options.start_ticks, rerun->clock.first_tick_ns);
    rerun_each_name(rerun->trace, give_name, rerun->replay);
    if (options.flags & TRACE_FREE_STACKS)
        replay_know_frees(rerun->replay);
    if (options.flags & TRACE_TIMED)
        replay_know_times(rerun->replay);
    replay_sample(rerun->replay, options.sample_bytes);
}

/* Then its time becomes one of the window. */
static bool is_in_window(const struct rerun *rerun, struct profile_sample *sample)
{
    struct clock_scale scale = {rerun->clock.start_ticks, rerun->clock.tick_ns};
    uint64_t from_ns = clock_moment_ns(scale, rerun->from.ticks);
    if (!rerun->has_window)
        return true;
    if (sample->time_ns < from_ns || sample->time_ns > clock_moment_ns(scale, rerun->to.ticks))
        return false;
    sample->time_ns -= from_ns;
    return true;
}

static int list_sightings(struct rerun *rerun)
{
    struct profile *known = rerun->supplement;
    size_t mapping = 0, row = 0, cell = 0, kept = 0, count = known ? known->sample_count : 0;
    rerun->sightings = calloc(count + 1, sizeof *rerun->sightings);
    if (!rerun->sightings)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        uint32_t id = known->samples[i].id;
        struct sighting *sighting = &rerun->sightings[kept];
        *sighting = (struct sighting){.sample = &known->samples[i],
                                      .mappings = known->mappings + mapping,
                                      .rows = known->residencies + row,
                                      .cells = known->heap_pages + cell};
        for (; mapping < known->mapping_count && known->mappings[mapping].sample == id; mapping++)
            sighting->mapping_count++;
        for (; row < known->residency_count && known->residencies[row].sample == id; row++)
            sighting->row_count++;
        for (; cell < known->heap_page_count && known->heap_pages[cell].sample == id; cell++)
            sighting->cell_count++;
        kept += is_in_window(rerun, &known->samples[i]);
    }
    rerun->sighting_count = kept;
    return 0;
}

/* ---- Facts --------------------------------------------------------------------------------- */

/* The others come out of the events, or are written anew. */
static bool is_copied(const char *key)
{
    static const char *const made[] = {"complete", "bucket_ns", "duration_ns", "unwalkable",
                                       "unattributed"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        if (!strcmp(key, made[i]))
            return false;
    return true;
}

static uint64_t ns_of(const struct rerun *rerun, uint64_t ticks)
{
    struct clock_scale scale = {rerun->clock.start_ticks, rerun->clock.tick_ns};
    return clock_moment_ns(scale, ticks);
}

static uint64_t end_ticks(const struct rerun *rerun)
{
    return rerun->to.ticks < rerun->clock.end_ticks ? rerun->to.ticks : rerun->clock.end_ticks;
}

/* Times of a window are since its start. */
static void write_window(struct rerun *rerun)
{
    uint64_t from_ns = ns_of(rerun, rerun->from.ticks);
    const char *start = fact_of(rerun, PROFILE_META_START);
    if (!rerun->has_window)
        return;
    writer_fact_number(rerun->writer, PROFILE_META_WINDOW_FROM, (int64_t)from_ns);
    writer_fact_number(rerun->writer, PROFILE_META_WINDOW_TO,
                       (int64_t)ns_of(rerun, end_ticks(rerun)));
    if (start)
        writer_fact_number(rerun->writer, PROFILE_META_START,
                           strtoll(start, NULL, 10) + (int64_t)from_ns);
}

static void write_fact(struct rerun *rerun, const char *key, const char *value, bool is_number)
{
    bool is_counted = !strcmp(key, PROFILE_META_WAITS) || !strcmp(key, PROFILE_META_WAIT_NS);
    if (!is_copied(key) || (rerun->has_window && is_counted))
        return;
    if (is_number)
        writer_fact_number(rerun->writer, key, strtoll(value, NULL, 10));
    else
        writer_fact(rerun->writer, key, value);
}

static bool is_text_key(const char *key)
{
    static const char *const texts[] = {PROFILE_META_PROGRAM, PROFILE_META_EXECUTABLE,
                                        PROFILE_META_COMMAND, PROFILE_META_DIRECTORY,
                                        PROFILE_META_HOST};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(key, texts[i]))
            return true;
    return false;
}

/* Facts of a trace are texts, whatever they were. */
static void write_trace_facts(struct rerun *rerun)
{
    const char *key, *value;
    size_t prefix = strlen(TRACE_FACT_META);
    for (size_t i = 0; i < trace_fact_count(rerun->trace); i++) {
        char *end;
        trace_fact_at(rerun->trace, i, &key, &value);
        if (strncmp(key, TRACE_FACT_META, prefix) != 0)
            continue;
        strtoll(value, &end, 10);
        write_fact(rerun, key + prefix, value, *value && !*end && !is_text_key(key + prefix));
    }
}

static void write_facts(struct rerun *rerun)
{
    const struct profile *known = rerun->supplement;
    if (!known) {
        write_trace_facts(rerun);
        writer_fact(rerun->writer, PROFILE_META_NAMED_LATER, RERUN_DOUBT);
    }
    for (size_t i = 0; known && i < known->meta_count; i++)
        write_fact(rerun, known->meta[i].key, known->meta[i].value, known->meta[i].is_number);
    if (!known && !fact_of(rerun, PROFILE_META_END))
        writer_fact(rerun->writer, PROFILE_META_END, "unknown");
    write_window(rerun);
}

/* ---- Writing ------------------------------------------------------------------------------- */

/* Those of a whole recording it has counted itself. */
static void count_waits(const struct rerun *rerun, struct snapshot_moment *moment)
{
    uint64_t ticks = 0;
    if (rerun->supplement && !rerun->has_window) {
        moment->waits = number_of(rerun, PROFILE_META_WAITS);
        moment->wait_ns = number_of(rerun, PROFILE_META_WAIT_NS);
        return;
    }
    for (size_t i = 0; i < replay_thread_count(rerun->replay); i++) {
        moment->waits += replay_thread(rerun->replay, i)->waits;
        ticks += replay_thread(rerun->replay, i)->wait_ticks;
    }
    moment->wait_ns = clock_span_ns(moment->scale, ticks);
}

static int write_moment(struct rerun *rerun, uint64_t ticks, double tick_ns, bool last)
{
    struct writing *writing = &rerun->writing;
    struct snapshot_moment moment = {
        .scale = {rerun->from.ticks, tick_ns},
        .now_ticks = ticks,
        .node_count = (uint32_t)rerun->origins.node_count,
        .damaged_rings = number_of(rerun, PROFILE_META_DAMAGED)};
    count_waits(rerun, &moment);
    int error = writing_end(writing);
    if (!error)
        error = snapshot_take(&writing->snapshot, rerun->replay, &moment);
    if (error)
        return error;
    if (last) {
        writing->snapshot.sightings = rerun->sightings;
        writing->snapshot.sighting_count = rerun->sighting_count;
        write_facts(rerun);
    }
    return writing_begin(writing, rerun->threads > 0);
}

/* The recording wrote here. */
static int on_snapshot(void *context, uint64_t ticks, double tick_ns)
{
    struct rerun *rerun = context;
    bool last = ticks == rerun->last_ticks;
    rerun->clock.tick_ns = tick_ns;
    rerun->is_complete |= last;
    rerun->written_events = replay_event_count(rerun->replay);
    return write_moment(rerun, ticks, tick_ns, last);
}

static void note_missing(struct rerun *rerun)
{
    struct rerun_result *result = rerun->result;
    struct trace_damage damage;
    trace_damage(rerun->trace, &damage, result->missing, sizeof result->missing);
    if (!*result->missing)
        return;
    replay_lost(rerun->replay, damage.events);
    writer_fact(rerun->writer, PROFILE_META_MISSING, result->missing);
    writer_fact_number(rerun->writer, PROFILE_META_MISSING_EVENTS, (int64_t)damage.events);
    rerun->is_complete = false;
}

static int write_end(struct rerun *rerun)
{
    int error = writing_end(&rerun->writing);
    if (error)
        return error;
    note_missing(rerun);
    uint64_t end = replay_last_ticks(rerun->replay);
    if (rerun->is_complete && rerun->written_events == replay_event_count(rerun->replay))
        return 0;
    if (rerun->has_window)
        return write_moment(rerun, end_ticks(rerun), rerun->clock.tick_ns, true);
    return write_moment(rerun, rerun->clock.end_ticks > end ? rerun->clock.end_ticks : end,
                        rerun->clock.tick_ns, true);
}

/* ---- Replaying ----------------------------------------------------------------------------- */

static void tell_progress(const struct rerun *rerun, size_t block)
{
    const struct trace_block *last = trace_block(rerun->trace, trace_block_count(rerun->trace) - 1);
    const struct trace_block *now = trace_block(rerun->trace, block);
    if (rerun->options->progress)
        rerun->options->progress(rerun->options->context, now->first_event + now->events,
                                 last->first_event + last->events);
}

/* Damage of a kind that the checksums do not see: as far as it went. */
static int play(struct rerun *rerun, const struct trace_events *events)
{
    int error = trace_play(events, &rerun->player);
    return error == -EBADMSG ? 0 : error;
}

static int play_part(struct rerun *rerun, const struct trace_events *events, uint64_t from,
                     uint64_t to)
{
    struct slice slice;
    int error = slice_make(&slice, events, from, to);
    if (!error)
        error = play(rerun, &slice.events);
    slice_release(&slice);
    return error;
}

static int keep_early(struct rerun *rerun, const struct trace_note *note)
{
    if (!room_make(&rerun->early, &rerun->early_room, rerun->early_count, sizeof *rerun->early))
        return -ENOMEM;
    rerun->early[rerun->early_count++] = *note;
    return 0;
}

/* A reading of the process stands where it was made, and events are merged later than they happen: it
 * stands before events that were before it. So what readings a window has is said by their times, not
 * by its events; and a thread whose end stands in it may end behind it. */
static bool is_of_window(void *context, const struct trace_note *note)
{
    struct rerun *rerun = context;
    if (note->kind == TRACE_STREAM_ENDED)
        return note->values[1] <= rerun->to.ticks;
    if (note->kind != TRACE_SAMPLE)
        return true;
    if (note->values[0] < rerun->from.ticks || note->values[0] > rerun->to.ticks)
        return false;
    if (!rerun->has_begun && keep_early(rerun, note))
        rerun->is_short_of_memory = true;
    return rerun->has_begun;
}

static void begin_window(struct rerun *rerun)
{
    rerun->has_begun = true;
    replay_restart(rerun->replay, rerun->from.ticks, rerun->clock.first_tick_ns);
    for (size_t i = 0; i < rerun->early_count; i++) {
        const uint64_t *values = rerun->early[i].values;
        replay_memory_sample(rerun->replay, values[0], values[1], values[2], values[3]);
    }
}

/* What is before the window decides what is alive in it. */
static int play_windowed(struct rerun *rerun, const struct trace_events *events, uint64_t first)
{
    uint64_t end = first + events->event_count, stop = end < rerun->to.event ? end : rerun->to.event;
    uint64_t at = first;
    int error = 0;
    if (!rerun->has_begun && rerun->from.event < end) {
        if (rerun->from.event > first)
            error = play_part(rerun, events, 0, rerun->from.event - first);
        at = rerun->from.event > first ? rerun->from.event : first;
        if (!error)
            begin_window(rerun);
    }
    if (error || at >= stop)
        return error;
    if (rerun->has_begun)
        rerun->result->events += stop - at;
    return at == first && stop == end ? play(rerun, events)
                                      : play_part(rerun, events, at - first, stop - first);
}

static int play_block(struct rerun *rerun, const struct trace_events *events, size_t block)
{
    if (rerun->has_window)
        return play_windowed(rerun, events, trace_block(rerun->trace, block)->first_event);
    rerun->result->events += events->event_count;
    return play(rerun, events);
}

/* Blocks that need not be looked at are those behind the window. */
static size_t blocks_to_play(const struct rerun *rerun)
{
    size_t count = trace_block_count(rerun->trace);
    while (rerun->has_window && count &&
           trace_block(rerun->trace, count - 1)->first_event >= rerun->to.event)
        count--;
    return count;
}

static int play_all(struct rerun *rerun, unsigned threads)
{
    size_t count = blocks_to_play(rerun);
    struct ahead *ahead = ahead_begin(rerun->trace, 0, count, threads);
    const struct trace_events *events;
    int status = ahead ? 1 : -ENOMEM;
    for (size_t block = 0; status == 1 && block < count; block++) {
        status = ahead_next(ahead, &events);
        if (status == 1) {
            int error = play_block(rerun, events, block);
            status = error ? error : 1;
        } else if (status == -EBADMSG) {
            status = 1; /* trace_damage() counts it */
        }
        tell_progress(rerun, block);
        if (rerun->options->is_wanted && !rerun->options->is_wanted(rerun->options->context))
            status = rerun_fail(-ECANCELED, "nobody waits for this replay any more");
    }
    ahead_end(ahead);
    if (rerun->has_window && !rerun->has_begun)
        begin_window(rerun);
    return status != 1 ? status : rerun->is_short_of_memory ? -ENOMEM : 0;
}

/* ---- The window ---------------------------------------------------------------------------- */

/* Up to a moment is up to what happens at it, included. */
static int find_border(struct rerun *rerun, const struct rerun_moment *moment, bool behind,
                       struct border *border)
{
    if (moment->kind == RERUN_EVENT) {
        int error = border_at_event(rerun->trace, moment->value, border);
        border->event += behind && border->event < UINT64_MAX;
        return error;
    }
    uint64_t ticks = rerun_moment_ticks(rerun->trace, moment);
    if (!behind)
        return border_at_ticks(rerun->trace, ticks, border);
    int error = border_at_ticks(rerun->trace, ticks + (ticks < UINT64_MAX), border);
    border->ticks = ticks;
    return error;
}

static int find_window(struct rerun *rerun)
{
    const struct rerun_options *options = rerun->options;
    struct rerun_moment from = options->from, to = options->to;
    int error = rerun_has_events(rerun->trace);
    if (!error)
        error = rerun_moment_resolve(rerun->trace, &from);
    if (!error)
        error = rerun_moment_resolve(rerun->trace, &to);
    if (error)
        return error;
    rerun->has_window = from.kind || to.kind;
    rerun->from = (struct border){0, rerun->clock.start_ticks};
    rerun->to = (struct border){UINT64_MAX, UINT64_MAX};
    if (from.kind)
        error = find_border(rerun, &from, false, &rerun->from);
    if (!error && to.kind)
        error = find_border(rerun, &to, true, &rerun->to);
    if (!error && (rerun->from.event > rerun->to.event || rerun->from.ticks > rerun->to.ticks))
        return rerun_fail(-EINVAL, "there is nothing to replay: the window ends before it begins");
    return error;
}

static unsigned decoders(const struct rerun_options *options)
{
    enum { JOBS_MAX = 64 };
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned jobs = options->jobs ? options->jobs : cores > 0 ? (unsigned)cores : 1;
    return (jobs < JOBS_MAX ? jobs : JOBS_MAX) - 1;
}

/* ---- All of it ----------------------------------------------------------------------------- */

static int replay_and_write(struct rerun *rerun)
{
    begin_replay(rerun);
    rerun->threads = decoders(rerun->options);
    rerun->writing =
        (struct writing){.writer = rerun->writer, .origins = &rerun->origins.origins};
    rerun->player = (struct trace_player){
        .replay = rerun->replay,
        .lenient = true,
        .is_wanted = rerun->has_window ? is_of_window : NULL,
        .snapshot = rerun->has_window ? NULL : on_snapshot,
        .context = rerun};
    int error = list_sightings(rerun);
    if (!error)
        error = play_all(rerun, rerun->threads);
    if (!error)
        error = write_end(rerun);
    int written = writing_end(&rerun->writing);
    return error ? error : written;
}

static int finish(struct rerun *rerun, int error)
{
    if (!rerun->writer)
        return error;
    if (error) {
        writer_discard(rerun->writer);
        return error;
    }
    error = writer_finish(rerun->writer, rerun->options->pack);
    return error ? rerun_fail(error, "%s", profile_error()) : 0;
}

static void release(struct rerun *rerun)
{
    replay_free(rerun->replay);
    free(rerun->early);
    free(rerun->sightings);
    profile_free(rerun->supplement);
    trace_origins_release(&rerun->origins);
}

int rerun_profile(struct trace *trace, const struct rerun_options *options, const char *path,
                  struct rerun_result *result)
{
    struct rerun rerun = {.trace = trace, .options = options, .result = result};
    *result = (struct rerun_result){0};
    rerun_fail(0, "out of memory while replaying a trace");
    rerun_clock(trace, &rerun.clock);
    const char *last_ticks = trace_fact(trace, TRACE_FACT_END_TICKS);
    rerun.last_ticks = last_ticks ? strtoull(last_ticks, NULL, 10) : 0;
    int error = find_window(&rerun);
    if (!error)
        error = trace_origins_open(&rerun.origins, trace);
    if (!error)
        error = read_supplement(&rerun);
    if (!error)
        error = open_writer(&rerun, path);
    if (!error)
        error = replay_and_write(&rerun);
    error = finish(&rerun, error);
    release(&rerun);
    return error;
}
