/* Finds the module of an address, and its call frame information there. */
#ifndef TIDEMARK_UNWIND_UNWIND_MODULES_H
#define TIDEMARK_UNWIND_UNWIND_MODULES_H

#include <stdbool.h>
#include "unwind/cfi.h"

/* exact: ip was interrupted. Else ip is a return address, and the row is that of the call before
 * it, because a call that does not return may be a function's last instruction. Returns as
 * cfi_find_row(). */
int module_find_row(uintptr_t ip, bool exact, struct cfi_row *row);

/* The function, or the part of one, that contains a code address, by its entry: [*lo, *hi). Returns
 * as above; -ENOENT on aarch64, where call frame information is not read. */
int module_find_function(uintptr_t pc, uintptr_t *lo, uintptr_t *hi);

/* The beginning and the end of the module that contains a code address. False: not known. */
bool module_find_bounds(uintptr_t pc, uintptr_t *lo, uintptr_t *hi);

/* Is this a signal handler's return without an entry: mov $15, %rax; syscall? */
bool module_is_signal_return(uintptr_t ip);

/* For tests: as if the C library had no _dl_find_object. */
extern bool modules_find_without_loader;

#endif
