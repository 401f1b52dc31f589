/* When the private pages of a process were written last. The recorder has made a userfaultfd for it
 * and handed it over; all else is done from outside, each `interval`:
 *
 *   register     private mappings that can be written, new ones too      UFFDIO_REGISTER, write protection
 *   scan         pages written since the last scan, protected again      PAGEMAP_SCAN
 *   stamp        when a page was found written first, and last
 *
 * Writes go on at once: the kernel takes the protection away by itself (UFFD_FEATURE_WP_ASYNC,
 * Linux 6.7). A stamp is never before the write, and an interval behind it at most. Memory: 4 KiB
 * for 2 MiB that were written. With the last descriptor the kernel forgets all of it. */
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

#endif
