/* The ends of processes and of modules. */
#include "recorder/hooks.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "recorder/module_log.h"
#include "recorder/patch.h"
#include "interpose/real.h"
#include "recorder/session.h"
#include "recorder/unseen.h"

HOOK void _exit(int status)
{
    session_end(status);
    if (real._exit)
        real._exit(status);
    for (;;)
        syscall(SYS_exit_group, status);
}
HOOKED(_exit)
HOOKED_TOO(_Exit, _exit)

HOOK void quick_exit(int status)
{
    session_will_quick_exit(status);
    REAL(quick_exit)(status);
    __builtin_unreachable();
}
HOOKED(quick_exit)

bool hooks_free_stacks;
bool thread_plain;

void thread_see_plain(void)
{
    __atomic_store_n(&thread_plain, usable_by_header && !thread_real_watched && !hooks_free_stacks,
                     __ATOMIC_RELAXED);
}

/* What is loaded with RTLD_DEEPBIND (PHP loads its extensions so) has the C library's malloc before
 * any that was preloaded. Where that is the allocator all the same, we are put in front of it again
 * (patch_dlopen()). Where BFM is, blocks of the one would go to the free of the other, and the
 * program would crash: there the flag is left out. Jumps, so that dlopen sees who called and looks
 * where its RUNPATH says. */
static bool hooks_process_has_bfm(void)
{
#ifdef TIDEMARK_PAGES
    return true;
#else
    return real_find("bfm_malloc") != NULL;
#endif
}

HOOK void *dlopen(const char *file, int mode)
{
    if (hooks_process_has_bfm())
        return REAL(dlopen)(file, mode & ~RTLD_DEEPBIND);
    return patch_dlopen(file, mode);
}
HOOKED(dlopen)

static __attribute__((noinline)) void hooks_process_see_namespace(long names, const char *file)
{
    int saved_errno = errno;
    if (session_is_on() && names != LM_ID_BASE)
        unseen_tell(WIRE_UNSEEN_NAMESPACE, WIRE_UNSEEN_WHY_OWN_LIBC, NULL, file);
    errno = saved_errno;
}

/* A jump, as above. */
HOOK void *dlmopen(Lmid_t names, const char *file, int mode)
{
    hooks_process_see_namespace(names, file);
    return REAL(dlmopen)(names, file, mode);
}
HOOKED(dlmopen)

HOOK int dlclose(void *handle)
{
    patch_before_close();
    int status = REAL(dlclose)(handle);
    int saved_errno = errno;
    thread_use_begin();
    if (session_is_on())
        modules_check_gone();
    thread_use_end();
    hooks_new_forget();
    errno = saved_errno;
    return status;
}
HOOKED(dlclose)
