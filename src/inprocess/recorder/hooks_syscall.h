/* Where syscall() goes on for the calls that are looked at (hooks_syscall.c). Only its assembly
 * calls these functions. They do as the call does: a result, or -1 and errno. Thread-safe. */
#ifndef TIDEMARK_RECORDER_HOOKS_SYSCALL_H
#define TIDEMARK_RECORDER_HOOKS_SYSCALL_H

#include <stddef.h>

/* The system call itself, for calls before real_init(). */
long hooks_filter_raw_syscall(long number, long a, long b, long c, long d, long e, long f);
long hooks_filter_seccomp_by_syscall(long number, unsigned long operation, unsigned long flags,
                                     const void *argument);

/* The hooks of functions that return an int: syscall() returns a long. */
long hooks_map_munmap_by_syscall(void *address, size_t bytes);
long hooks_map_mprotect_by_syscall(void *address, size_t bytes, int protection);
long hooks_map_madvise_by_syscall(void *address, size_t bytes, int advice);
long hooks_map_shmdt_by_syscall(const void *address);

#endif
