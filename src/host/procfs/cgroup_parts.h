/* What the memory of a control group is made of, as its limit counts it: the private memory of its
 * processes, the page cache by file, and the kernel's.
 *
 *     current = processes + page cache + tmpfs + slab + page tables + sockets + kernel's other + rest
 *
 * Sums of each kind are the kernel's (memory.stat). Within a kind the names come from the
 * processes: their unshared memory, and the files that they map or have open. Memory that belongs
 * to none of these processes or files is a part of its kind without a name. The kernel counts in
 * batches, so parts may exceed `current` by some hundred KiB. In version 1 sockets are no part of
 * it, and slab is in the kernel's other.
 *
 * A file's pages may be charged to another group that read them first. So a file's part is an upper
 * bound: all that is cached of the file.
 *
 * Files are asked by cachestat (Linux 6.5), else by mincore; only those on disks and tmpfs. Nothing
 * is written or locked. Functions return 0 or -errno. */
#ifndef TIDEMARK_PROCFS_CGROUP_PARTS_H
#define TIDEMARK_PROCFS_CGROUP_PARTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "procfs/cgroup.h"

enum cgroup_part_kind {
    CGROUP_PROCESS = 0, /* a process's private memory */
    CGROUP_PAGE_CACHE,  /* of a file */
    CGROUP_SLAB,
    CGROUP_PAGE_TABLES,
    CGROUP_SOCKETS,
    CGROUP_TMPFS, /* a file of tmpfs, memfd, shared memory */
    CGROUP_KERNEL_OTHER,
    CGROUP_OTHER,
};
enum { CGROUP_PART_KINDS = CGROUP_OTHER + 1 };

struct cgroup_part {
    enum cgroup_part_kind kind;
    char *name; /* NULL: all memory of the kind without a name */
    uint64_t bytes;
};

struct cgroup_parts {
    struct figure current_bytes;
    struct cgroup_part *list; /* by kind, the largest first, the part without a name last */
    size_t count, capacity;
};
#define CGROUP_PARTS_INIT ((struct cgroup_parts){.current_bytes = FIGURE_UNKNOWN})

/* Reads the parts of the group with the tightest limit, as cgroup_read() finds it; without a limit,
 * of the process's own group. */
int cgroup_parts_read(struct cgroup_parts *parts, pid_t pid);
int cgroup_parts_read_place(struct cgroup_parts *parts, const struct cgroup_place *place);
/* Copies the parts of a reading that many processes share. It is at most a fifth of a second old,
 * or twenty times the time that it took. Thread-safe. */
int cgroup_parts_recent(struct cgroup_parts *parts, pid_t pid);
void cgroup_parts_release(struct cgroup_parts *parts);

/* Bytes in the page cache of an open file. False: it cannot be known. */
bool cgroup_parts_cached(int fd, uint64_t size_bytes, uint64_t *bytes);

#endif
