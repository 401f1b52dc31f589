/* Makes a profile from a trace, by the same replay and the same writer as in the recording. It
 * writes at the places among the events where the recording wrote, with the same nanoseconds a
 * tick, because rows that do not change later are not written again. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "profile_build/naming.h"
#include "base/error.h"
#include "profile_build/snapshot.h"
#include "profile_build/profile_build.h"
#include "base/array.h"
#include "offline/ahead.h"
#include "offline/born.h"
#include "offline/doubt.h"
#include "offline/trace_origins.h"
#include "offline/offline.h"
#include "offline/slice.h"
#include "offline/snapshot_writing.h"

struct offline {
    struct trace *trace;
    const struct offline_options *options;
    struct offline_result *result;
    struct offline_clock clock;
    struct trace_origins origins;
    struct profile *supplement; /* NULL: there is none */
    struct naming *naming;
    struct writer *writer;
    struct replay *replay;
    unsigned threads; /* besides this one */
    struct writing writing;
    struct proc_sample *proc_samples;
    size_t proc_sample_count;
    struct trace_player player;
    bool has_window;
    bool has_begun;         /* the window */
    struct border from, to; /* `to` is not included */
    /* Readings whose times are in the window, and which stand before its first event. */
    struct trace_note *early;
    size_t early_count, early_room;
    bool is_short_of_memory;
    uint64_t last_ticks;     /* of the recording's last snapshot; 0: not known */
    bool is_complete;        /* it has been written … */
    uint64_t written_events; /* … after so many events */
};

/* ---- Before -------------------------------------------------------------------------------- */

static int offline_profile_read_supplement(struct offline *rerun)
{
    void *bytes;
    size_t size;
    int error = trace_supplement(rerun->trace, &bytes, &size);
    if (error)
        return error;
    /* A supplement that cannot be read counts as none, and the profile says so. */
    if (bytes && profile_read_supplement(&rerun->supplement, bytes, size, "the trace's supplement",
                                         rerun->origins.node_count, false) < 0)
        rerun->supplement = NULL;
    free(bytes);
    rerun->result->from_files = !rerun->supplement;
    return 0;
}

static const char *offline_profile_fact_of(const struct offline *rerun, const char *key)
{
    char name[128];
    if (rerun->supplement)
        return profile_get(rerun->supplement, key);
    snprintf(name, sizeof name, TRACE_FACT_META "%s", key);
    return trace_fact(rerun->trace, name);
}

static uint64_t offline_profile_number_of(const struct offline *rerun, const char *key)
{
    const char *text = offline_profile_fact_of(rerun, key);
    return text ? strtoull(text, NULL, 10) : 0;
}

static int offline_profile_open_writer(struct offline *rerun, const char *path)
{
    const char *executable = offline_profile_fact_of(rerun, PROFILE_META_EXECUTABLE);
    rerun->naming = rerun->supplement ? naming_of_profile(rerun->supplement) : naming_open(0);
    if (!rerun->naming)
        return -ENOMEM;
    int error =
        profile_build_open_named(&rerun->writer, path, rerun->naming, executable ? executable : "");
    if (error) {
        naming_close(rerun->naming);
        return error;
    }
    if (rerun->supplement)
        profile_build_give_known(rerun->writer, rerun->supplement);
    return 0;
}

static int offline_profile_give_name(void *context, uint32_t number, const char *name)
{
    replay_name(context, number, name);
    return 0;
}

static void offline_profile_begin_replay(struct offline *rerun)
{
    struct trace_options options;
    trace_options(rerun->trace, &options);
    rerun->replay = replay_new(options.start_ticks, rerun->clock.first_tick_ns);
    offline_each_name(rerun->trace, offline_profile_give_name, rerun->replay);
    if (options.flags & TRACE_FREE_STACKS)
        replay_know_frees(rerun->replay);
    if (options.flags & TRACE_TIMED)
        replay_know_times(rerun->replay);
    replay_sample(rerun->replay, options.sample_bytes);
}

/* Whether the sample is in the window. If so, its time is set to the time since the window's
 * start. */
static bool offline_profile_is_in_window(const struct offline *rerun, struct profile_sample *sample)
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

static int offline_profile_list_proc_samples(struct offline *rerun)
{
    struct profile *known = rerun->supplement;
    size_t mapping = 0, row = 0, cell = 0, owner = 0, container = 0, island = 0, kept = 0;
    size_t holder = 0, sharer = 0, chain = 0, type = 0, fill = 0;
    size_t count = known ? known->sample_count : 0;
    rerun->proc_samples = calloc(count + 1, sizeof *rerun->proc_samples);
    if (!rerun->proc_samples)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        uint32_t id = known->samples[i].id;
        struct proc_sample *proc_sample = &rerun->proc_samples[kept];
        *proc_sample = (struct proc_sample){
            .sample = &known->samples[i],
            .mappings = known->mappings ? known->mappings + mapping : NULL,
            .rows = known->residencies ? known->residencies + row : NULL,
            .cells = known->heap_pages ? known->heap_pages + cell : NULL,
            .islands = known->islands ? known->islands + island : NULL,
            .holders = known->holders ? known->holders + holder : NULL,
            .sharers = known->sharers ? known->sharers + sharer : NULL,
            .chain = known->chains ? known->chains + chain : NULL,
            .types = known->block_types ? known->block_types + type : NULL,
            .fills = known->block_fills ? known->block_fills + fill : NULL,
            .owners = known->owners ? known->owners + owner : NULL,
            .containers = known->containers ? known->containers + container : NULL};
        for (; mapping < known->mapping_count && known->mappings[mapping].sample == id; mapping++)
            proc_sample->mapping_count++;
        for (; row < known->residency_count && known->residencies[row].sample == id; row++)
            proc_sample->row_count++;
        for (; cell < known->heap_page_count && known->heap_pages[cell].sample == id; cell++)
            proc_sample->cell_count++;
        for (; island < known->island_count && known->islands[island].sample == id; island++)
            proc_sample->island_count++;
        for (; holder < known->holder_count && known->holders[holder].sample == id; holder++)
            proc_sample->holder_count++;
        for (; sharer < known->sharer_count && known->sharers[sharer].sample == id; sharer++)
            proc_sample->sharer_count++;
        for (; chain < known->chain_count && known->chains[chain].sample == id; chain++)
            proc_sample->chain_count++;
        for (; type < known->block_type_count && known->block_types[type].sample == id; type++)
            proc_sample->type_count++;
        for (; fill < known->block_fill_count && known->block_fills[fill].sample == id; fill++)
            proc_sample->fill_count++;
        for (; owner < known->owner_count && known->owners[owner].sample == id; owner++)
            proc_sample->owner_count++;
        for (; container < known->container_count && known->containers[container].sample == id;
             container++)
            proc_sample->container_count++;
        kept += offline_profile_is_in_window(rerun, &known->samples[i]);
    }
    rerun->proc_sample_count = kept;
    return 0;
}

/* ---- Facts --------------------------------------------------------------------------------- */

/* Whether a fact is copied. The others follow from the events, or are written anew. */
static bool offline_profile_is_copied(const char *key)
{
    static const char *const made[] = {"complete", "bucket_ns", "duration_ns", "unwalkable",
                                       "unattributed"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        if (!strcmp(key, made[i]))
            return false;
    return true;
}

static uint64_t offline_profile_ns_of(const struct offline *rerun, uint64_t ticks)
{
    struct clock_scale scale = {rerun->clock.start_ticks, rerun->clock.tick_ns};
    return clock_moment_ns(scale, ticks);
}

static uint64_t offline_profile_end_ticks(const struct offline *rerun)
{
    return rerun->to.ticks < rerun->clock.end_ticks ? rerun->to.ticks : rerun->clock.end_ticks;
}

/* Times of a window are since its start. */
static void offline_profile_write_window(struct offline *rerun)
{
    uint64_t from_ns = offline_profile_ns_of(rerun, rerun->from.ticks);
    const char *start = offline_profile_fact_of(rerun, PROFILE_META_START);
    if (!rerun->has_window)
        return;
    profile_build_fact_number(rerun->writer, PROFILE_META_WINDOW_FROM, (int64_t)from_ns);
    profile_build_fact_number(
        rerun->writer, PROFILE_META_WINDOW_TO,
        (int64_t)offline_profile_ns_of(rerun, offline_profile_end_ticks(rerun)));
    if (start)
        profile_build_fact_number(rerun->writer, PROFILE_META_START,
                                  strtoll(start, NULL, 10) + (int64_t)from_ns);
}

static void offline_profile_write_fact(struct offline *rerun, const char *key, const char *value,
                                       bool is_number)
{
    bool is_counted = !strcmp(key, PROFILE_META_WAITS) || !strcmp(key, PROFILE_META_WAIT_NS) ||
                      !strcmp(key, PROFILE_META_EXIT_WAIT_NS);
    if (!offline_profile_is_copied(key) || (rerun->has_window && is_counted))
        return;
    if (is_number)
        profile_build_fact_number(rerun->writer, key, strtoll(value, NULL, 10));
    else
        profile_build_fact(rerun->writer, key, value);
}

static bool offline_profile_is_text_key(const char *key)
{
    static const char *const texts[] = {
        PROFILE_META_PROGRAM,   PROFILE_META_EXECUTABLE, PROFILE_META_COMMAND,
        PROFILE_META_DIRECTORY, PROFILE_META_HOST,       PROFILE_META_JOB,
        PROFILE_META_LAUNCHER,  PROFILE_META_BEGUN_ON,   PROFILE_META_NEVER_BEGUN};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(key, texts[i]))
            return true;
    return false;
}

/* Facts of a trace are all texts. Those that were numbers are recognised by their contents. */
static void offline_profile_write_trace_facts(struct offline *rerun)
{
    const char *key, *value;
    size_t prefix = strlen(TRACE_FACT_META);
    for (size_t i = 0; i < trace_fact_count(rerun->trace); i++) {
        char *end;
        trace_fact_at(rerun->trace, i, &key, &value);
        if (strncmp(key, TRACE_FACT_META, prefix) != 0)
            continue;
        strtoll(value, &end, 10);
        offline_profile_write_fact(rerun, key + prefix, value,
                                   *value && !*end && !offline_profile_is_text_key(key + prefix));
    }
}

static void offline_profile_write_facts(struct offline *rerun)
{
    const struct profile *known = rerun->supplement;
    if (!known) {
        offline_profile_write_trace_facts(rerun);
        profile_build_fact(rerun->writer, PROFILE_META_NAMED_LATER, OFFLINE_DOUBT);
    }
    for (size_t i = 0; known && i < known->meta_count; i++)
        offline_profile_write_fact(rerun, known->meta[i].key, known->meta[i].value,
                                   known->meta[i].is_number);
    if (!known && !offline_profile_fact_of(rerun, PROFILE_META_END))
        profile_build_fact(rerun->writer, PROFILE_META_END, "unknown");
    offline_profile_write_window(rerun);
}

/* ---- Writing ------------------------------------------------------------------------------- */

/* The waits of a whole recording are facts of it. Those of a window are summed up. */
static void offline_profile_count_waits(const struct offline *rerun, struct snapshot_moment *moment)
{
    uint64_t ticks = 0;
    if (rerun->supplement && !rerun->has_window) {
        moment->waits = offline_profile_number_of(rerun, PROFILE_META_WAITS);
        moment->wait_ns = offline_profile_number_of(rerun, PROFILE_META_WAIT_NS);
        return;
    }
    for (size_t i = 0; i < replay_thread_count(rerun->replay); i++) {
        moment->waits += replay_thread(rerun->replay, i).waits;
        ticks += replay_thread(rerun->replay, i).wait_ticks;
    }
    moment->wait_ns = clock_span_ns(moment->scale, ticks);
}

static void *offline_profile_copy(const void *rows, size_t bytes)
{
    void *copy = malloc(bytes);
    if (copy)
        memcpy(copy, rows, bytes);
    else
        error_set(-ENOMEM, "out of memory while replaying a trace");
    return copy;
}

/* Copies rows that hold for the whole run, and not for a window. */
static int offline_profile_take_whole(const struct offline *rerun, struct snapshot *snapshot)
{
    const struct profile *known = rerun->has_window ? NULL : rerun->supplement;
    if (known && known->page_use_count) {
        snapshot->page_uses = offline_profile_copy(
            known->page_uses, known->page_use_count * sizeof *snapshot->page_uses);
        if (!snapshot->page_uses)
            return -ENOMEM;
        snapshot->page_use_count = known->page_use_count;
    }
    if (known && known->machine_moment_count) {
        snapshot->machine_moments = offline_profile_copy(
            known->machine_moments, known->machine_moment_count * sizeof *known->machine_moments);
        if (!snapshot->machine_moments)
            return -ENOMEM;
        snapshot->machine_moment_count = known->machine_moment_count;
    }
    return 0;
}

static int offline_profile_write_moment(struct offline *rerun, uint64_t ticks, double tick_ns,
                                        bool last)
{
    struct writing *writing = &rerun->writing;
    struct snapshot_moment moment = {.scale = {rerun->from.ticks, tick_ns},
                                     .now_ticks = ticks,
                                     .node_count = (uint32_t)rerun->origins.node_count,
                                     .damaged_rings =
                                         offline_profile_number_of(rerun, PROFILE_META_DAMAGED)};
    offline_profile_count_waits(rerun, &moment);
    int error = writing_end(writing);
    if (!error)
        error = snapshot_take(&writing->snapshot, rerun->replay, &moment);
    if (error)
        return error;
    if (last) {
        writing->snapshot.proc_samples = rerun->proc_samples;
        writing->snapshot.proc_sample_count = rerun->proc_sample_count;
        offline_profile_write_facts(rerun);
        error = offline_profile_take_whole(rerun, &writing->snapshot);
    }
    if (error) {
        snapshot_release(&writing->snapshot);
        return error;
    }
    return writing_begin(writing, rerun->threads > 0);
}

/* The recording wrote here. */
static int offline_profile_on_snapshot(void *context, uint64_t ticks, double tick_ns)
{
    struct offline *rerun = context;
    bool last = ticks == rerun->last_ticks;
    rerun->clock.tick_ns = tick_ns;
    rerun->is_complete |= last;
    rerun->written_events = replay_event_count(rerun->replay);
    return offline_profile_write_moment(rerun, ticks, tick_ns, last);
}

static void offline_profile_note_missing(struct offline *rerun)
{
    struct offline_result *result = rerun->result;
    struct trace_damage damage;
    trace_damage(rerun->trace, &damage, result->missing, sizeof result->missing);
    if (!*result->missing)
        return;
    replay_lost(rerun->replay, damage.events);
    profile_build_fact(rerun->writer, PROFILE_META_MISSING, result->missing);
    profile_build_fact_number(rerun->writer, PROFILE_META_MISSING_EVENTS, (int64_t)damage.events);
    rerun->is_complete = false;
}

static int offline_profile_write_end(struct offline *rerun)
{
    int error = writing_end(&rerun->writing);
    if (error)
        return error;
    offline_profile_note_missing(rerun);
    uint64_t end = replay_last_ticks(rerun->replay);
    if (rerun->is_complete && rerun->written_events == replay_event_count(rerun->replay))
        return 0;
    if (rerun->has_window)
        return offline_profile_write_moment(rerun, offline_profile_end_ticks(rerun),
                                            rerun->clock.tick_ns, true);
    return offline_profile_write_moment(rerun,
                                        rerun->clock.end_ticks > end ? rerun->clock.end_ticks : end,
                                        rerun->clock.tick_ns, true);
}

/* ---- Replaying ----------------------------------------------------------------------------- */

static void offline_profile_tell_progress(const struct offline *rerun, size_t block)
{
    const struct trace_block *last = trace_block(rerun->trace, trace_block_count(rerun->trace) - 1);
    const struct trace_block *now = trace_block(rerun->trace, block);
    if (rerun->options->progress)
        rerun->options->progress(rerun->options->context, now->first_event + now->events,
                                 last->first_event + last->events);
}

/* Damage that the checksums do not show ends the block where it is found. */
static int offline_profile_play(struct offline *rerun, const struct trace_events *events)
{
    int error = trace_play(events, &rerun->player);
    return error == -EBADMSG ? 0 : error;
}

static int offline_profile_play_part(struct offline *rerun, const struct trace_events *events,
                                     uint64_t from, uint64_t to)
{
    struct slice slice;
    int error = slice_make(&slice, events, from, to);
    if (!error)
        error = offline_profile_play(rerun, &slice.events);
    slice_release(&slice);
    return error;
}

static int offline_profile_keep_early(struct offline *rerun, const struct trace_note *note)
{
    if (!array_make_room(&rerun->early, &rerun->early_room, rerun->early_count,
                         sizeof *rerun->early))
        return -ENOMEM;
    rerun->early[rerun->early_count++] = *note;
    return 0;
}

/* Whether a note belongs to the window. A reading of the process stands before events that happened
 * earlier, because events are merged later than they happen. So readings belong to a window by
 * their times, not by their places. A thread's end that stands in the window may have a time behind
 * it. */
static bool offline_profile_is_of_window(void *context, const struct trace_note *note)
{
    struct offline *rerun = context;
    if (note->kind == TRACE_STREAM_ENDED)
        return note->values[1] <= rerun->to.ticks;
    if (note->kind != TRACE_SAMPLE)
        return true;
    if (note->values[0] < rerun->from.ticks || note->values[0] > rerun->to.ticks)
        return false;
    if (!rerun->has_begun && offline_profile_keep_early(rerun, note))
        rerun->is_short_of_memory = true;
    return rerun->has_begun;
}

static void offline_profile_begin_window(struct offline *rerun)
{
    rerun->has_begun = true;
    replay_restart(rerun->replay, rerun->from.ticks, rerun->clock.first_tick_ns);
    for (size_t i = 0; i < rerun->early_count; i++) {
        const uint64_t *values = rerun->early[i].values;
        replay_memory_sample(rerun->replay, values[0], values[1], values[2], values[3]);
    }
}

/* Events before the window are replayed too, because blocks from then are alive in it. */
static int offline_profile_play_windowed(struct offline *rerun, const struct trace_events *events,
                                         uint64_t first)
{
    uint64_t end = first + events->event_count,
             stop = end < rerun->to.event ? end : rerun->to.event;
    uint64_t at = first;
    int error = 0;
    if (!rerun->has_begun && rerun->from.event < end) {
        if (rerun->from.event > first)
            error = offline_profile_play_part(rerun, events, 0, rerun->from.event - first);
        at = rerun->from.event > first ? rerun->from.event : first;
        if (!error)
            offline_profile_begin_window(rerun);
    }
    if (error || at >= stop)
        return error;
    if (rerun->has_begun)
        rerun->result->events += stop - at;
    return at == first && stop == end
               ? offline_profile_play(rerun, events)
               : offline_profile_play_part(rerun, events, at - first, stop - first);
}

static int offline_profile_play_block(struct offline *rerun, const struct trace_events *events,
                                      size_t block)
{
    if (rerun->has_window)
        return offline_profile_play_windowed(rerun, events,
                                             trace_block(rerun->trace, block)->first_event);
    rerun->result->events += events->event_count;
    return offline_profile_play(rerun, events);
}

/* The number of blocks to play: those behind the window are not needed. */
static size_t offline_profile_blocks_to_play(const struct offline *rerun)
{
    size_t count = trace_block_count(rerun->trace);
    while (rerun->has_window && count &&
           trace_block(rerun->trace, count - 1)->first_event >= rerun->to.event)
        count--;
    return count;
}

static int offline_profile_play_all(struct offline *rerun, unsigned threads)
{
    size_t count = offline_profile_blocks_to_play(rerun);
    struct ahead *ahead = ahead_begin(rerun->trace, 0, count, threads);
    const struct trace_events *events;
    int status = ahead ? 1 : -ENOMEM;
    for (size_t block = 0; status == 1 && block < count; block++) {
        status = ahead_next(ahead, &events);
        if (status == 1) {
            int error = offline_profile_play_block(rerun, events, block);
            status = error ? error : 1;
        } else if (status == -EBADMSG) {
            status = 1; /* trace_damage() counts it */
        }
        offline_profile_tell_progress(rerun, block);
        if (rerun->options->is_wanted && !rerun->options->is_wanted(rerun->options->context))
            status = error_set(-ECANCELED, "nobody waits for this replay any more");
    }
    ahead_end(ahead);
    if (rerun->has_window && !rerun->has_begun)
        offline_profile_begin_window(rerun);
    return status != 1 ? status : rerun->is_short_of_memory ? -ENOMEM : 0;
}

/* ---- The window ---------------------------------------------------------------------------- */

/* The border at a moment; `behind`: after the events at the moment, which are included. */
static int offline_profile_find_border(struct offline *rerun, const struct offline_moment *moment,
                                       bool behind, struct border *border)
{
    if (moment->kind == OFFLINE_EVENT) {
        int error = border_at_event(rerun->trace, moment->value, border);
        border->event += behind && border->event < UINT64_MAX;
        return error;
    }
    uint64_t ticks = offline_moment_ticks(rerun->trace, moment);
    if (!behind)
        return border_at_ticks(rerun->trace, ticks, border);
    int error = border_at_ticks(rerun->trace, ticks + (ticks < UINT64_MAX), border);
    border->ticks = ticks;
    return error;
}

static int offline_profile_find_window(struct offline *rerun)
{
    const struct offline_options *options = rerun->options;
    struct offline_moment from = options->from, to = options->to;
    int error = offline_has_events(rerun->trace);
    if (!error)
        error = offline_moment_resolve(rerun->trace, &from);
    if (!error)
        error = offline_moment_resolve(rerun->trace, &to);
    if (error)
        return error;
    rerun->has_window = from.kind || to.kind;
    rerun->from = (struct border){0, rerun->clock.start_ticks};
    rerun->to = (struct border){UINT64_MAX, UINT64_MAX};
    if (from.kind)
        error = offline_profile_find_border(rerun, &from, false, &rerun->from);
    if (!error && to.kind)
        error = offline_profile_find_border(rerun, &to, true, &rerun->to);
    if (!error && (rerun->from.event > rerun->to.event || rerun->from.ticks > rerun->to.ticks))
        return error_set(-EINVAL, "there is nothing to replay: the window ends before it begins");
    return error;
}

static unsigned offline_profile_decoders(const struct offline_options *options)
{
    enum { JOBS_MAX = 64 };
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned jobs = options->jobs ? options->jobs : cores > 0 ? (unsigned)cores : 1;
    return (jobs < JOBS_MAX ? jobs : JOBS_MAX) - 1;
}

/* ---- All of it ----------------------------------------------------------------------------- */

static int offline_profile_replay_and_write(struct offline *rerun)
{
    offline_profile_begin_replay(rerun);
    rerun->threads = offline_profile_decoders(rerun->options);
    rerun->writing = (struct writing){.writer = rerun->writer, .origins = &rerun->origins.origins};
    rerun->player =
        (struct trace_player){.replay = rerun->replay,
                              .lenient = true,
                              .is_wanted = rerun->has_window ? offline_profile_is_of_window : NULL,
                              .snapshot = rerun->has_window ? NULL : offline_profile_on_snapshot,
                              .context = rerun};
    int error = offline_profile_list_proc_samples(rerun);
    if (!error)
        error = offline_profile_play_all(rerun, rerun->threads);
    if (!error)
        error = offline_profile_write_end(rerun);
    if (!error && rerun->options->wants_born)
        error =
            born_take(rerun->replay, rerun->from.ticks, rerun->origins.node_count, rerun->result);
    int written = writing_end(&rerun->writing);
    return error ? error : written;
}

static int offline_profile_finish(struct offline *rerun, int error)
{
    if (!rerun->writer)
        return error;
    if (error) {
        profile_build_discard(rerun->writer);
        return error;
    }
    error = profile_build_finish(rerun->writer, rerun->options->pack);
    return error;
}

static void offline_profile_release(struct offline *rerun)
{
    replay_free(rerun->replay);
    free(rerun->early);
    free(rerun->proc_samples);
    profile_free(rerun->supplement);
    trace_origins_release(&rerun->origins);
}

int offline_profile(struct trace *trace, const struct offline_options *options, const char *path,
                    struct offline_result *result)
{
    struct offline rerun = {.trace = trace, .options = options, .result = result};
    *result = (struct offline_result){0};
    error_set(0, "out of memory while replaying a trace");
    offline_clock(trace, &rerun.clock);
    const char *last_ticks = trace_fact(trace, TRACE_FACT_END_TICKS);
    rerun.last_ticks = last_ticks ? strtoull(last_ticks, NULL, 10) : 0;
    int error = offline_profile_find_window(&rerun);
    if (!error)
        error = trace_origins_open(&rerun.origins, trace);
    if (!error)
        error = offline_profile_read_supplement(&rerun);
    if (!error)
        error = offline_profile_open_writer(&rerun, path);
    if (!error)
        error = offline_profile_replay_and_write(&rerun);
    error = offline_profile_finish(&rerun, error);
    offline_profile_release(&rerun);
    return error;
}
