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
 * For the ledger by owner (owners.h), the free bytes of every page with blocks, in use or pinned,
 * are divided equally among its blocks.
 *
 * Invariants, after the sweep
 *   row.resident + row.swapped + row.untouched = row.live_bytes, of blocks that do not overlap
 *   sum of row.pinned_bytes = pinned_bytes
 *   of the allocator's areas: sum of all = sum of live + sum of paths' free + whole_free
 *
 * Runs of pages must be added in the order of their addresses. No process is read here, so this can
 * be tested without one. */
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

/* Bytes by what kind of page they are on. All from `huge` on are parts of `resident`. */
struct residency_bytes {
    uint64_t resident, swapped, huge, forked, blank, copy;
    uint64_t idle;                               /* blank bytes among `huge` */
    uint64_t watched, cold_1s, cold_10s, filled; /* heat.h */
    uint64_t nodes[PROFILE_NODES];               /* numa.h */
    /* Bytes spared by compressing, times the bytes of a page, so that nothing is lost by
     * rounding. */
    uint64_t spared;
};

void residency_bytes_add(struct residency_bytes *to, const struct residency_bytes *from);
void residency_bytes_take(struct residency_bytes *to, const struct residency_bytes *from);

/* The figures to which a byte of the run under the sweep is added: their places in
 * residency_bytes. */
struct residency_kinds {
    unsigned count;
    uint8_t places[sizeof(struct residency_bytes) / sizeof(uint64_t)];
    uint64_t spared;
};

/* Per area: all present bytes, and those of live blocks. */
struct residency_area {
    struct residency_bytes all, live;
};

/* Per call path, by its row. `live`, `free`: bytes of its live blocks and its share of the free
 * bytes beside them, in memory that the kernel counts as resident. `outside_…`: bytes of its live
 * blocks in memory that the kernel does not count. */
struct residency_path {
    struct residency_bytes live, free;
    uint64_t outside_resident, outside_swapped;
};

/* Per call path, by its row: bytes of runs that count as `resident` only. They are added to
 * residency_path at the end. All rows of these two numbers together fit into the processor's
 * nearest cache. */
struct residency_plain {
    uint64_t live, free;
};

/* Per call path, by its row: its live blocks, their bytes, and the bytes that are left after
 * overlaps are removed. */
struct residency_count {
    uint64_t blocks, bytes, disjoint_bytes;
};

/* A present piece of a module's variables without a live block. */
struct residency_touched {
    uint64_t start, end;
    size_t area;
    struct residency_bytes bytes; /* end - start, or nothing, of each kind */
};

/* The most pieces of variables; further ones have no name. */
enum { RESIDENCY_TOUCHED = 1 << 18 };

struct residency {
    const struct areas *areas;
    const struct live_list *blocks;
    struct profile_residency *rows; /* one per call path with live blocks; `sample` is 0 */
    size_t row_count, row_capacity;
    struct map by_path;             /* of rows */
    struct residency_count *counts; /* by row */
    size_t count_capacity;
    struct residency_area *by_area;
    struct residency_path *paths;  /* by row */
    struct residency_plain *plain; /* by row */
    struct residency_bytes whole_free;
    uint64_t pinned_bytes;
    struct residency_touched *touched; /* by address */
    size_t touched_count, touched_capacity;
    struct heap_map heap;

    /* where the sweep stands */
    size_t area, block;
    struct page_table_run run;
    struct residency_kinds kinds;
    uint64_t page_bytes, next_page; /* the first page that was not counted yet */
    uint64_t open_page, open_live_bytes;
    size_t open_first, open_last; /* blocks on it; none if open_last < open_first */
    size_t last_pinning;          /* index + 1 of the last block counted as pinning */
};
#define RESIDENCY_INIT ((struct residency){0})

/* Sorts the list and makes its blocks disjoint. Each block is counted at its call path with its
 * original size, and gets the number of the path's row. 0 or -ENOMEM. */
int residency_take_blocks(struct residency *residency, struct live_list *blocks);

/* Begins the sweep. `blocks`: as residency_take_blocks() has left them. Areas and blocks stay the
 * caller's and must not change. `cells`: of the map of the heap, at most. 0 or -ENOMEM. */
int residency_begin(struct residency *residency, const struct areas *areas,
                    const struct live_list *blocks, uint64_t page_bytes, size_t cells);
/* Adds a run of pages inside one area, above all earlier runs. */
void residency_run(struct residency *residency, const struct page_table_run *run);

void residency_release(struct residency *residency);

/* ---- Sums ---- */

/* Completes the rows, and fills the ledger of `sample`, whose resident_bytes is set. Areas that
 * were not swept count with the figures of smaps. smaps and the page table are read one after the
 * other, so a swept mapping counts with the higher of both readings. Pages that appeared in between
 * are added to `smaps` and to the sample, and pages that disappeared are the ledger's rest. So the
 * rest is never below 0. */
void residency_sum(struct residency *residency, struct smaps *smaps, struct profile_sample *sample);

#endif
