/* When the private pages of a process were written last. The recorder makes a userfaultfd in the
 * process and hands it over. All else is done from outside, after each `interval`:
 *
 *   register     private mappings that can be written, new ones too      UFFDIO_REGISTER, write protection
 *   scan         pages written since the last scan, protected again      PAGEMAP_SCAN
 *   stamp        when a page was found written first, and last
 *
 * A look at the process between two scans asks without protecting anew.
 *
 * The program's writes do not wait: the kernel removes the protection itself
 * (UFFD_FEATURE_WP_ASYNC, Linux 6.7). A stamp is never earlier than the write, and at most one
 * interval later. Where the program writes more than 5,500 pages again in each interval (21 MiB),
 * memory that is written all the time rests: only every second or fourth scan takes it, and a stamp
 * is so many intervals later at most. Bounds of writes are always those of the scans that protected
 * the page. Memory: 12 KiB for each 2 MiB that were written. When the last descriptor is
 * closed, the kernel ends the protection.
 *
 * For page_use.h, which looks at single blocks, a page keeps its last three stamps, and the first
 * stamp since its block was born. A scan takes time, and so does each request to the kernel. So the
 * beginning and the end of each are kept. */
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

/* Finds out what was written until now, and keeps further scans waiting until heat_unlock().
 * Between the two calls heat_of() returns the HEAT_ bits of a page; 0: not known.
 *
 * A scan makes the program's next write to each page slower (0.9 us). A peek protects nothing and
 * stamps nothing: it only finds the pages that were written since their last scan. After a scan of
 * this kind, which leaves nothing out, the lives of blocks are known up to it.
 *
 * HEAT_LAST is a scan. It, and a peek, ask for nothing if there was no scan yet and the process is
 * younger than a second: then all pages are known to be warm. */
enum heat_look { HEAT_PEEK, HEAT_SCAN, HEAT_LAST };
void heat_lock(struct heat *heat, enum heat_look how);
unsigned heat_of(struct heat *heat, uint64_t address);
void heat_unlock(struct heat *heat);

/* ---- Blocks ---- Times are milliseconds since heat_begin(), + 1. Call these functions between
 * heat_lock() and heat_unlock(), or in the function of heat_before_scans(). */

/* Sets a function that the scanning thread calls before each scan. Call it once, directly after
 * heat_begin(). */
void heat_before_scans(struct heat *heat, void (*call)(void *context), void *context);
/* The same without a scan. */
void heat_hold(struct heat *heat);

uint32_t heat_ms_at(const struct heat *heat, uint64_t monotonic_ns);
/* Of the pages of a range. The beginning of the newest scan that had ended by `ms` and protected
 * them all; 0: there is none, or it is not known any more. */
uint32_t heat_scan_before(struct heat *heat, uint64_t start, uint64_t end, uint32_t ms);
/* The end of the first scan that began at `ms` or later, or else of the newest scan. Where pages of
 * the range were left out: of the newest one before that took them all. 0: there is none. */
uint32_t heat_scan_around(struct heat *heat, uint64_t start, uint64_t end, uint32_t ms);

/* Says that a block with these whole pages was born then. False: the stamps from about its birth
 * have been overwritten by later ones. */
bool heat_pages_born(struct heat *heat, uint64_t start, uint64_t end, uint32_t birth_ms);

/* The first page of [page, end) that a scan may have found written; `end`: none was. */
uint64_t heat_next_written(struct heat *heat, uint64_t page, uint64_t end);

/* A write happened between `after` and `until`. The scan that found it looked at the page between
 * `seen_from` and `until`. All 0: no scan found a write. */
struct heat_write {
    uint32_t after, until, seen_from;
};
/* The first and the last write of a page between the birth of its block and the block's end at
 * `ms`. A scan that looked at the page at about `ms` may have found a write of the next block. Then
 * the last write lay anywhere from the write found before it to that scan, and `last` has these
 * bounds. False: it is no longer known. */
bool heat_writes_of(struct heat *heat, uint64_t page, uint32_t birth_ms, uint32_t ms,
                    struct heat_write *first, struct heat_write *last);

#endif
