/* Switches recording on and off in a running program: `tidemark attach` makes a thread of the
 * program call these functions (attach/attach.h), and tidemark_start() calls them too. A library
 * that was loaded by dlopen does nothing before. */
#include "recorder/late.h"

#include <errno.h>
#include <stdatomic.h>
#include "recorder/hooks.h"
#include "recorder/patch.h"
#include "recorder/session.h"
#include "recorder/step_wait.h"

/* The process that has a thread in one of these functions; 0: none. In the child of a fork it may
 * be the parent's number, whose thread is not in the child. */
static _Atomic uint32_t late_busy;

static bool late_enter(void)
{
    uint32_t here = (uint32_t)syscall(SYS_getpid), found = 0;
    while (!atomic_compare_exchange_strong(&late_busy, &found, here))
        if (found == here)
            return false;
    thread_hold(true);
    return true;
}

static int late_leave(int status)
{
    thread_hold(false);
    atomic_store(&late_busy, 0);
    return status;
}

/* A module that another thread is loading is complete within moments; one that is not by then is
 * patched at the next dlopen. Waits by futex and not by nanosleep: the thread that attach uses may
 * itself be in nanosleep, and a second one would overwrite its restart block in the kernel. */
static void late_patch_all(void)
{
    enum { STEP_MS = 10, MOST_MS = 1000 };
    struct step_wait wait = step_wait_begin(STEP_MS);
    _Atomic uint32_t nobody = 0;
    while (patch_on() > 0 && step_wait_ms(&wait) < MOST_MS)
        step_wait_for(&wait, &nobody, 0);
}

HOOK int tidemark_late_begin(const char *session)
{
    int saved_errno = errno;
    if (!late_enter())
        return -EBUSY;
    int status = session_attach(session);
    if (status == 0)
        late_patch_all();
    errno = saved_errno;
    return late_leave(status);
}

HOOK const void *tidemark_late_end(void)
{
    int saved_errno = errno;
    if (!late_enter())
        return NULL;
    const void *word = session_state_word();
    bool left = real_init() && real_is_late() && session_leave();
    if (real_is_late())
        patch_off();
    errno = saved_errno;
    late_leave(0);
    return left ? word : NULL;
}

HOOK int tidemark_late_renew(void)
{
    return real.malloc ? session_renew() : 0;
}
