/* Rows by falling value. */
#ifndef TIDEMARK_AGGREGATE_ORDER_H
#define TIDEMARK_AGGREGATE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "aggregate/functions.h"

/* Indices of `count` values by falling value, equal ones as they come, unknown ones last. To be
 * freed; NULL: out of memory. */
uint32_t *order_values(const struct figure *values, size_t count);
/* The same for rows of functions by a metric (position in metrics[]), by metric_rank(). */
uint32_t *order_functions(const struct functions *functions, size_t metric, bool inclusive);

#endif
