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
    uintptr_t thread; /* whose it is, by its thread pointer; 0: not looked at yet */
};

/* Called once, early, in the main thread: its stack ends elsewhere than other threads' do. */
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

/* Can the word at the address be read? Asks the kernel, needs no file descriptor and no /proc. */
bool stack_word_readable(uintptr_t address);

/* All pages from `from` up to `to` readable? Stops at the first that is not and says which. */
bool stack_pages_readable(uintptr_t from, uintptr_t to, uintptr_t *first_bad);

#endif
