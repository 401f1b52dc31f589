/* mlockall() without our memory. The counters' table has tens of MiB of address space, of which
 * only used pages are resident. Locked, all of it would be resident, and would count against the
 * program's limit (ulimit -l). Runs inside other programs: no malloc, no stdio, errno kept. */
#include "counters/counters.h"

#include <sys/mman.h>
#include "counters/ledger.h"
#include "interpose/hooked.h"
#include "interpose/program_locks.h"
#include "interpose/real.h"

static void count_locks_each(void (*visit)(void *context, uintptr_t start, uint64_t bytes),
                             void *context)
{
    program_locks_visit_library(visit, context);
    ledger_each_leaf(visit, context);
}

__attribute__((visibility("default"))) int mlockall(int flags)
{
    real_init();
    if (flags & MCL_FUTURE)
        ledger_keep_unlocked();
    return program_locks_all(flags, count_locks_each, true);
}
HOOKED(mlockall)
