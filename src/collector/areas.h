/* Whose memory is it? The mappings of a process, cut where the kernel joined neighbours of
 * different owners, each piece with the line of the ledger that its resident bytes belong to.
 *
 *   smaps      ┊ [heap]  ┊┊     anonymous, one mapping to the kernel         ┊┊ libx.so data ┊
 *   claims     ┊         ┊┊          ╞══ own mmap ══╡      ╞═ tool ═╡        ┊┊              ┊
 *   areas      ┊allocator┊┊allocator ┊     mmap     ┊ ...  ┊  tool  ┊ ...    ┊┊   globals    ┊
 *                               ▪ a live block
 *
 * Rules, in this order:
 *   claimed as tool or stack     that
 *   holds a live block, and is private memory without a file (a claim as mmap notwithstanding: an
 *   allocator may have mapped it before it was known as one)           the allocator's
 *   [heap]; an arena of glibc's (64 MiB, so aligned, rest reserved)    the allocator's
 *   other private memory without a file                                 the program's own mmap
 *   everything else              as its kind in process/smaps.h; libtidemark.so is the tool's */
#ifndef TIDEMARK_COLLECTOR_AREAS_H
#define TIDEMARK_COLLECTOR_AREAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "collector/live_list.h"
#include "process/smaps.h"

enum area_owner {
    AREA_ALLOCATOR = 0,
    AREA_MMAP,
    AREA_FILE,
    AREA_STACK,
    AREA_GLOBALS,
    AREA_SHARED,
    AREA_TOOL,
    AREA_OTHER,
    AREA_OWNERS,
};

/* Somebody says so: AREA_TOOL, AREA_STACK or AREA_MMAP. Not trusted: pruning leaves out empty ones
 * and those above user space, and of two that overlap the later in address gives way. */
struct area_claim {
    uint64_t start, end;
    enum area_owner owner;
};

/* Sorted by address, disjoint, whole pages. */
struct area {
    uint64_t start, end;
    enum area_owner owner;
    bool is_anonymous; /* private memory without a file */
    bool holds_block;
    bool is_piece;       /* of a mapping that was cut: smaps does not say what this part costs */
    bool outside_rss;    /* huge page pool, devices: the kernel does not count it as resident */
    uint64_t rss_bytes;  /* of the mapping by smaps; 0 for pieces */
};

/* Whole pages, sorted and disjoint, in place. Returns how many are left. */
size_t areas_prune_claims(struct area_claim *claims, size_t count);

struct areas {
    struct area *list;
    size_t count, capacity;
};
#define AREAS_INIT ((struct areas){0})

/* `claims`: pruned. `blocks`: sorted and disjoint (live_list_part()). 0 or -ENOMEM. */
int areas_find(struct areas *areas, const struct smaps *smaps, const struct area_claim *claims,
               size_t claim_count, const struct live_list *blocks);
void areas_release(struct areas *areas);

/* Only its pages tell whose its bytes are. */
/* Resident bytes of the tool itself: its library and what is of kind SMAPS_TOOL. */
uint64_t areas_tool_rss(const struct smaps *smaps);
bool area_needs_pages(const struct area *area);

#endif
