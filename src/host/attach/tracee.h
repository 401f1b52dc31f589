/* One thread of another process, held by ptrace and made to call functions there.
 *
 *     struct tracee thread;
 *     tracee_seize(&thread, pid, tid);      nothing has happened to it yet
 *     tracee_stop(&thread);                 it stands: registers, mask and memory can be read
 *       tracee_borrow(&thread, gadgets);    a stack of ours, all signals blocked
 *         tracee_call(&thread, …);
 *       tracee_give_back(&thread);          as it stood: registers, vector state, mask, errno
 *     tracee_release(&thread);              runs on, in the system call that it was in
 *
 * No instruction of the program is changed: a call returns into instructions that are there
 * already, and the kernel stops the thread at the entry of a system call. A system call that the
 * stop interrupted goes on as if nothing had been, also where the kernel by itself would let it
 * fail with EINTR (epoll_wait, semop, …), unless a signal is pending for the thread.
 *
 * We can die at any moment: the thread then goes on as it stands, and wherever it stands frames on
 * its stack lead it back (way_back.h). Each step is one change of its registers. A system call that
 * the stop interrupted begins again then; one with a relative time limit waits for all of it once
 * more.
 *
 * All functions must be called by the same thread of ours. 0 or -errno: -ESRCH it is gone,
 * -ETIMEDOUT it cannot be stopped (uninterruptible). */
#ifndef TIDEMARK_ATTACH_TRACEE_H
#define TIDEMARK_ATTACH_TRACEE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>
#include "attach/target.h"

enum { TRACEE_ARGUMENTS = 6 };

struct tracee {
    pid_t pid, tid;
    bool stopped, known, borrowed; /* known: its registers were read, without which nothing is
                                      given back */
    struct target_gadgets gadgets;
    uintptr_t frame;       /* the last one of the way back */
    uintptr_t stack;       /* ours, mapped there; 0: none */
    uintptr_t errno_place; /* 0: not known */
    int errno_value;
    struct user_regs_struct registers; /* when it was stopped */
    uint64_t signal_mask;
    size_t vector_bytes;
    void *vector; /* while it is borrowed */
};

int tracee_seize(struct tracee *tracee, pid_t pid, pid_t tid);
int tracee_stop(struct tracee *tracee);
/* Whether the stop has interrupted a waiting system call. *number: the call's number. */
bool tracee_waits(const struct tracee *tracee, long *number);
uintptr_t tracee_ip(const struct tracee *tracee);
uintptr_t tracee_sp(const struct tracee *tracee);

/* `locate_errno`: the address of __errno_location there, 0 if it is not known. -EAGAIN: no frame
 * can be made for its way back where it stands; the thread is unchanged. */
int tracee_borrow(struct tracee *tracee, const struct target_gadgets *gadgets,
                  uintptr_t locate_errno);
/* Calls a function with up to six arguments and waits for its end without limit. The function must
 * not sleep by nanosleep, poll or the like, because the kernel has only one place per thread for
 * the rest of such a call. -EFAULT: it crashed, and the thread can be put back. */
int tracee_call(struct tracee *tracee, uintptr_t function,
                const uintptr_t arguments[TRACEE_ARGUMENTS], uintptr_t *result);
/* The address of TRACEE_SCRATCH_BYTES at the far end of the borrowed stack, for an argument. */
uintptr_t tracee_scratch(const struct tracee *tracee);
enum { TRACEE_SCRATCH_BYTES = 8192 };

void tracee_give_back(struct tracee *tracee);
void tracee_release(struct tracee *tracee);

#endif
