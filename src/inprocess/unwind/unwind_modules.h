/* Which module holds an address, and what its call frame information says there. */
#ifndef TIDEMARK_UNWIND_UNWIND_MODULES_H
#define TIDEMARK_UNWIND_UNWIND_MODULES_H

#include <stdbool.h>
#include "unwind/cfi.h"

/* exact: ip was interrupted; else it is a return address and the call before it counts (a call that
 * does not return may be a function's last instruction). 0, -ENOENT, -EINVAL as cfi_find_row. */
int module_find_row(uintptr_t ip, bool exact, struct cfi_row *row);

/* The function, or the part of one, that holds a code address, by its entry: [lo, hi). 0, or as
 * above; -ENOENT where call frame information is not read at all (aarch64). */
int module_find_function(uintptr_t pc, uintptr_t *lo, uintptr_t *hi);

/* Where the module begins and ends that holds a code address. False: not known. */
bool module_find_bounds(uintptr_t pc, uintptr_t *lo, uintptr_t *hi);

/* Code without an entry that is a signal handler's return: mov $15, %rax; syscall. */
bool module_is_signal_return(uintptr_t ip);

/* For tests: as if the C library had no _dl_find_object. */
extern bool modules_find_without_loader;

#endif
