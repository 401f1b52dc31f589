/* Call paths grouped by the first function of the program's own, and the callers above it.
 *
 *   path   main → run → load → std::vector::push_back → operator new
 *                        └ the site's frame (library frames are hidden)
 *          └──────┘ its callers, nearest first
 *
 * Invariant: a metric's sum over all groups is its sum over all (filtered) paths: each path is in
 * exactly one group. */
#ifndef TIDEMARK_REPORT_CALL_SITES_H
#define TIDEMARK_REPORT_CALL_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"
#include "profile/profile.h"
#include "report/metric.h"
#include "report/report.h"

/* One frame of a call path: an index into profile->lines, of code `code`. code 0: no path. */
struct frame {
    uint32_t code, line;
};

/* By index of profile->lines: is it a frame of a library? NULL: out of memory. To be freed. */
bool *frames_of_libraries(const struct profile *profile);

struct site_group {
    struct frame frame;
    uint64_t totals[METRIC_COUNT], variances[METRIC_COUNT];
    uint64_t sample_count; /* 0 if nothing was sampled */
    uint64_t alloc_count, blocks_at_peak, live_blocks;
    uint64_t freed_count, freed_elsewhere_count, freed_lifetime_ns; /* 0 if not recorded */
    size_t first, count; /* into call_sites.order */
};

struct call_sites {
    const struct profile *profile;
    bool *hidden;    /* by index of profile->lines */
    uint32_t *order; /* indices of profile->sites, group by group */
    struct site_group *groups;
    size_t group_count;
    uint64_t totals[METRIC_COUNT]; /* of what passed the filter */
    size_t path_count;             /* that passed the filter */
};

/* 0, -EINVAL for a filter that is no regular expression, -ENOMEM. */
int call_sites_init(struct call_sites *sites, const struct profile *profile,
                    const struct report_options *options);
void call_sites_release(struct call_sites *sites);

/* The groups with most of a metric, most first; returns how many there are with any of it (at most
 * `max` are written). */
size_t call_sites_top(const struct call_sites *sites, size_t metric, const struct site_group **top,
                      size_t max);

/* Callers of a group, as a tree: node 0 is the group itself. */
struct caller {
    struct frame frame;
    uint64_t value;
    uint32_t first_child, next; /* indices, 0: none; children by falling value */
    bool continues;             /* further callers were left out here */
};
struct callers {
    struct caller *nodes;
    size_t count, capacity;
};
/* `depth` callers at most above the site. 0 or -ENOMEM. */
int callers_build(struct callers *callers, const struct call_sites *sites,
                  const struct site_group *group, size_t metric, size_t depth);
void callers_release(struct callers *callers);

/* What is known of a frame; NULL, 0 where nothing is. */
const char *frame_function(const struct profile *profile, struct frame frame);
const char *frame_file(const struct profile *profile, struct frame frame, uint32_t *line);
const char *frame_module(const struct profile *profile, struct frame frame);
/* A name in any case: function, "libx.so+0x12", "[…]". Not shortened, not made safe. */
void frame_add_name(struct strbuf *out, const struct profile *profile, struct frame frame);

#endif
