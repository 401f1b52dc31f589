/* Call frame information that the program registers by __register_frame() for code that it makes at
 * run time, as LLVM's JIT compilers do. */
#ifndef TIDEMARK_UNWIND_REGISTERED_H
#define TIDEMARK_UNWIND_REGISTERED_H

#include <stdbool.h>
#include "unwind/cfi.h"

/* In the child of a fork: there are no readers. Registered sections stay. */
void registered_init(void);

void registered_add(const void *frames);
/* Removes a section and waits for its readers. [*lo, *hi): the code that it covered. False: it was
 * not registered. */
bool registered_remove(const void *frames, uintptr_t *lo, uintptr_t *hi);

/* As cfi_find_row(), in all registered sections. -EINVAL also if the row has expressions, because
 * they are in memory that the program may free. */
int registered_find_row(uintptr_t pc, struct cfi_row *row);

#endif
