/* The ranks of a job at one moment, each by its own trace.
 *
 *   12.5s    since the job's first process began, by the clocks of the ranks' machines; a rank that
 *            had not begun or had ended by then holds nothing
 *   73%      of each rank's own run
 *   peak     each rank at its own peak, so that the sum is a bound that may never have been reached
 *   mark:X   each rank at its own mark
 *   node-peak  when the ranks of a machine held most together, each machine at its own such time
 *   job-peak   when all ranks did, as if the clocks of all machines were one
 *
 * An event (#123) is of one trace. A rank whose trace does not say what was alive then is unknown,
 * and in no sum. */
#ifndef TIDEMARK_HEAP_AT_JOB_AT_H
#define TIDEMARK_HEAP_AT_JOB_AT_H

#include "heap_at/heap_at.h"
#include "heap_at/node_mark.h"
#include "jobdir/manifest.h"
#include "model/figure.h"

enum job_at_state { JOB_AT_ALIVE, JOB_AT_NOT_BEGUN, JOB_AT_ENDED, JOB_AT_UNKNOWN };

struct job_at_rank {
    const struct manifest_process *process;
    enum job_at_state state;
    bool estimated;           /* allocations were sampled */
    uint64_t time_ns, run_ns; /* of its own run, where it is alive */
    uint64_t bytes, count;    /* alive at the moment; 0 where it had not begun or had ended */
    uint64_t peak_bytes;      /* its own peak, where it is alive */
    uint64_t filtered_bytes;  /* of `bytes`, on the call paths that pass the filter */
    char *why;                /* why it is unknown, or what of its trace could not be read; NULL */
    struct figure moment_ns;  /* of node-peak and job-peak: since the job's beginning */
    struct node_mark_clock clock; /* of its machine, where the moment is a time of the job */
    bool has_clock;
};

struct job_at_function {
    char *name, *file, *module;           /* the latter two may be NULL */
    uint64_t exclusive, inclusive, count; /* over all ranks; blocks of the former */
    uint64_t most;                        /* of one rank, in what they are ordered by */
    size_t most_rank, ranks;              /* its index in `ranks`, and how many have it */
};

/* A machine: of the ranks that say the same boot id, or where they say none the same name. */
struct job_at_node {
    const char *name; /* as the first of its ranks calls it; NULL: not known */
    uint64_t bytes, peak_sum;
    size_t ranks, alive, unknown;
    struct figure moment_ns; /* of node-peak and job-peak */
};

struct job_at_options {
    struct heap_at_style style;
    struct offline_moment moment;
    const char *moment_text;
    enum memory_level of;
    const char *filter; /* NULL: all */
    const char *node;   /* the ranks of that machine alone; NULL: all */
    bool inclusive;     /* functions by all that is held below them */
    unsigned threads;   /* that read traces; 0: one for each processor */
    void (*progress)(void *context, size_t done, size_t of);
    void *context;
};

struct job_at {
    const struct manifest_job *job;
    struct job_at_rank *ranks; /* by rank; in a job without ranks every process */
    size_t rank_count;
    struct job_at_function *functions; /* the most first */
    size_t function_count, function_room, folded_count;
    struct job_at_node *nodes; /* the most first */
    size_t node_count;
};

/* `job` has to outlive it. 0, or -errno with a sentence: not one rank could be read. */
int job_at_init(struct job_at *at, const struct manifest_job *job,
                const struct job_at_options *options);
void job_at_release(struct job_at *at);
/* -errno of the stream. */
int job_at_show(FILE *out, const struct job_at *at, const struct job_at_options *options);

#endif
