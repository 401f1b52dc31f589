/* The ends of processes and of modules. */
#include "recorder/hooks.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "recorder/modules.h"
#include "recorder/patch.h"
#include "recorder/session.h"

HOOK void _exit(int status)
{
    session_end(status);
    if (real.exit_now)
        real.exit_now(status);
    for (;;)
        syscall(SYS_exit_group, status);
}

HOOK void _Exit(int status)
{
    session_end(status);
    if (real.exit_now)
        real.exit_now(status);
    for (;;)
        syscall(SYS_exit_group, status);
}

HOOK void quick_exit(int status)
{
    session_will_quick_exit(status);
    real.quick_exit(status);
    __builtin_unreachable();
}

bool hooks_free_stacks;
bool thread_plain;

void thread_see_plain(void)
{
    __atomic_store_n(&thread_plain, usable_by_header && !thread_real_watched && !hooks_free_stacks,
                     __ATOMIC_RELAXED);
}

int dlclose(void *handle);
HOOK int dlclose(void *handle)
{
    int status = real.dlclose(handle);
    int saved_errno = errno;
    thread_use_begin();
    if (session_is_on())
        modules_check_gone();
    thread_use_end();
    hooks_new_forget();
    patch_forget();
    errno = saved_errno;
    return status;
}
