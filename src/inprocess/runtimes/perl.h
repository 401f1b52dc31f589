/* Reads the frames of a Perl interpreter in this process, 5.28 to 5.40, with threads and without:
 * which sub runs, at which statement. Where fields lie is said by a table, a row for some versions.
 *
 *   interpreter ─▶ statement that runs (a COP: file and line)
 *      │
 *      └─▶ run level ─previous─▶ … each with contexts, of which subs, formats, string evals and
 *                                required files are frames: whose code, called from which statement
 *
 * One call of the native function Perl_runops_standard runs many frames, up to one that `ends`.
 *
 * No address is read whose page was not seen to be there, and no statement that does not say that
 * it is one: damaged memory ends the stack. */
#ifndef TIDEMARK_RUNTIMES_PERL_H
#define TIDEMARK_RUNTIMES_PERL_H

#include <link.h>
#include "runtimes/runtime.h"

/* Is this module an interpreter that can be read? The first one counts; true: it is that, and
 * new. */
bool perl_see_module(const struct dl_phdr_info *info);
/* Is it a Perl all the same, of a version that is not known? */
bool perl_is_unread(const struct dl_phdr_info *info);

/* A hash of the calling thread's frames; 0: it has none. To be asked only where a native frame is
 * perl_runtime.is_call(): the interpreter is alive then. */
uint64_t perl_stack_key(void);

extern const struct runtime perl_runtime;

#endif
