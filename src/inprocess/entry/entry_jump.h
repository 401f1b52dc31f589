/* Puts a function of ours in front of one that nothing binds by name: a jump is written over the
 * function's beginning, and what stood there runs from another place (a trampoline).
 *
 *   function ─▶ jmp ─▶ r9 = context ─▶ hook(5 arguments, context) ─▶ original ─▶ what the jump replaced
 *      rest of the function ◀────────────────────────────────────────────────────────── jmp ◀─╯
 *
 * The hook gets the function's first five arguments and, as its sixth, `context`; its caller is the
 * program. `original` is the function as it was.
 *
 * May not: run while another thread can be in the function. Runs inside other people's programs: no
 * malloc, no stdio, system calls by number. x86-64 only; elsewhere each attempt says
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

/* Makes the trampolines of all, in memory of its own: *memory, of *bytes bytes, for good. If there
 * is memory already, of functions that are gone, it is taken if it is large and near enough.
 * Nothing of the program changes. The first fault, and then there is no new memory. */
enum entry_fault entry_prepare(struct entry_point *points, unsigned count, void **memory,
                               size_t *bytes);

/* Writes the jumps: all of them or none. From now on calls come to the hooks. */
enum entry_fault entry_set(const struct entry_point *points, unsigned count);

/* Does the jump that leads to `original` stand there? Not in a module that came where one has
 * gone. */
bool entry_is_set(const void *function, const void *original);

/* Gives back what entry_prepare() made, if no jump was written. */
void entry_discard(void *memory, size_t bytes);

#endif
