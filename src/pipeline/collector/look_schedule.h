/* Decides when to look at a process, and keeps the results.
 *
 *   shortly after the start   what is mapped; no pass over the pages
 *                             (if the kernel forbids it: nothing more before the end)
 *   new resident peaks        when the resident set has outgrown the last peak looked at by 5 %, as
 *                             long as all looks together stay below 1 % of the run (5 % of a short
 *                             one); or by 1 %, and has stood there for a moment; or is twice that
 *                             peak, as long as they stay below 10 % of a run of a second or more;
 *                             a run that waits for processors counts in part
 *   snapshots                 while the program waits for one: all of it
 *   the end                   while the program waits for it in its exit: all of it
 *
 * A look at a running program is made on a thread of its own from a copy of the live blocks; only
 * the copying holds up the replay. One look at a time. All functions are for the thread that
 * replays. */
#ifndef TIDEMARK_COLLECTOR_LOOK_SCHEDULE_H
#define TIDEMARK_COLLECTOR_LOOK_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "collector/event_sink.h"
#include "collector/proc_look.h"
#include "collector/shared_view.h"

struct look_schedule;

/* Why not every live block is known. Looks make no ledger then, but rows of owners. */
struct look_gap {
    const char *sentence; /* for people, not copied; NULL: every block is known */
    const char *owner;    /* the owner's name for the memory of unknown blocks; a constant */
    bool is_sample;       /* only a few of all blocks are known */
    bool knows_mappings;  /* all that the program has mapped is known, though blocks are not */
};

/* `start_ns`: CLOCK_MONOTONIC at the beginning of the recording. NULL: out of memory. */
struct look_schedule *look_schedule_new(pid_t pid, uint64_t start_ns, struct look_gap gap,
                                        struct view *view, struct event_sink *sink);
/* Waits for a look under way. NULL is allowed. */
void look_schedule_free(struct look_schedule *looks);

/* After a reading of the resident set: begins or ends a look if it is time to. */
void look_schedule_see(struct look_schedule *looks, uint64_t resident_bytes, uint64_t now_ns);
/* A look that was asked for; returns when it is over. */
void look_schedule_mark(struct look_schedule *looks, const struct wire_wish *wish, uint64_t now_ns);
/* The same before an interpreter ends and frees its objects: types of objects; holders only if
 * look_schedule_want_held() was called. `lost_now`: the interpreter discards memory that points to
 * other blocks, so lost blocks are found now, and not at the end. */
void look_schedule_before_end(struct look_schedule *looks, uint64_t now_ns, bool lost_now);
/* The last one, at a process that waits or that we are about to leave; returns when it is over. */
void look_schedule_finish(struct look_schedule *looks, uint64_t now_ns);

/* From now on the replay does not know every block. */
void look_schedule_lose(struct look_schedule *looks, struct look_gap gap);

/* From now on looks read what pages hold: zeros, copies, what can be compressed. */
void look_schedule_want_content(struct look_schedule *looks);
/* From now on the last look says who holds what, whatever that costs. */
void look_schedule_want_held(struct look_schedule *looks);
/* From now on every look finds the classes of live blocks, not only the last one. */
void look_schedule_want_types(struct look_schedule *looks);

/* From now on looks say when pages were written last; NULL: not known. `heat` stays the
 * caller's. */
struct heat;
void look_schedule_use_heat(struct look_schedule *looks, struct heat *heat);

/* The tool's own part of the resident set, as found by the last look; before the first: all that
 * the recorder has mapped. */
uint64_t look_schedule_tool_bytes(const struct look_schedule *looks);

/* Waits for a look under way, so that the replay may be freed. */
void look_schedule_settle(struct look_schedule *looks);

/* The looks that ended since the last call, in the order of time: malloc'd. The caller releases
 * each and frees the array. */
struct look *look_schedule_take(struct look_schedule *looks, size_t *count);

/* Why there is no ledger of the end, or why figures are unknown: a sentence, or NULL. */
const char *look_schedule_complaint(const struct look_schedule *looks);

/* Why it is not known which blocks can be reached, although the ledger is known: a sentence, or
 * NULL. */
const char *look_schedule_graph_complaint(const struct look_schedule *looks);

/* The part of a run of `age_ns` that counts for what looks may take, when the program has run for
 * `ran_ns` and waited for a processor for `waited_ns`. */
uint64_t look_schedule_served_ns(uint64_t age_ns, uint64_t ran_ns, uint64_t waited_ns);
/* Does a look of that size fit into what may be spent after `age_ns` of the run? */
bool look_schedule_can_afford(uint64_t blocks, uint64_t resident_bytes, uint64_t spent_ns,
                              uint64_t age_ns);
/* The same where the level is twice as high as the last one looked at. */
bool look_schedule_can_afford_double(uint64_t blocks, uint64_t resident_bytes, uint64_t spent_ns,
                                     uint64_t age_ns);
/* n: after so much time spent on looks, a level is looked at when it exceeds the last peak by one
 * n-th. */
unsigned look_schedule_growth_part(uint64_t spent_ns, uint64_t age_ns);

#endif
