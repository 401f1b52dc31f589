/* Addresses that a program has given to the kernel and that /proc shows: the data that epoll
 * returns with each event, and a timer with each signal. Often such an address is the only pointer
 * to a block.
 *
 *     /proc/PID/fdinfo/N    tfd:        5 events:       19 data:     55d0c8a3f2a0 …
 *     /proc/PID/timers      signal: 34/000055d0c8a3f2a0
 *
 * They are numbers of the program's choice, which need not be addresses. /proc does not show what
 * io_uring and aio were given, robust lists, and alternate stacks of signals. */
#ifndef TIDEMARK_PROCFS_KERNEL_POINTERS_H
#define TIDEMARK_PROCFS_KERNEL_POINTERS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct kernel_pointers {
    uint64_t *list; /* malloc'd; without those that are 0 */
    size_t count, room;
};
#define KERNEL_POINTERS_INIT ((struct kernel_pointers){0})

/* Reads all that the kernel shows; without CONFIG_CHECKPOINT_RESTORE it lists no timers. 0 or
 * -errno: -ENOMEM, -ESRCH, -EACCES. */
int kernel_pointers_read(struct kernel_pointers *pointers, pid_t pid);
void kernel_pointers_release(struct kernel_pointers *pointers);

/* Adds those of a text of either file. 0 or -ENOMEM. */
int kernel_pointers_parse(struct kernel_pointers *pointers, const char *text);

#endif
