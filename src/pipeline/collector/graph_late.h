/* Memory that a process has mapped after its mappings were read and before it was stopped: a heap
 * or an arena that has grown, a new thread's arena. Pointers lie there as anywhere else. Inside the
 * room. */
#ifndef TIDEMARK_COLLECTOR_GRAPH_LATE_H
#define TIDEMARK_COLLECTOR_GRAPH_LATE_H

#include <stddef.h>
#include <sys/types.h>
#include "procfs/page_table.h"
#include "procfs/smaps.h"

/* The private writable memory that is in none of the writable mappings of `smaps`: sorted,
 * disjoint, malloc'd. 0 or -errno. */
int graph_late_find(pid_t pid, const struct smaps *smaps, struct page_table_range **out,
                    size_t *count);

#endif
