/* What glibc and musl have under different names, so that one library runs with both.
 *
 * Functions and variables that one of them lacks are weak references and NULL there; every other
 * symbol that the libraries inside of programs refer to is in both, with the same structures
 * (x86-64, aarch64). A test holds that (unit/interpose/c_library). */
#ifndef TIDEMARK_INTERPOSE_C_LIBRARY_H
#define TIDEMARK_INTERPOSE_C_LIBRARY_H

#include <stdbool.h>

/* Leads to glibc's __libc_single_threaded; with musl, which does not say, to a 0. */
extern const char *c_library_single_threaded __attribute__((visibility("hidden")));

/* Has the process one thread for certain? After real_init(). */
static inline bool c_library_is_single_threaded(void)
{
    return *c_library_single_threaded;
}

bool c_library_is_glibc(void);

/* Called by real_init(). */
void c_library_init(void);

/* Is exit's status told to handlers? Then the handler is called with it, after all destructors.
 * False: musl tells nobody, and destructors of a library that is preloaded are the last. */
bool c_library_on_exit(void (*handler)(int status, void *unused));
void c_library_on_quick_exit(void (*handler)(void));
/* pthread_atfork(), which is no function of glibc's but a part of each library. */
void c_library_on_fork_in_child(void (*handler)(void));

#endif
