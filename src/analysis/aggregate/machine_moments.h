/* What the machine's memory over time says of a run: when least was left, and whether that was
 * little. */
#ifndef TIDEMARK_AGGREGATE_MACHINE_MOMENTS_H
#define TIDEMARK_AGGREGATE_MACHINE_MOMENTS_H

#include <stdbool.h>
#include "base/strbuf.h"
#include "profile/profile.h"

/* All of the machine's memory, by the last look that says it; unknown: none does. */
struct figure machine_moments_size(const struct profile *profile);

/* The moment with the least available; NULL: not recorded, or of no moment known. */
const struct profile_machine_moment *machine_moments_least(const struct profile *profile);

/* A tenth of the machine's memory or less was available, or it swapped a hundredth of it out while
 * the program ran. False where that is not known. */
bool machine_moments_are_short(const struct profile *profile);

/* "1.10 GiB of 7.76 GiB available at least, after 12.3 s; 512 MiB cached then, 1.20 GiB swapped";
 * nothing where nothing is known. */
void machine_moments_add(struct strbuf *out, const struct profile *profile);

#endif
