/* What each mapping of a process costs in memory, and what it is: /proc/PID/smaps in one pass, into
 * a table that is reused from reading to reading.
 *
 *     struct smaps smaps = SMAPS_INIT;
 *     smaps_read(&smaps, pid);                 2,000 mappings: about 7 ms
 *     smaps_classify(&smaps, &hints);          hints may be NULL
 *     smaps_sum(&smaps, &totals);
 *     smaps_release(&smaps);
 *
 * The kernel gives a page of text at a time and lets the process run in between: each mapping is
 * one moment, the table is not. Not thread-safe; one table per thread. Functions return 0 or
 * -errno: -ESRCH for a process that is gone (a zombie and a kernel thread have no memory either),
 * -EACCES where the kernel forbids it. After an error the table is empty. */
#ifndef TIDEMARK_PROCFS_SMAPS_H
#define TIDEMARK_PROCFS_SMAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/strbuf.h"
#include "model/figure.h"
#include "procfs/proc_file.h"

/* ---- Bytes --------------------------------------------------------------------------------- */

/* All in bytes; figures that the kernel does not give are unknown (swap_pss before Linux 4.3). The
 * kernel rounds each to KiB, PSS downwards: a sum over mappings may be up to a KiB a mapping below
 * smaps_rollup's. The zero page is in none of them. */
struct smaps_bytes {
    struct figure size;      /* of address space */
    struct figure rss;       /* resident; = uss + shared */
    struct figure pss;       /* resident, a page that n processes map counted as a n-th */
    struct figure uss;       /* resident and mapped by this process only: clean and dirty */
    struct figure shared;    /* resident and mapped by others too */
    struct figure anonymous; /* of rss: not of a file; a private page of a file, written to */
    struct figure swap, swap_pss;
    struct figure huge;    /* of rss: transparent huge pages, of files and shared memory, too */
    struct figure hugetlb; /* from the huge page pool; in none of the above but size */
    struct figure locked;  /* of pss: mlocked */
    /* pss by what the pages are. Only the sum over a process has them (Linux 5.4). */
    struct figure pss_anonymous, pss_file, pss_shared_memory;
};

/* Nothing is known. */
struct smaps_bytes smaps_bytes_unknown(void);

/* Adds field by field; a sum with something unknown in it is unknown. */
void smaps_add(struct smaps_bytes *to, const struct smaps_bytes *bytes);

/* ---- Mappings ------------------------------------------------------------------------------ */

enum smaps_kind {
    SMAPS_HEAP = 0,      /* the brk area: [heap] */
    SMAPS_ANONYMOUS,     /* private memory without a file: mmap, malloc's arenas and large blocks */
    SMAPS_RESERVED,      /* of those, without any access: guard areas, address space set aside */
    SMAPS_TEXT,          /* code of a module. A module is a file that is mapped executable */
    SMAPS_RODATA,        /* its constants, headers, unwind tables; the gaps between segments */
    SMAPS_DATA,          /* its variables, and what the loader relocated and then protected */
    SMAPS_BSS,           /* private memory directly behind a module's data: a guess */
    SMAPS_FILE,          /* any other file */
    SMAPS_SHARED_MEMORY, /* memfd, /dev/shm, System V, shared anonymous (/dev/zero) */
    SMAPS_MAIN_STACK,    /* [stack] */
    SMAPS_THREAD_STACK,  /* by name, by hint, or guessed from a hint */
    SMAPS_VDSO,          /* [vdso], [vvar], [vsyscall]: the kernel's own */
    SMAPS_HUGE,          /* huge pages of the pool (hugetlbfs, MAP_HUGETLB) */
    SMAPS_DEVICE,        /* of /dev, or without struct pages (VM_IO, VM_PFNMAP) */
    SMAPS_TOOL,          /* Tidemark's own: the memory of the wire, and by hint */
    SMAPS_OTHER,
    SMAPS_KINDS,
};

/* "thread stack": for people and as a name in files. */
const char *smaps_kind_name(enum smaps_kind kind);

/* What the kernel says about a mapping in VmFlags; none are set where it has no such line. */
enum {
    SMAPS_IS_IO = 1 << 0,         /* io, pf */
    SMAPS_IS_HUGETLB = 1 << 1,    /* ht */
    SMAPS_GROWS_DOWN = 1 << 2,    /* gd */
    SMAPS_IS_ACCOUNTED = 1 << 3,  /* ac: was writable and private at some time */
    SMAPS_HAS_GUARDS = 1 << 4,    /* gu: MADV_GUARD_INSTALL, Linux 6.18 */
    SMAPS_IS_NORESERVE = 1 << 5,  /* nr */
    SMAPS_IS_LOCKED = 1 << 6,     /* lo */
    SMAPS_IS_DONTDUMP = 1 << 7,   /* dd */
    SMAPS_WIPES_ON_FORK = 1 << 8, /* wf */
};

struct smaps_mapping {
    uint64_t start, end, offset_bytes, inode;
    uint32_t device_major, device_minor;
    bool readable, writable, executable, shared;
    bool deleted; /* the file has no name any more; or its name ends so, which reads the same */
    bool guessed; /* the kind is likely, not certain */
    uint16_t flags;
    enum smaps_kind kind;
    uint64_t hinted_bytes; /* of address space that hints claim without covering all of it */
    uint64_t bss_end;      /* of SMAPS_BSS: where the module ends (module_end.h); 0: not known */
    const char *path;      /* "" if none, as the kernel says it without " (deleted)"; the table's */
    struct smaps_bytes bytes;
    size_t path_at; /* while reading */
};

/* Sorted by address, disjoint. */
struct smaps {
    struct smaps_mapping *mappings;
    size_t count, capacity;
    size_t damaged; /* lines that made no sense and were left out */
    struct strbuf paths;
    struct proc_lines lines;
};
#define SMAPS_INIT ((struct smaps){.paths = STRBUF_INIT})

int smaps_read(struct smaps *smaps, pid_t pid);
/* The same of a text in a file. -ESRCH if there is not one mapping in it. */
int smaps_read_fd(struct smaps *smaps, int fd);
void smaps_release(struct smaps *smaps); /* may be used again afterwards */

/* The mapping that holds `address`, or NULL. */
const struct smaps_mapping *smaps_find(const struct smaps *smaps, uint64_t address);

/* ---- Kinds --------------------------------------------------------------------------------- */

/* What the caller knows beyond the kernel's data. */
struct smaps_hint {
    uint64_t start, end;
    enum smaps_kind kind;
};

struct smaps_hints {
    /* Sorted by address, disjoint. A mapping that hints of one kind cover fully is of that kind.
     * The kernel joins neighbours, so a mapping may be covered in part. Its kind then stays, and
     * hinted_bytes has the covered bytes; page_table_count() of the hint gives their cost. */
    const struct smaps_hint *ranges;
    size_t range_count;
    /* Stack pointers of threads, in any order. Private writable memory that holds one, with an area
     * without access right below it, is guessed to be a thread's stack. Other memory is not: the
     * stack pointer may be on a fiber in a heap. */
    const uint64_t *stack_pointers;
    size_t stack_pointer_count;
};

/* Sets the kind of each mapping; may be called again with other hints. -EINVAL if the ranges are
 * not sorted: nothing is changed then. */
int smaps_classify(struct smaps *smaps, const struct smaps_hints *hints);

/* ---- Sums ---------------------------------------------------------------------------------- */

struct smaps_totals {
    struct smaps_bytes all, kinds[SMAPS_KINDS]; /* Σ kinds = all, field by field */
    uint64_t count, kind_counts[SMAPS_KINDS];   /* mappings */
};

/* A sum is unknown if the figure of one mapping is. */
void smaps_sum(const struct smaps *smaps, struct smaps_totals *totals);

/* The sum alone, as the kernel makes it (Linux 4.14: smaps_rollup, a third of
 * the cost or less), or from smaps where it does not. `size` is known in the latter case only. */
int smaps_rollup(pid_t pid, struct smaps_bytes *bytes);
int smaps_rollup_fd(int fd, struct smaps_bytes *bytes);

#endif
