/* Walks the stack of the calling thread and returns its path's node, with a memory of the thread's
 * last walk: remember, then verify. */
#ifndef TIDEMARK_UNWIND_CAPTURE_H
#define TIDEMARK_UNWIND_CAPTURE_H

#include "unwind/capture_memory.h"

/* The node of the path that starts at `start`; 0: no node could be had. `own`: the thread's stack,
 * or NULL when nothing is to be remembered. */
uint32_t capture(struct unwind_memory *memory, struct stack *own, const struct unwind_start *start,
                 uint32_t max_depth);

#endif
