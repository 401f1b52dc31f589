/* Opens the process's own page map, scans the block's pages and closes it (last_writes.h). Pages
 * are not protected again, so the collector's next scan finds the same ones. */
#include "recorder/last_writes.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/hash.h"
#include "base/large_static.h"
#include "base/ticks.h"
#include "unwind/permitted_calls.h"
#include "wire/write_watch.h"

enum { REGIONS = 16 };

bool last_writes_are_asked;

/* ---- Young blocks ----------------------------------------------------------------------------
 *
 *   births[part of a block's address] = 32 bits of the address ┊ 32 bits of the time
 *
 * Any thread writes at any time. Of two blocks that share a place the younger one stays. Two
 * addresses with the same 32 bits, or times that wrap round, make an old block look young: it is
 * not asked for, and its last write stays unknown. */
enum { BIRTHS_LOG2 = 12, TIME_SHIFT = 16, ALIGN_LOG2 = 4 };
static LARGE_STATIC uint64_t last_writes_births[1 << BIRTHS_LOG2];
static uint64_t last_writes_interval;

LARGE_STATIC unsigned char last_writes_large[LAST_WRITES_PARTS];

void last_writes_begin(uint64_t interval_ticks)
{
    last_writes_interval = interval_ticks >> TIME_SHIFT;
    last_writes_are_asked = interval_ticks != 0;
}

static uint64_t *last_writes_place(uintptr_t block)
{
    return &last_writes_births[hash_u64(block) >> (64 - BIRTHS_LOG2)];
}

void last_writes_born(uintptr_t block, uint64_t ticks)
{
    __atomic_store_n(&last_writes_large[last_writes_part(block)], 1, __ATOMIC_RELAXED);
    __atomic_store_n(last_writes_place(block),
                     (uint64_t)(block >> ALIGN_LOG2) << 32 | (uint32_t)(ticks >> TIME_SHIFT),
                     __ATOMIC_RELAXED);
}

static bool last_writes_is_young(uintptr_t block)
{
    uint64_t birth = __atomic_load_n(last_writes_place(block), __ATOMIC_RELAXED);
    return birth >> 32 == (uint32_t)(block >> ALIGN_LOG2) &&
           (uint32_t)((ticks_unfenced() >> TIME_SHIFT) - birth) < last_writes_interval;
}

/* ---- Asking ---------------------------------------------------------------------------------- */

/* 0: not known. */
static uint64_t last_writes_scan(int pagemap, uint64_t start, uint64_t end, uint64_t page_bytes)
{
    struct write_watch_region regions[REGIONS];
    struct write_watch_scan scan = {.size_bytes = sizeof scan,
                                    .start = start,
                                    .end = end,
                                    .regions = (uintptr_t)regions,
                                    .region_count = REGIONS,
                                    .category_mask = WRITE_WATCH_WRITTEN | WRITE_WATCH_PRESENT,
                                    .return_mask = WRITE_WATCH_WRITTEN};
    uint64_t pages = 0;
    while (scan.start < end) {
        long found = syscall(SYS_ioctl, pagemap, WRITE_WATCH_SCAN, &scan);
        if (found < 0 || scan.walk_end <= scan.start)
            return 0;
        for (long i = 0; i < found; i++)
            pages += (regions[i].end - regions[i].start) / page_bytes;
        scan.start = scan.walk_end;
    }
    return write_watch_told(pages);
}

uint64_t last_writes_of(uintptr_t block, size_t usable)
{
    uint64_t page_bytes = (uint64_t)getpagesize();
    uint64_t start = (block + page_bytes - 1) & ~(page_bytes - 1);
    uint64_t end = (block + usable) & ~(page_bytes - 1);
    if (start >= end || last_writes_is_young(block) || permitted_calls_is_forbidden(CALL_PAGES))
        return 0;
    int error = errno;
    long pagemap = syscall(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    uint64_t told = 0;
    if (pagemap >= 0) {
        told = last_writes_scan((int)pagemap, start, end, page_bytes);
        syscall(SYS_close, pagemap);
    }
    errno = error;
    return told;
}
