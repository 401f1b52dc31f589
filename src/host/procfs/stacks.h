/* Where the stacks of a process's threads lie and how much of them was ever used.
 *
 *     ┌── start                     stack pointer ──┐        end ──┐
 *     ┊guard┊░░░░░░░░░░░░░░░░░░░░░▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓┊
 *             never touched        touched, unused   in use (depth)
 *
 * What can be known, and what not:
 *   - /proc/PID/task/TID/syscall shows a thread's stack pointer while the thread waits in the
 *     kernel, to those who may trace it. The stack pointer of a running thread is not known. If the
 *     caller knows any address in its stack (`places`), that is used instead.
 *   - The stack is the memory around the stack pointer. A thread on another stack (a signal
 *     handler's, a fiber's) shows that one.
 *   - The lower end is the guard area below. Without one the memory may be a heap that has fibers'
 *     stacks, so the extent is not known then.
 *   - The upper end is that of the mapping, or the next guard. The kernel joins neighbours, so
 *     other memory that was mapped directly above may be taken for the stack's top
 *     (STACKS_GUARDED only): extent, touched bytes and `depth_bytes` are upper bounds.
 *   - Touched counts whole pages, also what an earlier thread touched whose stack glibc used again,
 *     and a huge page in full. Pages that were given back do not count. At the top of a thread's
 *     stack lie its descriptor and its thread-local variables.
 *
 * Functions return 0 or -errno, -ESRCH for a process that is gone. Not thread-safe. */
#ifndef TIDEMARK_PROCFS_STACKS_H
#define TIDEMARK_PROCFS_STACKS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/figure.h"
#include "procfs/page_table.h"
#include "procfs/smaps.h"

/* What an extent rests on. */
enum stacks_evidence {
    STACKS_UNKNOWN = 0, /* no extent */
    STACKS_MAIN,        /* the main thread's: the kernel names it, and it grows downwards */
    STACKS_NAMED,       /* the mapping's name says so, or that it grows downwards */
    STACKS_GUARDED,     /* holds the stack pointer and has a guard below: a guess, see above */
};

struct stacks_place {
    pid_t tid;
    uint64_t address;      /* 0: none */
    uint64_t signal_stack; /* of sigaltstack(); 0: none, or not known */
};

struct stacks_thread {
    pid_t tid;
    enum stacks_evidence evidence;
    uint64_t stack_pointer; /* 0: unknown */
    uint64_t start, end;    /* 0: unknown */
    /* Unknown where there is no extent or no page table could be read */
    struct figure touched_bytes;  /* resident or swapped, in [start, end) */
    struct figure resident_bytes; /* of them */
    struct figure reach_bytes;    /* from the end down to the lowest page touched */
    struct figure depth_bytes;    /* from the end down to the stack pointer */
};

/* Sorted by thread id. */
struct stacks {
    struct stacks_thread *threads;
    size_t count, capacity;
};
#define STACKS_INIT ((struct stacks){0})

/* Lists all threads with their stack pointers. */
int stacks_list(struct stacks *stacks, pid_t pid);
/* The same of a process that has this thread alone, whose stack pointer is known: reads nothing. */
int stacks_list_one(struct stacks *stacks, pid_t tid, uint64_t pointer);
/* Finds the extents of the listed threads' stacks in `smaps` (of the same process, read just before
 * or after) and what was touched by `pages` (NULL: unknown). `places`: sorted by thread. */
int stacks_read(struct stacks *stacks, pid_t pid, const struct smaps *smaps, struct pages *pages,
                const struct stacks_place *places, size_t place_count);
void stacks_release(struct stacks *stacks); /* may be used again afterwards */

/* The listed threads' stack pointers, or places, for smaps_classify(): malloc'd, only those that
 * are known. */
int stacks_pointers(const struct stacks *stacks, const struct stacks_place *places,
                    size_t place_count, uint64_t **pointers, size_t *count);

/* The stack pointer in a text of /proc/PID/task/TID/syscall; 0 if it says none. */
uint64_t stacks_parse_syscall(const char *text);

#endif
