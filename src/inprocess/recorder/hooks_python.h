/* Stands in front of CPython's allocators of objects and of its own memory (the domains obj and
 * mem), so that each object is a block and pymalloc's arenas are an allocator's. The raw domain is
 * malloc. */
#ifndef TIDEMARK_RECORDER_HOOKS_PYTHON_H
#define TIDEMARK_RECORDER_HOOKS_PYTHON_H

/* An interpreter was found (script_paths.h). Before its first call, if it has not begun; in a
 * program that runs already its allocators are taken over by the first thread of its that comes
 * by. */
void hooks_python_begin(void);

#endif
