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
    /* functions of a device's driver (hooks_device.c) */
    FAMILY_DEVICE_ALLOCATES,
    FAMILY_DEVICE_PITCHES,
    FAMILY_DEVICE_CREATES,
    FAMILY_DEVICE_REGISTERS,
    FAMILY_DEVICE_FREES,
    FAMILY_DEVICE_LETS_GO,
    FAMILY_DEVICE_KEEPS,
    FAMILY_DEVICE_MAPS,
    FAMILY_DEVICE_UNMAPS,
    FAMILY_DEVICE_ENDS,
    FAMILY_DEVICE_ASKS,
};

/* A row of families.def. */
struct family_row {
    const char *name;
    uint8_t family, does;
    uint8_t kind;              /* enum wire_kind; of a driver's function enum device_space */
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

/* dlopen() as patch_dlopen() does it calls these around the real one. A driver that was loaded by
 * it is hooked also where the program has other threads, if none of them can be in it yet. */
struct families_load {
    unsigned threads; /* before the call; 0: not known */
};
struct families_load families_load_begins(void);
void families_load_ends(struct families_load load);

/* The row of a driver's function by the name that the driver is asked for, which lacks what stands
 * behind "_"; NULL: it is none of them. */
const struct family_row *families_device_row(const char *name, uint8_t family);

/* The hook of a row, in hooks_family.c, hooks_pool.c and hooks_device.c. */
const void *family_hook_of(const struct family_row *row);
const void *hooks_pool_hook_of(const struct family_row *row);
const void *hooks_device_hook_of(const struct family_row *row);

#endif
