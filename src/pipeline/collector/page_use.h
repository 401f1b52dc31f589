/* Lag and drag of blocks, as far as pages tell: how long a block's whole pages lay before their
 * first write, and after their last. Heat knows when pages were written (heat.h), the records when
 * blocks began and ended, and how many pages were written between the last scan and a free
 * (wire/write_watch.h).
 *
 *   records ─▶ walker: blocks with whole pages ─▶ queue ─▶ before each scan: by path
 *   (thread that merges)                                   (whoever scans)
 *
 * A write is known to lie between two scans: its time is the middle, and half of what lies between
 * is the error. What is not known makes lag and drag smaller, never larger:
 *
 *   a page that was written between the same scans as the block was born: the block has written it
 *   some of the pages were written between the last scan and the free: those with most drag were
 *
 * A scan may be under way at a free, and come to the block's pages when the next block has written
 * them. What it saw after the free is not the block's: the recorder has told of it (heat.h).
 *
 * A block that no scan fell into, or whose end says nothing of its pages (a realloc), is counted as
 * unseen. */
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
/* From now on; what was fed before counts. Once. */
void page_use_begin(struct page_use *use, struct heat *heat);

/* What passes to the replay, by the thread that merges (event_sink.h, `follow`). `follower`: the
 * page use. */
void page_use_runs(void *follower, const struct replay_run *runs, size_t count,
                   const void *records);
/* A window begins: what ended before is forgotten. */
void page_use_restart(struct page_use *use);

/* How many blocks it follows. By the thread that merges. */
size_t page_use_block_count(const struct page_use *use);

/* By path, with what is still alive then, as of the first scan from there on, or the newest, if
 * one more fell into its life; malloc'd. NULL: there are none, or no memory. By the thread that
 * merges. */
struct profile_page_use *page_use_take(struct page_use *use, uint64_t now_ticks, size_t *count);

#endif
