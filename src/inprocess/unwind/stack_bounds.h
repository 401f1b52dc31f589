/* Which addresses may a walk read? Those between the stack pointer and the end of its stack, once
 * they are proven to be mapped. */
#ifndef TIDEMARK_UNWIND_STACK_BOUNDS_H
#define TIDEMARK_UNWIND_STACK_BOUNDS_H

#include "unwind/arch.h"

/* A thread's own stack:
 *
 *        floor          lo            sp            hi
 *   ───────┴─────────────┴─────────────┴─────────────┴──
 *    never  may be proven     proven to be mapped     first frame above
 *
 * Invariants
 *   floor <= lo <= hi
 *   every page of [lo, hi) has been seen mapped. A live stack loses no pages above its stack
 *   pointer, so [sp, hi) stays mapped as long as the thread runs.
 */
struct stack {
    uintptr_t lo, hi, floor;
    uintptr_t thread; /* thread pointer of its thread; 0: not initialised */
};

/* To be called early in the main thread, whose stack's end is found in another way than that of
 * other threads. Has no effect in other threads. */
void stack_note_main_thread(void);

/* The calling thread's stack. Nothing of it is proven yet. */
void stack_begin(struct stack *stack);

/* Tries to prove [sp, hi); true: `stack` now covers sp. */
bool stack_prove(struct stack *stack, uintptr_t sp);

/* Is sp on this stack? */
static inline bool stack_covers(const struct stack *stack, uintptr_t sp)
{
    return likely(sp - stack->lo < stack->hi - stack->lo);
}

/* Can the word at the address be read? One system call, without a descriptor or /proc. */
bool stack_word_readable(uintptr_t address);

/* Are all pages from `from` up to `to` readable? False: *first_bad is the first that is not. */
bool stack_pages_readable(uintptr_t from, uintptr_t to, uintptr_t *first_bad);

#endif
