/* Hooks CPython's allocators of objects and of its own memory (the domains obj and mem), so that
 * each object is a block, and pymalloc's arenas are memory of an allocator. The raw domain is
 * malloc. */
#ifndef TIDEMARK_RECORDER_HOOKS_PYTHON_H
#define TIDEMARK_RECORDER_HOOKS_PYTHON_H

/* To be called when an interpreter was found (script_paths.h), before its first call. In a program
 * that is running already, the first thread of Python's that allocates installs the hooks. */
void hooks_python_begin(void);

#endif
