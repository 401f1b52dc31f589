/* Is what a caller's pointer leads to readable? Where the kernel would answer EFAULT, a hook that
 * reads before the kernel would crash the program. Runs inside other programs, in children of vfork
 * too: no malloc, errno kept. */
#ifndef TIDEMARK_UNWIND_CALLER_MEMORY_H
#define TIDEMARK_UNWIND_CALLER_MEMORY_H

#include <stdbool.h>

/* Up to the text's NUL. If the program's filters forbid to find out: true. */
bool caller_memory_has_text(const char *text);
/* An array up to its NULL, and the text of each entry; of NULL there is nothing to read. */
bool caller_memory_has_texts(char *const *texts);

#endif
