/* Snapshots that are taken automatically: at thresholds, and before the control group's memory ends
 * (`--snapshot-at`).
 *
 *     rss=2G         the resident set, the recorder's own memory taken out
 *     requested=1G   live bytes, as requested
 *     rate=1G        bytes allocated a second, over the last second (rate=1G/s is the same)
 *     cgroup=90%     of the memory limit that will be met first, from the group up to the top
 *     oom            95 % of that limit are used, or will be soon at the pace of the last reading;
 *                    or the group was throttled, hit its limit or found no memory
 *                    (memory.events; memory.failcnt in version 1);
 *                    or its tasks wait for memory (pressure stall information), where permitted
 *
 * A trigger fires once when its figure crosses the level. It fires again only after the figure was
 * below 7/8 of the level. A trigger that follows events instead of a level fires at most once in
 * ten seconds. */
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
    TRIGGER_CGROUP,
    TRIGGER_OOM,
    TRIGGER_KINDS
};

enum { TRIGGERS_MAX = 16 };

struct trigger {
    enum trigger_kind kind;
    uint64_t level; /* bytes, bytes a second; of a limit: millionths */
};

/* What --snapshot-at takes. 0, or -EINVAL with a sentence in `why`. */
int trigger_parse(const char *text, struct trigger *trigger, char why[160]);
/* "rss=2.00 GiB", as it is told of a snapshot. */
void trigger_name(const struct trigger *trigger, char name[64]);

/* What a process is at. */
struct trigger_levels {
    struct figure resident_bytes, requested_bytes;
    struct figure allocated_bytes; /* in all, so far */
};

struct triggers;

/* For a process; copies the list. NULL: out of memory, or the list is empty. */
struct triggers *triggers_new(const struct trigger *list, size_t count, pid_t pid);
/* The same for a control group that is given, for tests. */
struct triggers *triggers_new_in(const struct trigger *list, size_t count,
                                 const struct cgroup_place *place);
void triggers_free(struct triggers *triggers);

/* A trigger whose level has been crossed since it was last asked, one at a time; NULL: none (more).
 * Reads the control group at most every 50 ms, every 10 ms when it is half full. */
const struct trigger *triggers_see(struct triggers *triggers, const struct trigger_levels *levels,
                                   uint64_t now_ns);

/* Nanoseconds after which it wants to see again. */
uint64_t triggers_patience_ns(const struct triggers *triggers);

/* Why cgroup and oom cannot fire for this process: a sentence; NULL: they can, or are not in the
 * list. */
const char *triggers_complaint(const struct trigger *list, size_t count, pid_t pid);

#endif
