/* The counted process, for the parts of libtidemark-count.so alone. */
#ifndef TIDEMARK_COUNTERS_COUNTED_PROCESS_H
#define TIDEMARK_COUNTERS_COUNTED_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

/* Is the state in a file of the command's, and this process's own? */
bool count_process_is_here(void);
/* Is that what `tidemark count` preloads? */
bool count_exec_is_ours(const char *path, size_t bytes);

#endif
