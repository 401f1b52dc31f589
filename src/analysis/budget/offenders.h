/* Who has a part in what is too much. Inside the room. */
#ifndef TIDEMARK_BUDGET_OFFENDERS_H
#define TIDEMARK_BUDGET_OFFENDERS_H

#include "budget/budget.h"
#include "diff/diff.h"

/* 0 or -ENOMEM. */
int budget_find_offenders(struct budget_verdict *verdict, const struct profile *profile,
                          const bool *hidden, const bool *wanted, const bool *leaks);
/* Call paths of the baseline, then the profile, compared: made when they are first wanted, then
 * asked by each metric. Zeroed but for the runs, with the paths that count. */
struct budget_growth {
    struct diff_run runs[2];
    struct diff difference;
    bool is_made;
};
/* Where paths are not compared by the metric there is none. 0 or -ENOMEM. */
int budget_find_grown(struct budget_verdict *verdict, struct budget_growth *growth);
void budget_growth_release(struct budget_growth *growth);
void budget_offender_release(struct budget_offender *offender);

#endif
