/* Sizes of stacks, of programs whose functions call hooks: how each thread's grew, and what stood on
 * it when it was deepest. Threads are numbers as replay_thread() has them. */
#ifndef TIDEMARK_REPLAY_DEPTHS_H
#define TIDEMARK_REPLAY_DEPTHS_H

#include <stddef.h>
#include <stdint.h>
#include "replay/detail.h"

#define STACK_LAYERS_MAX (1u << 20) /* of all threads; what comes after them is left out */

struct stack_growth {
    uint32_t thread, count;
    uint64_t seen, stride; /* kept: every stride-th of those seen, and the last */
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

/* A new maximum of a thread; smaller ones than the last are none. When there is no more room every
 * second one goes, and of those to come as many; the last stays. */
void depths_add_peak(struct depths *depths, const struct stack_peak *peak);
/* Each function of a thread comes once. */
void depths_add_layer(struct depths *depths, const struct stack_layer *layer);

#endif
