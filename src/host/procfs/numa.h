/* On which NUMA node a process's pages are: move_pages() without a node to move to only tells.
 *
 * On a machine with one node nothing is asked, and no node is known. Absent pages, the zero page
 * and pages that the kernel does not let us see have no node either. Needs the right to look into
 * the process, as the page table does (page_table.h). The number of nodes is asked for once and
 * kept. */
#ifndef TIDEMARK_PROCFS_NUMA_H
#define TIDEMARK_PROCFS_NUMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { NUMA_UNKNOWN = -1, NUMA_PAGES_MOST = 1024 };

/* Whether memory of this machine can be on several nodes, as far as we may use them. */
bool numa_has_several(void);

/* The nodes of the `count` pages that begin at `start`, `step` bytes apart; NUMA_UNKNOWN where it
 * cannot be told. At most NUMA_PAGES_MOST. */
void numa_ask(pid_t pid, uint64_t start, uint64_t step, size_t count, int *nodes);

#endif
