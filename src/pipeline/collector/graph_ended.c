/* Finds the stacks of ended threads by the rings that these have left (graph_ended.h). A stack that
 * the program has mapped itself is not known to be one: the program may use it again for something
 * else. */
#include "collector/graph_ended.h"

#include <stdatomic.h>
#include <string.h>
#include "wire/wire.h"

uint64_t graph_ended_pointer(const struct view *view, const struct area *area)
{
    uint64_t found = 0;
    if (area->owner != AREA_MMAP || area->is_claimed || !area->is_anonymous)
        return 0;
    for (uint32_t i = 0; i < shared_view_ring_count(view); i++) {
        const struct wire_ring *ring = shared_view_ring(view, i);
        uint64_t at = atomic_load_explicit(&ring->thread_pointer, memory_order_relaxed);
        if (at < area->start || at >= area->end)
            continue;
        if (atomic_load_explicit(&ring->state, memory_order_relaxed) == WIRE_RING_ACTIVE)
            return 0;
        found = at > found ? at : found;
    }
    return found;
}

bool graph_ended_is_start(const struct smaps *smaps, uint64_t word)
{
    const struct smaps_mapping *code = smaps_find(smaps, word);
    return code && code->executable && strstr(code->path, "/libc.so");
}
