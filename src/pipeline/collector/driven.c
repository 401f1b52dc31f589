/* Joins the images of a process to one life, and orders these by pid. From the named program goes
 * down to the child below which the largest process is, as long as what is asked is a driver
 * (driven.h). */
#include "collector/driven.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/memory.h"
#include "base/search.h"

#define DRIVER_BYTES ((uint64_t)1 << 20) /* a program that holds so much means itself */
#define DRIVEN_TIMES 16u                 /* so much more is held by what a driver has started */
#define ALONE_NS     1000000000          /* starting a process takes time, on a busy machine */
enum { DRIVEN_DEPTH = 64 };              /* of processes; ends circles of used-again pids */

struct driven_process {
    pid_t pid, parent;
    int64_t start_ns, end_ns; /* of all its images */
    const struct process_image_result *last;
};

struct driven_life {
    int64_t start_ns, end_ns;
};

struct driven {
    struct driven_process *processes; /* by pid */
    size_t count;
    struct driven_life *lives; /* room for one of each process */
    size_t life_count;
    const struct process_image_result *largest; /* below the driver that is looked at; and … */
    pid_t towards;                              /* … the driver's child on the way there */
};

static int driven_by_pid(const void *a, const void *b)
{
    const struct driven_process *left = a, *right = b;
    return left->pid != right->pid
               ? (left->pid > right->pid) - (left->pid < right->pid)
               : (left->start_ns > right->start_ns) - (left->start_ns < right->start_ns);
}

static int driven_by_start(const void *a, const void *b)
{
    const struct driven_life *left = a, *right = b;
    return (left->start_ns > right->start_ns) - (left->start_ns < right->start_ns);
}

static const struct driven_process *driven_find(const struct driven *driven, pid_t pid)
{
    size_t first = 0;
    SEARCH_FIRST(first, driven->count, at, driven->processes[at].pid < pid);
    return first < driven->count && driven->processes[first].pid == pid ? &driven->processes[first]
                                                                        : NULL;
}

static void driven_join_images(struct driven *driven)
{
    size_t joined = 0;
    for (size_t i = 0; i < driven->count; i++) {
        struct driven_process *next = &driven->processes[i], *before;
        before = joined ? &driven->processes[joined - 1] : NULL;
        if (!before || before->pid != next->pid) {
            driven->processes[joined++] = *next;
            continue;
        }
        before->end_ns = next->end_ns > before->end_ns ? next->end_ns : before->end_ns;
        if (!next->last->replaced || before->last->replaced)
            before->last = next->last;
    }
    driven->count = joined;
}

/* The process below `driver` that is on the way to `process`, or the topmost one that is known; a
 * topmost one's parent is not. */
static const struct driven_process *driven_way(const struct driven *driven,
                                               const struct driven_process *process, pid_t driver)
{
    for (int depth = 0; depth < DRIVEN_DEPTH && process->parent != driver; depth++) {
        const struct driven_process *parent = driven_find(driven, process->parent);
        if (!parent || parent == process)
            return process;
        process = parent;
    }
    return process;
}

/* The child of `driver` below which `process` is, or which it is; NULL: it is not below. Below the
 * `root` is also what a process has started that is not recorded. */
static const struct driven_process *driven_child(const struct driven *driven,
                                                 const struct driven_process *process,
                                                 const struct driven_process *driver, bool is_root)
{
    const struct driven_process *way = driven_way(driven, process, driver->pid);
    if (way->parent == driver->pid)
        return way;
    return is_root && way != driven_way(driven, driver, 0) ? way : NULL;
}

static void driven_see(struct driven *driven, const struct driven_process *process,
                       const struct driven_process *driver, bool is_root)
{
    const struct process_image_result *result = process->last;
    if (process == driver || !strcmp(result->program, driver->last->program))
        return;
    const struct driven_process *child = driven_child(driven, process, driver, is_root);
    if (!child)
        return;
    driven->lives[driven->life_count++] = (struct driven_life){process->start_ns, process->end_ns};
    if (result->path && (!driven->largest || result->peak_bytes > driven->largest->peak_bytes)) {
        driven->largest = result;
        driven->towards = child->pid;
    }
}

/* How long in [start_ns, end_ns] no process runs of those that were seen. */
static int64_t driven_alone_ns(struct driven *driven, int64_t start_ns, int64_t end_ns)
{
    int64_t alone_ns = 0, until_ns = start_ns;
    qsort(driven->lives, driven->life_count, sizeof *driven->lives, driven_by_start);
    for (size_t i = 0; i < driven->life_count && until_ns < end_ns; i++) {
        const struct driven_life *life = &driven->lives[i];
        int64_t next_ns = life->start_ns < end_ns ? life->start_ns : end_ns;
        if (next_ns > until_ns)
            alone_ns += next_ns - until_ns;
        until_ns = life->end_ns > until_ns ? life->end_ns : until_ns;
    }
    return until_ns < end_ns ? alone_ns + end_ns - until_ns : alone_ns;
}

/* Does it hold next to nothing, towards the largest? What the `root` has started is passed whenever
 * there is a larger one. */
static bool driven_is_light(const struct driven *driven, uint64_t bytes, bool is_root)
{
    uint64_t most = driven->largest ? driven->largest->peak_bytes : 0;
    return is_root ? most >= DRIVER_BYTES && bytes < DRIVER_BYTES && most / DRIVEN_TIMES >= bytes
                   : bytes < most;
}

/* `image`: the one of its images that is asked about. */
static bool driven_is_driver(struct driven *driven, const struct driven_process *process,
                             const struct process_image_result *image, bool is_root)
{
    driven->life_count = 0;
    driven->largest = NULL;
    for (size_t i = 0; i < driven->count; i++)
        driven_see(driven, &driven->processes[i], process, is_root);
    if (!driven_is_light(driven, image->peak_bytes, is_root))
        return false;
    int64_t alone_ns = driven_alone_ns(driven, image->start_unix_ns, image->end_unix_ns);
    return alone_ns < ALONE_NS || alone_ns < (image->end_unix_ns - image->start_unix_ns) / 2;
}

static struct driven driven_of(const struct process_image_result *results, size_t count)
{
    struct driven driven = {.processes = memory_zeroed(count, sizeof *driven.processes),
                            .lives = memory_zeroed(count, sizeof *driven.lives)};
    for (size_t i = 0; i < count; i++)
        if (results[i].start_unix_ns)
            driven.processes[driven.count++] =
                (struct driven_process){results[i].pid, results[i].parent, results[i].start_unix_ns,
                                        results[i].end_unix_ns, &results[i]};
    qsort(driven.processes, driven.count, sizeof *driven.processes, driven_by_pid);
    driven_join_images(&driven);
    return driven;
}

const struct process_image_result *driven_result(const struct process_image_result *results,
                                                 size_t count,
                                                 const struct process_image_result *named)
{
    const struct process_image_result *meant = named;
    if (!named->path || named->peak_bytes >= DRIVER_BYTES)
        return named; /* as most are */
    struct driven driven = driven_of(results, count);
    const struct driven_process *process = driven_find(&driven, named->pid);
    for (int depth = 0; process && depth < DRIVEN_DEPTH; depth++) {
        if (!driven_is_driver(&driven, process, depth ? process->last : named, !depth))
            break;
        meant = driven.largest;
        process = meant->pid == driven.towards ? NULL : driven_find(&driven, driven.towards);
        if (process && process->last->path)
            meant = process->last;
    }
    free(driven.processes);
    free(driven.lives);
    return meant;
}
