/* Keeps the areas that ever held a live block as a sorted list of disjoint spans (area_memory.h).
 * Areas are sorted too, so each look goes through both lists once, side by side. */
#include "collector/area_memory.h"

#include <stdbool.h>
#include <stdlib.h>

static bool area_memory_can_be_given(const struct area *area)
{
    return area->is_anonymous && (area->is_allocators || !area->is_claimed);
}

static void area_memory_give_one(struct area *area, bool had_block, bool knows_blocks)
{
    if (!area_memory_can_be_given(area) || area->holds_block)
        return;
    if (had_block && area->owner == AREA_MMAP)
        area->owner = AREA_ALLOCATOR;
    else if (!had_block && area->is_allocators && knows_blocks)
        area->owner = AREA_TABLES;
}

static void area_memory_give(const struct area_memory *memory, struct areas *areas,
                             bool knows_blocks)
{
    size_t at = 0;
    for (size_t i = 0; i < areas->count; i++) {
        struct area *area = &areas->list[i];
        while (at < memory->count && memory->list[at].end <= area->start)
            at++;
        bool had_block = at < memory->count && memory->list[at].start < area->end;
        area_memory_give_one(area, had_block, knows_blocks);
    }
}

static bool area_memory_is_wanted(const struct area *area)
{
    return area->holds_block && area_memory_can_be_given(area);
}

/* Spans come in the order of their starts. */
static void area_memory_append(struct area_memory *memory, struct area_span span)
{
    struct area_span *last = memory->count ? &memory->list[memory->count - 1] : NULL;
    if (last && span.start <= last->end)
        last->end = span.end > last->end ? span.end : last->end;
    else
        memory->list[memory->count++] = span;
}

static void area_memory_keep(struct area_memory *memory, const struct areas *areas)
{
    size_t most = memory->count + areas->count, old = 0;
    struct area_memory all = {malloc((most + 1) * sizeof *all.list), 0};
    for (size_t i = 0; all.list && i < areas->count; i++) {
        const struct area *area = &areas->list[i];
        if (!area_memory_is_wanted(area))
            continue;
        for (; old < memory->count && memory->list[old].start < area->start; old++)
            area_memory_append(&all, memory->list[old]);
        area_memory_append(&all, (struct area_span){area->start, area->end});
    }
    for (; all.list && old < memory->count; old++)
        area_memory_append(&all, memory->list[old]);
    if (!all.list || all.count > AREA_MEMORY_MOST) {
        free(all.list);
        return;
    }
    free(memory->list);
    *memory = all;
}

void area_memory_recall(struct area_memory *memory, struct areas *areas, bool knows_blocks)
{
    area_memory_give(memory, areas, knows_blocks);
    area_memory_keep(memory, areas);
}

void area_memory_release(struct area_memory *memory)
{
    free(memory->list);
    *memory = (struct area_memory){NULL, 0};
}
