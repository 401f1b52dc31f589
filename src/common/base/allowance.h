/* Memory for reading a file of somebody else's. A small file may be made to need gigabytes; then
 * the machine swaps, or the kernel ends another process. So reading gets an allowance in proportion
 * to the file, and never more than the machine has free. Asking for more fails as a lack of memory
 * does, and the sentence says why.
 *
 * The allowance is the process's soft limit on data (RLIMIT_DATA), so it holds for libraries too.
 * While several threads read, each adds its share. TIDEMARK_READ_MEMORY (such as 8G) replaces the
 * proportion. All functions are thread-safe. */
#ifndef TIDEMARK_BASE_ALLOWANCE_H
#define TIDEMARK_BASE_ALLOWANCE_H

#include <stdint.h>

/* Before a file of `bytes` is read, which sentences call `name`. allowance_end() must follow. */
void allowance_begin(const char *name, uint64_t bytes);
/* The same for a file that is there: its size is asked for. One that is not there gets the
 * least. */
void allowance_begin_file(const char *path);
void allowance_end(void);

/* Parts of the rule, for what is judged before it is read: what even the smallest file may take,
 * and what no file may take, since the machine has not got it. */
uint64_t allowance_least(void);
uint64_t allowance_most(void);

/* Why there is no memory, where reading is under way: sets error_text()'s sentence. `error` as it
 * is; anything but -ENOMEM changes nothing. To be called before allowance_end(). */
int allowance_explain(int error);
/* The sentence itself, or NULL: no reading is under way. Static; for a process that ends. */
const char *allowance_sentence(void);

#endif
