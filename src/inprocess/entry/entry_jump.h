/* Hooks a function that is not called by name through the loader: a jump is written over the
 * function's beginning, and a copy of the replaced instructions runs elsewhere (a trampoline).
 *
 *   function ─▶ jmp ─▶ r9 = context ─▶ hook(5 arguments, context) ─▶ original ─▶ what the jump replaced
 *      rest of the function ◀────────────────────────────────────────────────────────── jmp ◀─╯
 *
 * The hook gets the function's first five arguments, and `context` as its sixth. Its return address
 * is the program's. Calling `original` runs the function as it was. Without a context all registers
 * are the program's.
 *
 * May not run while another thread can be in the function. Runs inside other people's programs: no
 * malloc, no stdio, system calls by number. x86-64 only; elsewhere each attempt returns
 * ENTRY_MACHINE. */
#ifndef TIDEMARK_ENTRY_ENTRY_JUMP_H
#define TIDEMARK_ENTRY_ENTRY_JUMP_H

#include "entry/entry_code.h"

struct entry_point {
    void *function;
    size_t bytes; /* of its code */
    const void *hook, *context;
    void *original; /* set by entry_prepare() */
    struct entry_beginning beginning;
};

/* Makes the trampolines of all points in memory that is mapped for them and never unmapped:
 * *memory, of *bytes bytes. If *memory is not NULL, it is that of functions that were unloaded, and
 * is used again if it is large and near enough. The program is not changed. Returns ENTRY_OK or the
 * first fault; after a fault no new memory is left. */
enum entry_fault entry_prepare(struct entry_point *points, unsigned count, void **memory,
                               size_t *bytes);

/* Writes the jumps: all of them or none. From now on calls come to the hooks. */
enum entry_fault entry_set(const struct entry_point *points, unsigned count);

/* Does the jump to `original`'s trampoline stand at the function? It does not in a module that was
 * loaded where another one was unloaded. */
bool entry_is_set(const void *function, const void *original);

/* Unmaps the memory of entry_prepare(), if no jump was written. */
void entry_discard(void *memory, size_t bytes);

#endif
