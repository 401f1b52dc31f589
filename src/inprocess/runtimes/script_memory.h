/* Reads an interpreter's memory from outside: no address whose page was not seen to be there. A
 * page is asked for once (0.1 µs) and remembered until memory is unmapped. What is not there reads
 * as 0: damaged memory ends a stack.
 *
 * Runs inside the profiled program: no malloc, no stdio, errno kept. */
#ifndef TIDEMARK_RUNTIMES_SCRIPT_MEMORY_H
#define TIDEMARK_RUNTIMES_SCRIPT_MEMORY_H

#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "runtimes/runtime.h"
#include "unwind/arch.h"

enum { SCRIPT_PAGE_BITS = 12, SCRIPT_PAGES = 1 << 13, SCRIPT_EPOCH_SHIFT = 45 };

/* Pages that were seen, each with the epoch in which it was. */
extern struct script_memory {
    _Atomic uintptr_t epoch; /* in its place above a page's number */
    _Atomic uintptr_t pages[SCRIPT_PAGES];
} script_memory;

/* Memory that was seen may have gone since. */
void script_memory_forget(void);

bool script_memory_see(uintptr_t address);

/* An address that is none at all would be taken for a page of another epoch. */
static inline bool script_is_there(uintptr_t address)
{
    uintptr_t page = address >> SCRIPT_PAGE_BITS;
    uintptr_t epoch = atomic_load_explicit(&script_memory.epoch, memory_order_relaxed);
    uintptr_t seen =
        atomic_load_explicit(&script_memory.pages[page % SCRIPT_PAGES], memory_order_relaxed);

    return likely(page - 1 < (1ull << SCRIPT_EPOCH_SHIFT) - 1 && seen == (page ^ epoch)) ||
           script_memory_see(address);
}

/* Is all of it there, which is less than a page? */
static inline bool script_are_there(uintptr_t address, size_t bytes)
{
    uintptr_t last = address + bytes - 1;

    return script_is_there(address) &&
           (likely((address ^ last) >> SCRIPT_PAGE_BITS == 0) || script_is_there(last));
}

/* 0: there is no such word. */
static inline uintptr_t script_word(uintptr_t address)
{
    return address % sizeof(uintptr_t) == 0 && script_is_there(address)
               ? *(const uintptr_t *)address
               : 0;
}

static inline uint32_t script_number(uintptr_t address)
{
    return address % sizeof(uint32_t) == 0 && script_is_there(address) ? *(const uint32_t *)address
                                                                       : 0;
}

/* Copies a text as it is, up to a NUL or `most` bytes, without control characters; cut where a
 * character ends. Returns its length. `room` counts the NUL. */
size_t script_text(uintptr_t from, size_t most, char *to, size_t room);

/* The same of a text of ours: all of it, or nothing where it does not fit. */
size_t script_copy(const char *text, char *to, size_t room);

/* ---- Exports ---- */

/* Where a module has it; 0: it does not export it. */
uintptr_t script_symbol(const struct dl_phdr_info *info, const char *name);
struct code_span script_function(const struct dl_phdr_info *info, const char *name);
struct code_span script_segments(const struct dl_phdr_info *info);

#endif
