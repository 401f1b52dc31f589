/* Who has a part in what is too much. Inside the room. */
#ifndef TIDEMARK_BUDGET_OFFENDERS_H
#define TIDEMARK_BUDGET_OFFENDERS_H

#include "budget/budget.h"
#include "difference/difference.h"

/* 0 or -ENOMEM. */
int budget_find_offenders(struct budget_verdict *verdict, const struct profile *profile,
                          const bool *hidden, const bool *wanted, const bool *leaks);
/* `runs`: the baseline, then the profile, with the paths that count. Where paths are not compared by the metric
 * there is none. */
int budget_find_grown(struct budget_verdict *verdict, const struct difference_run runs[2]);
void budget_offender_release(struct budget_offender *offender);

#endif
