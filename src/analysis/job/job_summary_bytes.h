/* The bytes of one rank and of what an entry is, as they stand in those of a summary
 * (job_summary_write()). Inside the room. */
#ifndef TIDEMARK_JOB_JOB_SUMMARY_BYTES_H
#define TIDEMARK_JOB_JOB_SUMMARY_BYTES_H

#include "job/job_bytes.h"
#include "job/job_summary.h"

void job_summary_put_rank(struct strbuf *out, const struct job_rank *rank);
/* False: the reader had failed before anything was the rank's. Else the rank's strings are the
 * caller's, also if the reader has failed meanwhile. */
bool job_summary_get_rank(struct bytes_reader *reader, struct job_rank *rank);

/* What an entry is: kind, name and module. The kind JOB_KINDS is that of a function with a wrapper,
 * whose name follows. */
void job_summary_put_entry_name(struct strbuf *out, const struct job_entry *entry);

/* A string that is never NULL, and makes the reader fail where NULL was written. */
char *job_summary_get_name(struct bytes_reader *reader);

#endif
