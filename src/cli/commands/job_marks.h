/* What the ranks of each node of a job held together: exact where there are traces. */
#ifndef TIDEMARK_COMMANDS_JOB_MARKS_H
#define TIDEMARK_COMMANDS_JOB_MARKS_H

#include <stdatomic.h>
#include "job/job.h"
#include "job/job_files.h"

/* For each node of `job`, whose files are `files`. Does nothing on other levels than the heap.
 * `stops`: NULL, or set by another thread: no further node is looked at. */
void job_marks_find(struct job *job, const struct job_files *files, const atomic_bool *stops);

#endif
