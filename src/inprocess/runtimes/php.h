/* Reads the frames of a PHP interpreter in this process (the Zend engine, without threads), 8.1 to
 * 8.4: which function runs, at which line. Where fields lie is said by a table, a row for each
 * version.
 *
 *   executor_globals ─▶ innermost frame ─previous─▶ its caller ─▶ …
 *                         │ function     name, class, file; one of PHP's own has no file
 *                         │ instruction  where it is: a line
 *
 * One call of the native function execute_ex runs many frames, up to one that `ends`. A generator
 * that another one delegates to has a placeholder behind its frame, for those that wait for it.
 *
 * No address is read whose page was not seen to be there (script_memory.h). */
#ifndef TIDEMARK_RUNTIMES_PHP_H
#define TIDEMARK_RUNTIMES_PHP_H

#include <link.h>
#include "runtimes/runtime.h"

/* Is this module an interpreter that may be read? The first one counts; true: it is that, and new.
 * Its version is known when it has begun. */
bool php_see_module(const struct dl_phdr_info *info);
/* Is it a PHP all the same, with threads? */
bool php_is_unread(const struct dl_phdr_info *info);
/* Has it begun, and its version is not known? */
bool php_is_unknown(void);

/* A hash of the frames; 0: there are none. To be asked only where a native frame is
 * php_runtime.is_call(): they are the calling thread's then. */
uint64_t php_stack_key(void);

extern const struct runtime php_runtime;

#endif
