/* The map of the heap: the allocator's areas, divided into cells by address. Each cell has its
 * resident bytes, the bytes of live blocks among them, and the call path that pins most of it.
 *
 *     areas  ╞═══════ [heap] ═══════╡        ╞══════ an arena ══════╡
 *     cells  │ 0 │ 1 │ 2 │ 3 │ 4 │5 │        │ 6 │ 7 │ 8 │ 9 │ 10│11│
 *
 * Invariants
 *   all cells have 1 << shift bytes, the smallest power of two >= a page with count <= limit
 *   (an area begins a cell and may end with a shorter one, so count >= number of areas)
 *   live_bytes <= resident_bytes <= bytes,   pinned_bytes <= resident_bytes
 *
 * The call path that pins a cell: the free bytes of each pinned page (residency.h) are divided
 * equally among the blocks on the page. The path with the largest sum in the cell is kept. Of equal
 * sums the path with the lower number is kept.
 *
 * Runs of pages and blocks must be added in the order of their addresses. */
#ifndef TIDEMARK_COLLECTOR_HEAP_MAP_H
#define TIDEMARK_COLLECTOR_HEAP_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "collector/areas.h"
#include "profile/profile.h"

/* Below 4 MiB of memory until a look is written; 256 MiB of heap have a cell for each page. */
enum { HEAP_MAP_CELLS = 65536 };

/* The bytes that a call path pins in one cell. `cell`: the cell's number + 1; the bytes of other
 * cells count as 0. */
struct heap_map_share {
    uint64_t bytes;
    size_t cell;
};

struct heap_map {
    const struct areas *areas;
    struct profile_heap_page *cells; /* `sample` is 0 */
    size_t count;
    size_t *first;                      /* by area: the number of its first cell */
    unsigned shift;                     /* a cell is 2^shift bytes */
    struct heap_map_share *shares;      /* by row of the residency */
    uint64_t most;                      /* the largest share in … */
    size_t most_cell;                   /* … this cell + 1 */
    size_t counted_block, counted_cell; /* the last counted block and its cell, each + 1 */
};
#define HEAP_MAP_INIT ((struct heap_map){0})

/* `rows`: how many call paths there are. The areas stay the caller's. 0 or -ENOMEM. */
int heap_map_begin(struct heap_map *map, const struct areas *areas, size_t rows,
                   uint64_t page_bytes, size_t limit);

/* Of area number `area`: heap_map_add_run() says that [start, end) is resident,
 * heap_map_add_block() that block number `block` covers the resident [start, end). `has_bytes`
 * false: a block of no bytes. */
void heap_map_add_run(struct heap_map *map, size_t area, uint64_t start, uint64_t end);
void heap_map_add_block(struct heap_map *map, size_t area, size_t block, uint64_t start,
                        uint64_t end, bool has_bytes);
/* `count` blocks from `first_block` on, of which each lies wholly on the page at `page` and was not
 * added before; of `bytes` together. */
void heap_map_add_within(struct heap_map *map, size_t area, uint64_t page, size_t first_block,
                         size_t count, uint64_t bytes);
/* A block of call path `path`, whose row is `row`, pins `bytes` on a page of that area. */
void heap_map_add_pinned(struct heap_map *map, size_t area, uint64_t page, uint32_t row,
                         uint32_t path, uint64_t bytes);

/* The cells, the caller's to free from now on; NULL: there are none. */
struct profile_heap_page *heap_map_take(struct heap_map *map, size_t *count);
void heap_map_release(struct heap_map *map);

#endif
