/* Reads files of a job, each once and one at a time in each thread, and makes one summary (and one
 * call tree) of them. */
#ifndef TIDEMARK_JOB_JOB_RUN_H
#define TIDEMARK_JOB_JOB_RUN_H

#include <stdatomic.h>
#include "job/job_files.h"
#include "job/job_summary.h"
#include "job/job_tree.h"

struct job_progress {
    /* Called with what is read so far, one caller at a time. NULL: no function is called. */
    void (*tell)(void *context, size_t done, size_t of);
    void *context;
    /* Set by another thread: no further file is begun, and what came about is not all. Or NULL. */
    const atomic_bool *stops;
};

/* `wanted`: indices of the files, in the order in which they are begun; `summary` and `tree` are
 * all zero, `tree` NULL if it is not wanted. A file that cannot be read costs only itself. */
void job_run(const struct job_files *files, const uint32_t *wanted, size_t count, size_t threads,
             struct job_summary *summary, struct job_tree *tree,
             const struct job_progress *progress);

#endif
