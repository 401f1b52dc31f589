/* The functions that we stand in for, as the program would have got them without us.
 *
 * Found by reading the symbol tables of the loaded modules ourselves, never by dlsym(): dlsym
 * allocates on some paths, and a lookup that fails formats a message under the locale's locks,
 * which hangs programs whose first allocation happens inside setlocale(). */
#ifndef TIDEMARK_INTERPOSE_REAL_H
#define TIDEMARK_INTERPOSE_REAL_H

#include <link.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Does the library that this is a part of bring the program's malloc itself? libtidemark-bfm.so
 * does (TIDEMARK_PAGES is a compile definition of its target). */
#ifdef TIDEMARK_PAGES
enum { REAL_MALLOC_IS_OURS = 1 };
#else
enum { REAL_MALLOC_IS_OURS = 0 };
#endif

/* A member for each row of functions.def that we call by its name. NULL: the program has no such
 * function. C++'s operators are looked up when they are first called (real_find_operator()). */
struct real {
#define ALLOCATION(name, libraries, parameters, ...)     void *(*name)parameters;
#define ALLOCATION_OUT(name, libraries, parameters, ...) int(*name) parameters;
#define RELEASE(name, libraries, parameters, ...)        void(*name) parameters;
#define REALLOCATION(name, libraries, type, parameters)  type(*name) parameters;
#define FUNCTION(name, libraries, type, parameters)      type(*name) parameters;
#define CALLED(name, libraries, type, parameters)        type(*name) parameters;
#include "interpose/functions.def"
};
extern struct real real;

/* The part of a module, as the loader mapped it, that holds an address: code, where it is a
 * function's. */
bool real_code_around(const void *function, uintptr_t *lo, uintptr_t *hi);

/* Fills `real`. Cheap to call again; false if the program has no malloc that we could call. */
bool real_init(void);
/* The same, and ends the program if it has no malloc. */
void real_need(void);

/* The real function, also where this hook is the first function that the program calls. */
#define REAL(name)                                                                                 \
    ({                                                                                             \
        if (__builtin_expect(!real.name, 0))                                                       \
            real_need();                                                                           \
        real.name;                                                                                 \
    })

/* Whether we were loaded into a program that was running already (dlopen) and not before it began
 * (LD_PRELOAD): then nobody was bound to our functions, and the real ones are the first in the
 * loader's order, not those behind us. After real_init(). */
bool real_is_late(void);

/* Whether the real malloc is glibc's own, which calls nothing that we hook. */
bool real_is_glibc(void);

/* Whether a module ahead of us has a malloc of its own, which the program is bound to: it maps its
 * memory through our functions, with its locks held. After real_init(). */
bool real_is_passed_over(void);

/* Whether `ip` is the allocator's own code: of the module that the real malloc lives in (of ours,
 * where BFM is in it: page_events.h), or of an operator new or delete of another module. (Not all
 * of that module: libstdc++ also makes the exception that operator new throws.) */
bool real_is_allocator(uintptr_t ip);
/* Whether `ip` is of a module that is there to be the program's allocator (jemalloc, tcmalloc): it
 * supplies malloc, and is neither the C library, nor the program, nor ourselves. What such a module
 * maps at any time is the allocator's. After real_init(). */
bool real_is_allocator_module(uintptr_t ip);
/* real_find() of an operator, which from then on counts as the allocator's. */
void *real_find_operator(const char *name);

/* The next definition of `name` behind ours, in the order the loader searches; modules that were
 * loaded locally (a C++ plug-in of a C program brings its own libstdc++) come last. NULL if there
 * is none. Takes the loader's lock, which is recursive. */
void *real_find(const char *name);
/* Whether this module defines it, for others to bind to; and its symbol, or NULL. */
bool real_defines(const struct dl_phdr_info *module, const char *name);
const ElfW(Sym) *real_symbol(const struct dl_phdr_info *module, const char *name);

/* A jump to a hook is about to stand at the beginning of `function`, and `original` does what that
 * did: it is what we call from now on. Whether that is so. */
void real_move(void *function, void *original);
bool real_is_moved(const void *function);
/* The module of `function` has an allocator that we stand in front of. */
void real_is_allocator_too(void *function);
/* After a dlclose: what of that has gone is no allocator's any more. */
void real_forget_gone(void);

#endif
