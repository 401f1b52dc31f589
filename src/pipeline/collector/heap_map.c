/* Fills the cells of the heap map (heap_map.h). Cells are an array, area after area, of 2^shift
 * bytes each. Runs of pages and blocks are added in the order of addresses, split at cells'
 * borders. */
#include "collector/heap_map.h"

#include <errno.h>
#include <stdlib.h>

/* ---- Cells --------------------------------------------------------------------------------- */

static size_t heap_map_cells_of(const struct area *area, unsigned shift)
{
    if (area->owner != AREA_ALLOCATOR || area->end <= area->start)
        return 0;
    return (size_t)((area->end - area->start - 1) >> shift) + 1;
}

static size_t heap_map_count_cells(const struct areas *areas, unsigned shift)
{
    size_t count = 0;
    for (size_t i = 0; i < areas->count; i++)
        count += heap_map_cells_of(&areas->list[i], shift);
    return count;
}

/* Each area has at least one cell, so more areas than `limit` exceed the limit. */
static unsigned heap_map_choose_shift(const struct areas *areas, uint64_t page_bytes, size_t limit)
{
    unsigned shift = (unsigned)__builtin_ctzll(page_bytes);
    while (shift < 47 && heap_map_count_cells(areas, shift) > limit)
        shift++;
    return shift;
}

static void heap_map_lay_out(struct heap_map *map)
{
    for (size_t i = 0, next = 0; i < map->areas->count; i++) {
        const struct area *area = &map->areas->list[i];
        size_t count = heap_map_cells_of(area, map->shift);
        uint64_t start = area->start, whole = UINT64_C(1) << map->shift;
        map->first[i] = next;
        for (size_t k = 0; k < count; k++, start += whole)
            map->cells[next++] = (struct profile_heap_page){
                .address = start, .bytes = k + 1 < count ? whole : area->end - start};
    }
}

int heap_map_begin(struct heap_map *map, const struct areas *areas, size_t rows,
                   uint64_t page_bytes, size_t limit)
{
    unsigned shift = heap_map_choose_shift(areas, page_bytes, limit);
    size_t count = heap_map_count_cells(areas, shift);
    heap_map_release(map);
    *map = (struct heap_map){.areas = areas,
                             .shift = shift,
                             .count = count,
                             .cells = malloc((count + 1) * sizeof *map->cells),
                             .first = malloc((areas->count + 1) * sizeof *map->first),
                             .shares = calloc(rows + 1, sizeof *map->shares)};
    if (!map->cells || !map->first || !map->shares) {
        heap_map_release(map);
        return -ENOMEM;
    }
    heap_map_lay_out(map);
    return 0;
}

static size_t heap_map_cell_at(const struct heap_map *map, size_t area, uint64_t address)
{
    return map->first[area] + (size_t)((address - map->areas->list[area].start) >> map->shift);
}

/* ---- The sweep ----------------------------------------------------------------------------- */

/* What of [start, end) is in the cell. */
static uint64_t heap_map_overlap(const struct profile_heap_page *cell, uint64_t start, uint64_t end)
{
    uint64_t from = start > cell->address ? start : cell->address;
    uint64_t cell_end = cell->address + cell->bytes;
    return (end < cell_end ? end : cell_end) - from;
}

void heap_map_add_run(struct heap_map *map, size_t area, uint64_t start, uint64_t end)
{
    size_t last = heap_map_cell_at(map, area, end - 1);
    for (size_t i = heap_map_cell_at(map, area, start); i <= last; i++)
        map->cells[i].resident_bytes += heap_map_overlap(&map->cells[i], start, end);
}

/* Counts a block once in a cell, although it is added again with each run that it reaches into. */
static void heap_map_count_block(struct heap_map *map, size_t cell, size_t block)
{
    if (map->counted_block == block + 1 && map->counted_cell == cell + 1)
        return;
    map->cells[cell].live_count++;
    map->counted_block = block + 1;
    map->counted_cell = cell + 1;
}

void heap_map_add_block(struct heap_map *map, size_t area, size_t block, uint64_t start,
                        uint64_t end, bool has_bytes)
{
    size_t last = heap_map_cell_at(map, area, end - 1);
    for (size_t i = heap_map_cell_at(map, area, start); i <= last; i++) {
        heap_map_count_block(map, i, block);
        if (has_bytes)
            map->cells[i].live_bytes += heap_map_overlap(&map->cells[i], start, end);
    }
}

void heap_map_add_within(struct heap_map *map, size_t area, uint64_t page, size_t first_block,
                         size_t count, uint64_t bytes)
{
    size_t cell = heap_map_cell_at(map, area, page);
    map->cells[cell].live_count += count;
    map->cells[cell].live_bytes += bytes;
    map->counted_block = first_block + count;
    map->counted_cell = cell + 1;
}

void heap_map_add_pinned(struct heap_map *map, size_t area, uint64_t page, uint32_t row,
                         uint32_t path, uint64_t bytes)
{
    size_t at = heap_map_cell_at(map, area, page);
    struct profile_heap_page *cell = &map->cells[at];
    struct heap_map_share *share = &map->shares[row];
    if (share->cell != at + 1)
        *share = (struct heap_map_share){.cell = at + 1};
    if (map->most_cell != at + 1) {
        map->most_cell = at + 1;
        map->most = 0;
    }
    share->bytes += bytes;
    cell->pinned_bytes += bytes;
    if (share->bytes > map->most || (share->bytes == map->most && path < cell->path)) {
        map->most = share->bytes;
        cell->path = path;
    }
}

/* ---- What comes of it ---------------------------------------------------------------------- */

struct profile_heap_page *heap_map_take(struct heap_map *map, size_t *count)
{
    struct profile_heap_page *cells = map->count ? map->cells : NULL;
    *count = map->count;
    if (cells)
        map->cells = NULL;
    heap_map_release(map);
    return cells;
}

void heap_map_release(struct heap_map *map)
{
    free(map->cells);
    free(map->first);
    free(map->shares);
    *map = HEAP_MAP_INIT;
}
