/* What of a call path counts for a limit. Inside the room. */
#ifndef TIDEMARK_BUDGET_LIMIT_MEASURE_H
#define TIDEMARK_BUDGET_LIMIT_MEASURE_H

#include "budget/budget.h"

/* 0 for what is not said by call path there (BUDGET_RESIDENT). What a path has of a region's peak
 * is not known: it is the most that the path itself had there. */
struct figure budget_site_value(const struct profile_site *site, const struct budget_limit *limit);
/* Is it about blocks that suppressions excuse? */
bool budget_is_leak(enum budget_metric metric);
/* Is it about what the program maps itself, alone or with the heap? Mappings have call paths of
 * their own, and no regions. */
bool budget_is_of_mappings(enum budget_metric metric);
/* The rows of call paths that count for the metric, one after the other: first those of the heap or
 * of mappings, then, if it is about both, those of mappings. `at` counts up from 0; NULL: no
 * more. A row may stand in *room, until the next one. */
const struct profile_site *budget_next_site(const struct profile *profile,
                                            enum budget_metric metric, size_t at,
                                            struct profile_site *room);
/* Is it measured by islands of lost blocks? And what one of them counts for it. */
bool budget_is_lost(enum budget_metric metric);
double budget_island_value(const struct profile_island *island, enum budget_metric metric);
/* Blocks that run-times keep for themselves are no leaks of the program. *leaks, by node, becomes
 * false for their paths; NULL: it is true for all so far. 0 or -ENOMEM. */
int budget_excuse_pools(const struct profile *profile, bool **leaks);

#endif
