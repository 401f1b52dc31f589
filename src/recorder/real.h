/* The functions that we stand in for, as the program would have got them without us.
 *
 * Found by reading the symbol tables of the loaded modules ourselves, never by dlsym(): dlsym
 * allocates on some paths, and a lookup that fails formats a message under the locale's locks,
 * which hangs programs whose first allocation happens inside setlocale(). */
#ifndef TIDEMARK_RECORDER_REAL_H
#define TIDEMARK_RECORDER_REAL_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct real {
    long (*syscall)(long number, ...); /* first: jumped to from assembly (hooks_filter.c) */
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    void *(*memalign)(size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    size_t (*malloc_usable_size)(void *);
    /* absent in some C libraries and allocators: NULL */
    void *(*reallocarray)(void *, size_t, size_t);
    void (*free_sized)(void *, size_t);
    void (*free_aligned_sized)(void *, size_t, size_t);

    void *(*mmap)(void *, size_t, int, int, int, off_t);
    int (*munmap)(void *, size_t);
    void *(*mremap)(void *, size_t, size_t, int, ...);
    int (*brk)(void *);
    void *(*sbrk)(intptr_t increment);

    void (*exit_now)(int); /* _exit */
    void (*quick_exit)(int);
    int (*dlclose)(void *);
    void *(*dlopen)(const char *, int);
    int (*prctl)(int option, ...);

    /* of <setjmp.h>; the last one where programs are fortified */
    void (*longjmp)(void *environment, int value);
    void (*_longjmp)(void *environment, int value);
    void (*siglongjmp)(void *environment, int value);
    void (*__longjmp_chk)(void *environment, int value);
};
extern struct real real;

/* Fills `real`. Cheap to call again; false if the program has no malloc that we could call. */
bool real_init(void);

/* Whether we were loaded into a program that was running already (dlopen) and not before it began
 * (LD_PRELOAD): then nobody was bound to our functions, and the real ones are the first in the
 * loader's order, not those behind us. After real_init(). */
bool real_is_late(void);

/* Whether the real malloc is the C library's own, which calls nothing that we hook. */
bool real_is_libc(void);

/* Whether a module ahead of us has a malloc of its own, which the program is bound to: it maps its memory
 * through our functions, with its locks held. After real_init(). */
bool real_is_passed_over(void);

/* Whether `ip` is the allocator's own code: of the module that the real malloc lives in (of ours, where
 * BFM is in it: pages.h), or of an
 * operator new or delete of another module. (Not all of that module: libstdc++ also makes the
 * exception that operator new throws.) */
bool real_is_allocator(uintptr_t ip);
/* real_find() of an operator, which from then on counts as the allocator's. */
void *real_find_operator(const char *name);

/* The next definition of `name` behind ours, in the order the loader searches; modules that were
 * loaded locally (a C++ plug-in of a C program brings its own libstdc++) come last. NULL if there
 * is none. Takes the loader's lock, which is recursive. */
void *real_find(const char *name);
/* Whether this module defines it, for others to bind to. */
bool real_defines(const struct dl_phdr_info *module, const char *name);

#endif
