/* Stops the threads of a process by ptrace and notes where they stand. New threads may begin while
 * the others are stopped, so the list is read again until it has no new one. */
#include "collector/graph_threads.h"

#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "procfs/process.h"
#include "procfs/proc_file.h"

/* Below the stack pointer (System V ABI, AMD64, 3.2.2); AArch64 has none. */
enum { RED_ZONE_BYTES = 128, PASSES = 100 };

struct graph_threads_gathering {
    struct graph_threads *threads;
    pid_t pid;
    bool has_new;
};

static bool graph_threads_has(const struct graph_threads *threads, pid_t tid)
{
    for (size_t i = 0; i < threads->count; i++)
        if (threads->list[i].tid == tid)
            return true;
    return false;
}

static int graph_threads_add(pid_t tid, void *context)
{
    struct graph_threads_gathering *gathering = context;
    struct graph_threads *threads = gathering->threads;
    if (graph_threads_has(threads, tid))
        return 0;
    if (!array_make_room(&threads->list, &threads->capacity, threads->count, sizeof *threads->list))
        return -ENOMEM;
    threads->list[threads->count++].tid = tid;
    gathering->has_new = true;
    return 0;
}

/* A thread that has ended needs no stop. */
static int graph_threads_stop_one(struct graph_thread *thread, pid_t pid)
{
    int error = tracee_seize(&thread->tracee, pid, thread->tid);
    if (!error)
        error = tracee_stop(&thread->tracee);
    if (!error)
        thread->stack_pointer = tracee_sp(&thread->tracee);
    return error == -ESRCH ? 0 : error;
}

static int graph_threads_stop_from(struct graph_threads *threads, size_t from, pid_t pid)
{
    int error = 0;
    for (size_t i = from; i < threads->count && !error; i++)
        error = graph_threads_stop_one(&threads->list[i], pid);
    return error;
}

/* The exiting thread's stack has frames of the C library and of ours. Their slots hold old values
 * of other frames, so the stack begins above them. */
static void graph_threads_lift(struct graph_threads *threads, uint64_t exit_stack)
{
    enum { EXIT_MOST_BYTES = 1 << 20 };
    for (size_t i = 0; i < threads->count; i++) {
        uint64_t *pointer = &threads->list[i].stack_pointer;
        if (*pointer && *pointer < exit_stack && exit_stack - *pointer < EXIT_MOST_BYTES)
            *pointer = exit_stack + RED_ZONE_BYTES;
    }
}

int graph_threads_stop(struct graph_threads *threads, pid_t pid, uint64_t exit_stack)
{
    struct graph_threads_gathering gathering = {threads, pid, true};
    int error = 0;
    for (int pass = 0; gathering.has_new && !error && pass < PASSES; pass++) {
        size_t before = threads->count;
        gathering.has_new = false;
        error = proc_threads(pid, graph_threads_add, &gathering);
        if (!error)
            error = graph_threads_stop_from(threads, before, pid);
    }
    if (error)
        graph_threads_release(threads);
    else
        graph_threads_lift(threads, exit_stack);
    return error;
}

int graph_threads_take(struct graph_threads *threads, const struct stacks *stacks,
                       uint64_t exit_stack)
{
    for (size_t i = 0; i < stacks->count; i++) {
        if (!array_make_room(&threads->list, &threads->capacity, threads->count,
                             sizeof *threads->list))
            return -ENOMEM;
        threads->list[threads->count++] = (struct graph_thread){
            .tid = stacks->threads[i].tid, .stack_pointer = stacks->threads[i].stack_pointer};
    }
    graph_threads_lift(threads, exit_stack);
    return 0;
}

void graph_threads_go_on(struct graph_threads *threads)
{
    for (size_t i = 0; i < threads->count; i++) {
        if (threads->list[i].tracee.tid)
            tracee_release(&threads->list[i].tracee);
        threads->list[i].tracee.tid = 0;
    }
}

void graph_threads_release(struct graph_threads *threads)
{
    graph_threads_go_on(threads);
    free(threads->list);
    *threads = GRAPH_THREADS_INIT;
}

uint64_t graph_threads_lowest_in(const struct graph_threads *threads, uint64_t start, uint64_t end)
{
    uint64_t lowest = 0;
    for (size_t i = 0; i < threads->count; i++) {
        uint64_t at = threads->list[i].stack_pointer;
        if (at >= start && at < end && (!lowest || at < lowest))
            lowest = at;
    }
    return lowest < start + RED_ZONE_BYTES ? (lowest ? start : 0) : lowest - RED_ZONE_BYTES;
}
