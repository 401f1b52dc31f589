/* Puts our hooks in front of functions to which a running program is bound already. The addresses
 * of the hooks are written into the relocated words (global offset tables, pointers in data) of
 * every loaded module, and later the real addresses are written back. Runs inside the profiled
 * program: no malloc, no stdio. */
#ifndef TIDEMARK_RECORDER_PATCH_H
#define TIDEMARK_RECORDER_PATCH_H

#include <link.h>
#include <stdbool.h>

#ifndef TIDEMARK_PAGES
/* Patches all modules that the loader lists, but ours. A word is written only if it holds the real
 * function, or is not bound yet (lazy binding). Modules that another thread is loading are left
 * out; returns how many. patch_new() patches them later. Not for signal handlers: it takes the
 * loader's lock, which also serialises calls. */
unsigned patch_on(void);
/* Patches modules that were loaded since, if patches are on, or if a module that is bound past us
 * is expected. Otherwise cheap. True: it should be called again at the next event. */
bool patch_new(void);
/* Writes the real functions back into all words that hold our hooks. */
void patch_off(void);

/* For a preloaded recorder: writes stand-ins (imports.h) into the words of all modules. In a
 * recorder that was loaded late, the passes above write them too. */
void patch_imports(void);

/* dlopen() for a preloaded recorder. Modules that are loaded with RTLD_DEEPBIND get our functions,
 * but only after their constructors have run. If the caller's RUNPATH matters, dlopen is called by
 * a jump, and the modules get our functions at an event soon after. To be called by a jump from the
 * hook, because the return address has to be the program's. */
void *patch_dlopen(const char *file, int mode);

/* To be called before a dlclose: modules that still wait for our functions get them now. */
void patch_before_close(void);

/* True once after a dlopen that was called by a jump: patch_new() is due. */
bool patch_is_due(void);

/* Has the loader relocated the module, for certain, so that its code can run? */
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
