/* A whole job as one profile, that every presenter reads as any other. */
#ifndef TIDEMARK_JOB_JOB_PROFILE_H
#define TIDEMARK_JOB_JOB_PROFILE_H

#include "job/job.h"
#include "job/job_tree.h"

/* Writes `path`; what was there before is renamed, as profile_writer_open() does. Settles the tree.
 * The same job and tree give the same bytes. 0 or -errno with error_text()'s sentence. */
int job_profile_write(const char *path, const struct job *job, struct job_tree *tree);
/* The same of ranks, nodes and time alone: all that digests say. `to_read` ranks have call paths
 * that are not read yet (PROFILE_META_TO_READ, PROFILE_META_RANKS_ONLY). */
int job_profile_write_ranks(const char *path, const struct job *job, size_t to_read);

#endif
