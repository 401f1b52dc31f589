/* Which pages of a process are present: the kernel's page tables, read in large pieces, and laid
 * over ranges or over millions of blocks in one sweep.
 *
 * Where the kernel has it (Linux 6.7), the PAGEMAP_SCAN ioctl is used, which answers in runs and
 * skips unmapped ranges at no cost. Otherwise /proc/PID/pagemap is read, 8 bytes a page. Either
 * needs the right to look into the process (ptrace access: own children that are dumpable, or
 * CAP_SYS_PTRACE), no more: page frame numbers stay hidden and are not needed.
 *
 * What the states can say:
 *   resident    the page table of this process points to memory. The shared zero page (read, never
 *               written) counts, though the kernel leaves it out of the RSS; a huge page counts in
 *               full, whatever part of it was asked for.
 *   swapped     private memory that is in swap. The kernel shows so, too, a page that it is moving
 *               and one that userfaultfd write-protected before it was ever touched.
 *   guard       MADV_GUARD_INSTALL: access is fatal; no memory (seen from Linux 6.15 on; 6.13 and
 *               6.14 show it as swapped).
 *   untouched   nothing: never touched, or given back (MADV_DONTNEED, MADV_FREE and reclaimed). In
 *               a mapping of a file or of shared memory it only says that *this* process has it not
 *               mapped: it may be in the page cache or in swap all the same. Memory of devices
 *               (VM_PFNMAP) reads so by the ioctl and as resident by the file.
 *
 * A process that runs changes while it is looked at: each piece of up to 64 MiB is one moment, the
 * whole is not. Not thread-safe; one `struct pages` per thread. Functions return 0 or -errno:
 * -ESRCH when the process has ended or executes another program since page_table_open(), -EACCES
 * when the kernel forbids it. */
#ifndef TIDEMARK_PROCFS_PAGE_TABLE_H
#define TIDEMARK_PROCFS_PAGE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum pages_state { PAGES_UNTOUCHED = 0, PAGES_RESIDENT, PAGES_SWAPPED, PAGES_GUARD };
enum { PAGES_STATES = PAGES_GUARD + 1 };

enum pages_method { PAGES_SCAN, PAGES_PREAD };

/* What is known of the page table now:
 *
 *   window_start ┊░░░░▓▓▓▓▓▓░░░▓▓░░░░┊ window_end      ▓ runs: sorted, disjoint; ░ nothing is there
 *
 * It only moves forwards within a sweep and is forgotten between sweeps. */
struct pages {
    int fd;
    enum pages_method method;
    bool knows_huge;   /* runs have `huge` and `zero`; the pread does not show them */
    bool wants_forked; /* set by the caller: runs shall have `forked`, which takes the scan a
                          pread of 8 bytes a page more */
    bool at_once;      /* set by the caller for a process with few pages: the scan is asked for all
                          ranges in one call, instead of one for each that lies apart */
    uint64_t categories;
    uint64_t window_start, window_end, piece_bytes;
    struct pages_region *runs;
    size_t run_count, cursor;
    uint64_t *entries;         /* read by pread */
    struct pages_region *fine; /* the runs, cut by their entries; allocated when first needed */
};

int page_table_open(struct pages *pages, pid_t pid);
/* The same by one method only: -ENOTTY if the kernel has no PAGEMAP_SCAN. */
int page_table_open_with(struct pages *pages, pid_t pid, enum pages_method method);
void page_table_close(struct pages *pages);

/* ---- Ranges, as runs of pages -------------------------------------------------------------- */

struct page_table_range {
    uint64_t start, end;
};

struct page_table_run {
    uint64_t start, end; /* whole pages */
    enum pages_state state;
    bool shared; /* of a file or of shared memory, not private to its mapping */
    bool huge;   /* mapped by a huge page (transparent or hugetlb); false if unknown */
    bool zero;   /* the zero page, or the huge one; false if unknown */
    bool forked; /* private memory that other processes map too, since a fork; false if it was
                    not wanted. With the pread the zero page looks the same */
    /* Set by a visitor that has read the contents; else false and 0. */
    bool blank;      /* nothing but zeros */
    bool copy;       /* like a page before */
    uint32_t spared; /* bytes that compressing would spare of each page */
    uint8_t heat;    /* HEAT_ bits of collector/heat.h, if writes are watched; else 0 */
    uint8_t node;    /* the place of its NUMA node in PROFILE_NODES, + 1, if nodes are asked for; 0:
                     not known */
};

/* Calls `visit` for every run of equal pages in `ranges` (sorted by address, disjoint; rounded
 * outwards to pages, no page twice) until it returns other than 0, which is then returned. Gaps are
 * visited too, as untouched: the runs cover the ranges. A run may come in pieces. -EINVAL if the
 * ranges are not sorted. */
int page_table_visit(struct pages *pages, const struct page_table_range *ranges, size_t count,
                     int (*visit)(const struct page_table_run *run, void *context), void *context);

/* ---- Blocks, as bytes ---------------------------------------------------------------------- */

struct page_table_block {
    uint64_t address, size_bytes;
};

/* A block's share of a page is the bytes of it that lie in that page, so the shares of the blocks
 * in a page never exceed the page. size_bytes = Σ of the five. */
struct page_table_bytes {
    uint64_t resident, swapped, untouched, guard;
    uint64_t overlapped; /* already counted for an earlier block */
    uint64_t zero;       /* of `resident`: the zero page; 0 if unknown (see knows_huge) */
};

/* One sweep over blocks of any size, sorted by address. `visit` is called for each in order, with
 * its index. Blocks should be disjoint; bytes of two blocks (a free was missed) count for the first
 * one. -EINVAL if they are not sorted; the blocks before are visited then. Ten million blocks in a
 * heap that is all there take about 0.1 s. */
int page_table_blocks(struct pages *pages, const struct page_table_block *blocks, size_t count,
                      void (*visit)(size_t index, const struct page_table_bytes *bytes,
                                    void *context),
                      void *context);

/* The same for one block. */
int page_table_count(struct pages *pages, uint64_t address, uint64_t size_bytes,
                     struct page_table_bytes *bytes);

#endif
