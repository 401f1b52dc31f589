/* Puts our hooks in front of functions that a running program is bound to already. It writes the
 * hooks' addresses into the relocated words (global offset tables, pointers in data) of every
 * loaded module, and later the real addresses back. Runs inside the profiled program: no malloc, no
 * stdio. */
#ifndef TIDEMARK_RECORDER_PATCH_H
#define TIDEMARK_RECORDER_PATCH_H

#include <link.h>
#include <stdbool.h>

#ifndef TIDEMARK_PAGES
/* All modules that the loader lists, but ours. A word is written only if it holds the function that
 * we stand in for, or nothing yet (bound lazily). Modules that another thread is loading right now
 * are left out: returns how many; they are reached by patch_new(). Not from signal handlers: asks
 * the loader, whose lock is also what keeps two calls apart. */
unsigned patch_on(void);
/* The same, if patches are on and modules have come since, or where one is awaited that is bound
 * past us; else next to nothing. True: it should be asked again at the next event. */
bool patch_new(void);
/* The real functions back, wherever ours stand. */
void patch_off(void);

/* Of a recorder that came with the program: stand-ins (imports.h) into the words of all modules.
 * Late, passes of the above write them too. */
void patch_imports(void);

/* dlopen() with RTLD_DEEPBIND in a program that we were loaded with: what it loads is given our
 * functions, but not before its constructors have run; where its caller's RUNPATH must be searched,
 * which only a jump to dlopen does, by an event soon after. To be jumped to from where the program
 * called: its address is asked for. */
void *patch_dlopen(const char *file, int mode);

/* A module is about to be unloaded: what dlopen brought and has not been given our functions gets
 * them now. */
void patch_before_close(void);

/* True once after a dlopen that had to be let through unseen: patch_new() is due. */
bool patch_is_due(void);

/* Has the loader certainly relocated the module, so that its code can run? */
bool patch_is_relocated(const struct dl_phdr_info *info);
#else /* that library is never loaded late */
static inline bool patch_new(void)
{
    return false;
}
static inline void patch_imports(void)
{
}
void *patch_dlopen(const char *file, int mode); /* not called */
static inline void patch_before_close(void)
{
}
static inline bool patch_is_due(void)
{
    return false;
}
static inline bool patch_is_relocated(const struct dl_phdr_info *info)
{
    (void)info;
    return false;
}
#endif

#endif
