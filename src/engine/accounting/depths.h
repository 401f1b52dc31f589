/* Depths of stacks, for programs whose functions call entry hooks: how each thread's stack grew,
 * and which functions were on it when it was deepest. Threads are indices of replay_thread(). */
#ifndef TIDEMARK_ACCOUNTING_DEPTHS_H
#define TIDEMARK_ACCOUNTING_DEPTHS_H

#include <stddef.h>
#include <stdint.h>
#include "model/detail.h"

#define STACK_LAYERS_MAX (1u << 20) /* of all threads; later ones are left out */

struct stack_growth {
    uint32_t thread, count;
    uint64_t seen, stride; /* of `seen` maxima every stride-th is kept, and the last */
    struct stack_peak peaks[STACK_PEAKS_MAX]; /* time and bytes rise */
};

struct depths {
    struct stack_growth *growths;
    size_t growth_count, growth_room;
    struct stack_layer *layers;
    size_t layer_count, layer_room;
    size_t last; /* the growth that was added to last */
};

void depths_release(struct depths *depths);
size_t depths_memory_bytes(const struct depths *depths);

/* Adds a new maximum of a thread; ignored if it is not above the last one. When the array is full,
 * every second maximum is dropped and the stride doubles. The last maximum is always kept. */
void depths_add_peak(struct depths *depths, const struct stack_peak *peak);
/* Each function of a thread comes once. */
void depths_add_layer(struct depths *depths, const struct stack_layer *layer);

#endif
