/* Sorts rows by falling value (order.h): qsort over pairs of value and index, where the lower index
 * comes first among equal values. */
#include "aggregate/order.h"

#include <stdlib.h>
#include "aggregate/metric_choice.h"

struct order_ranked {
    struct figure value;
    uint32_t index;
};

static int order_by_falling_value(const void *a, const void *b)
{
    const struct order_ranked *left = a, *right = b;
    int order = figure_compare(right->value, left->value);
    if (order)
        return order;
    return left->index < right->index ? -1 : left->index > right->index;
}

uint32_t *order_values(const struct figure *values, size_t count)
{
    struct order_ranked *ranked = calloc(count + 1, sizeof *ranked);
    uint32_t *order = calloc(count + 1, sizeof *order);
    if (!ranked || !order) {
        free(ranked);
        free(order);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        ranked[i] = (struct order_ranked){values[i], (uint32_t)i};
    qsort(ranked, count, sizeof *ranked, order_by_falling_value);
    for (size_t i = 0; i < count; i++)
        order[i] = ranked[i].index;
    free(ranked);
    return order;
}

uint32_t *order_functions(const struct functions *functions, size_t metric, bool inclusive)
{
    struct figure *values = calloc(functions->count + 1, sizeof *values);
    for (size_t i = 0; values && i < functions->count; i++) {
        const struct function_row *row = &functions->rows[i];
        const struct merged_metrics *merged = inclusive ? &row->inclusive : &row->exclusive;
        values[i] = metric_rank(&metrics[metric], metric_of_merged(&metrics[metric], merged));
    }
    uint32_t *order = values ? order_values(values, functions->count) : NULL;
    free(values);
    return order;
}
