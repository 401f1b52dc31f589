/* The way back of a thread that is made to call a function (tracee.h): frames as the kernel makes
 * them for signal handlers, through which the thread goes on by itself.
 *
 *     function ──ret──▶ keep the result ──ret──▶ rt_sigreturn ─▶ errno as it was
 *                                                rt_sigreturn ─▶ munmap(our stack)
 *                                                rt_sigreturn ─▶ where it stood
 *
 * Each arrow needs only the frame behind it and nothing of ours, so we may die at any time. Nothing
 * here touches the process: frames are made in our own memory, for an address there. */
#ifndef TIDEMARK_ATTACH_WAY_BACK_H
#define TIDEMARK_ATTACH_WAY_BACK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>
#include "attach/target.h"

/* The whole frame: registers, signal mask and vector state (as ptrace gives it). */
size_t way_back_frame_bytes(const void *vector, size_t vector_bytes);
/* Makes the frame for `address`, a multiple of 64, which is the stack pointer when the function
 * returns. `made` has room for way_back_frame_bytes(). */
void way_back_frame(void *made, uintptr_t address, const struct target_gadgets *gadgets,
                    const struct user_regs_struct *registers, uint64_t mask, const void *vector,
                    size_t vector_bytes);

/* The steps after the call: keep the result, restore errno, munmap. */
struct way_back_call {
    uintptr_t stack;       /* to unmap … */
    size_t stack_bytes;    /* … with its size */
    uintptr_t frame;       /* the frame after it */
    uintptr_t errno_place; /* 0: not known */
    int errno_value;
};
enum { WAY_BACK_CALL_BYTES = 2048, WAY_BACK_RESULT = 0, WAY_BACK_RETURN = 24 };
/* Makes these steps for `address`, a multiple of 16. The function begins with the stack pointer at
 * address + WAY_BACK_RETURN, where its return address lies. Its result is stored at address +
 * WAY_BACK_RESULT. Returns the stack pointer at the entry of rt_sigreturn. */
uintptr_t way_back_call(unsigned char made[WAY_BACK_CALL_BYTES], uintptr_t address,
                        const struct target_gadgets *gadgets, const struct way_back_call *call);
/* The value for the registers that functions preserve, during the call. */
uintptr_t way_back_kept_register(uintptr_t address, const struct target_gadgets *gadgets);

/* The place for a thread's frame: below the used part of its stack. If there is no room that
 * certainly belongs to the stack (a coroutine's, or one used to its end), the margin. 0: there is
 * no place. */
uintptr_t way_back_place(pid_t pid, const struct target_gadgets *gadgets,
                         const struct user_regs_struct *registers, size_t bytes);
/* After the frame's use: fills the margin with zeros, which mark it as free. */
void way_back_leave_place(pid_t pid, const struct target_gadgets *gadgets, uintptr_t place);

#endif
