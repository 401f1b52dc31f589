/* Functions that the user has named (families.h) and whose beginnings cannot be replaced by a jump.
 * They are hooked where other modules import them: each has a stand-in, whose address patch.c
 * writes into the words by which modules call it.
 *
 *   module ─▶ its word ─▶ stand-in ─▶ r9 (x5) = entry ─▶ hook(5 arguments, entry) ─▶ the function
 *
 * A word is changed by one store, so other threads may run meanwhile. Calls that the function's own
 * module makes without such a word, and calls by an address that was taken before, are not seen.
 *
 * Runs inside the profiled program: no malloc, no stdio. */
#ifndef TIDEMARK_RECORDER_IMPORTS_H
#define TIDEMARK_RECORDER_IMPORTS_H

#include <stdbool.h>
#include <stdint.h>
#include "recorder/families.h"

#ifndef TIDEMARK_PAGES
/* To be called when a session begins: no function is wanted yet. */
void imports_begin(void);
/* From the next pass on, calls of the function at `function` come to its row's hook. False: there
 * is no room. */
bool imports_add(const struct family_row *row, uintptr_t function);
/* Undoes imports_add(). */
void imports_drop(const struct family_row *row, uintptr_t function);
/* Does any function have a stand-in, wanted or not? */
bool imports_are_there(void);

/* The new value for a word of that name which holds `value`; `value` itself: no change.
 * `is_unbound`: the loader has not bound the word yet. `to_hooks` false: the value before ours. */
uintptr_t imports_wanted(const char *name, uintptr_t value, bool is_unbound, bool to_hooks);
#else /* that library hooks the C library's names only */
static inline void imports_begin(void)
{
}
static inline bool imports_add(const struct family_row *row, uintptr_t function)
{
    (void)row, (void)function;
    return false;
}
static inline void imports_drop(const struct family_row *row, uintptr_t function)
{
    (void)row, (void)function;
}
static inline bool imports_are_there(void)
{
    return false;
}
#endif

#endif
