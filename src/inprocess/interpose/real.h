/* The functions that we interpose, as the program would have got them without us.
 *
 * They are found in the symbol tables of the loaded modules, without dlsym(). dlsym() allocates on
 * some paths. When it fails, it formats a message under the locale's locks, which hangs programs
 * whose first allocation happens inside setlocale(). */
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

/* Is the program's malloc in our own library? In libtidemark-bfm.so it is (TIDEMARK_PAGES is a
 * compile definition of that target). */
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

/* The segment of a module that contains an address, [*lo, *hi). False: no module has it. */
bool real_code_around(const void *function, uintptr_t *lo, uintptr_t *hi);

/* Fills `real`. Later calls are cheap. False: the program has no malloc that we could call. */
bool real_init(void);
/* The same, and ends the program if it has no malloc. */
void real_need(void);

/* The real function, also in a hook that is the first function that the program calls. */
#define REAL(name)                                                                                 \
    ({                                                                                             \
        if (__builtin_expect(!real.name, 0))                                                       \
            real_need();                                                                           \
        real.name;                                                                                 \
    })

/* Were we loaded into a running program (dlopen), instead of before its beginning (LD_PRELOAD)?
 * Then no call is bound to our functions, and the real ones are the first in the loader's order,
 * not those behind us. After real_init(). */
bool real_is_late(void);

/* Is the real malloc glibc's own, which calls nothing that we hook? */
bool real_is_glibc(void);

/* Does a module ahead of us have a malloc of its own, to which the program is bound? Such a malloc
 * maps its memory through our functions, with its locks held. After real_init(). */
bool real_is_passed_over(void);

/* Is `ip` in the code of an allocator: in the module of the real malloc (ours, if BFM is in it:
 * page_events.h), or in an operator new or delete of another module? Of that module only the
 * operators count: libstdc++ also allocates the exception that operator new throws. */
bool real_is_allocator(uintptr_t ip);
/* Is `ip` in a module that is the program's allocator and nothing else (jemalloc, tcmalloc)? It has
 * the real malloc, and is neither the C library, nor the program, nor ourselves. All that such a
 * module maps is the allocator's. After real_init(). */
bool real_is_allocator_module(uintptr_t ip);
/* real_find() for an operator, whose code counts as an allocator's from then on. */
void *real_find_operator(const char *name);

/* The next definition of `name` behind ours, in the order the loader searches; modules that were
 * loaded locally (a C++ plug-in of a C program brings its own libstdc++) come last. NULL if there
 * is none. Takes the loader's lock, which is recursive. */
void *real_find(const char *name);
/* Does this module define `name` for others to bind to? And its symbol, or NULL. */
bool real_defines(const struct dl_phdr_info *module, const char *name);
const ElfW(Sym) *real_symbol(const struct dl_phdr_info *module, const char *name);

/* The beginning of `function` is about to be replaced by a jump to a hook, and `original` does what
 * it did: from now on we call `original`. real_is_moved(): does the jump stand there? */
void real_move(void *function, void *original);
bool real_is_moved(const void *function);
/* From now on the module of `function` counts as an allocator's. */
void real_is_allocator_too(void *function);
/* To be called after a dlclose: addresses of unloaded modules are no allocator's any more. */
void real_forget_gone(void);

#endif
