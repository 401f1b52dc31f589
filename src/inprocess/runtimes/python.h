/* Reads the frames of a CPython interpreter in this process, 3.11 to 3.13: what runs, at which
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

struct python_frame {
    uintptr_t code, instruction;
    bool ends; /* the outermost frame of a call of _PyEval_EvalFrameDefault */
};

/* Native code of the interpreter. */
struct python_span {
    uintptr_t lo, hi;
};

/* Is this module an interpreter that can be read? The first one counts; true: it is that, and
 * new. */
bool python_see_module(const struct dl_phdr_info *info);

/* The function that runs frames, and the module that it is in. {0, 0}: no interpreter was seen. */
struct python_span python_eval(void);
struct python_span python_module(void);

/* A hash of the calling thread's frames; 0: it has none. As long as no code object is freed, two
 * stacks of one hash are the same. */
uint64_t python_stack_key(void);

/* The frames, innermost first, `max` at most; returns how many there are up to that. */
uint32_t python_stack(struct python_frame *frames, uint32_t max);

/* Of a frame on a stack that was just read. The line is 0 where Python knows none. */
uint32_t python_line(const struct python_frame *frame);
uint32_t python_first_line(uintptr_t code);
/* UTF-8, cut where a character ends, without control characters; returns the length, 0: it is no
 * text. `room` counts the NUL. */
size_t python_function_name(uintptr_t code, char *to, size_t room);
size_t python_file_name(uintptr_t code, char *to, size_t room);

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
