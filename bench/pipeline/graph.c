/* What the graph of the live blocks costs, and for how long the program stands still:
 *
 *     bench_graph BLOCKS BYTES [held] [exit]
 *
 * The program is a child of ours with so many blocks of so many bytes in lists of a hundred, which
 * measures all the time how long it was not running. "held": who holds what, too.
 * "exit": as of a program that waits in its exit: it does nothing, nothing is stopped, and nothing
 * is copied. */
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/allocator.h"
#include "collector/graph_look.h"
#include "collector/live_list.h"
#include "collector/owners.h"
#include "collector/residency.h"
#include "procfs/process.h"
#include "profile_build/held.h"

enum { LIST = 100 };

struct shared {
    _Atomic bool ready, measures;
    _Atomic uint64_t longest_ns;
    uint64_t *addresses; /* in the child they are unmapped again: they would be roots */
};

static void **volatile heads; /* the only root; a child that never returns would not keep it */

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void child(struct shared *shared, size_t count, size_t bytes, bool waits)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    void **list = calloc(count / LIST + 1, sizeof *list);
    heads = list;
    for (size_t i = 0; i < count; i++) {
        void **block = malloc(bytes);
        memset(block, 1, bytes);
        block[0] = list[i / LIST];
        list[i / LIST] = block;
        shared->addresses[i] = (uint64_t)(uintptr_t)block;
    }
    shared->addresses[count] = (uint64_t)(uintptr_t)list;
    munmap(shared->addresses, (count + 1) * sizeof *shared->addresses);
    atomic_store(&shared->ready, true);
    while (waits)
        pause();
    for (uint64_t last = now_ns(CLOCK_MONOTONIC);;) {
        uint64_t now = now_ns(CLOCK_MONOTONIC);
        if (atomic_load(&shared->measures) && now - last > atomic_load(&shared->longest_ns))
            atomic_store(&shared->longest_ns, now - last);
        last = now;
    }
}

static bool no_module(void *context, uint64_t address, struct variable_module *module)
{
    (void)context, (void)address, (void)module;
    return false;
}

/* What a look does before. */
struct scene {
    struct smaps smaps;
    struct areas areas;
    struct live_list blocks;
    struct residency residency;
    struct pages pages;
    struct stacks threads;
};

static void scene_make(struct scene *scene, pid_t pid, const struct shared *shared, size_t count,
                       size_t bytes)
{
    *scene = (struct scene){.smaps = SMAPS_INIT,
                            .areas = AREAS_INIT,
                            .blocks = LIVE_LIST_INIT,
                            .residency = RESIDENCY_INIT};
    if (live_list_reserve(&scene->blocks, count + 1) || smaps_read(&scene->smaps, pid))
        exit(1);
    struct smaps_hints none = {0};
    smaps_classify(&scene->smaps, &none);
    for (size_t i = 0; i <= count; i++)
        scene->blocks.blocks[i] = (struct live_entry){
            .address = shared->addresses[i],
            .size_bytes = i < count ? bytes : (count / LIST + 1) * sizeof *heads,
            .node = 1 + (i == count)};
    scene->blocks.count = count + 1;
    if (residency_take_blocks(&scene->residency, &scene->blocks) ||
        areas_find(&scene->areas, &scene->smaps, NULL, 0, &scene->blocks) ||
        page_table_open(&scene->pages, pid) || stacks_list(&scene->threads, pid))
        exit(1);
}

static void measure(pid_t pid, struct shared *shared, size_t count, size_t bytes, bool held,
                    bool waits)
{
    struct scene scene;
    struct graph_look look;
    struct held_rows rows = {0};
    scene_make(&scene, pid, shared, count, bytes);
    const struct owners_request names = {
        .residency = &scene.residency, .smaps = &scene.smaps, .pid = pid};
    const struct graph_look_asked asked = {.pid = pid,
                                           .smaps = &scene.smaps,
                                           .areas = &scene.areas,
                                           .blocks = &scene.blocks,
                                           .pages = &scene.pages,
                                           .has_unknown = !waits,
                                           .waits = waits,
                                           .threads = &scene.threads,
                                           .rows = scene.residency.rows,
                                           .row_count = scene.residency.row_count,
                                           .names = held ? &names : NULL};
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    atomic_store(&shared->measures, true);
    uint64_t begin = now_ns(CLOCK_PROCESS_CPUTIME_ID), wall = now_ns(CLOCK_MONOTONIC);
    int error = graph_look_take(&asked, &look);
    uint64_t taken = now_ns(CLOCK_PROCESS_CPUTIME_ID) - begin;
    wall = now_ns(CLOCK_MONOTONIC) - wall;
    atomic_store(&shared->measures, false);
    begin = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (!error && look.held)
        error = held_solve(look.held, no_module, NULL, &rows);
    uint64_t solved = now_ns(CLOCK_PROCESS_CPUTIME_ID) - begin;
    getrusage(RUSAGE_SELF, &after);
    printf("error\t%d\nblocks\t%zu\nmapped MB\t%.1f\nlook ms\t%.2f\tCPU\t%.2f\nns a block\t%.1f\n",
           error, count, (double)(count * (bytes + 8)) / 1e6, (double)wall / 1e6,
           (double)taken / 1e6, (double)taken / (double)count);
    printf(
        "stopped ms\t%.2f\nwho holds ms\t%.2f\tns a block\t%.1f\nbytes a block\t%.1f\nrows\t%zu\n",
        (double)atomic_load(&shared->longest_ns) / 1e6, (double)solved / 1e6,
        (double)solved / (double)count,
        (double)(after.ru_maxrss - before.ru_maxrss) * 1024 / (double)count, rows.count);
}

static bool is_said(int count, char **arguments, const char *word)
{
    for (int i = 3; i < count; i++)
        if (!strcmp(arguments[i], word))
            return true;
    return false;
}

static void *shared_room(size_t bytes)
{
    void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        exit(1);
    return room;
}

int main(int count, char **arguments)
{
    if (count < 3)
        return 2;
    size_t blocks = strtoul(arguments[1], NULL, 10), bytes = strtoul(arguments[2], NULL, 10);
    bool waits = is_said(count, arguments, "exit");
    allocator_give_back(); /* as in the collector */
    struct shared *shared = shared_room(sizeof *shared);
    shared->addresses = shared_room((blocks + 1) * sizeof *shared->addresses);
    pid_t pid = fork();
    if (pid == 0)
        child(shared, blocks, bytes, waits);
    while (!atomic_load(&shared->ready))
        usleep(1000);
    measure(pid, shared, blocks, bytes, is_said(count, arguments, "held"), waits);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    fflush(stdout);
    _exit(0); /* nothing is freed: the kernel takes it */
}
