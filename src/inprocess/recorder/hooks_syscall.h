/* Where syscall() goes on for the calls that are looked at (hooks_syscall.c). Only its assembly
 * calls these functions. They do as the call does: a result, or -1 and errno. Thread-safe. */
#ifndef TIDEMARK_RECORDER_HOOKS_SYSCALL_H
#define TIDEMARK_RECORDER_HOOKS_SYSCALL_H

#include <stddef.h>
#include <sys/types.h>

/* The system call itself, for calls before real_init(). */
long hooks_filter_raw_syscall(long number, long a, long b, long c, long d, long e, long f);
long hooks_filter_seccomp_by_syscall(long number, unsigned long operation, unsigned long flags,
                                     const void *argument);

/* The hooks of what maps memory (hooks_map.c), in the form that makes the system call itself. */
long hooks_map_mmap_by_syscall(void *address, size_t bytes, int protection, int flags, int fd,
                               off_t offset);
long hooks_map_mremap_by_syscall(void *old, size_t old_bytes, size_t bytes, int flags,
                                 void *wanted);
long hooks_map_shmat_by_syscall(int segment, const void *address, int flags);
long hooks_map_munmap_by_syscall(void *address, size_t bytes);
long hooks_map_mprotect_by_syscall(void *address, size_t bytes, int protection);
long hooks_map_madvise_by_syscall(void *address, size_t bytes, int advice);
long hooks_map_shmdt_by_syscall(const void *address);

#endif
