/* Gives mlockall() the ranges that are ours (locked.h), and asks /proc whether the program had
 * locked its memory before we were loaded. */
#include "recorder/locked.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include "interpose/proc_text.h"
#include "interpose/program_locks.h"
#include "recorder/shared.h"
#include "unwind/permitted_calls.h"

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
    program_locks_unlock(shared_each_range);
}

int locked_all(int flags)
{
    if (flags & MCL_FUTURE)
        shared_keep_unlocked();
    return program_locks_all(flags, shared_each_range, !permitted_calls_is_forbidden(CALL_LIMITS));
}
