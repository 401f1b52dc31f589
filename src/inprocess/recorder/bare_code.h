/* Code of the program that has no call frame information where it should: musl's C library, which
 * is built without, and programs that were linked without a table of theirs (musl-gcc). Runs inside
 * the profiled program: no malloc, no stdio. */
#ifndef TIDEMARK_RECORDER_BARE_CODE_H
#define TIDEMARK_RECORDER_BARE_CODE_H

#include "unwind/unwind.h"

/* Once, when the program begins. */
void bare_code_begin(void);

/* As unwind_host asks for it: the C library's code is read; NULL there where that has tables
 * (glibc). */
bool bare_code_frame(uintptr_t ip, struct unwind_frame *frame);

#endif
