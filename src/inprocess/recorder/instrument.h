/* Programs compiled with -finstrument-functions. Their entry and exit hooks keep a shadow of the
 * stack (unwind/shadow.h). Call paths are taken from the shadow if the user asks for that, or if
 * the stack cannot be unwound. Each entry also shows the size of the thread's stack. Until the
 * first hook is called this costs nothing, because only then is it put in front of
 * unwind_capture(). */
#ifndef TIDEMARK_RECORDER_INSTRUMENT_H
#define TIDEMARK_RECORDER_INSTRUMENT_H

#include <stdint.h>
#include "recorder/thread.h"

/* After unwind_init(), with hooks disabled for this thread; again in the child of a fork. */
void instrument_begin(const struct unwind_host *host, enum wire_stacks stacks, uint32_t max_depth);

/* As unwind_own_stack(), by the thread's shadow. */
uintptr_t instrument_own_stack(uintptr_t sp);

/* To be called when a thread ends: records the functions on its stack when that was deepest. */
void instrument_end_thread(struct thread *thread);
/* To be called when the process ends, in this thread: the same for all threads that still run. */
void instrument_end(void);

/* To be called before longjmp(): `environment` holds the stack pointer at which the program
 * continues. */
void instrument_jump(const void *environment);

#endif
