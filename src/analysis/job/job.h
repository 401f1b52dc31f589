/* A job as text for people and JSON for programs, and several jobs beside each other.
 *
 * `files` are the ranks that a job's directory names (room jobdir). `digest` makes of a profile
 * what it contributes, `kept` writes that behind the profile and reads it from there, and `summary`
 * adds digests up: associative, commutative and exact (integers, ties to the lower rank), so that
 * any split over threads and processes gives the same bytes. Fractions begin in `statistics`.
 * `tree` merges call trees, `nodes` bounds what the ranks of a machine held together, `first` is
 * what is known before a profile is read, `run` reads files on threads with one in memory in each,
 * `scaling` puts jobs side by side, `law` finds how memory follows from the number of ranks. */
#ifndef TIDEMARK_JOB_JOB_H
#define TIDEMARK_JOB_JOB_H

#include <stdio.h>
#include "job/job_nodes.h"
#include "job/job_statistics.h"
#include "job/job_summary.h"
#include "format/style.h"
#include "jobdir/rank_choice.h"
#include "model/level.h"

/* A summary of all ranks with what follows from it. */
struct job {
    const char *id;          /* "" if it has none */
    const char *name;        /* as the user gave it */
    enum memory_level level; /* that its figures are of */
    struct job_summary summary;
    struct statistics peaks;
    size_t ranks;               /* that count in statistics */
    uint64_t size;              /* ranks that there should be; what is here where nobody said */
    const char *recorded_ranks; /* the choice of --ranks, as given; NULL: all were to be recorded */
    struct rank_choice recorded; /* the same, read */
    size_t collectors;           /* that recorded the ranks; 0: not known. The caller's to set */
    uint64_t missing;            /* of those that were to be recorded, without any process here */
    uint64_t left_out;           /* not to be recorded, and without any process here */
    struct job_node_peak *nodes;
    size_t node_count;
    uint32_t *rank_nodes;    /* by index of its rank: the node's; JOB_NO_NODE */
    bool knows[JOB_FIGURES]; /* of its functions and libraries: do all ranks that count say it? */
};
/* Takes over what is in `summary`. The strings stay the caller's; `recorded_ranks` may be NULL. */
void job_init(struct job *job, struct job_summary *summary, const char *id, const char *name,
              const char *recorded_ranks);
void job_release(struct job *job);
/* The first run of ranks that are missing above `after` (-1 at first); false: no more. */
bool job_next_missing(const struct job *job, int64_t after, int64_t *first, int64_t *last);
/* A table entry's bytes in the rank at an end; 0 if it has none. */
uint64_t job_end_bytes(const struct job_end *end, uint32_t entry, enum job_figure figure);

/* Functions, or a kind of libraries, most bytes in all ranks first; malloc'd indices of entries. */
uint32_t *job_order(const struct job_summary *summary, unsigned kinds, enum job_figure figure,
                    size_t *count);

enum { JOB_FORECASTS = 4 };
struct job_options {
    struct style style;
    size_t top;  /* rows in each table */
    size_t rows; /* of the heat map */
    /* Of several jobs: numbers of ranks whose need is asked for (none: some of our choice), and
     * what a rank may have (0: not asked). */
    uint64_t forecasts[JOB_FORECASTS];
    size_t forecast_count;
    uint64_t rank_bytes;
};
/* 0 or -errno of writing. */
int job_text(FILE *out, const struct job *job, const struct job_options *options);
int job_json(FILE *out, const struct job *job);
/* `jobs` in the order of their sizes, two at least. */
int job_scaling_text(FILE *out, struct job *const *jobs, size_t count,
                     const struct job_options *options);
int job_scaling_json(FILE *out, struct job *const *jobs, size_t count,
                     const struct job_options *options);

/* The slope from which on a function's bytes per rank do not shrink, as far as can be said. */
#define JOB_SLOPE_CONSTANT (-0.1)
#define JOB_SLOPE_GROWING  0.1

/* One function over several jobs. */
struct job_scaled {
    const char *name, *module, *through; /* "": through no wrapper, or not the same in all */
    double *means;                       /* bytes per rank at the peak, by job */
    uint64_t *most;                      /* of any rank */
    double slope;                        /* of the means; NAN: in one job only */
};
/* Those of all jobs, most bytes per rank in the last first. *count of them; release with
 * job_scaled_free(). */
struct job_scaled *job_scaled(struct job *const *jobs, size_t job_count, size_t *count);
void job_scaled_free(struct job_scaled *scaled, size_t count);

#endif
