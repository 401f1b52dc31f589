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

/* Prefetches the place of a path that will be looked up soon. */
void paths_expect(uint64_t hash);

/* Finds or makes a child, and publishes it. Lock-free but for every 65,536th node and for a larger
 * table. 0: no memory. */
uint32_t paths_child(uint32_t parent, uint64_t hash, uintptr_t ip);

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
