/* TIDEMARK_CHECK_UNWIND=1: every call path is compared with what libunwind says at the same place,
 * =n: every n-th. The first differences are printed, and at the end one line:
 *
 *   tidemark: check: N captures, M frames, D differences (C not comparable)
 *
 * Programs with a malloc of their own are not checked.
 *
 * For tests (tests/real/check-unwind.sh) and for whoever doubts a path. doc/UNWIND.md says what is
 * not comparable, and why. */
#ifndef TIDEMARK_RECORDER_UNWIND_CHECK_H
#define TIDEMARK_RECORDER_UNWIND_CHECK_H

#include <stdint.h>

/* Loads libunwind and puts itself in front of the unwinder, if the environment asks for it. After
 * unwind_init(), with hooks disabled for this thread; again in the child of a fork, which counts
 * anew. `stacks`: the recording's unwind mode; there is only one to check. */
void check_begin(uint32_t stacks);

/* Prints the last line. */
void check_end(void);

#endif
