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
 * All threads stand when this returns. 0 or -errno: nobody stands then. */
int graph_threads_stop(struct graph_threads *threads, pid_t pid, uint64_t exit_stack);
/* The threads of a process that stands by itself: all registers that matter are on the stacks. */
int graph_threads_take(struct graph_threads *threads, const struct stacks *stacks,
                       uint64_t exit_stack);
/* They run on; where they stood is still known. */
void graph_threads_go_on(struct graph_threads *threads);
/* They run on. */
void graph_threads_release(struct graph_threads *threads);

/* The lowest stack pointer in [start, end), less what the psABI lets a function use below it; 0:
 * there is none. */
uint64_t graph_threads_lowest_in(const struct graph_threads *threads, uint64_t start, uint64_t end);

#endif
