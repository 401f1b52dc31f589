/* The digest of a rank, kept behind its profile (profile/appendix.h): `tidemark job` then reads the
 * few kilobytes that it adds up, and neither unpacks the profile nor looks for names and wrappers.
 *
 *   collector, when a rank's profile is complete:  profile ─▶ job_digest() ─▶ job_kept_write()
 *   tidemark job, tidemark-mpi:                    job_kept_read(), else profile ─▶ job_digest()
 *
 * Both ways give the same summary. What depends on the job and not on the profile (place and name
 * of the file, what entries say of rank and node) is not kept, but taken from the source. Whoever
 * changes what a digest is of the same profile raises JOB_KEPT_VERSION: other versions are not
 * read. */
#ifndef TIDEMARK_JOB_JOB_KEPT_H
#define TIDEMARK_JOB_JOB_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include "base/strbuf.h"
#include "job/job_digest.h"
#include "model/level.h"

#define JOB_KEPT_VERSION "TMKDIGE1" /* the bytes begin with it */

/* Reads the complete profile at `path`, which this process has written, and appends its digests:
 * of the heap, and of resident memory where that is known. 0, or -errno (no sentence): it has none
 * then. */
int job_kept_write(const char *path);

/* The digest of the level behind the profile at source->path. False: there is none, or the profile
 * must be read for another reason; `digest` (all zero) is as it was. */
bool job_kept_read(struct job_summary *digest, enum memory_level level,
                   const struct job_source *source);

/* The bytes: for tests and the fuzzer. job_kept_take() as job_kept_read(). */
void job_kept_put(struct strbuf *out, const struct job_summary *digest, enum memory_level level);
bool job_kept_take(struct job_summary *digest, const void *bytes, size_t count,
                   enum memory_level level, const struct job_source *source);

#endif
