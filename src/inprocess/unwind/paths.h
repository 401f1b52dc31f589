/* Gives numbers to call paths: a node for each path, found by the path's hash. */
#ifndef TIDEMARK_UNWIND_PATHS_H
#define TIDEMARK_UNWIND_PATHS_H

#include "base/hash.h"
#include "unwind/unwind.h"

/* The hash of a path, from that of its caller's path. The root's is 0. */
static inline uint64_t path_hash(uint64_t outer, uintptr_t ip)
{
    return hash_u64(outer ^ ip);
}

/* Starts numbering at 1. Nodes of an earlier session are not touched. */
void paths_init(const struct unwind_host *host);

/* The node of the path with this hash; 0: it has none yet. Lock-free. */
uint32_t paths_find(uint64_t hash);

/* The same in two halves: of a path that was asked for lately (0: it was not, and may have a node),
 * and of any whose last address is `ip` (0: not known). */
uint32_t paths_find_recent(uint64_t hash);
uint32_t paths_find_old(uint64_t hash, uintptr_t ip);

/* Prefetches the place of a path that will be looked up soon. */
void paths_expect(uint64_t hash);

/* A path by one frame longer than that of the step before: its hash, and the frame's address. */
struct path_step {
    uint64_t hash;
    uintptr_t ip;
};

/* Finds or makes these paths, of which the first is a child of `parent`, and publishes them. The
 * last one's node; 0: no memory. Lock-free but for every 65,536th node and for a larger table. */
uint32_t paths_make(uint32_t parent, const struct path_step *steps, uint32_t count);
/* The same with one step. */
uint32_t paths_child(uint32_t parent, uint64_t hash, uintptr_t ip);

/* So many steps are made at once at most. */
#define PATHS_RUN 32u

/* Code in [lo, hi] was unloaded. The numbers of all paths that lead through it are forgotten before
 * paths_code_seen() returns for an address in it. */
void paths_code_gone(uintptr_t lo, uintptr_t hi);

/* To be called for each address of code before a path through it is looked for, unless that was
 * done since code was last unloaded there. */
void paths_code_seen(uintptr_t ip);

/* Changes when paths are retired. A number that was found before must not get children. */
uint64_t paths_retired(void);

size_t paths_ips(uint32_t node, uintptr_t *ips, size_t max);
uint32_t paths_parent(uint32_t node);
/* The same with the node's own address. */
uint32_t paths_step(uint32_t node, uintptr_t *ip);

#endif
