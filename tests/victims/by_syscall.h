/* For a victim that maps memory by syscall(), as SBCL does: included before its source. */
#ifndef VICTIM_BY_SYSCALL_H
#define VICTIM_BY_SYSCALL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A long: -1 must be so in all its bits. */
#define mmap(...)     ((void *)syscall(SYS_mmap, __VA_ARGS__))
#define mremap(...)   ((void *)syscall(SYS_mremap, __VA_ARGS__))
#define munmap(...)   syscall(SYS_munmap, __VA_ARGS__)
#define mprotect(...) syscall(SYS_mprotect, __VA_ARGS__)
#define madvise(...)  syscall(SYS_madvise, __VA_ARGS__)
#define shmat(...)    ((void *)syscall(SYS_shmat, __VA_ARGS__))
#define shmdt(...)    syscall(SYS_shmdt, __VA_ARGS__)

#endif
