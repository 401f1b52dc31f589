/* Figures of a profile whose allocations were sampled: how sure they are. */
#ifndef TIDEMARK_AGGREGATE_ESTIMATE_H
#define TIDEMARK_AGGREGATE_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/human.h"
#include "base/strbuf.h"
#include "profile/profile.h"

static inline bool estimate_is(const struct profile *profile)
{
    return profile->sample_bytes != 0;
}

/* Half the width of the 95 % confidence interval, in bytes: 1.96 standard errors. `variance` as in
 * call_metrics. */
struct figure estimate_error(const struct profile *profile, struct figure variance);

/* "±3.44 MiB". With less than four samples a bar means nothing, and their number stands in its
 * place: "1 sample". "" where the number or its variance is not known. */
struct human estimate_bar(const struct profile *profile, struct figure bytes,
                          struct figure variance, bool utf8);

/* Adds "15.8 MiB", of a sample "15.8 MiB ±3.44 MiB" or "512 KiB (1 sample)"; "-": not known. */
void estimate_add_bytes(struct strbuf *out, const struct profile *profile, struct figure bytes,
                        struct figure variance, bool utf8);

/* "12,345"; of a sample "~12.3 k"; "-": not known. */
struct human estimate_count(const struct profile *profile, struct figure count);

/* With 95 % probability fewer bytes than this were allocated without any sample of them. */
uint64_t estimate_unseen(const struct profile *profile);

/* Is there no sample at all? Then only estimate_unseen() is known. */
bool estimate_is_empty(const struct profile *profile);
/* "not known: nothing came into the sample; less than 1.50 MiB in all (95 %)" */
void estimate_add_unknown(struct strbuf *out, const struct profile *profile);

/* "one allocation in every 512 KiB on average; 1,234 samples"; of a recording of pages, which
 * blocks were sampled */
void estimate_add_sentence(struct strbuf *out, const struct profile *profile);

#endif
