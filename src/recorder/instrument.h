/* Programs compiled with -finstrument-functions: their hooks keep a shadow of the stack
 * (unwind/shadow.h). Call paths come from it where they are wanted from there or cannot be unwound,
 * and the size of each thread's stack is known at every entry. Until the first hook is called all
 * this costs nothing: it puts itself in front of unwind_capture() only then. */
#ifndef TIDEMARK_RECORDER_INSTRUMENT_H
#define TIDEMARK_RECORDER_INSTRUMENT_H

#include <stdint.h>
#include "recorder/thread.h"

/* After unwind_init(), with hooks disabled for this thread; again in the child of a fork. */
void instrument_begin(const struct unwind_host *host, enum wire_stacks stacks, uint32_t max_depth);

/* unwind_own_stack() as far as shadows know it. */
uintptr_t instrument_own_stack(uintptr_t sp);

/* The thread ends: says what stood on its stack when that was deepest. */
void instrument_end_thread(struct thread *thread);
/* The process ends, in this thread: the same for all threads that still run. */
void instrument_end(void);

/* longjmp() is about to leave for the stack pointer that `environment` holds. */
void instrument_jump(const void *environment);

#endif
