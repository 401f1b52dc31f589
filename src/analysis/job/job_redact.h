/* What a job's summary tells about somebody, taken out of it before it is shown. */
#ifndef TIDEMARK_JOB_JOB_REDACT_H
#define TIDEMARK_JOB_JOB_REDACT_H

#include "job/job_summary.h"
#include "redact/redact.h"

/* Before job_init(). Returns how many secrets of the command line were hidden. */
size_t job_redact(struct job_summary *summary, const struct redact_texts *texts);

#endif
