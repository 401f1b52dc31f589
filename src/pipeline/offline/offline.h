/* Replays of traces: they give what the recording's own replay gave, at any later time and on any
 * machine.
 *
 * 0 or -errno, with a sentence in error_text(). Safe from several threads, each with its own
 * trace or at least its own profile.
 *
 * offline_profile.c feeds a trace to a replay and a writer as the recording's collector did, and
 * writes where the recording wrote: the profile is the recording's, table by table. ahead.c decodes
 * blocks on threads. slice.c cuts a block at the border of a window; events before the window are
 * replayed, and then their history is cleared (replay_restart()). trace_names.c gives a trace's
 * call paths their names without a replay, trace_origins.c gives the writer of the profile the
 * trace's nodes and modules, and trace_clock.c reads moments as people write them. */
#ifndef TIDEMARK_OFFLINE_OFFLINE_H
#define TIDEMARK_OFFLINE_OFFLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profile/profile.h"
#include "trace/trace.h"

/* ---- Names --------------------------------------------------------------------------------- */

/* A profile without metrics in which there is what presenters need to show a call path of the
 * trace: nodes (by their numbers), codes, lines, functions, modules, meta. The caller frees it by
 * profile_free().
 *
 * `before_block`: as trace_nodes() takes it: the nodes that it can name and more; SIZE_MAX: all.
 * Names come from the trace's supplement. Where it has none (it was cut off), and for code that the
 * supplement lacks, they come from the object files if these are still there and have the build-ids
 * of the recording; that costs what the symbols of the files cost, so only the codes on the paths
 * of `wanted` are looked up (NULL: all). */
struct offline_wanted {
    const uint32_t *nodes;
    size_t count;
};
int offline_names(const struct trace *trace, size_t before_block,
                  const struct offline_wanted *wanted, struct profile **out);

/* One sentence if names come only from files of this machine today; else NULL. Lives as long as the
 * profile. */
const char *offline_names_doubt(const struct profile *names);
/* ---- Moments ------------------------------------------------------------------------------- */

/* A moment of a recording as a person names it. */
enum offline_moment_kind {
    OFFLINE_NO_MOMENT = 0,
    OFFLINE_TIME,    /* "12.5s", "80ms": ns since the start */
    OFFLINE_PERCENT, /* "73%" of the recording's time, in `part` as 0 to 1 */
    OFFLINE_PEAK,    /* "peak": when the live bytes were highest, the first time */
    OFFLINE_EVENT,   /* "#123456": events are numbered from 0 */
    OFFLINE_MARK,    /* "mark:NAME", the first one of that name, "mark:NAME#3" the third: `name` is
                      * the text's, until offline_moment_resolve() */
    OFFLINE_TICKS,   /* of the recording's clock, in `value` */
    /* Of a job, not of one recording: "node-peak", "job-peak": when the ranks of each machine, or
     * all ranks, held most together. */
    OFFLINE_NODE_PEAK,
    OFFLINE_JOB_PEAK,
};
struct offline_moment {
    enum offline_moment_kind kind;
    uint64_t value;
    double part;
    const char *name;
};
/* -EINVAL, with a sentence: it is no moment. */
int offline_moment_parse(const char *text, struct offline_moment *moment);
/* Replaces a mark by its time; other moments stay. -ENOENT with a sentence: the trace has no such
 * mark, or the moment is a job's. Call it before the other functions that take a moment. */
int offline_moment_resolve(const struct trace *trace, struct offline_moment *moment);

/* After offline_moment_resolve(). -ERANGE, with a sentence: the moment lies behind the trace's end,
 * or the trace was cut off before its first whole block of events, so no moment is known. A time
 * that is written like the end's time counts as the end. */
int offline_moment_within(const struct trace *trace, const struct offline_moment *moment);
/* Only tests whether the trace has events. */
int offline_has_events(const struct trace *trace);

/* How ticks of the trace become nanoseconds, and how long the recording was: the values of the
 * recording's last profile. If the trace was cut off, the latest values in it. */
struct offline_clock {
    uint64_t start_ticks, end_ticks;
    double first_tick_ns; /* as replay_new() got it */
    double tick_ns;
};
void offline_clock(const struct trace *trace, struct offline_clock *clock);

/* The time of a moment; of OFFLINE_EVENT that of its block's beginning. */
uint64_t offline_moment_ticks(const struct trace *trace, const struct offline_moment *moment);

/* ---- What the program says of itself --------------------------------------------------------- */

/* Calls `visit` with the names of the program's marks and regions, by number. If `visit` returns an
 * error, that ends the visit and is returned. */
int offline_each_name(const struct trace *trace,
                      int (*visit)(void *context, uint32_t number, const char *name),
                      void *context);

/* ---- Profiles ------------------------------------------------------------------------------ */

/* Blocks of a call path that began after the window's `from` and are alive at its end. */
struct offline_born {
    uint32_t node; /* 0: also of what a damaged trace lacks */
    uint64_t bytes, count;
};

struct offline_options {
    unsigned jobs; /* threads, 0: as many as there are cores. The result does not depend on it */
    bool pack;
    /* Only what happens from one to the other, both included: blocks from before are alive, but are
     * no allocations of the window. */
    struct offline_moment from, to;
    bool wants_born; /* not of a sampled trace, whose blocks have weights */
    /* NULL, or asked now and then by the thread that replays: false ends it with -ECANCELED. */
    bool (*is_wanted)(void *context);
    /* NULL, or called now and then by the thread that replays. */
    void (*progress)(void *context, uint64_t events, uint64_t of_events);
    void *context;
};

struct offline_result {
    uint64_t events;   /* replayed */
    char missing[512]; /* "", or a sentence: which part of the trace could not be read */
    bool from_files;   /* names are those of files on this machine */
    /* If wanted, by node, rising; the caller's to free(), whatever is returned. */
    struct offline_born *born;
    size_t born_count;
};

/* Replays a trace and writes the profile of it: without a window the one that the recording wrote.
 * A file that is there is renamed to .old, as by a recording. Of a damaged trace the sound parts
 * are replayed, and the profile says what is missing. On failure there is no new file. */
int offline_profile(struct trace *trace, const struct offline_options *options, const char *path,
                    struct offline_result *result);

#endif
