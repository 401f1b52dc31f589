/* Functions that the user has named (families.h) and whose beginnings cannot be replaced by a jump.
 * They are hooked where other modules import them: each has a stand-in, whose address patch.c
 * writes into the words by which modules call it.
 *
 *   module ─▶ its word ─▶ stand-in ─▶ r9 (x5) = entry ─▶ hook(5 arguments, entry) ─▶ the function
 *
 * A word is one store, so other threads may run meanwhile. What the function's own module calls
 * without such a word, and what holds the function's address since before, is not seen.
 *
 * Runs inside the profiled program: no malloc, no stdio. */
#ifndef TIDEMARK_RECORDER_IMPORTS_H
#define TIDEMARK_RECORDER_IMPORTS_H

#include <stdbool.h>
#include <stdint.h>
#include "recorder/families.h"

#ifndef TIDEMARK_PAGES
/* A session begins: nothing is wanted yet. */
void imports_begin(void);
/* Calls of the function at `function` shall come to its row's hook. False: there is no room. */
bool imports_add(const struct family_row *row, uintptr_t function);
/* They shall not, if imports_add() has been told so. */
void imports_drop(const struct family_row *row, uintptr_t function);
/* Something has a stand-in, wanted or not. */
bool imports_are_there(void);

/* What is to stand in a word of that name, which holds `value`: the same if nothing changes.
 * `is_unbound`: the loader has not found the function yet. Not `to_hooks`: what stood there before
 * us. */
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
