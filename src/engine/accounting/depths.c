/* How deep each thread's stack grew (depths.h). A thread keeps at most STACK_PEAKS_MAX new maxima:
 * when the array is full, every second one is dropped and the stride doubles. Threads are searched
 * from the newest backwards. */
#include "accounting/depths.h"

#include <stdlib.h>
#include "blocks/arena.h"

void depths_release(struct depths *depths)
{
    free(depths->growths);
    free(depths->layers);
    *depths = (struct depths){0};
}

size_t depths_memory_bytes(const struct depths *depths)
{
    return depths->growth_room * sizeof *depths->growths +
           depths->layer_room * sizeof *depths->layers;
}

/* The thread that was asked for last is tried first, then the youngest threads: their stacks
 * grow. */
static struct stack_growth *depths_growth_of(struct depths *depths, uint32_t thread)
{
    if (depths->last < depths->growth_count && depths->growths[depths->last].thread == thread)
        return &depths->growths[depths->last];
    for (size_t i = depths->growth_count; i-- > 0;)
        if (depths->growths[i].thread == thread) {
            depths->last = i;
            return &depths->growths[i];
        }
    if (depths->growth_count == depths->growth_room) {
        depths->growth_room = depths->growth_room ? depths->growth_room * 2 : 4;
        depths->growths =
            arena_realloc(depths->growths, depths->growth_room * sizeof *depths->growths);
    }
    depths->last = depths->growth_count++;
    depths->growths[depths->last].thread = thread;
    depths->growths[depths->last].count = 0;
    depths->growths[depths->last].seen = 0;
    depths->growths[depths->last].stride = 1;
    return &depths->growths[depths->last];
}

void depths_add_peak(struct depths *depths, const struct stack_peak *peak)
{
    struct stack_growth *growth = depths_growth_of(depths, peak->thread);

    if (growth->count && peak->bytes <= growth->peaks[growth->count - 1].bytes)
        return;
    if (growth->count && (growth->seen - 1) % growth->stride)
        growth->count--; /* it was kept only because it was the last one */
    if (growth->count == STACK_PEAKS_MAX) {
        for (uint32_t i = 0; i < STACK_PEAKS_MAX / 2; i++)
            growth->peaks[i] = growth->peaks[2 * i];
        growth->count = STACK_PEAKS_MAX / 2;
        growth->stride *= 2;
    }
    growth->peaks[growth->count++] = *peak;
    growth->seen++;
}

void depths_add_layer(struct depths *depths, const struct stack_layer *layer)
{
    if (depths->layer_count == STACK_LAYERS_MAX)
        return;
    if (depths->layer_count == depths->layer_room) {
        depths->layer_room = depths->layer_room ? depths->layer_room * 2 : 16;
        depths->layers = arena_realloc(depths->layers, depths->layer_room * sizeof *depths->layers);
    }
    depths->layers[depths->layer_count++] = *layer;
}
