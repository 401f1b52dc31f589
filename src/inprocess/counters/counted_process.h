/* The counted process. For sources of libtidemark-count.so only. */
#ifndef TIDEMARK_COUNTERS_COUNTED_PROCESS_H
#define TIDEMARK_COUNTERS_COUNTED_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

/* Is the state in a file of the command's, and of this process (not of a vfork's parent)? */
bool count_process_is_here(void);
/* Is this path, of `bytes` bytes, the library that `tidemark count` preloads? */
bool count_exec_is_ours(const char *path, size_t bytes);

#endif
