/* Huge pages for arrays that are large: one fault instead of five hundred where they are written in
 * order, and where they are read at random no miss of the TLB at each event. Inside the room. */
#ifndef TIDEMARK_TRACE_HUGE_H
#define TIDEMARK_TRACE_HUGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

static inline void huge_advise(void *memory, size_t bytes, int advice)
{
    enum { PAGE = 1 << 21 };
    uintptr_t first = ((uintptr_t)memory + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    uintptr_t end = ((uintptr_t)memory + bytes) & ~(uintptr_t)(PAGE - 1);

    if (memory && end > first)
        (void)madvise((void *)first, end - first, advice);
}

/* Asks for them where whole ones fit into `memory`, which may be NULL; returns it. */
static inline void *huge_ask(void *memory, size_t bytes)
{
    huge_advise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

/* The same of memory whose pages are in use already, of which the kernel puts those together at
 * once if it can (Linux 6.1). */
static inline void huge_ask_late(void *memory, size_t bytes)
{
    enum { COLLAPSE = 25 }; /* MADV_COLLAPSE */

    huge_advise(memory, bytes, MADV_HUGEPAGE);
    huge_advise(memory, bytes, COLLAPSE);
}

#endif
