/* Memory of a process that stands and that was not there yet when its mappings were read: a heap or
 * an arena that has grown, a new thread's arena. Pointers lie there like anywhere else. Inside the
 * room. */
#ifndef TIDEMARK_COLLECTOR_GRAPH_LATE_H
#define TIDEMARK_COLLECTOR_GRAPH_LATE_H

#include <stddef.h>
#include <sys/types.h>
#include "procfs/page_table.h"
#include "procfs/smaps.h"

/* What private writable memory is in none of the writable mappings: sorted, disjoint, malloc'd. 0
 * or -errno. */
int graph_late_find(pid_t pid, const struct smaps *smaps, struct page_table_range **out,
                    size_t *count);

#endif
