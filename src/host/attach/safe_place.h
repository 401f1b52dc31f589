/* Whether a library can be loaded where a stopped thread stands. It cannot in the middle of an
 * allocation, in the dynamic loader, or while the thread makes a thread or a process: the thread
 * would then wait for locks that it holds itself. */
#ifndef TIDEMARK_ATTACH_SAFE_PLACE_H
#define TIDEMARK_ATTACH_SAFE_PLACE_H

#include <stdbool.h>
#include "attach/target.h"
#include "attach/tracee.h"

enum { PLACE_ZONES = 24 };

struct place_zone {
    uintptr_t start, end;
};

/* Code that must not be on the thread's stack; and the C library's code, in which the thread may
 * only be if it waits in a system call. */
struct place {
    const struct target *target;
    struct place_zone zones[PLACE_ZONES];
    unsigned count;
    struct place_zone libc, ours; /* ours: empty where the library is not loaded */
};

void place_open(struct place *place, const struct target *target, const struct target_module *libc);

/* By the thread's unwound frames. If they cannot be unwound to the end, by every word of the stack
 * that could be a return address. */
bool place_is_safe(const struct place *place, const struct tracee *thread);

/* Whether the thread's instruction is outside of our library's code. (A caller on its stack may be
 * inside, in a hook that waits; the library notices that itself.) */
bool place_is_outside(const struct place *place, const struct tracee *thread);

#endif
