/* Chooses between the names that glibc and musl have for the same function (c_library.h), by weak
 * references: a symbol that the program's C library lacks is NULL. Runs inside the profiled
 * program: no malloc, no stdio. */
#include "interpose/c_library.h"

#include <stddef.h>

/* glibc's. */
extern char __libc_single_threaded __attribute__((weak));
extern int on_exit(void (*handler)(int status, void *context), void *context) __attribute__((weak));
extern int __cxa_at_quick_exit(void (*handler)(void *context), void *library) __attribute__((weak));
extern int __register_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void),
                             void *library) __attribute__((weak));
extern const char *gnu_get_libc_version(void) __attribute__((weak));
/* musl's. */
extern int at_quick_exit(void (*handler)(void)) __attribute__((weak));
extern int pthread_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void))
    __attribute__((weak));

const char *c_library_single_threaded = &__libc_single_threaded;

void c_library_init(void)
{
    static const char not_known;
    if (!c_library_single_threaded)
        c_library_single_threaded = &not_known;
}

bool c_library_is_glibc(void)
{
    return gnu_get_libc_version != NULL;
}

bool c_library_on_exit(void (*handler)(int status, void *unused))
{
    return on_exit && on_exit(handler, NULL) == 0;
}

/* glibc links at_quick_exit() and pthread_atfork() into each library, and they pass this handle. */
extern void *__dso_handle __attribute__((visibility("hidden")));

void c_library_on_quick_exit(void (*handler)(void))
{
    if (__cxa_at_quick_exit)
        __cxa_at_quick_exit((void (*)(void *))handler, &__dso_handle);
    else if (at_quick_exit)
        at_quick_exit(handler);
}

void c_library_on_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void))
{
    if (__register_atfork)
        __register_atfork(before, in_parent, in_child, &__dso_handle);
    else if (pthread_atfork)
        pthread_atfork(before, in_parent, in_child);
}

void c_library_on_fork_in_child(void (*handler)(void))
{
    c_library_on_fork(NULL, NULL, handler);
}
