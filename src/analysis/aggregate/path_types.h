/* The types of what call paths allocate. Nearly each path has one:
 *
 *   main → load → std::vector<Mesh>::push_back → std::allocator<Mesh>::allocate    by frames: Mesh
 *   main → load → make ─ of its live blocks 9 in 10 began with a Mesh              by class:  Mesh
 *
 *   main → load → xmalloc       its result is assigned to a struct node *          by call:   node
 *
 * Frames come first, because they name the type that was asked for. What a look found in a path's
 * live blocks counts for all of its blocks, also for those that were freed. A path whose type is
 * not certain has none. */
#ifndef TIDEMARK_AGGREGATE_PATH_TYPES_H
#define TIDEMARK_AGGREGATE_PATH_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "aggregate/metrics_merge.h"
#include "profile/profile.h"

enum path_type_source {
    PATH_TYPE_BY_FRAMES, /* functions of a library, inlined ones too */
    PATH_TYPE_BY_CLASS,  /* what live blocks began with */
    PATH_TYPE_BY_CALL,   /* what the call's result is assigned to, or made into */
    PATH_TYPE_SOURCES
};
extern const char *const path_type_source_names[PATH_TYPE_SOURCES];

struct path_type {
    const char *name;
    bool sources[PATH_TYPE_SOURCES]; /* of one of its paths at least */
    struct merged_metrics merged;
    const struct profile_call_type *layout; /* its size and holes; NULL: not known */
};

struct path_types {
    struct path_type *rows;
    size_t count;
    uint32_t *of_site; /* by index of profile->sites; PATH_TYPE_NONE: not known, or not wanted */
    struct merged_metrics unknown; /* paths whose type is not known */
    size_t mixed;                  /* of them: paths whose live blocks have several classes */
    bool has_classes;              /* did a look read what live blocks begin with? */
};
#define PATH_TYPE_NONE UINT32_MAX

/* `wanted` (by node; NULL: all): paths that count. 0 or -ENOMEM. */
int path_types_init(struct path_types *types, const struct profile *profile, const bool *wanted);
void path_types_release(struct path_types *types);
/* Bytes at the peak that belong to no member of the type. */
struct figure path_types_padding(const struct path_type *type);
/* Indices of rows by a metric (position in metrics[]), by metric_rank(), falling. To be freed;
 * NULL: no memory. */
uint32_t *path_types_order(const struct path_types *types, size_t metric);

#endif
