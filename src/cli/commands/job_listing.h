/* Reads the entries of a job's directory on a thread of its own, so that `serve` can show what is
 * known of a job by now: on a parallel file system thousands of entries take their time. */
#ifndef TIDEMARK_COMMANDS_JOB_LISTING_H
#define TIDEMARK_COMMANDS_JOB_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "job/job_files.h"

struct job_listing;

/* Begins. `command` ("tidemark serve"), the path and the id (NULL: the only job there) must live
 * on. */
struct job_listing *job_listing_begin(const char *command, const char *path, const char *id);
/* Waits for its end, `ms` at most. True: it has ended. */
bool job_listing_wait(struct job_listing *listing, uint64_t ms);
/* How many entries are read, of how many as far as is known. */
void job_listing_count(struct job_listing *listing, size_t *done, size_t *of);
/* The files that are known by now (all zero: none). While it has not ended. */
void job_listing_peek(struct job_listing *listing, struct job_files *files);
/* No further entry is read, and it ends soon. */
void job_listing_stop(struct job_listing *listing);
/* Waits for its end, and frees it. 0 and the files, or an exit status after a sentence. */
int job_listing_end(struct job_listing *listing, struct job_files *files);

#endif
