/* Two groups of recordings, before and after, of what may be two builds: what grew and what shrank, by function
 * and by call path.
 *
 *   before  a.tmk a2.tmk a3.tmk ─┐ names of functions ─▶ call sites in line ─▶ one tree of call paths,
 *   after   b.tmk b2.tmk        ─┘ (identity.h)          (align.h)             a column for each run
 *
 * Functions are the same by name: clones that a compiler makes are their function, and of several functions of
 * one name each file's is its own. Call paths are the same where function by function the calls are; the calls in a function
 * are put in line by their order and distances, not by the numbers of their lines. Addresses count for nothing.
 *
 * The runs of a group are taken to be of one build and of the same work: how far they differ is the
 * noise floor. Invariant: for each run, exclusive figures add up to the run's own sum over call paths. */
#ifndef TIDEMARK_DIFFERENCE_DIFFERENCE_H
#define TIDEMARK_DIFFERENCE_DIFFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "present/style.h"
#include "profile/profile.h"

enum { DIFFERENCE_RUNS_MAX = 64, DIFFERENCE_BEFORE = 0, DIFFERENCE_AFTER = 1 };

#define DIFFERENCE_NORM_CHOICE "none|count|time"
enum difference_norm {
    DIFFERENCE_AS_IS = 0,
    DIFFERENCE_PER_COUNT, /* runs are multiplied so that each has as many allocations as the first group on average */
    DIFFERENCE_PER_TIME,  /* … takes as long */
};

struct difference_run {
    const struct profile *profile;
    const char *name; /* for people: the file */
    int group;        /* DIFFERENCE_BEFORE or _AFTER; each has one run at least */
    const bool *wanted; /* by node: paths that count; NULL: all */
};

struct difference_options {
    int metric; /* position in REPORT_METRIC_CHOICE; known to all runs */
    enum difference_norm norm;
    bool inclusive; /* functions with what is asked for below them */
    bool hide_std;
};

/* Means of the groups, after normalising. */
struct difference_figure {
    double before, after;
    /* Half of what the difference would vary by on its own, with 99 %: by Student's t from how runs of a
     * group differ, or from the error bars of samples, whichever is more. NAN: not known, of single runs, and of
     * counts of samples. */
    double noise;
};
static inline double difference_of(const struct difference_figure *figure)
{
    return figure->after - figure->before;
}
/* Is it more than noise? Where that is not known, any difference is. */
bool difference_counts(const struct difference_figure *figure);

struct difference_function {
    uint32_t identity;
    struct difference_figure figure;
};

/* A place that allocates, reached on one way: a leaf of the tree. */
struct difference_path {
    uint32_t node;
    struct difference_figure figure;
};

/* Where a frame of a path stands: lines are 0 where the group does not have it or the line is not known. */
struct difference_frame {
    const char *function, *file; /* file: NULL, not known; as in the last group that has it */
    uint32_t line[2];
};

struct difference {
    struct difference_options options;
    size_t run_count;
    const struct difference_run *runs;
    double scale[DIFFERENCE_RUNS_MAX];
    /* Of some runs but the callers of the allocator are known (--stacks=none), of others whole paths: all are
     * compared by their callers, and nothing is hidden. */
    bool callers_only;
    struct difference_figure total; /* of all paths that count */
    size_t function_count, path_count;
    struct difference_function *functions; /* most grown first; without those of nothing */
    struct difference_path *paths;
    struct difference_private *own;
};

/* The runs and their profiles must outlive it. 0, -ENOMEM. */
int difference_make(struct difference *difference, const struct difference_run *runs,
                    size_t run_count, const struct difference_options *options);
/* The same by another metric, at a small part of the cost. 0, or -ENOMEM: it is released. */
int difference_by(struct difference *difference, int metric);
void difference_release(struct difference *difference);

const char *difference_function_name(const struct difference *difference, uint32_t identity);
const char *difference_function_file(const struct difference *difference, uint32_t identity);
/* The figures of one run, normalised. */
double difference_function_value(const struct difference *difference, uint32_t identity,
                                 size_t run);
double difference_path_value(const struct difference *difference, uint32_t node, size_t run);
/* From the innermost frame outwards: *node begins as a path's and is 0 behind the last. False: no more. */
bool difference_frame_next(const struct difference *difference, uint32_t *node,
                           struct difference_frame *frame);

/* The means and the noise of one number per run, normalised already; NAN in any run: all are NAN. */
struct difference_figure difference_figure_of(const struct difference_run *runs, size_t run_count,
                                              const double *values);

struct difference_show {
    struct style style;
    size_t top, depth; /* rows of each list; callers of a path */
};
/* 0 or -errno of the stream. */
int difference_text(FILE *out, const struct difference *difference,
                    const struct difference_show *show);
int difference_json(FILE *out, const struct difference *difference,
                    const struct difference_show *show);

/* What is compared of whole runs: shared by text and JSON. */
enum { DIFFERENCE_TOTALS = 9 };
struct difference_total {
    const char *name, *title;
    enum { DIFFERENCE_BYTES, DIFFERENCE_COUNT, DIFFERENCE_NS } unit;
    struct difference_figure figure; /* NAN: not known of a run */
};
void difference_totals(const struct difference *difference,
                       struct difference_total totals[DIFFERENCE_TOTALS]);

#endif
