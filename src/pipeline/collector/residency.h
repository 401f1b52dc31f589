/* Compares a process's resident pages with its live blocks: how much of each call path's blocks is
 * in memory, which blocks pin pages that are mostly free, and how much could be returned.
 *
 *     page     ┊   resident    ┊   resident    ┊   resident    ┊   untouched   ┊
 *     blocks   ┊▓▓▓▓▓▓▓▓░▓▓▓▓▓▓┊▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓┊░░░░▓░░░░░░▓░░░┊▓▓▓▓▓▓         ┊
 *              ┊    in use     ┊    in use     ┊ pinned by two ┊
 *
 * A resident page of the allocator's areas is one of
 *     returnable   no live block on it
 *     pinned       live blocks on it, live bytes < page / 2. The free bytes are divided equally
 *                  among the blocks, because each alone prevents the page from being returned.
 *     in use       live bytes >= page / 2
 * A block of zero bytes pins a page like a block of one byte, and counts no bytes. The zero page,
 * where the kernel reports it, was never written and counts as untouched.
 *
 * Invariants, after the sweep
 *   row.resident + row.swapped + row.untouched = row.live_bytes, of blocks that do not overlap
 *   sum of row.pinned_bytes = pinned_bytes
 *
 * Runs of pages must be added in the order of their addresses. No process is read here, so that
 * this can be tested. */
#ifndef TIDEMARK_COLLECTOR_RESIDENCY_H
#define TIDEMARK_COLLECTOR_RESIDENCY_H

#include <stddef.h>
#include <stdint.h>
#include "base/map.h"
#include "collector/areas.h"
#include "collector/heap_map.h"
#include "collector/live_list.h"
#include "procfs/page_table.h"
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
    struct map by_path; /* of rows */
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
void residency_run(struct residency *residency, const struct page_table_run *run);

void residency_release(struct residency *residency);

/* ---- Sums ---- */

/* Fills the ledger of `sample`, whose resident_bytes is known: areas that were not swept count with
 * what smaps says. smaps and the page table are read one after the other, so a mapping that was swept
 * counts with the higher of both readings: what has come in between is added to `smaps` and to the
 * sample, what has gone is the ledger's rest. So the rest is never below 0. */
void residency_sum(const struct residency *residency, struct smaps *smaps,
                   struct profile_sample *sample);

#endif
