/* The ledger by owner: each resident byte of a look has a named owner.
 *
 *     area                     its live bytes           the rest
 *     allocator's              blocks, by call path     allocator, by the paths on the same pages;
 *                                                       whole free pages have no path
 *     allocator's tables       (none)                   allocator, as that
 *     claimed mapping          blocks                   mapping, by its call path
 *     file, shared memory      blocks                   file (mapping if it is claimed or shared)
 *     stack                    blocks                   stack, by thread
 *     globals                  blocks                   pieces of variables (`touched`), which are
 *                                                       named where symbols are known
 *     tool, [vdso], …          blocks                   tool, kernel, other
 *
 * Where not all blocks are known (an attachment, a fork, a sample), it is not known which part of
 * the allocator's memory is free. Its rest is one row, whose name says why. Of a forked child all
 * mappings are known, so anonymous memory without a claim is the allocator's, too.
 *
 * Invariant: rows' resident_bytes + touched pieces' = sample.resident_bytes, as residency_sum() has
 * left it. Bytes that smaps has counted and the page table, read later, has not are those of large
 * blocks that fill the mapping, because the list of blocks is older than both. Otherwise they are a
 * row of their own.
 *
 * No process is read here, so the rows can be tested without one. */
#ifndef TIDEMARK_COLLECTOR_OWNERS_H
#define TIDEMARK_COLLECTOR_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/map.h"
#include "collector/residency.h"
#include "procfs/smaps.h"
#include "profile/profile.h"
#include "profile_build/proc_sample.h"

/* By tid. */
struct owners_thread {
    pid_t tid;
    const char *name;
};

struct owners_request {
    const struct residency *residency; /* after residency_sum() */
    const struct smaps *smaps;
    pid_t pid;                           /* whose main thread has the main stack */
    const struct owners_thread *threads; /* by tid */
    size_t thread_count;
    const char *unknown; /* the name for memory whose blocks are not known; NULL: all are known */
    bool has_all_blocks; /* false: the live blocks are a sample, and no owners */
    bool knows_mappings; /* memory that is `unknown` and not claimed is the allocator's */
    bool knows_huge;     /* the page table says what is huge; else smaps of whole mappings does */
    bool knows_content;  /* the runs say what is blank, a copy or compressible */
    bool knows_nodes;    /* and on which NUMA node it is */
    bool knows_heat;     /* and when it was written last */
    size_t limit;        /* of rows with a call path, those with most resident; 0: all */
};

struct owners {
    /* By kind, path and name; `sample` is 0. Strings are the request's. */
    struct profile_owner *rows;
    size_t count, capacity;
    struct proc_touched *touched; /* by address */
    size_t touched_count;
    struct map by_key; /* of rows, while they are made */
    double carry;      /* of proportional bytes: less than one byte */
    bool failed;       /* for want of memory */
};
#define OWNERS_INIT ((struct owners){0})

/* The owner of an area: kind, path, name, module, thread. An allocator's area has none of its
 * own. */
struct profile_owner owners_of_area(const struct owners_request *request, const struct area *area);
const char *owners_thread_name(const struct owners_request *request, pid_t tid);

/* 0 or -ENOMEM: there are no rows then. */
int owners_make(struct owners *owners, const struct owners_request *request);
void owners_release(struct owners *owners);

#endif
