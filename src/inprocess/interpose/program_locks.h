/* mlockall() for a program with memory of ours in it: only the program's is locked, and neither our
 * memory nor our library counts against the program's limit (ulimit -l). Runs inside other
 * programs: no malloc, no stdio, errno kept where the call succeeds. */
#ifndef TIDEMARK_INTERPOSE_PROGRAM_LOCKS_H
#define TIDEMARK_INTERPOSE_PROGRAM_LOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

/* Visits each range of ours, page by page whole. */
typedef void program_locks_each(void (*visit)(void *context, uintptr_t start, uint64_t bytes),
                                void *context);

/* The pages of the library that this is compiled into. */
static inline void program_locks_visit_library(void (*visit)(void *context, uintptr_t start,
                                                             uint64_t bytes),
                                               void *context)
{
    extern const char __ehdr_start[] __attribute__((visibility("hidden")));
    extern const char _end[] __attribute__((visibility("hidden")));
    uintptr_t page = (uintptr_t)getpagesize(), start = (uintptr_t)__ehdr_start & -page;
    visit(context, start, (((uintptr_t)_end + page - 1) & -page) - start);
}

/* As mlockall(). `may_ask`: no filter forbids to read limits, to read /proc and to unlock. */
int program_locks_all(int flags, program_locks_each *each, bool may_ask);
/* Unlocks each range of ours. */
void program_locks_unlock(program_locks_each *each);

#endif
