/* mlockall() without our memory. The counters' table has tens of MiB of address space, of which
 * only used pages are resident. Locked, all of it would be resident, and would count against the
 * program's limit (ulimit -l). So our memory is unlocked after the call. If the call fails because
 * of our memory, each mapping that is not ours is locked by itself. Runs inside other programs: no
 * malloc, no stdio, errno kept. */
#include "counters/counters.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "counters/ledger.h"
#include "interpose/hooked.h"
#include "interpose/real.h"

/* ---- Our ranges ---- */

typedef void visit_range(void *context, uintptr_t start, size_t bytes);

static void count_locks_each(visit_range *visit, void *context)
{
    extern const char __ehdr_start[] __attribute__((visibility("hidden")));
    extern const char _end[] __attribute__((visibility("hidden")));
    uintptr_t page = (uintptr_t)getpagesize(), start = (uintptr_t)__ehdr_start & -page;
    visit(context, start, (((uintptr_t)_end + page - 1) & -page) - start);
    ledger_each_leaf(visit, context);
}

static void count_locks_add(void *context, uintptr_t start, size_t bytes)
{
    (void)start;
    *(uint64_t *)context += bytes;
}

static void count_locks_unlock(void *context, uintptr_t start, size_t bytes)
{
    (void)context;
    munlock((void *)start, bytes);
}

struct gap {
    uintptr_t start, end;
    uintptr_t ours_start, ours_end; /* the first of our ranges in it; equal: none */
};

static void count_locks_see(void *context, uintptr_t start, size_t bytes)
{
    struct gap *gap = context;
    uintptr_t from = start > gap->start ? start : gap->start;
    uintptr_t to = start + bytes < gap->end ? start + bytes : gap->end;
    if (from >= to || (gap->ours_start != gap->ours_end && from >= gap->ours_start))
        return;
    gap->ours_start = from;
    gap->ours_end = to;
}

/* ---- All mappings ---- */

struct maps {
    int fd;
    size_t at, filled;
    char buffer[2048];
};

static int count_locks_next(struct maps *maps)
{
    if (maps->at == maps->filled) {
        ssize_t got = read(maps->fd, maps->buffer, sizeof maps->buffer);
        maps->at = 0;
        maps->filled = got > 0 ? (size_t)got : 0;
    }
    return maps->filled ? (unsigned char)maps->buffer[maps->at++] : -1;
}

/* Reads a number in base 16 or 10. *behind: the character behind it. */
static uintptr_t count_locks_number(struct maps *maps, unsigned base, int *behind)
{
    uintptr_t number = 0;
    for (;;) {
        int digit = count_locks_next(maps), letter = digit | 0x20;
        *behind = digit;
        unsigned value = digit >= '0' && digit <= '9'     ? (unsigned)(digit - '0')
                         : letter >= 'a' && letter <= 'f' ? (unsigned)(letter - 'a' + 10)
                                                          : 99;
        if (value >= base)
            return number;
        number = number * base + value;
    }
}

static bool count_locks_open(struct maps *maps, const char *path)
{
    maps->at = maps->filled = 0;
    maps->fd = open(path, O_RDONLY | O_CLOEXEC);
    return maps->fd >= 0;
}

/* ---- Locking ---- */

/* Errors are ignored: pages that cannot be read in are locked all the same, and mlockall() reports
 * no error for them either. */
static void count_locks_lock_gap(struct gap gap, bool on_fault)
{
    while (gap.start < gap.end) {
        gap.ours_start = gap.ours_end = 0;
        count_locks_each(count_locks_see, &gap);
        bool none = gap.ours_start == gap.ours_end;
        uintptr_t end = none ? gap.end : gap.ours_start;
        if (end > gap.start)
            syscall(SYS_mlock2, gap.start, end - gap.start, on_fault ? MLOCK_ONFAULT : 0);
        gap.start = none ? gap.end : gap.ours_end;
    }
}

static bool count_locks_lock_each(bool on_fault)
{
    struct maps maps;
    int behind;
    if (!count_locks_open(&maps, "/proc/self/maps"))
        return false;
    for (;;) {
        struct gap gap = {.start = count_locks_number(&maps, 16, &behind)};
        if (behind != '-')
            break;
        gap.end = count_locks_number(&maps, 16, &behind);
        count_locks_lock_gap(gap, on_fault);
        while (behind != '\n' && behind >= 0)
            behind = count_locks_next(&maps);
    }
    close(maps.fd);
    return true;
}

/* Would it have been allowed without us? */
static bool count_locks_would_fit(void)
{
    struct maps statm;
    struct rlimit limit;
    uint64_t ours = 0;
    int behind;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0 || !count_locks_open(&statm, "/proc/self/statm"))
        return false;
    uint64_t all = count_locks_number(&statm, 10, &behind) * (uint64_t)getpagesize();
    close(statm.fd);
    count_locks_each(count_locks_add, &ours);
    return all - ours <= limit.rlim_cur;
}

/* In the kernel's order: MCL_FUTURE first, which does not fail. */
static int count_locks_all_but_ours(int flags)
{
    int later = flags & ~MCL_CURRENT;
    int status = flags & MCL_FUTURE ? real.mlockall(later) : munlockall();
    if (status == 0 && !count_locks_lock_each(flags & MCL_ONFAULT)) {
        errno = ENOMEM;
        return -1;
    }
    return status;
}

__attribute__((visibility("default"))) int mlockall(int flags)
{
    int saved_errno = errno;
    real_init();
    if (flags & MCL_FUTURE)
        ledger_keep_unlocked();
    int status = real.mlockall(flags);
    if (status < 0 && errno == ENOMEM && flags & MCL_CURRENT && count_locks_would_fit())
        status = count_locks_all_but_ours(flags);
    else if (status == 0 && flags & MCL_CURRENT)
        count_locks_each(count_locks_unlock, NULL);
    if (status == 0)
        errno = saved_errno;
    return status;
}
HOOKED(mlockall)
