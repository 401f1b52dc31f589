/* Functions that glibc and musl have under different names, so that one library runs with both.
 *
 * Functions and variables that one of them lacks are weak references, and NULL there. Both have
 * every other symbol that our libraries inside of programs refer to, with the same structures
 * (x86-64, aarch64). A test holds that (unit/interpose/c_library). */
#ifndef TIDEMARK_INTERPOSE_C_LIBRARY_H
#define TIDEMARK_INTERPOSE_C_LIBRARY_H

#include <stdbool.h>

/* Points to glibc's __libc_single_threaded, or with musl, which has no such variable, to a 0. */
extern const char *c_library_single_threaded __attribute__((visibility("hidden")));

/* Has the process one thread for certain? After real_init(). */
static inline bool c_library_is_single_threaded(void)
{
    return *c_library_single_threaded;
}

bool c_library_is_glibc(void);

/* Called by real_init(). */
void c_library_init(void);

/* Registers a handler that gets exit's status and runs after all destructors. False: musl has no
 * such handlers; there, the destructors of a preloaded library run last. */
bool c_library_on_exit(void (*handler)(int status, void *unused));
void c_library_on_quick_exit(void (*handler)(void));
/* As pthread_atfork(). */
void c_library_on_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void));
void c_library_on_fork_in_child(void (*handler)(void));

#endif
