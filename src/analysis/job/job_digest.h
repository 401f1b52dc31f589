/* What one profile contributes to a summary. */
#ifndef TIDEMARK_JOB_JOB_DIGEST_H
#define TIDEMARK_JOB_JOB_DIGEST_H

#include "job/job_summary.h"
#include "model/level.h"
#include "profile/profile.h"

/* What is known of a file before it is read: by the manifest, or by its place among the
 * arguments. Strings are copied. */
struct job_source {
    const char *path;
    const char *file;             /* the name that is shown; never NULL */
    uint64_t part_at, part_bytes; /* where it is in a node's file; 0: it is a file of its own */
    uint32_t place;
    bool rank_known;
    uint32_t rank, size; /* size of the job; 0: not known */
    bool is_helper;
    const char *node, *boot; /* may be NULL */
};

/* Fills `digest` (all zero) from `profile`; never fails: what makes no sense is damage. */
void job_digest(struct job_summary *digest, const struct profile *profile,
                const struct job_source *source);
/* The digest of a file that could not be read, or is not there. */
void job_digest_of_none(struct job_summary *digest, const struct job_source *source,
                        enum job_state state, const char *why);

/* Makes it a profile of that level, as digests have it. 0 or -errno with a sentence. */
int job_digest_take_level(struct profile *profile, enum memory_level level);
/* The sums of one rank, and its tables as those of both ends: `bytes` by entry. The rank itself is
 * not added. */
void job_digest_settle(struct job_summary *digest, const struct job_rank *rank,
                       uint64_t (*bytes)[JOB_FIGURES]);

/* For tests: the timeline of a profile laid over the steps. */
void job_resample(struct job_rank *rank, const struct profile *profile);

#endif
