/* What a program had of the memory of devices, as one line for each space. The same words in the
 * report and in the summary. */
#ifndef TIDEMARK_AGGREGATE_DEVICE_FACTS_H
#define TIDEMARK_AGGREGATE_DEVICE_FACTS_H

#include "base/strbuf.h"
#include "profile/profile.h"

/* "12 MiB at most, after 1.2 s; 3 MiB in 2 blocks at the end", and what is not certain of it. */
void device_facts_add(struct strbuf *out, const struct profile *profile,
                      const struct device_total *total);
/* The same with the space's name before it. */
void device_facts_add_named(struct strbuf *out, const struct profile *profile,
                            const struct device_total *total);

#endif
