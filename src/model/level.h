/* The levels of memory: which memory a figure is of. */
#ifndef TIDEMARK_MODEL_LEVEL_H
#define TIDEMARK_MODEL_LEVEL_H

#include <stdbool.h>

enum memory_level {
    MEMORY_HEAP = 0, /* blocks that the program allocates */
    MEMORY_MAPPED,   /* memory that it maps itself */
    MEMORY_ALL,      /* both */
    MEMORY_RESIDENT, /* resident pages */
    MEMORY_LEVELS
};
const char *memory_level_name(enum memory_level level);
/* An explanation for people. Static; NULL for the heap, which needs none. */
const char *memory_level_sentence(enum memory_level level);
bool memory_level_find(const char *name, enum memory_level *level);

#endif
