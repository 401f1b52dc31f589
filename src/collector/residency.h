/* The pages of a process against its live blocks: what of each call path's blocks is really in
 * memory, which blocks keep mostly free pages from going back, and what could go back.
 *
 *     page     ┊   resident    ┊   resident    ┊   resident    ┊   untouched   ┊
 *     blocks   ┊▓▓▓▓▓▓▓▓░▓▓▓▓▓▓┊▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓┊░░░░▓░░░░░░▓░░░┊▓▓▓▓▓▓         ┊
 *              ┊    in use     ┊    in use     ┊ pinned by two ┊
 *
 * In the allocator's areas a resident page is one of
 *     returnable   no live block on it
 *     pinned       live blocks on it, but less than half of its bytes are theirs: its free bytes
 *                  are shared out among the blocks on it in equal parts, since each of them alone
 *                  keeps the page from going back
 *     in use       else
 * A block of no bytes holds a page as one of one byte does, and has none. The zero page, where the
 * kernel tells, is memory that was never written to: untouched.
 *
 * Fed with runs of pages in order of address; asks no process, so that it can be tested. */
#ifndef TIDEMARK_COLLECTOR_RESIDENCY_H
#define TIDEMARK_COLLECTOR_RESIDENCY_H

#include <stddef.h>
#include <stdint.h>
#include "collector/areas.h"
#include "collector/heap_map.h"
#include "collector/live_list.h"
#include "process/pages.h"
#include "profile/profile.h"

/* Per area: all resident bytes, and those of live blocks. */
struct residency_area {
    uint64_t resident_bytes, live_bytes;
};

struct residency {
    const struct areas *areas;
    const struct live_list *blocks;
    struct profile_residency *rows; /* one per call path with live blocks; `sample` is 0 */
    size_t row_count, row_capacity;
    uint32_t *slots; /* of rows by path: index + 1, 0: free. Open addressing, a power of two */
    size_t slot_count;
    struct residency_area *by_area;
    uint64_t returnable_bytes, pinned_bytes;
    struct heap_map heap;

    /* where the sweep stands */
    size_t area, block;
    uint64_t page_bytes, next_page; /* the first page that is not accounted for */
    uint64_t open_page, open_live_bytes;
    size_t open_first, open_last; /* blocks on it; none if open_last < open_first */
    size_t last_pinning;          /* index + 1 of the last block counted as pinning */
};
#define RESIDENCY_INIT ((struct residency){0})

/* Counts all blocks in at their call paths and sets their rows: before the list is parted. 0 or
 * -ENOMEM. */
int residency_count(struct residency *residency, struct live_list *blocks);

/* Begins the sweep. `blocks`: counted, sorted and disjoint. Areas and blocks stay the caller's and
 * must not change. `cells`: of the map of the heap, at most. 0 or -ENOMEM. */
int residency_begin(struct residency *residency, const struct areas *areas,
                    const struct live_list *blocks, uint64_t page_bytes, size_t cells);
/* A run of pages inside one area, above all earlier ones. */
void residency_run(struct residency *residency, const struct pages_run *run);

void residency_release(struct residency *residency);

/* ---- Sums ---- */

/* Fills the ledger of `sample`, whose resident_bytes is known: areas that were not swept count with
 * what smaps says. */
void residency_sum(const struct residency *residency, struct profile_sample *sample);

#endif
