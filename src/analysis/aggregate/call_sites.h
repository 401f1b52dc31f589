/* Call paths grouped by the first function of the program's own (aggregate/frames.h), and the
 * callers above it.
 *
 * Invariant: the sum of a metric that adds up over all groups is its sum over all (filtered) paths:
 * each path is in exactly one group. */
#ifndef TIDEMARK_AGGREGATE_CALL_SITES_H
#define TIDEMARK_AGGREGATE_CALL_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "aggregate/frames.h"
#include "profile/profile.h"
#include "aggregate/metric_choice.h"
#include "aggregate/metrics_merge.h"

struct site_group {
    struct frame frame;
    struct merged_metrics merged;
    size_t first, count; /* into call_sites.order */
};

struct call_sites {
    const struct profile *profile;
    bool *hidden;    /* by index of profile->lines */
    bool *wanted;    /* by node: does its path pass the filter? NULL: all do */
    uint32_t *order; /* indices of profile->sites, group by group */
    struct site_group *groups;
    size_t group_count;
    struct recursion_end *recursion_ends; /* by node: what call_sites_next_other() has found out */
    struct figure totals[METRIC_CHOICES]; /* of what passed the filter */
    size_t path_count;                    /* that passed the filter */
};

/* Groups the paths that pass `filter` (an extended regular expression; NULL: all do). `hide_std`:
 * frames of libraries are no call sites. 0, -EINVAL for a filter that is no regular expression,
 * -ENOMEM. */
int call_sites_init(struct call_sites *sites, const struct profile *profile, const char *filter,
                    bool hide_std);
/* The same for the paths whose `wanted` (by node; NULL: all) is true. Takes `wanted` over: it is
 * freed with the sites, or at once where this fails. */
int call_sites_init_wanted(struct call_sites *sites, const struct profile *profile, bool *wanted,
                           bool hide_std);
void call_sites_release(struct call_sites *sites);

static inline struct figure call_sites_group_value(const struct site_group *group, size_t metric)
{
    return metric_of_merged(&metrics[metric], &group->merged);
}

/* The frame that the path of a node is listed under. */
struct frame call_sites_frame(const struct call_sites *sites, uint32_t node);

/* Walks on to a frame with another frame_key() than that of the frame behind which the walk stands.
 * False: there is none. Over all paths of a recursion this is linear. */
bool call_sites_next_other(const struct call_sites *sites, struct frame_walk *walk,
                           struct frame *frame, uint64_t key);

/* The groups with most of a metric, by metric_rank(), most first; returns how many there are with
 * any of it (at most `max` are written). */
size_t call_sites_top(const struct call_sites *sites, size_t metric, const struct site_group **top,
                      size_t max);

/* Callers of a group, as a tree: node 0 is the group itself. */
struct caller {
    struct frame frame;
    struct figure value;
    uint32_t first_child, next; /* indices, 0: none; children by falling rank */
    bool continues;             /* further callers were left out here */
};
struct callers {
    struct caller *nodes;
    size_t count, capacity;
    const struct metric *metric;
};
/* `depth` callers at most above the site. 0 or -ENOMEM. */
int callers_build(struct callers *callers, const struct call_sites *sites,
                  const struct site_group *group, size_t metric, size_t depth);
void callers_release(struct callers *callers);

#endif
