/* Reads the frames of a CPython interpreter in this process, 3.11 to 3.14: what runs, at which
 * line. Where fields lie is said by a table, and by the interpreter itself from 3.13 on. Nothing of
 * Python is called but three functions that only read.
 *
 *   thread state ─▶ innermost frame ─previous─▶ its caller ─▶ …
 *                     │ code         the function: name, file, table of lines
 *                     │ instruction  where it is
 *
 * A call of the native function _PyEval_EvalFrameDefault runs several frames, up to one that
 * `ends`.
 *
 * Runs inside the profiled program: no malloc, no stdio, errno kept. A thread reads its own frames
 * only. */
#ifndef TIDEMARK_RUNTIMES_PYTHON_H
#define TIDEMARK_RUNTIMES_PYTHON_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "runtimes/python_keys.h"
#include "runtimes/runtime.h"

/* Is this module an interpreter that can be read? The first one counts; true: it is that, and
 * new. */
bool python_see_module(const struct dl_phdr_info *info);
/* Is it a Python all the same, of a version that is not known? */
bool python_is_unread(const struct dl_phdr_info *info);

/* Is it a Python of any version, which has a copy of mimalloc for itself? Only free-threaded ones
 * always use it, and their functions of memory lead to it. */
bool python_has_mimalloc_inside(const struct dl_phdr_info *info);
bool python_is_free_threaded(const struct dl_phdr_info *info);

/* The function that runs frames, and the module that it is in. {0, 0}: no interpreter was seen. */
struct code_span python_eval(void);
struct code_span python_module(void);

bool python_has_frames(void); /* the calling thread */
/* A hash of the calling thread's frames; 0: it has none. As long as no code object is freed, two
 * stacks of one hash are the same. */
uint64_t python_stack_key(struct python_keys *keys);

extern const struct runtime python_runtime;

/* Has the calling thread the interpreter's lock? */
bool python_has_lock(void);

/* ---- Its allocators ---- */

/* As <cpython/pymem.h> has it. */
struct python_allocator {
    void *context;
    void *(*malloc)(void *context, size_t size);
    void *(*calloc)(void *context, size_t count, size_t size);
    void *(*realloc)(void *context, void *block, size_t size);
    void (*free)(void *context, void *block);
};
enum python_domain { PYTHON_MEM = 1, PYTHON_OBJ = 2 };

void python_get_allocator(enum python_domain domain, struct python_allocator *allocator);
void python_set_allocator(enum python_domain domain, struct python_allocator *allocator);

#endif
