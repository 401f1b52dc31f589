#ifndef TIDEMARK_UNWIND_CAPTURE_H
#define TIDEMARK_UNWIND_CAPTURE_H

#include "unwind/memory.h"

/* Remember, then verify. `own`: the thread's stack, or NULL when nothing is to be remembered. */
uint32_t capture(struct unwind_memory *memory, struct stack *own, const struct unwind_start *start,
                 uint32_t max_depth);

#endif
