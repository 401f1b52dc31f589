/* What the ranks of each node of a job held together, to the event, where there are traces. */
#ifndef TIDEMARK_COMMANDS_JOB_MARKS_H
#define TIDEMARK_COMMANDS_JOB_MARKS_H

#include "job/job.h"
#include "job/job_files.h"

/* The nodes of `job`, of which `files` are the files; nothing of another level than the heap. */
void job_marks_find(struct job *job, const struct job_files *files);

#endif
