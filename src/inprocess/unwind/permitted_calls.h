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
    CALL_PROBE = 1 << 1,    /* is a page readable: where the stack has grown, rare rules */
    CALL_YIELD = 1 << 2,    /* a lock that is held for long */
    CALL_ALTSTACK = 1 << 3, /* which stack is a signal handler on */
    CALL_TID = 1 << 4,      /* a thread's first event */
    CALL_PID = 1 << 5,      /* the end of the process */
    CALL_GONE = 1 << 6,     /* has a thread ended, whose ring another could have */
    CALL_WAIT = 1 << 7,     /* for the collector: a full ring, the end */
    CALL_WAKE = 1 << 8,     /* the collector */
    CALL_MAP = 1 << 9,      /* memory of our own, and shared with the collector */
    CALL_JOIN = 1 << 10,    /* the session, in the child of a fork */
    CALL_LIMITS = 1 << 11,  /* our memory out of what the program's limits count: locks, cores; and
                             * a look at a file that is to be executed */
    CALL_FILES = 1 << 12,   /* what symbols a module has */
    CALL_CODE = 1 << 13,    /* change code: allocators that are hooked at their beginnings */
    CALL_SEGMENT = 1 << 14, /* how large a segment of System V is */
    CALL_TRACER = 1 << 15,  /* let the collector read our memory (Yama) */
    CALL_PAGES = 1 << 16,   /* which pages of a block were written (last_writes.h) */
    CALL_ALL = (1 << 17) - 1,
    CALL_CLOCK = 1 << 17, /* no call: who may not read the processor's clock dies of it */
};

/* Set of enum call. Only ever grows, as filters do; in the child of a fork it is its parent's. */
extern uint32_t calls_forbidden;

/* Of this thread, if it has its calls dispatched to itself (PR_SET_SYSCALL_USER_DISPATCH): while it
 * says "block", a call from here would be a signal to the program. NULL: it has not. */
extern __thread const volatile char *calls_selector;

static inline bool permitted_calls_is_forbidden(uint32_t calls)
{
    if (__builtin_expect(calls_selector != NULL, 0) && *calls_selector)
        return true;
    return __builtin_expect(__atomic_load_n(&calls_forbidden, __ATOMIC_RELAXED) & calls, 0);
}

#endif
