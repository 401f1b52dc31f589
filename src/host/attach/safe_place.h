/* Is a stopped thread where a library can be loaded? Not while it is in the middle of an
 * allocation, of the dynamic loader, of making a thread or a process: it would then wait for locks
 * that it holds itself. */
#ifndef TIDEMARK_ATTACH_SAFE_PLACE_H
#define TIDEMARK_ATTACH_SAFE_PLACE_H

#include <stdbool.h>
#include "attach/target.h"
#include "attach/tracee.h"

enum { PLACE_ZONES = 24 };

struct place_zone {
    uintptr_t start, end;
};

/* Code that may not be on the thread's stack; and the C library's, where it may only wait. */
struct place {
    const struct target *target;
    struct place_zone zones[PLACE_ZONES];
    unsigned count;
    struct place_zone libc, ours; /* ours: empty where the library is not loaded */
};

void place_open(struct place *place, const struct target *target, const struct target_module *libc);

/* By the thread's frames, unwound; where they cannot be walked to the end, by every word of its
 * stack that could be a return address. */
bool place_is_safe(const struct place *place, const struct tracee *thread);

/* Is it outside of our library's code? (Below in the stack it may be there: it then waits in a
 * hook, which notices.) */
bool place_is_outside(const struct place *place, const struct tracee *thread);

#endif
