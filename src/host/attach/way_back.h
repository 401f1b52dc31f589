/* The way back of a thread that is made to call a function (tracee.h): frames as the kernel makes
 * them for signal handlers, through which the thread goes on by itself.
 *
 *     function ──ret──▶ keep the result ──ret──▶ rt_sigreturn ─▶ errno as it was
 *                                                rt_sigreturn ─▶ munmap(our stack)
 *                                                rt_sigreturn ─▶ where it stood
 *
 * Each arrow needs the frame behind it and nothing of ours, so that it does not matter when we die.
 * Nothing here touches the process: frames are made in memory of our own, for an address there. */
#ifndef TIDEMARK_ATTACH_WAY_BACK_H
#define TIDEMARK_ATTACH_WAY_BACK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>
#include "attach/target.h"

/* The whole frame: registers, signal mask and vector state (as ptrace gives it). */
size_t way_back_frame_bytes(const void *vector, size_t vector_bytes);
/* For `address`, which is where the stack pointer is when the function returns, at 64 bytes. `made`
 * has room for way_back_frame_bytes(). */
void way_back_frame(void *made, uintptr_t address, const struct target_gadgets *gadgets,
                    const struct user_regs_struct *registers, uint64_t mask, const void *vector,
                    size_t vector_bytes);

/* What follows the call: kept result, errno, munmap. */
struct way_back_call {
    uintptr_t stack;       /* is unmapped … */
    size_t stack_bytes;    /* … if it has so many */
    uintptr_t frame;       /* and then this one is gone through */
    uintptr_t errno_place; /* 0: not known */
    int errno_value;
};
enum { WAY_BACK_CALL_BYTES = 2048, WAY_BACK_RESULT = 0, WAY_BACK_RETURN = 24 };
/* For `address`, at 16 bytes. The function begins with the stack pointer at address +
 * WAY_BACK_RETURN, where its return address lies, and its result comes to address +
 * WAY_BACK_RESULT. Returns the stack pointer with which rt_sigreturn is entered then. */
uintptr_t way_back_call(unsigned char made[WAY_BACK_CALL_BYTES], uintptr_t address,
                        const struct target_gadgets *gadgets, const struct way_back_call *call);
/* What the registers that a function keeps have to hold meanwhile. */
uintptr_t way_back_kept_register(uintptr_t address, const struct target_gadgets *gadgets);

/* Where a thread's frame can lie: below what it uses of its stack; or, where that has no room that
 * is surely its own (a coroutine's, one that is used as deep as never before), in the margin. 0:
 * nowhere. */
uintptr_t way_back_place(pid_t pid, const struct target_gadgets *gadgets,
                         const struct user_regs_struct *registers, size_t bytes);
/* Afterwards: others know by its zeros that the margin is free. */
void way_back_leave_place(pid_t pid, const struct target_gadgets *gadgets, uintptr_t place);

#endif
