/* Code without call frame information in the usual place: musl's C library, which is built without
 * any, and programs that were linked without a search table (musl-gcc). Runs inside the profiled
 * program: no malloc, no stdio. */
#ifndef TIDEMARK_RECORDER_BARE_CODE_H
#define TIDEMARK_RECORDER_BARE_CODE_H

#include "unwind/unwind.h"

/* To be called once, when the program begins. */
void bare_code_begin(void);

/* frame_of_code() of unwind_host, for the C library's code. False with glibc, whose code has
 * tables. */
bool bare_code_frame(uintptr_t ip, struct unwind_frame *frame);

#endif
