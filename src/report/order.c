/* See order.h. */
#include "report/order.h"

#include <stdlib.h>
#include "report/metric.h"

struct ranked {
    uint64_t value;
    uint32_t index;
};

static int by_falling_value(const void *a, const void *b)
{
    const struct ranked *left = a, *right = b;
    if (left->value != right->value)
        return left->value < right->value ? 1 : -1;
    return left->index < right->index ? -1 : left->index > right->index;
}

uint32_t *order_values(const uint64_t *values, size_t count)
{
    struct ranked *ranked = calloc(count + 1, sizeof *ranked);
    uint32_t *order = calloc(count + 1, sizeof *order);
    if (!ranked || !order) {
        free(ranked);
        free(order);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        ranked[i] = (struct ranked){values[i], (uint32_t)i};
    qsort(ranked, count, sizeof *ranked, by_falling_value);
    for (size_t i = 0; i < count; i++)
        order[i] = ranked[i].index;
    free(ranked);
    return order;
}

uint32_t *order_functions(const struct functions *functions, size_t metric, bool inclusive)
{
    uint64_t *values = calloc(functions->count + 1, sizeof *values);
    for (size_t i = 0; values && i < functions->count; i++) {
        const struct function_row *row = &functions->rows[i];
        values[i] = metric_of(&metrics[metric],
                              inclusive ? &row->inclusive.metrics : &row->exclusive.metrics);
    }
    uint32_t *order = values ? order_values(values, functions->count) : NULL;
    free(values);
    return order;
}
