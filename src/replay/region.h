/* Memory for the few large arrays of a replay: zeroed, grown by moving page tables instead of bytes,
 * resident only where touched. A replay that cannot get memory ends the process (see replay.h). */
#ifndef TIDEMARK_REPLAY_REGION_H
#define TIDEMARK_REPLAY_REGION_H

#include <stddef.h>

struct region {
    void *base;
    size_t bytes;
};

/* Grows to at least `bytes`, at least doubling; what is new is zero. The base may move. */
void region_grow(struct region *region, size_t bytes);
void region_release(struct region *region);

/* Like calloc and realloc, but they do not fail. */
void *replay_calloc(size_t count, size_t bytes);
void *replay_realloc(void *old, size_t bytes);

#endif
