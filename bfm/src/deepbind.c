/* In libbfm.so only: dlopen(3) without RTLD_DEEPBIND. A module that is loaded with this flag (PHP's
 * extensions are) is bound to the C library's malloc() and free() although BFM stands before them.
 * The program gives the module BFM's blocks, which the C library's free() does not know. */
#include <dlfcn.h>

#ifdef RTLD_DEEPBIND
typedef void *deepbind_dlopen(const char *file, int mode);

static deepbind_dlopen *deepbind_real(void)
{
    static deepbind_dlopen *real; /* all threads find the same */
    deepbind_dlopen *found = __atomic_load_n(&real, __ATOMIC_RELAXED);

    if (!found) {
        *(void **)&found = dlsym(RTLD_NEXT, "dlopen");
        __atomic_store_n(&real, found, __ATOMIC_RELAXED);
    }
    return found;
}

/* The call is a jump, since dlopen() searches along the RUNPATH of its caller. */
__attribute__((visibility("default"))) void *dlopen(const char *file, int mode)
{
    return deepbind_real()(file, mode & ~RTLD_DEEPBIND);
}
#endif
