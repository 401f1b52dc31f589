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

/* Half of what holds the true number of bytes with 95 % probability: 1.96 standard errors.
 * `variance` as in call_metrics. */
struct figure estimate_error(const struct profile *profile, struct figure variance);

/* "±3.44 MiB". What rests on less than four samples has no bar that means anything: "1 sample". ""
 * where the number or its variance is not known. */
struct human estimate_bar(const struct profile *profile, struct figure bytes,
                          struct figure variance, bool utf8);

/* Adds "15.8 MiB", of a sample "15.8 MiB ±3.44 MiB" or "512 KiB (1 sample)"; "-": not known. */
void estimate_add_bytes(struct strbuf *out, const struct profile *profile, struct figure bytes,
                        struct figure variance, bool utf8);

/* "12,345"; of a sample "~12.3 k"; "-": not known. */
struct human estimate_count(const struct profile *profile, struct figure count);

/* The most bytes that no sample may have shown: with 95 % probability less than this was there. */
uint64_t estimate_unseen(const struct profile *profile);

/* Does the sample hold nothing, so that nothing is known but what estimate_unseen() says? */
bool estimate_is_empty(const struct profile *profile);
/* "not known: nothing came into the sample; less than 1.50 MiB in all (95 %)" */
void estimate_add_unknown(struct strbuf *out, const struct profile *profile);

/* "one allocation in every 512 KiB on average; 1,234 samples"; of pages, what those are */
void estimate_add_sentence(struct strbuf *out, const struct profile *profile);

#endif
