/* Lets the kernel lock all mappings, and unlocks ours afterwards (program_locks.h). If all together
 * exceed the limit, each mapping that is not ours is locked by itself. Runs inside other programs:
 * no malloc, no stdio. */
#include "interpose/program_locks.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "interpose/proc_text.h"
#include "interpose/real.h"

/* ---- Our ranges ---- */

static void program_locks_add_bytes(void *context, uintptr_t start, uint64_t bytes)
{
    (void)start;
    *(uint64_t *)context += bytes;
}

static void program_locks_unlock_range(void *context, uintptr_t start, uint64_t bytes)
{
    (void)context;
    syscall(SYS_munlock, start, bytes);
}

void program_locks_unlock(program_locks_each *each)
{
    each(program_locks_unlock_range, NULL);
}

/* A part of a mapping. */
struct lock_gap {
    uintptr_t start, end;
    uintptr_t ours_start, ours_end; /* the first of our ranges in it; equal: none */
};

static void program_locks_see_ours(void *context, uintptr_t start, uint64_t bytes)
{
    struct lock_gap *gap = context;
    uintptr_t from = start > gap->start ? start : gap->start;
    uintptr_t to = start + bytes < gap->end ? start + bytes : gap->end;
    bool is_nearer = gap->ours_start == gap->ours_end || from < gap->ours_start;
    if (from >= to || !is_nearer)
        return;
    gap->ours_start = from;
    gap->ours_end = to;
}

/* ---- Locking ---- */

/* Errors are ignored: pages that cannot be read in are locked all the same, and mlockall() reports
 * no error for them either. */
static void program_locks_lock_gap(struct lock_gap gap, program_locks_each *each, bool on_fault)
{
    while (gap.start < gap.end) {
        gap.ours_start = gap.ours_end = 0;
        each(program_locks_see_ours, &gap);
        bool none = gap.ours_start == gap.ours_end;
        uintptr_t end = none ? gap.end : gap.ours_start;
        if (end > gap.start)
            syscall(SYS_mlock2, gap.start, end - gap.start, on_fault ? MLOCK_ONFAULT : 0);
        gap.start = none ? gap.end : gap.ours_end;
    }
}

static bool program_locks_lock_each(program_locks_each *each, bool on_fault)
{
    struct proc_text maps;
    int behind;
    if (!proc_text_open(&maps, "/proc/self/maps"))
        return false;
    for (;;) {
        struct lock_gap gap = {.start = proc_text_number(&maps, 16, &behind)};
        if (behind != '-')
            break;
        gap.end = proc_text_number(&maps, 16, &behind);
        program_locks_lock_gap(gap, each, on_fault);
        proc_text_skip(&maps, behind, '\n');
    }
    proc_text_close(&maps);
    return true;
}

/* Would it have been allowed without us? */
static bool program_locks_would_fit(program_locks_each *each)
{
    struct proc_text statm;
    struct rlimit limit;
    uint64_t ours = 0;
    int behind;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0 || !proc_text_open(&statm, "/proc/self/statm"))
        return false;
    uint64_t all = proc_text_number(&statm, 10, &behind) * (uint64_t)getpagesize();
    proc_text_close(&statm);
    each(program_locks_add_bytes, &ours);
    return all - ours <= limit.rlim_cur;
}

/* In the kernel's order: MCL_FUTURE first, which does not fail. */
static int program_locks_all_but_ours(int flags, program_locks_each *each)
{
    int later = flags & ~MCL_CURRENT;
    int status = flags & MCL_FUTURE ? real.mlockall(later) : (int)syscall(SYS_munlockall);
    if (status == 0 && !program_locks_lock_each(each, flags & MCL_ONFAULT)) {
        errno = ENOMEM;
        return -1;
    }
    return status;
}

int program_locks_all(int flags, program_locks_each *each, bool may_ask)
{
    int saved_errno = errno, status = real.mlockall(flags);
    if (status < 0 && errno == ENOMEM && flags & MCL_CURRENT && may_ask &&
        program_locks_would_fit(each))
        status = program_locks_all_but_ours(flags, each);
    if (status == 0 && flags & MCL_CURRENT && may_ask)
        program_locks_unlock(each);
    if (status == 0)
        errno = saved_errno;
    return status;
}
