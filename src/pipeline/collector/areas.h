/* Assigns an owner to each part of a process's address space: the line of the ledger to which its
 * resident bytes belong. The kernel joins neighbouring mappings of different owners, so a mapping
 * is cut into pieces.
 *
 *   smaps      ┊ [heap]  ┊┊     anonymous, one mapping to the kernel         ┊┊ libx.so data ┊
 *   claims     ┊         ┊┊          ╞══ own mmap ══╡      ╞═ tool ═╡        ┊┊              ┊
 *   areas      ┊allocator┊┊allocator ┊     mmap     ┊ ...  ┊  tool  ┊ ...    ┊┊   globals    ┊
 *                               ▪ a live block
 *
 * The first rule that matches gives the owner:
 *   claimed as tool or stack                                         as claimed
 *   a file or shared memory that is claimed as mmap                  its kind, with the call path
 *   private memory without a file that holds a live block, even if   the allocator
 *   it is claimed as mmap: an allocator can map memory before the
 *   recorder sees that it is an allocator
 *   claimed as the allocator's                                       the allocator
 *   [heap]; an arena of glibc's (64 MiB, aligned to 64 MiB,          the allocator
 *   the rest reserved)
 *   other private memory without a file                              the program's own mmap
 *   libtidemark.so                                                   the tool
 *   everything else                                                  its kind in procfs/smaps.h */
#ifndef TIDEMARK_COLLECTOR_AREAS_H
#define TIDEMARK_COLLECTOR_AREAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "collector/live_list.h"
#include "model/mapping.h"
#include "procfs/smaps.h"

enum area_owner {
    AREA_ALLOCATOR = 0,
    AREA_TABLES, /* the allocator's: it has mapped this, and no look saw a block in it */
    AREA_MMAP,
    AREA_FILE,
    AREA_STACK,
    AREA_GLOBALS,
    AREA_SHARED,
    AREA_TOOL,
    AREA_OTHER,
    AREA_OWNERS,
};

/* A range that the recorder, the kernel or the replay claims for AREA_TOOL, AREA_STACK, AREA_MMAP
 * or AREA_ALLOCATOR. Claims are not trusted. Pruning removes claims that are empty or above user
 * space, and cuts a claim where an earlier one overlaps it. A claim of another kind of mapping than
 * the kernel shows there does not count. */
struct area_claim {
    uint64_t start, end;
    enum area_owner owner;
    enum mapping_kind kind; /* of AREA_MMAP */
    uint32_t path;          /* of AREA_MMAP: who mapped it */
    pid_t tid;              /* of AREA_STACK: whose it is */
};

/* Sorted by address, disjoint, whole pages. */
struct area {
    uint64_t start, end;
    enum area_owner owner;
    bool is_anonymous; /* private memory without a file */
    bool holds_block;
    bool is_piece;      /* of a mapping that was cut: smaps does not say what this part costs */
    bool outside_rss;   /* huge page pool, devices: the kernel does not count it as resident */
    bool is_claimed;    /* `path` or `tid` is the claim's */
    bool is_allocators; /* the claim says so */
    bool wants_pages;   /* set by areas_want_content() or areas_want_heat() */
    uint32_t path;
    pid_t tid;
    const char *label;  /* NULL: none */
    uint64_t rss_bytes; /* of the mapping by smaps; 0 for pieces */
    size_t mapping;     /* index into smaps */
};

/* Whole pages, sorted and disjoint, in place. Returns how many are left. */
size_t areas_prune_claims(struct area_claim *claims, size_t count);

struct areas {
    struct area *list;
    size_t count, capacity;
};
#define AREAS_INIT ((struct areas){0})

/* `claims`: pruned. `blocks`: sorted and disjoint (live_list_keep()). 0 or -ENOMEM. */
int areas_find(struct areas *areas, const struct smaps *smaps, const struct area_claim *claims,
               size_t claim_count, const struct live_list *blocks);
void areas_release(struct areas *areas);

/* What a run-time has in a range of its memory: "Java heap, old". A constant. */
struct area_label {
    uint64_t start, end;
    const char *name;
};
/* Cuts mappings, files and shared memory at the labels, which are sorted and disjoint. A page with
 * two labels has the first. 0 or -ENOMEM. */
int areas_label(struct areas *areas, const struct area_label *labels, size_t count);

/* Marks the areas whose pages' contents are wanted: all but files, the tool's and AREA_OTHER. */
void areas_want_content(struct areas *areas);
/* The same for when pages were written. That is not known of shared memory (heat.h), which may be
 * large, and mapped by many processes. */
void areas_want_heat(struct areas *areas, const struct smaps *smaps);

/* Resident bytes of the tool itself: its library and what is of kind SMAPS_TOOL. */
uint64_t areas_tool_rss(const struct smaps *smaps);
/* Whether it is of an allocator, whatever that keeps in it. */
static inline bool area_is_allocators(const struct area *area)
{
    return area->owner == AREA_ALLOCATOR || area->owner == AREA_TABLES;
}

/* Whether smaps does not suffice: the owner or the variables of the area's resident bytes follow
 * only from the page table. */
bool area_needs_pages(const struct area *area);

#endif
