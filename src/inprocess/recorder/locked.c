/* Locks the program's memory without ours (locked.h). The kernel locks all mappings, and ours are
 * unlocked afterwards. If all together exceed the limit, each mapping that is not ours is locked by
 * itself. */
#include "recorder/locked.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "interpose/real.h"
#include "recorder/proc_text.h"
#include "recorder/shared.h"
#include "unwind/permitted_calls.h"

/* ---- Our ranges ---- */

static void locked_add_bytes(void *context, uintptr_t start, uint64_t bytes)
{
    (void)start;
    *(uint64_t *)context += bytes;
}

struct place {
    uintptr_t start, end;
    uintptr_t ours_start, ours_end; /* the first of our ranges in it; equal: none */
};

static void locked_see_ours(void *context, uintptr_t start, uint64_t bytes)
{
    struct place *place = context;
    uintptr_t from = start > place->start ? start : place->start;
    uintptr_t to = start + bytes < place->end ? start + bytes : place->end;
    bool nearer = place->ours_start == place->ours_end || from < place->ours_start;
    if (from >= to || !nearer)
        return;
    place->ours_start = from;
    place->ours_end = to;
}

/* ---- Locking ---- */

/* Errors are ignored: pages that cannot be read in are locked all the same, and mlockall() reports
 * no error for them either. */
static void locked_lock_place(struct place place, bool on_fault)
{
    while (place.start < place.end) {
        place.ours_start = place.ours_end = 0;
        shared_each_range(locked_see_ours, &place);
        bool none = place.ours_start == place.ours_end;
        uintptr_t end = none ? place.end : place.ours_start;
        if (end > place.start)
            syscall(SYS_mlock2, place.start, end - place.start, on_fault ? MLOCK_ONFAULT : 0);
        place.start = none ? place.end : place.ours_end;
    }
}

static bool locked_lock_each(bool on_fault)
{
    struct proc_text maps;
    int behind;
    if (!proc_text_open(&maps, "/proc/self/maps"))
        return false;
    for (;;) {
        struct place place = {.start = proc_text_number(&maps, 16, &behind)};
        if (behind != '-')
            break;
        place.end = proc_text_number(&maps, 16, &behind);
        locked_lock_place(place, on_fault);
        proc_text_skip(&maps, behind, '\n');
    }
    proc_text_close(&maps);
    return true;
}

/* Would it have been allowed without us? */
static bool locked_would_fit(void)
{
    struct proc_text statm;
    struct rlimit limit;
    uint64_t ours = 0;
    int behind;
    if (permitted_calls_is_forbidden(CALL_LIMITS) || getrlimit(RLIMIT_MEMLOCK, &limit) < 0 ||
        !proc_text_open(&statm, "/proc/self/statm"))
        return false;
    uint64_t all = proc_text_number(&statm, 10, &behind) * (uint64_t)getpagesize();
    proc_text_close(&statm);
    shared_each_range(locked_add_bytes, &ours);
    return all - ours <= limit.rlim_cur;
}

/* In the kernel's order: MCL_FUTURE first, which does not fail. */
static int locked_all_but_ours(int flags)
{
    int later = flags & ~MCL_CURRENT;
    int status = flags & MCL_FUTURE ? real.mlockall(later) : (int)syscall(SYS_munlockall);
    if (status == 0 && !locked_lock_each(flags & MCL_ONFAULT)) {
        errno = ENOMEM;
        return -1;
    }
    return status;
}

static void locked_unlock(void *context, uintptr_t start, uint64_t bytes)
{
    (void)context;
    syscall(SYS_munlock, start, bytes);
}

/* "VmLck:	      0 kB": has the program locked anything? */
static bool locked_has_locks(void)
{
    static const char line[] = "VmLck:\t";
    struct proc_text status;
    int last = 0;
    uint64_t kib = 0;
    if (permitted_calls_is_forbidden(CALL_LIMITS) || !proc_text_open(&status, "/proc/self/status"))
        return false;
    do {
        if (!proc_text_is_next(&status, line, &last))
            continue;
        do
            kib = proc_text_number(&status, 10, &last);
        while (last == ' ' && kib == 0);
        break;
    } while (proc_text_skip(&status, last, '\n'));
    proc_text_close(&status);
    return kib > 0;
}

void locked_came_late(void)
{
    if (!locked_has_locks())
        return;
    shared_keep_unlocked();
    shared_each_range(locked_unlock, NULL);
}

int locked_all(int flags)
{
    int saved_errno = errno;
    if (flags & MCL_FUTURE)
        shared_keep_unlocked();
    int status = real.mlockall(flags);
    if (status < 0 && errno == ENOMEM && flags & MCL_CURRENT && locked_would_fit())
        status = locked_all_but_ours(flags);
    if (status == 0 && flags & MCL_CURRENT && !permitted_calls_is_forbidden(CALL_LIMITS))
        shared_each_range(locked_unlock, NULL);
    if (status == 0)
        errno = saved_errno;
    return status;
}
