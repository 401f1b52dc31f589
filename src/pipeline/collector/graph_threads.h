/* Where a process's threads stand: their stack pointers and registers. Inside the room. */
#ifndef TIDEMARK_COLLECTOR_GRAPH_THREADS_H
#define TIDEMARK_COLLECTOR_GRAPH_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>
#include "attach/tracee.h"
#include "procfs/stacks.h"

struct graph_thread {
    pid_t tid;
    uint64_t stack_pointer; /* 0: not known */
    struct tracee tracee;   /* stopped, if the process has several threads */
};

struct graph_threads {
    struct graph_thread *list;
    size_t count, capacity;
};
#define GRAPH_THREADS_INIT ((struct graph_threads){0})

/* `exit_stack`: where the stack of the thread that waits in its exit begins to be the program's; 0:
 * none does, or it is not known.
 *
 * Stops all threads. 0 or -errno: then none is stopped. */
int graph_threads_stop(struct graph_threads *threads, pid_t pid, uint64_t exit_stack);
/* Takes the threads of a process that waits in its exit: all registers that matter are on the
 * stacks. */
int graph_threads_take(struct graph_threads *threads, const struct stacks *stacks,
                       uint64_t exit_stack);
/* The threads run on; their stack pointers are kept. */
void graph_threads_go_on(struct graph_threads *threads);
/* The threads run on, and the list is freed. */
void graph_threads_release(struct graph_threads *threads);

/* The lowest stack pointer in [start, end), less what the psABI lets a function use below it; 0:
 * there is none. */
uint64_t graph_threads_lowest_in(const struct graph_threads *threads, uint64_t start, uint64_t end);

#endif
