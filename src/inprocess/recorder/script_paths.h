/* Call paths of interpreted programs: what the unwinder found, with the interpreter's frames in
 * place of its native ones. A capture that stands in front of the unwinder (thread_capture).
 *
 *   native path, from unwind/      malloc … list_append, _PyEval_EvalFrameDefault, … main, _start
 *   frames, from runtimes/         parse:5, load:8, <module>:11
 *   mixed                          parse:5, load:8, <module>:11
 *
 * Native frames outside of the interpreter's module stay where they are: what an extension calls,
 * and what it is called by. Where native and interpreted frames cannot be told to belong together,
 * all interpreted ones stand below the innermost native ones.
 *
 * Runs inside the profiled program: no malloc, no stdio, errno kept. */
#ifndef TIDEMARK_RECORDER_SCRIPT_PATHS_H
#define TIDEMARK_RECORDER_SCRIPT_PATHS_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include "unwind/unwind.h"

/* A module that was loaded: captures follow the interpreter from now on, if it is one that can be
 * read (runtimes/runtime.h). True: it is Python. */
bool script_paths_see_module(const struct dl_phdr_info *info, bool is_program);

/* Around what may unload the interpreter: captures do not ask it then, nor afterwards if it has
 * gone. Another one may be seen then. False: nobody asks one that could go, and there is nothing to
 * do afterwards. */
bool script_paths_before_close(void);
void script_paths_after_close(void);

/* The session's memory is gone. While nobody else runs. */
void script_paths_renew(void);

/* A block of the interpreter's is about to be freed: it may be a function, whose address another
 * one will have. Cheap where it is none. */
void script_paths_block_ends(uintptr_t block);

/* Called by each thread when it first runs interpreted code. */
extern void (*script_paths_first_frames)(void);

#endif
