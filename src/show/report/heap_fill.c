/* Counts the heap map's resident cells by how full they are (heap_fill.h): live bytes divided by
 * resident bytes, in five steps and empty. */
#include "report/heap_fill.h"

static enum heap_fill heap_fill_of(const struct profile_heap_page *cell)
{
    double part = (double)cell->live_bytes / (double)cell->resident_bytes;
    if (!cell->live_count)
        return HEAP_EMPTY;
    if (cell->live_bytes >= cell->resident_bytes)
        return HEAP_FULL;
    return part < 0.25   ? HEAP_UNDER_25
           : part < 0.5  ? HEAP_UNDER_50
           : part < 0.75 ? HEAP_UNDER_75
                         : HEAP_UNDER_100;
}

bool heap_fill_summarise(const struct profile *profile, struct heap_summary *summary)
{
    *summary = (struct heap_summary){.cells = profile->heap_page_count};
    for (size_t i = 0; i < profile->heap_page_count; i++) {
        const struct profile_heap_page *cell = &profile->heap_pages[i];
        summary->sample = cell->sample;
        if (cell->bytes > summary->cell_bytes)
            summary->cell_bytes = cell->bytes;
        if (!cell->resident_bytes)
            continue;
        summary->resident_cells++;
        summary->by_fill[heap_fill_of(cell)]++;
    }
    return summary->cells > 0;
}
