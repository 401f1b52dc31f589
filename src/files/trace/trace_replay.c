/* Feeds a decoded block into a replay. Each note says before which run of records it stands, so
 * runs and notes are played in the order in which they were recorded. A lenient player begins
 * streams that a damaged trace no longer names. */
#include <errno.h>
#include <string.h>
#include "trace/trace.h"
#include "base/error.h"

enum { STREAM = 0 };

/* Makes sure that the stream has begun; false: it is not told of. */
static bool trace_replay_begin_missing(struct trace_player *player, uint64_t stream)
{
    enum { STREAMS_MAX = 1 << 20 }; /* of a trace that is damaged */

    if (!player->lenient || stream >= STREAMS_MAX)
        return stream < player->streams;
    for (; player->streams <= stream; player->streams++)
        replay_thread_begin(player->replay, 0, replay_last_ticks(player->replay));
    return true;
}

static int trace_replay_begin_stream(struct trace_player *player, const struct trace_note *note)
{
    uint64_t stream = note->values[STREAM];

    if (stream > player->streams && !trace_replay_begin_missing(player, stream - 1))
        return -EBADMSG;
    if (stream != player->streams)
        return -EBADMSG;
    replay_thread_begin(player->replay, (uint32_t)note->values[1], note->values[2]);
    player->streams++;
    return 0;
}

static int trace_replay_play_stream(struct trace_player *player, const struct trace_note *note)
{
    uint64_t stream = note->values[STREAM];

    if (note->kind == TRACE_STREAM_BEGUN)
        return trace_replay_begin_stream(player, note);
    if (!trace_replay_begin_missing(player, stream))
        return -EBADMSG;
    if (note->kind == TRACE_STREAM_ENDED)
        replay_thread_end(player->replay, (uint32_t)stream, note->values[1]);
    else
        replay_thread_waited(player->replay, (uint32_t)stream, note->values[1], note->values[2]);
    return 0;
}

static int trace_replay_play_snapshot(const struct trace_player *player,
                                      const struct trace_note *note)
{
    double tick_ns;

    memcpy(&tick_ns, &note->values[1], sizeof tick_ns);
    return player->snapshot ? player->snapshot(player->context, note->values[0], tick_ns) : 0;
}

static int trace_replay_play_note(struct trace_player *player, const struct trace_note *note)
{
    const uint64_t *values = note->values;

    if (player->is_wanted && !player->is_wanted(player->context, note))
        return 0;
    switch (note->kind) {
    case TRACE_STREAM_BEGUN:
    case TRACE_STREAM_ENDED:
    case TRACE_STREAM_WAITED:
        return trace_replay_play_stream(player, note);
    case TRACE_LOST:
        replay_lost(player->replay, values[0]);
        return 0;
    case TRACE_SAMPLE:
        replay_memory_sample(player->replay, values[0], values[1], values[2], values[3]);
        return 0;
    case TRACE_THREAD_NAMED:
        replay_thread_named(player->replay, (uint32_t)values[0], note->name);
        return 0;
    case TRACE_THREAD_STACK:
        replay_thread_stack(player->replay, (uint32_t)values[0], values[1], values[2],
                            (uint32_t)values[3]);
        return 0;
    case TRACE_SNAPSHOT:
        return trace_replay_play_snapshot(player, note);
    default:
        return 0; /* of a newer version */
    }
}

static int trace_replay_play_runs(struct trace_player *player, const struct replay_run *runs,
                                  size_t count, const unsigned char **at)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        if (runs[i].thread >= player->streams &&
            !trace_replay_begin_missing(player, runs[i].thread))
            return -EBADMSG;
        bytes += runs[i].bytes;
    }
    replay_runs(player->replay, runs, count, *at);
    *at += bytes;
    return 0;
}

int trace_play(const struct trace_events *events, struct trace_player *player)
{
    const unsigned char *at = events->records;
    size_t run = 0;
    int error = 0;

    for (size_t i = 0; i <= events->note_count && !error; i++) {
        bool last = i == events->note_count;
        size_t until = last ? events->run_count : events->notes[i].before_run;
        error = trace_replay_play_runs(player, events->runs + run, until - run, &at);
        run = until;
        if (!error && !last)
            error = trace_replay_play_note(player, &events->notes[i].note);
    }
    return error == -EBADMSG
               ? error_set(error, "the trace does not say which thread a stream of events is of")
               : error;
}

int trace_replay(const struct trace_events *events, struct replay *replay, uint32_t *streams)
{
    struct trace_player player = {.replay = replay, .streams = *streams};
    int error = trace_play(events, &player);

    *streams = player.streams;
    return error;
}
