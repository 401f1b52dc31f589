/* Allocators that cannot be interposed by name: static ones, jemalloc's mallocx, mimalloc's
 * mi_malloc, a malloc in the program itself (interpose/families.def). Their functions are hooked at
 * their beginnings (entry/entry_jump.h) while the program has one thread. If that is not possible,
 * it is reported (unseen.h). Functions that the user has named are then hooked where they are
 * imported (imports.h).
 *
 *   module ─▶ has it a marker's name? ─▶ its functions of the list ─▶ entry_prepare(), entry_set()
 *             in .dynsym, in .symtab of its file                      or unseen_tell()
 *
 * Runs inside the profiled program: no malloc, no stdio, errno as it was. */
#ifndef TIDEMARK_RECORDER_FAMILIES_H
#define TIDEMARK_RECORDER_FAMILIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "recorder/thread.h"

enum family_does {
    FAMILY_ALLOCATES,
    FAMILY_COPIES,
    FAMILY_HANDS_OUT,
    FAMILY_RESIZES,
    FAMILY_GROWS,
    FAMILY_GROWS_OR_NOT,
    FAMILY_RELEASES,
    /* functions that the user names (pools.h) */
    FAMILY_POOL_ALLOCATES,
    FAMILY_POOL_RESIZES,
    FAMILY_POOL_FREES,
    FAMILY_POOL_ENDS,
};

/* A row of families.def. */
struct family_row {
    const char *name;
    uint8_t family, does, kind;
    int8_t block, count, size; /* numbers of arguments, -1: none */
    int8_t align;              /* AT(n): n, FLAGS(n): n + FAMILY_FLAGS, none: -1 */
    int8_t pool, out;          /* of a pool's function: as in wire.h */
    bool is_idle;              /* … that an earlier session has named, and this one has not */
};
enum { FAMILY_FLAGS = 8 };

/* A hooked function. Its hook gets a pointer to this as the sixth argument (hooks_family.c). */
struct family_entry {
    const struct family_row *row;
    uintptr_t (*original)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);
    size_t (*usable)(const void *block); /* NULL: usable sizes of its blocks are not known */
};

/* A call of such a function. The three functions below do what its hook does: the real call and the
 * records. `frame` is the hook's frame, and `start` the state of its caller. For hooks that are
 * called in another way (hooks_python.c). */
struct family_call {
    const struct family_entry *entry;
    uintptr_t arguments[5];
};
uintptr_t family_allocate(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                          const struct family_call *call);
uintptr_t family_resize(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                        const struct family_call *call);
uintptr_t family_release(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                         const struct family_call *call);

/* To be called at the session's beginning: examines all modules. */
void families_begin(void);
/* To be called at the beginning of another session in the same process: looks for functions that
 * the user names now. */
void families_renew(void);
/* To be called after a dlopen: examines modules that were loaded since. */
void families_new(void);

/* The hook of a row, in hooks_family.c and hooks_pool.c. */
const void *family_hook_of(const struct family_row *row);
const void *hooks_pool_hook_of(const struct family_row *row);

#endif
