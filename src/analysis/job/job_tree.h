/* The call trees of many profiles as one: paths that are the same in several ranks are one path,
 * and their metrics are merged, each by its rule.
 *
 *   a module    is its build-id (its path, if it has none); path and quality are the best seen
 *   a location  is an address in a module; without a module, the functions' names and lines
 *   a node      is a location under a node
 *
 * At the end, where one module's file name stands for several build-ids (nodes of a cluster that
 * differ), its locations become their functions' names, so that their paths meet too. All is then
 * put in an order that follows from the contents alone: the same trees give the same bytes whatever
 * order and process they were merged in.
 *
 * Of a path, peak_bytes is the sum of the high-water marks that it had in each rank, and peak_ticks
 * when the highest of them was (the earliest of equal ones); at_peak_… are sums of each rank's own
 * moment. Memory: the union of the paths, whatever the number of ranks. Out of memory ends the
 * process. */
#ifndef TIDEMARK_JOB_JOB_TREE_H
#define TIDEMARK_JOB_JOB_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"
#include "base/map.h"
#include "profile/profile.h"
#include "aggregate/metrics_merge.h"
#include "job/job_owners.h"

struct job_module {
    char *path;
    uint8_t *build_id; /* NULL: none */
    size_t build_id_bytes;
    int quality;
};
struct job_location {
    uint32_t module; /* index, UINT32_MAX: none */
    int mark, quality;
    uint64_t address;
    char *frames; /* what job_tree_frames() reads */
    size_t frame_bytes;
};
struct job_node {
    uint32_t parent, location; /* [0] is the root */
    uint32_t site;             /* index + 1, 0: none */
};
struct job_site {
    struct merged_metrics merged;
    struct figure peak_bytes, peak_most, peak_ticks;
};
struct job_tree {
    struct job_module *modules;
    struct job_location *locations;
    struct job_node *nodes;
    struct job_site *sites;
    size_t module_count, module_capacity, location_count, location_capacity, node_count,
        node_capacity, site_count, site_capacity;
    struct map module_map, location_map, node_map;
    struct merged_metrics total; /* of the programs */
    struct figure peak_sum;      /* of their high-water marks */
    struct program_metrics rest; /* sums of all but `total` */
    uint64_t ranks;
    struct job_owners owners; /* whose the resident memory is */
};

void job_tree_release(struct job_tree *tree);
void job_tree_add_profile(struct job_tree *tree, const struct profile *profile);
/* `from` is empty then. */
void job_tree_merge(struct job_tree *into, struct job_tree *from);
/* Joins what differing modules keep apart, and puts all in its order. Nothing is merged after. */
void job_tree_settle(struct job_tree *tree);

void job_tree_write(struct strbuf *out, const struct job_tree *tree);
int job_tree_read(struct job_tree *tree, const void *bytes, size_t count); /* 0 or -EINVAL */

/* The frames of a location, innermost first, in malloc'd memory; strings point into the tree. */
struct profile_frame *job_tree_frames(const struct job_location *location, size_t *count);

#endif
