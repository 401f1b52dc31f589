/* Rows of the call frame information that no rule can express: the CFA is relative to another
 * register or computed by a DWARF expression, or the return address is not just below the CFA.
 * Hand-written assembly has such rows. Each is evaluated in full, in a few microseconds. */
#ifndef TIDEMARK_UNWIND_RARE_H
#define TIDEMARK_UNWIND_RARE_H

#include "unwind/cfi.h"
#include "unwind/walk.h"

struct rare_registers {
    uintptr_t value[CFI_COLUMNS];
    uint32_t known; /* a bit per register */
};

/* Steps over a frame with such a row: WALK_BARRIER, WALK_END or WALK_LOST. */
enum walk_outcome rare_step(struct walk *walk);

/* Evaluates a DWARF expression, beginning with an empty stack, or with *initial on it. False: it
 * needs an unknown value, or is invalid. Memory is read only if it is readable. */
bool rare_evaluate(struct cfi_cursor expression, const struct rare_registers *registers,
                   const uintptr_t *initial, uintptr_t *result);

/* Replaces the registers by the caller's. 0; -ENOENT: a needed register is not known; -EINVAL: the
 * row is invalid. */
int rare_apply(const struct cfi_row *row, struct rare_registers *registers);

#endif
