/* Two groups of recordings, before and after, of what may be two builds: what grew and what shrank,
 * by function and by call path.
 *
 *   before  a.tmk a2.tmk a3.tmk ─┐ names of functions ─▶ call sites in line ─▶ one tree of call paths,
 *   after   b.tmk b2.tmk        ─┘ (identity.h)          (align.h)             a column for each run
 *
 * Functions are the same by name: clones that a compiler makes count as their function, and
 * functions of one name in several files are told apart by file. Call paths are the same where
 * function by function the calls are; the calls in a function are put in line by their order and
 * distances, not by the numbers of their lines. Addresses count for nothing.
 *
 * The runs of a group are taken to be of one build and of the same work: how far they differ is the
 * noise floor. Invariant: for each run, exclusive figures add up to the run's own sum over call
 * paths.
 *
 * `identity` gives functions numbers by name over all profiles. `call_alignment` has the calls in
 * each function, and `align` puts those of both groups in line by dynamic programming over order
 * and distances. `diff_steps` is the call paths of one run level by level, `diff_tree` those of all
 * runs as one. diff.c has means and noise: Student's t, or the error bars of samples. */
#ifndef TIDEMARK_DIFF_DIFF_H
#define TIDEMARK_DIFF_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "format/style.h"
#include "profile/profile.h"

enum { DIFF_RUNS_MAX = 64, DIFF_BEFORE = 0, DIFF_AFTER = 1 };

#define DIFF_NORM_CHOICE "none|count|time"
enum diff_norm {
    DIFF_AS_IS = 0,
    DIFF_PER_COUNT, /* runs are multiplied so that each has as many allocations as the first group
                     * on average */
    DIFF_PER_TIME,  /* … takes as long */
};

struct diff_run {
    const struct profile *profile;
    const char *name;   /* for people: the file */
    int group;          /* DIFF_BEFORE or _AFTER; each has one run at least */
    const bool *wanted; /* by node: paths that count; NULL: all */
};

struct diff_options {
    int metric; /* position in METRIC_CHOICE; known to all runs */
    enum diff_norm norm;
    bool inclusive; /* functions with what is asked for below them */
    bool hide_std;
    const char *filter; /* the text of the filter that the runs' `wanted` follows; NULL: all
                           paths count */
};

/* Means of the groups, after normalising. */
struct diff_figure {
    double before, after;
    /* Half the width of the difference's 99 % confidence interval: by Student's t from how runs of
     * a group differ, or from the error bars of samples, whichever is more. NAN: not known, of
     * single runs, and of counts of samples. */
    double noise;
};
static inline double diff_of(const struct diff_figure *figure)
{
    return figure->after - figure->before;
}
/* Is it more than noise? Where that is not known, any difference is. */
bool diff_counts(const struct diff_figure *figure);

struct diff_function {
    uint32_t identity;
    struct diff_figure figure;
};

/* A place that allocates, reached on one way: a leaf of the tree. */
struct diff_path {
    uint32_t node;
    struct diff_figure figure;
};

/* Where a frame of a path stands: lines are 0 where the group does not have it or the line is not
 * known. */
struct diff_frame {
    const char *function, *file; /* file: NULL, not known; as in the last group that has it */
    uint32_t line[2];
    const char *through; /* of the innermost: diff_function_through(); else NULL */
};

struct diff {
    struct diff_options options;
    size_t run_count;
    const struct diff_run *runs;
    double scale[DIFF_RUNS_MAX];
    /* Of some runs only the callers of the allocator are known (--stacks=none), of others whole
     * paths: all are compared by their callers, and nothing is hidden. */
    bool callers_only;
    struct diff_figure total; /* of all paths that count */
    size_t function_count, path_count;
    struct diff_function *functions; /* most grown first; without those of nothing */
    struct diff_path *paths;
    struct diff_private *own;
};

/* The runs and their profiles must outlive it. 0, -ENOMEM. */
int diff_make(struct diff *difference, const struct diff_run *runs, size_t run_count,
              const struct diff_options *options);
/* The same by another metric, at a small part of the cost. 0, or -ENOMEM: it is released. */
int diff_by(struct diff *difference, int metric);
void diff_release(struct diff *difference);

const char *diff_function_name(const struct diff *difference, uint32_t identity);
const char *diff_function_file(const struct diff *difference, uint32_t identity);
/* The wrapper that it asks through (aggregate/wrappers.h), on all paths of all runs; NULL: none, or
 * not the same everywhere. */
const char *diff_function_through(const struct diff *difference, uint32_t identity);
/* The figures of one run, normalised. */
double diff_function_value(const struct diff *difference, uint32_t identity, size_t run);
double diff_path_value(const struct diff *difference, uint32_t node, size_t run);
/* From the innermost frame outwards: *node begins as a path's and is 0 behind the last. False: no
 * more. */
bool diff_frame_next(const struct diff *difference, uint32_t *node, struct diff_frame *frame);
/* Nodes of paths and of their callers are less than that. */
size_t diff_node_count(const struct diff *difference);

/* The means and the noise of one number per run, normalised already; NAN in a run: the mean of its
 * group, the noise and so the difference are NAN, and the other group's mean is what it is. */
struct diff_figure diff_figure_of(const struct diff_run *runs, size_t run_count,
                                  const double *values);

struct diff_show {
    struct style style;
    size_t top, depth; /* rows of each list; callers of a path */
};
/* `owners`: the same runs as what was resident, whose functions are the owners; NULL: not known of
 * all of them, or not asked for. 0 or -errno of the stream. */
int diff_text(FILE *out, const struct diff *difference, const struct diff *owners,
              const struct diff_show *show);
int diff_json(FILE *out, const struct diff *difference, const struct diff *owners,
              const struct diff_show *show);

/* What is compared of whole runs: shared by text and JSON. */
enum { DIFF_TOTALS = 9 };
struct diff_total {
    const char *name, *title;
    enum { DIFF_BYTES, DIFF_COUNT, DIFF_NS } unit;
    struct diff_figure figure; /* NAN: not known of a run */
};
void diff_totals(const struct diff *difference, struct diff_total totals[DIFF_TOTALS]);

#endif
