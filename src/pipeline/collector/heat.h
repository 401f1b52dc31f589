/* When the private pages of a process were written last. The recorder has made a userfaultfd for it
 * and handed it over; all else is done from outside, each `interval`:
 *
 *   register     private mappings that can be written, new ones too      UFFDIO_REGISTER, write protection
 *   scan         pages written since the last scan, protected again      PAGEMAP_SCAN
 *   stamp        when a page was found written first, and last
 *
 * Writes go on at once: the kernel takes the protection away by itself (UFFD_FEATURE_WP_ASYNC,
 * Linux 6.7). A stamp is never before the write, and an interval behind it at most. Memory: 10 KiB
 * for 2 MiB that were written. With the last descriptor the kernel forgets all of it.
 *
 * For page_use.h, which goes by blocks, a page keeps its last three stamps, and the first one since
 * a block of it was born. A scan takes a while, and requests to the kernel do: when each began and
 * was over is kept. */
#ifndef TIDEMARK_COLLECTOR_HEAT_H
#define TIDEMARK_COLLECTOR_HEAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    HEAT_KNOWN = 1,    /* the page was found written once, at least */
    HEAT_COLD_1S = 2,  /* not written for a second */
    HEAT_COLD_10S = 4, /* for ten */
    HEAT_FILLED = 8,   /* not since it was filled, a second ago or more */
};

struct heat;

/* NULL, or a sentence why this kernel cannot do it. */
const char *heat_missing(void);
/* Takes the descriptor. NULL: it is no userfaultfd, the process is gone, or there is no
 * memory or thread. */
struct heat *heat_begin(pid_t pid, int userfaultfd, uint64_t interval_ns);
void heat_end(struct heat *heat); /* NULL is allowed */

/* Scans once more and stands still. Between the two: what is known of a page. */
void heat_lock(struct heat *heat);
unsigned heat_of(const struct heat *heat, uint64_t address);
void heat_unlock(struct heat *heat);

/* ---- Blocks ----
 * Times are milliseconds on a clock of this heat's. All of it between heat_lock() and
 * heat_unlock(), or in what is called before a scan. */

/* Before each scan, by whoever scans. Once, and at once after heat_begin(). */
void heat_before_scans(struct heat *heat, void (*call)(void *context), void *context);
/* The same without a scan. */
void heat_hold(struct heat *heat);

uint32_t heat_ms_at(const struct heat *heat, uint64_t monotonic_ns);
/* When the newest scan began that had ended by `ms`; 0: none. */
uint32_t heat_scan_before(const struct heat *heat, uint32_t ms);
/* When the first one had ended that began at `ms` or later, or else the newest; 0: none. */
uint32_t heat_scan_around(const struct heat *heat, uint32_t ms);

/* A block was born then, whose whole pages these are. False: scans since then have forgotten
 * too much. */
bool heat_pages_born(struct heat *heat, uint64_t start, uint64_t end, uint32_t birth_ms);

/* A write lay between `after` and `until`. A scan saw it, which looked at the page between
 * `seen_from` and `until`. All 0: there was none that a scan saw. */
struct heat_write {
    uint32_t after, until, seen_from;
};
/* What is known of a page's writes between the birth of its block and its end at `ms`. A scan that
 * looked at the page about then may have seen the next block's write: then the last write lay
 * between that one and the one before, and the two bounds say so. False: it is no longer known. */
bool heat_writes_of(struct heat *heat, uint64_t page, uint32_t birth_ms, uint32_t ms,
                    struct heat_write *first, struct heat_write *last);

#endif
