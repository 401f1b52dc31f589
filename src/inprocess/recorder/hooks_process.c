/* Hooks of functions that end processes, load and unload modules, and register unwind tables. Each
 * informs the session and calls the real function. Real functions that depend on their caller are
 * called by a jump. */
#include "recorder/hooks.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "recorder/module_log.h"
#include "recorder/patch.h"
#include "interpose/real.h"
#include "recorder/script_paths.h"
#include "recorder/session.h"
#include "recorder/unseen.h"
#include "unwind/unwind.h"

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
bool thread_plain, thread_plain_but_large, thread_plain_inside;

void thread_see_plain(void)
{
    bool simple = !hooks_free_stacks && !pools_are_followed;
    bool plain = usable_by_header && !thread_real_watched && simple;
    __atomic_store_n(&thread_plain, plain && !last_writes_are_asked, __ATOMIC_RELAXED);
    __atomic_store_n(&thread_plain_but_large, plain && last_writes_are_asked, __ATOMIC_RELAXED);
    __atomic_store_n(&thread_plain_inside, simple && !thread_timed, __ATOMIC_RELAXED);
}

/* A module that is loaded with RTLD_DEEPBIND (as PHP's extensions are) is bound to the C library's
 * malloc, not to a preloaded one. If the C library's malloc is the allocator, the module gets our
 * functions afterwards (patch_dlopen()). If BFM is the allocator, its blocks would go to the C
 * library's free, and the program would crash; so there the flag is left out. dlopen is called by a
 * jump, because it searches the RUNPATH of its caller. */
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

/* A jump, as in dlopen(). */
HOOK void *dlmopen(Lmid_t names, const char *file, int mode)
{
    hooks_process_see_namespace(names, file);
    return REAL(dlmopen)(names, file, mode);
}
HOOKED(dlmopen)

/* libgcc_s may come with a library that was loaded later and locally. Then it is found through the
 * caller's module. */
typedef void (*frames_function)(void *frames);
void __register_frame(void *frames); /* libgcc declares them nowhere */
void __deregister_frame(void *frames);
static frames_function hooks_process_of_caller(frames_function found, const char *name,
                                               void *caller)
{
    Dl_info info;
    void *handle = NULL;
    if (found)
        return found;
    if (dladdr(caller, &info) && info.dli_fname)
        handle = REAL(dlopen)(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle)
        handle = REAL(dlopen)("libgcc_s.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!handle)
        return NULL;
    found = (frames_function)dlsym(handle, name);
    REAL(dlclose)(handle);
    return found;
}

HOOK void __register_frame(void *frames)
{
    frames_function function = hooks_process_of_caller(real.__register_frame, "__register_frame",
                                                       __builtin_return_address(0));
    if (function && function != __register_frame)
        function(frames);
    unwind_frames_added(frames);
}
HOOKED(__register_frame)

HOOK void __deregister_frame(void *frames)
{
    frames_function function = hooks_process_of_caller(
        real.__deregister_frame, "__deregister_frame", __builtin_return_address(0));
    unwind_frames_removed(frames);
    if (function && function != __deregister_frame)
        function(frames);
}
HOOKED(__deregister_frame)

HOOK int dlclose(void *handle)
{
    patch_before_close();
    bool has_scripts = script_paths_before_close();
    int status = REAL(dlclose)(handle);
    int saved_errno = errno;
    hooks_new_forget(); /* at once, because another thread may load the operators at another
                         * address */
    if (has_scripts)
        script_paths_after_close();
    real_forget_gone();
    thread_use_begin();
    if (session_is_on())
        modules_check_gone();
    thread_use_end();
    errno = saved_errno;
    return status;
}
HOOKED(dlclose)
