/* Who has a job's resident memory: of each rank the look with most of it, each at its own moment,
 * added up by kind, call path and name. Rows are found in a hash table; the order follows from
 * the contents alone. Threads of one name are one row, because their numbers mean nothing in
 * another process. A figure that one rank's row does not know is unknown of the sum.
 *
 * Paths are nodes of the job's tree, whose numbers change as trees merge: job_owners_renumber().
 * Out of memory ends the process. */
#ifndef TIDEMARK_JOB_JOB_OWNERS_H
#define TIDEMARK_JOB_JOB_OWNERS_H

#include <stddef.h>
#include <stdint.h>
#include "base/map.h"
#include "base/strbuf.h"
#include "job/job_bytes.h"
#include "profile/profile.h"

struct job_owners {
    struct profile_owner *rows; /* their names are theirs; sample is 0 */
    size_t count, room;
    struct map map;
    uint64_t ranks; /* that have a look; all others have no part in the sums */
};

void job_owners_release(struct job_owners *owners);
/* Adds the look of a rank; nothing of a profile of a level, or without a look. `nodes`: by path,
 * the node. */
void job_owners_add_profile(struct job_owners *owners, const struct profile *profile,
                            const uint32_t *nodes);
/* The rows of the rank's look; NULL: there is none that is added up. */
const struct profile_owner *job_owners_of(const struct profile *profile, size_t *count);
void job_owners_merge(struct job_owners *into, const struct job_owners *from,
                      const uint32_t *nodes);
/* The last renumbering: `nodes` are those that the rows have from now on, in the order of a
 * profile. Nothing is merged after. */
void job_owners_settle(struct job_owners *owners, const uint32_t *nodes);

void job_owners_write(struct strbuf *out, const struct job_owners *owners);
/* `nodes`: how many there are. */
void job_owners_read(struct bytes_reader *reader, struct job_owners *owners, size_t nodes);

#endif
