/* TIDEMARK_CHECK_UNWIND=1: every call path is compared with what libunwind says at the same place,
 * =n: every n-th. The first differences are printed, and at the end one line:
 *
 *   tidemark: check: N captures, M frames, D differences (C not comparable)
 *
 * Programs with a malloc of their own are not checked.
 *
 * For tests (tests/real/check-unwind.sh), and for users who doubt a path. doc/UNWIND.md says what
 * is not comparable, and why. */
#ifndef TIDEMARK_RECORDER_UNWIND_CHECK_H
#define TIDEMARK_RECORDER_UNWIND_CHECK_H

#include <stdint.h>

/* Loads libunwind and puts the check in front of the unwinder, if the environment asks for it.
 * After unwind_init(), with hooks disabled for this thread; again in the child of a fork, whose
 * counts begin at 0. `stacks`: the recording's unwind mode; only UNWIND_CFI can be checked. */
void check_begin(uint32_t stacks);

/* Prints the last line. */
void check_end(void);

#endif
