/* What is known of a job before the first of its profiles has been read: who its ranks are, and
 * what their entries say of how they ended. `serve` shows it until the whole job has been read. */
#ifndef TIDEMARK_JOB_JOB_FIRST_H
#define TIDEMARK_JOB_JOB_FIRST_H

#include "job/job_files.h"
#include "job/job_summary.h"

/* How a rank's row stands in it where the entry does not say how the rank ended. */
#define JOB_FIRST_NOT_READ "not read yet"

/* Fills `ranks` (all zero): the order, and with it the ids, that the profile of the whole job will
 * have. Nothing else of it is known. */
void job_first_list(struct job_summary *ranks, const struct job_files *files);

/* Writes a profile with the rows of the ranks and nodes alone. What no entry says is unknown in it,
 * and its meta says PROFILE_META_TO_READ. Unless these are `all` ranks it does not say how many
 * there are, and the ids are not the ones that ranks will have. 0 or -errno with error_text()'s
 * sentence. */
int job_first_write(const char *path, const struct job_files *files,
                    const struct job_summary *ranks, bool all);

#endif
