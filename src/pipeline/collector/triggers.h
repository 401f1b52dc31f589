/* Snapshots that are taken automatically: at thresholds, and before the control group's memory ends
 * (`--snapshot-at`).
 *
 *     rss=2G         the resident set, the recorder's own memory taken out
 *     requested=1G   live bytes, as requested
 *     rate=1G        bytes allocated a second, over the last second (rate=1G/s is the same)
 *     count=10M      calls that returned a new block, so far
 *     stack=8M       the deepest stack of a thread that runs, at one of its allocations
 *     time=30s       since the process began to be recorded: fires once
 *     free=10%       of the machine's memory are available, or less; or of bytes, free=2G
 *     cgroup=90%     of the memory limit that will be met first, from the group up to the top
 *     oom            95 % of that limit are used, or will be soon at the pace of the last reading;
 *                    or the group was throttled, hit its limit or found no memory
 *                    (memory.events; memory.failcnt in version 1);
 *                    or its tasks wait for memory (pressure stall information), where permitted
 *
 * A trigger fires once when its figure crosses the level. It fires again only after the figure was
 * below 7/8 of the level; `free`, which falls, after it was above 9/8. A trigger that follows
 * events instead of a level fires at most once in ten seconds. */
#ifndef TIDEMARK_COLLECTOR_TRIGGERS_H
#define TIDEMARK_COLLECTOR_TRIGGERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "model/figure.h"
#include "procfs/cgroup.h"

enum trigger_kind {
    TRIGGER_RSS,
    TRIGGER_REQUESTED,
    TRIGGER_RATE,
    TRIGGER_COUNT,
    TRIGGER_STACK,
    TRIGGER_TIME,
    TRIGGER_FREE,
    TRIGGER_CGROUP,
    TRIGGER_OOM,
    TRIGGER_KINDS
};

enum { TRIGGERS_MAX = 16 };

struct trigger {
    enum trigger_kind kind;
    uint64_t level; /* bytes, bytes a second, calls, ns; of a limit or the machine: millionths */
    bool is_share;  /* level is in millionths */
};

/* Parses an argument of --snapshot-at. 0, or -EINVAL with a sentence in `why`. */
int trigger_parse(const char *text, struct trigger *trigger, char why[160]);
/* "rss=2.00 GiB", as it stands in a snapshot. */
void trigger_name(const struct trigger *trigger, char name[64]);

/* The levels of a process now. */
struct trigger_levels {
    struct figure resident_bytes, requested_bytes;
    struct figure allocated_bytes; /* in all, so far */
    struct figure allocated_count; /* calls, so far */
    struct figure stack_bytes;     /* of the thread whose stack was deepest */
    struct figure age_ns;          /* since recording began */
    struct figure machine_bytes, machine_available_bytes; /* only needed for TRIGGER_FREE */
};

struct triggers;

/* For a process; copies the list. NULL: out of memory, or the list is empty. */
struct triggers *triggers_new(const struct trigger *list, size_t count, pid_t pid);
/* The same for a given control group, for tests. */
struct triggers *triggers_new_in(const struct trigger *list, size_t count,
                                 const struct cgroup_place *place);
void triggers_free(struct triggers *triggers);
/* Whether a trigger of that kind is in the list. */
bool triggers_want(const struct triggers *triggers, enum trigger_kind kind);

/* A trigger whose level has been crossed since it was last asked, one at a time; NULL: none (more).
 * Reads the control group at most every 50 ms, every 10 ms when it is half full. */
const struct trigger *triggers_see(struct triggers *triggers, const struct trigger_levels *levels,
                                   uint64_t now_ns);

/* The longest time until triggers_see() should be called again. */
uint64_t triggers_patience_ns(const struct triggers *triggers);

/* Why cgroup and oom cannot fire for this process: a sentence; NULL: they can, or are not in the
 * list. */
const char *triggers_complaint(const struct trigger *list, size_t count, pid_t pid);

#endif
