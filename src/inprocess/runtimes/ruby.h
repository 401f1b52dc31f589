/* Reads the frames of a Ruby interpreter in this process, 2.7 to 3.4: which method or block runs,
 * at which instruction. Where fields lie is said by a table, a row for some versions.
 *
 *   thread's context ─▶ control frames, the innermost first: code and instruction; of a method that
 *   is native only      is native the method. One native call of rb_vm_exec runs many frames, up
 *                       to one that `ends`.
 *
 * Code and methods lie in the heap that Ruby collects and may move, so a thread's hash has only
 * what lies in control frames, and how often memory was collected: what has gone has another
 * count.
 *
 * No address is read whose page was not seen to be there (script_memory.h). */
#ifndef TIDEMARK_RUNTIMES_RUBY_H
#define TIDEMARK_RUNTIMES_RUBY_H

#include <link.h>
#include "runtimes/runtime.h"

/* Is this module an interpreter that can be read? The first one counts; true: it is that, and
 * new. */
bool ruby_see_module(const struct dl_phdr_info *info);
/* Is it a Ruby all the same, of a version that is not known? */
bool ruby_is_unread(const struct dl_phdr_info *info);

/* A hash of the calling thread's frames; 0: it has none. To be asked only where a native frame is
 * the interpreter's: it is alive then. */
uint64_t ruby_stack_key(void);

extern const struct runtime ruby_runtime;

#endif
