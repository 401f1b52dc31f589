/* Lag and drag of blocks, as far as pages tell: how long a block's whole pages lay before their
 * first write, and after their last. heat.h has the times of writes. The records have the times at
 * which blocks began and ended, and how many pages were written between the last scan and a free
 * (wire/write_watch.h).
 *
 *   records ─▶ walker: blocks with whole pages ─▶ queue ─▶ before each scan: by path
 *   (thread that merges)                                   (whoever scans)
 *
 * A write lies between two scans: its time is taken as the middle, with half the distance as the
 * error. Unknowns make lag and drag smaller, never larger:
 *
 *   a page that was written between the same scans as the block was born: the block has written it
 *   some of the pages were written between the last scan and the free: those with most drag were
 *
 * A scan may be under way at a free, and look at the block's pages after the next block has written
 * them. A write that was seen after the free is not the block's; the record of the free has the
 * number of pages that the block itself wrote last.
 *
 * A block without a scan during its life, or whose end does not tell about its pages (a realloc),
 * is counted as unseen. */
#ifndef TIDEMARK_COLLECTOR_PAGE_USE_H
#define TIDEMARK_COLLECTOR_PAGE_USE_H

#include <stddef.h>
#include <stdint.h>
#include "collector/heat.h"
#include "profile/profile.h"
#include "profile_build/clock.h"
#include "replay/replay.h"

struct page_use;

/* `start`: a reading early in the recording. NULL: no memory. */
struct page_use *page_use_new(struct clock_reading start);
/* After heat_end(). NULL is allowed. */
void page_use_free(struct page_use *use);
/* Call it once, when heat has begun. Records that were passed before count as well. */
void page_use_begin(struct page_use *use, struct heat *heat);

/* What passes to the replay, by the thread that merges (event_sink.h, `follow`). `follower`: the
 * page use. */
void page_use_runs(void *follower, const struct replay_run *runs, size_t count,
                   const void *records);
/* A window begins: what ended before is forgotten. */
void page_use_restart(struct page_use *use);

/* How many blocks it follows. By the thread that merges. */
size_t page_use_block_count(const struct page_use *use);

/* Rows by path; blocks that are alive at `now_ticks` are included. Their lives end at the first
 * scan that began then or later, or else at the newest scan, if a scan fell into them. malloc'd.
 * NULL: there are none, or no memory. By the thread that merges. */
struct profile_page_use *page_use_take(struct page_use *use, uint64_t now_ticks, size_t *count);

#endif
