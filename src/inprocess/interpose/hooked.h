/* Ties hooks to the rows of functions.def: a hook without a row does not compile, and a row without
 * a hook does not link.
 *
 *   functions.def ─▶ HOOKED_ROW_malloc ◀─ HOOKED(malloc) ─▶ hook_malloc ◀─ LIBRARY_hooks.c
 *                                         behind the hook                  (made by CMake) */
#ifndef TIDEMARK_INTERPOSE_HOOKED_H
#define TIDEMARK_INTERPOSE_HOOKED_H

enum hooked_row {
#define ROW(name, libraries) HOOKED_ROW_##name,
#include "interpose/functions.def"
};

/* Stands behind the definition of a hook. `hook_NAME` is a second, hidden symbol of the hook. (It
 * is no attribute alias, because syscall() is written in assembly.) */
/* there hooks are called __wrap_NAME, and the linker finds them by that name */
#ifdef TIDEMARK_STATIC
#define HOOKED(name)
#define HOOKED_TOO(name, hook)
#else
#define HOOKED(name)                                                                               \
    _Static_assert(HOOKED_ROW_##name >= 0, "functions.def has no such row");                       \
    __asm__(".globl hook_" #name "\n.hidden hook_" #name "\n.set hook_" #name ", " #name "\n");

#if __has_attribute(copy)
#define HOOKED_LIKE(hook) copy(hook),
#else
#define HOOKED_LIKE(hook)
#endif

/* Another name of a hook that is defined above. The name has a row of its own. */
#define HOOKED_TOO(name, hook)                                                                     \
    extern __typeof__(hook) name                                                                   \
        __attribute__((alias(#hook), HOOKED_LIKE(hook) visibility("default")));                    \
    HOOKED(name)
#endif

#endif
