/* The functions with most of some metrics, for pages that show few of them. Takes a tenth of what
 * functions_init() takes, which adds up what is below every function. */
#ifndef TIDEMARK_AGGREGATE_FUNCTIONS_TOP_H
#define TIDEMARK_AGGREGATE_FUNCTIONS_TOP_H

#include "aggregate/functions.h"

struct metric;

/* Rows as functions_init() has them, of the functions that ask for something themselves, with these
 * metrics alone, each of which adds up: all others are unknown. What is asked for below a function
 * is added up for the `most` functions with most of one of the metrics: of the other rows
 * `inclusive` means nothing. A row's frame is one of those that ask. 0 or -ENOMEM. */
int functions_init_top(struct functions *functions, const struct profile *profile,
                       const bool *hidden, const struct metric *const *only, size_t count,
                       size_t most);

#endif
