/* Memory for reading a file of somebody else's. A small file can be made so that reading it takes
 * gigabytes; then the machine swaps, or the kernel ends another process. So reading gets an
 * allowance in proportion to the file's size, and never more than the machine has free. An
 * allocation beyond the allowance fails as a lack of memory does, and the error's sentence says
 * why.
 *
 * The allowance is the process's soft limit on data (RLIMIT_DATA), so it holds for libraries too.
 * While several threads read, each adds its share. TIDEMARK_READ_MEMORY (such as 8G) replaces the
 * proportion. All functions are thread-safe. */
#ifndef TIDEMARK_BASE_ALLOWANCE_H
#define TIDEMARK_BASE_ALLOWANCE_H

#include <stdint.h>

/* To be called before a file of `bytes` is read; sentences call the file `name`. allowance_end()
 * must follow. */
void allowance_begin(const char *name, uint64_t bytes);
/* The same with the size of the file at `path`. If there is none, the allowance is the least
 * one. */
void allowance_begin_file(const char *path);
void allowance_end(void);

/* The bounds of the rule, for callers that refuse a file before they read it: how many bytes even
 * the smallest file may take, and how many no file may take, because the machine has no more. */
uint64_t allowance_least(void);
uint64_t allowance_most(void);

/* Sets error_text()'s sentence if `error` is -ENOMEM and reading is under way: the sentence says
 * that the allowance was too small. Returns `error`. To be called before allowance_end(). */
int allowance_explain(int error);
/* The sentence itself; NULL: no reading is under way. The text is static and the next call
 * overwrites it, so this is for a process that is about to end. */
const char *allowance_sentence(void);

#endif
