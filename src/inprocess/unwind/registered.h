/* Call frame information that the program registers for code which it makes itself: what LLVM's and
 * other compilers at run time give to __register_frame(). */
#ifndef TIDEMARK_UNWIND_REGISTERED_H
#define TIDEMARK_UNWIND_REGISTERED_H

#include <stdbool.h>
#include "unwind/cfi.h"

/* In a new process: nobody reads. What is registered stays. */
void registered_init(void);

void registered_add(const void *frames);
/* The code that they were of; false: they are not known. Nobody reads them any more. */
bool registered_remove(const void *frames, uintptr_t *lo, uintptr_t *hi);

/* As cfi_find_row(), over all that is registered. -EINVAL also where the row has expressions: they
 * lie in memory that may be given back at any time. */
int registered_find_row(uintptr_t pc, struct cfi_row *row);

#endif
