/* Finds the stacks of ended threads by the thread pointers in their rings, or by those that the
 * header keeps of rings that new threads have taken over (graph_ended.h). Stacks that the program
 * has mapped itself are not considered, because the program may use them again for something
 * else. */
#include "collector/graph_ended.h"

#include <stdatomic.h>
#include <string.h>
#include "wire/wire.h"

/* The thread pointer if it lies in the area and above `found`; else `found`. */
static uint64_t graph_ended_higher(const struct area *area, const _Atomic uint64_t *pointer,
                                   uint64_t found)
{
    uint64_t at = atomic_load_explicit(pointer, memory_order_relaxed);
    return at >= area->start && at < area->end && at > found ? at : found;
}

uint64_t graph_ended_pointer(const struct view *view, const struct area *area)
{
    uint64_t found = 0;
    if (area->owner != AREA_MMAP || area->is_claimed || !area->is_anonymous)
        return 0;
    for (uint32_t i = 0; i < shared_view_ring_count(view); i++) {
        const struct wire_ring *ring = shared_view_ring(view, i);
        bool is_active =
            atomic_load_explicit(&ring->state, memory_order_relaxed) == WIRE_RING_ACTIVE;
        if (is_active && graph_ended_higher(area, &ring->thread_pointer, 0))
            return 0;
        found = graph_ended_higher(area, &ring->thread_pointer, found);
    }
    for (uint32_t i = 0; i < WIRE_ENDED_POINTERS; i++)
        found = graph_ended_higher(area, &view->header->ended_pointers[i], found);
    return found;
}

bool graph_ended_is_start(const struct smaps *smaps, uint64_t word)
{
    const struct smaps_mapping *code = smaps_find(smaps, word);
    return code && code->executable && strstr(code->path, "/libc.so");
}
