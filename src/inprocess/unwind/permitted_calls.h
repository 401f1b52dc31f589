/* The system calls that the program's seccomp filters forbid. A program can install a filter that
 * kills the process for a system call that the recorder makes. recorder/filter.c finds out which of
 * our calls a filter forbids. Code that is about to make such a call tests for it here, and does
 * without the call if it is forbidden. None of this is on a hot path. */
#ifndef TIDEMARK_UNWIND_PERMITTED_CALLS_H
#define TIDEMARK_UNWIND_PERMITTED_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum call {
    CALL_SIGNALS = 1 << 0,  /* block signals: under a lock */
    CALL_PROBE = 1 << 1,    /* test whether a page is readable: where the stack has grown, for rare
                             * rules */
    CALL_YIELD = 1 << 2,    /* yield to the holder of a lock */
    CALL_ALTSTACK = 1 << 3, /* ask for the alternate signal stack */
    CALL_TID = 1 << 4,      /* ask for the thread id, at a thread's first event */
    CALL_PID = 1 << 5,      /* ask for the process id, at the end of the process */
    CALL_GONE = 1 << 6,     /* test whether a thread has ended, so that its ring is free */
    CALL_WAIT = 1 << 7,     /* wait for the collector: a full ring, the end */
    CALL_WAKE = 1 << 8,     /* wake the collector */
    CALL_MAP = 1 << 9,      /* map memory of our own, and memory shared with the collector */
    CALL_JOIN = 1 << 10,    /* join the session, in the child of a fork */
    CALL_LIMITS = 1 << 11,  /* take our memory out of the program's locks and cores; read /proc, and
                             * a file that is to be executed */
    CALL_FILES = 1 << 12,   /* read a module's symbols from its file */
    CALL_CODE = 1 << 13,    /* change code: allocators that are hooked at their beginnings */
    CALL_SEGMENT = 1 << 14, /* ask for the size of a segment of System V */
    CALL_TRACER = 1 << 15,  /* let the collector read our memory (Yama) */
    CALL_PAGES = 1 << 16,   /* ask which pages of a block were written (last_writes.h) */
    CALL_TIME = 1 << 17,    /* ask the kernel for the time: how long was waited */
    CALL_DIE = 1 << 18,     /* die of a signal of the program's (fatal_signals.h) */
    CALL_PENDING = 1 << 19, /* ask which signals wait for a thread that takes them */
    CALL_ALL = (1 << 20) - 1,
    CALL_CLOCK = 1 << 20, /* no call, but reading the processor's clock, which can be forbidden
                           * too */
};

/* Set of enum call. It only grows, as the set of filters does. The child of a fork has its
 * parent's. */
extern uint32_t calls_forbidden;

/* The selector byte of this thread, if its calls are dispatched to itself
 * (PR_SET_SYSCALL_USER_DISPATCH). While the byte says "block", a system call of ours would raise a
 * signal in the program. NULL: calls are not dispatched. */
extern __thread const volatile char *calls_selector;

static inline bool permitted_calls_is_forbidden(uint32_t calls)
{
    if (__builtin_expect(calls_selector != NULL, 0) && *calls_selector)
        return true;
    return __builtin_expect(__atomic_load_n(&calls_forbidden, __ATOMIC_RELAXED) & calls, 0);
}

#endif
