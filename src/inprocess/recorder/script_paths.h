/* Call paths of interpreted programs: the unwinder's path, with the interpreted frames in place of
 * the interpreter's native ones. This is a capture in front of the unwinder (thread_capture).
 *
 *   native path, from unwind/      malloc … list_append, _PyEval_EvalFrameDefault, … main, _start
 *   frames, from runtimes/         parse:5, load:8, <module>:11
 *   mixed                          parse:5, load:8, <module>:11
 *
 * Native frames outside of the interpreter's module, such as those of an extension, stay at their
 * places. If native and interpreted frames cannot be matched, all interpreted ones are put outside
 * of the innermost native ones.
 *
 * Runs inside the profiled program: no malloc, no stdio, errno kept. */
#ifndef TIDEMARK_RECORDER_SCRIPT_PATHS_H
#define TIDEMARK_RECORDER_SCRIPT_PATHS_H

#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/hash.h"
#include "unwind/unwind.h"

/* To be called for a module that was loaded. If it is an interpreter that can be read
 * (runtimes/runtime.h), captures read its frames from now on. True: it is Python. */
bool script_paths_see_module(const struct dl_phdr_info *info, bool is_program);

/* To be called before and after a call that may unload the interpreter. Captures do not ask the
 * interpreter between, nor afterwards if it is gone; then another one may be found. False: no
 * interpreter could be unloaded, and script_paths_after_close() is not to be called. */
bool script_paths_before_close(void);
void script_paths_after_close(void);

/* To be called when the session's memory was given back. While no other thread runs. */
void script_paths_renew(void);

/* A bit for each hash of a function's address; NULL: there are no functions. */
enum { SCRIPT_PATHS_FILTER_BITS = 1 << 16 };
extern _Atomic uint64_t *script_paths_filter;

static inline unsigned script_paths_bit(uintptr_t block)
{
    return (unsigned)(hash_u64(block >> 4) >> 20) % SCRIPT_PATHS_FILTER_BITS;
}

/* To be called before a block of the interpreter is freed, because it may be a function, and its
 * address may be used for another one. Cheap if it is none. */
void script_paths_function_ends(uintptr_t block);
static inline void script_paths_block_ends(uintptr_t block)
{
    _Atomic uint64_t *filter = script_paths_filter;
    unsigned bit = script_paths_bit(block);

    if (filter && atomic_load_explicit(&filter[bit / 64], memory_order_relaxed) >> bit % 64 & 1)
        script_paths_function_ends(block);
}

/* Called in each thread when it first runs interpreted code; NULL: nothing. */
extern void (*script_paths_first_frames)(void);

#endif
