/* Threads: as many as there may be, on stacks as small as there may be, that end while the process
 * does, are cancelled in the middle, and load and unload libraries against each other. */
#include "torture.h"
#include <dlfcn.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>

/* ---- Ten thousand at once ---- */

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *wait_at_gate(void *argument)
{
    void *block = torture_counted(100);
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    torture_freed(block);
    return argument;
}

/* As many as can be made, 10,000 at most; the bare run and the recorded one must come as far. */
static void at_once(void)
{
    enum { MOST = 10000 };
    static pthread_t thread[MOST];
    pthread_attr_t attributes;
    CHECK(!pthread_attr_init(&attributes) && !pthread_attr_setstacksize(&attributes, 64 * 1024));
    pthread_mutex_lock(&gate);
    int made = 0;
    while (made < MOST && !pthread_create(&thread[made], &attributes, wait_at_gate, NULL))
        made++;
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < made; i++)
        CHECK(!pthread_join(thread[i], NULL));
    printf("%d at once\n", made);
}

/* ---- Tiny stacks ---- */

static void *on_tiny_stack(void *argument)
{
    torture_work(300);
    return argument;
}

/* Room on a 16 KiB stack: the thread's own block, and what record needs beside the program. */
static void tiny_stacks(void)
{
    pthread_attr_t attributes;
    CHECK(!pthread_attr_init(&attributes));
    CHECK(!pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN));
    for (int round = 0; round < torture_times(20); round++) {
        pthread_t thread[8];
        for (int i = 0; i < 8; i++)
            CHECK(!pthread_create(&thread[i], &attributes, on_tiny_stack, NULL));
        for (int i = 0; i < 8; i++)
            CHECK(!pthread_join(thread[i], NULL));
    }
    /* On memory of the program's own, with the rest of the page around it in use. */
    static char room[4][16384 + 64] __attribute__((aligned(4096)));
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        CHECK(!pthread_attr_setstack(&attributes, room[i], 16384));
        CHECK(!pthread_create(&thread, &attributes, on_tiny_stack, NULL));
        CHECK(!pthread_join(thread, NULL));
    }
}

/* ---- Threads that the end takes by surprise ---- */

enum { SURPRISED = 16 };
static _Atomic int running;

static void *never_ends(void *argument)
{
    atomic_fetch_add(&running, 1);
    for (;;)
        torture_freed(torture_counted(40));
    return argument;
}

static void start_detached(void)
{
    for (int i = 0; i < SURPRISED; i++) {
        pthread_t thread;
        CHECK(!pthread_create(&thread, NULL, never_ends, NULL) && !pthread_detach(thread));
    }
    while (atomic_load(&running) < SURPRISED)
        sched_yield();
}

/* The child of a fork has no thread but one, and tells what its parent had counted when it was
 * over: the counts are in memory that both share. */
static void exit_race(void)
{
    for (int round = 0; round < torture_times(6); round++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (!pid) {
            start_detached();
            torture_work(100);
            exit(9); /* handlers and destructors run beside the threads */
        }
        CHECK(torture_wait(pid) == 9 << 8);
    }
    /* A thread killed between its call's return and its count. */
    victim_fact("slack", (unsigned long long)SURPRISED * (unsigned)torture_times(6) * 2);
}

/* Main leaves by pthread_exit, the last thread ends the process. */
static void *outlives_main(void *argument)
{
    CHECK(!pthread_join(*(pthread_t *)argument, NULL));
    torture_work(500);
    torture_tell();
    puts("main_leaves: done");
    return NULL;
}

static void main_leaves(void)
{
    static pthread_t self, thread;
    self = pthread_self();
    torture_work(500);
    CHECK(!pthread_create(&thread, NULL, outlives_main, &self));
    pthread_exit(NULL);
}

/* ---- Cancelled, with destructors that allocate ---- */

static pthread_key_t key;

static void destructor(void *value)
{
    static _Thread_local int rounds;
    torture_freed(value);
    torture_work(10);
    if (rounds++ < 2) /* again: PTHREAD_DESTRUCTOR_ITERATIONS allows it */
        CHECK(!pthread_setspecific(key, torture_counted(30)));
}

static void *to_be_cancelled(void *argument)
{
    CHECK(!pthread_setspecific(key, torture_counted(20)));
    for (;;) {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
        torture_work(20);
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
        pthread_testcancel();
    }
    return argument;
}

static void cancelled(void)
{
    CHECK(!pthread_key_create(&key, destructor));
    for (int round = 0; round < torture_times(40); round++) {
        pthread_t thread[4];
        for (int i = 0; i < 4; i++)
            CHECK(!pthread_create(&thread[i], NULL, to_be_cancelled, NULL));
        for (int i = 0; i < 4; i++) {
            CHECK(!pthread_cancel(thread[i]));
            CHECK(!pthread_join(thread[i], NULL));
        }
    }
}

/* ---- Libraries loaded and unloaded against each other ---- */

static const char *const *plugins;

/* Two libraries and four threads: each unloads while others load, call and allocate. */
static void *load_and_unload(void *argument)
{
    uintptr_t number = (uintptr_t)argument;
    for (int i = 0; i < torture_times(300); i++) {
        void *handle = dlopen(plugins[(number + (unsigned)i) % 2],
                              RTLD_NOW | (i % 3 ? RTLD_LOCAL : RTLD_GLOBAL));
        CHECK(handle);
        void *(*allocate)(void *(*)(size_t)) =
            (void *(*)(void *(*)(size_t)))dlsym(handle, "plugin_calls");
        CHECK(allocate);
        for (int j = 0; j < 20; j++)
            torture_freed(allocate(torture_counted));
        CHECK(!dlclose(handle));
    }
    return NULL;
}

static void dlopen_race(void)
{
    victim_in_threads(8, load_and_unload);
    /* In one or the other: whose addresses are whose in the microseconds of a dlclose is a known
     * limit. */
    victim_fact("within_torture_plugin", 8 * 20 * (unsigned)torture_times(300));
}

/* ---- What one thread's mremap leaves another is given at once ---- */

enum { REMAPPED_BYTES = 1 << 20, REMAPPED_ROUNDS = 20 };
static _Atomic(char *) leaving;
static unsigned long long taken_bytes;

static char *map_at(char *wanted)
{
    return mmap(wanted, REMAPPED_BYTES, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | (wanted ? MAP_FIXED_NOREPLACE : 0), -1, 0);
}

/* The other one gets the addresses while the mremap that leaves them is still to be told of; unless
 * somebody else was quicker. */
static void *take_what_is_left(void *argument)
{
    for (int i = 0; i < REMAPPED_ROUNDS; i++) {
        char *wanted, *mapped;
        int tries = 0;
        while (!(wanted = leaving))
            sched_yield();
        do
            mapped = map_at(wanted);
        while (mapped == MAP_FAILED && tries++ < 10000);
        if (mapped == wanted) {
            memset(mapped, 1, REMAPPED_BYTES);
            taken_bytes += REMAPPED_BYTES;
        }
        leaving = NULL;
    }
    return argument;
}

/* A mapping right below a block that the allocator has mapped: the kernel joins the two, and only
 * what was recorded can tell them apart. */
static char *map_below_block(void)
{
    for (int i = 0; i < 100; i++) {
        char *block = keep(malloc(1 << 20));
        CHECK(block);
        block[0] = 1;
        char *wanted = (char *)((uintptr_t)block & -(uintptr_t)4096) - REMAPPED_BYTES;
        if (map_at(wanted) == wanted)
            return wanted;
    }
    TORTURE_SKIP("no room below a block");
}

/* Where the recorder takes long to tell of it: a deep stack that lies elsewhere each time. */
static VICTIM void move_deep_down(char *here, char *there, int depth)
{
    if (depth)
        move_deep_down(here, there, depth - 1);
    else
        CHECK(mremap(here, REMAPPED_BYTES, REMAPPED_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, there) ==
              there);
    barrier();
}

static VICTIM void move(char *here, char *there, int round)
{
    keep(__builtin_alloca(16 * ((size_t)round + 1)));
    move_deep_down(here, there, 20000);
}

static void remap_race(void)
{
    pthread_t taker;
    CHECK(!pthread_create(&taker, NULL, take_what_is_left, NULL));
    for (int i = 0; i < REMAPPED_ROUNDS; i++) {
        char *here = map_below_block(), *there = map_at(NULL);
        CHECK(there != MAP_FAILED);
        leaving = here;
        move(here, there, i);
        while (leaving)
            sched_yield();
        CHECK(!munmap(there, REMAPPED_BYTES));
    }
    CHECK(!pthread_join(taker, NULL));
    torture_work(100);
    victim_fact("mapped_bytes", taken_bytes);
}

/* ---- Affinity and priorities change under way ---- */

static void *wander(void *argument)
{
    cpu_set_t all, one;
    CHECK(!sched_getaffinity(0, sizeof all, &all));
    for (int i = 0; i < torture_times(100); i++) {
        int cpu = i % CPU_SETSIZE;
        CPU_ZERO(&one);
        for (int tries = 0; tries < CPU_SETSIZE && !CPU_ISSET(cpu, &all); tries++)
            cpu = (cpu + 1) % CPU_SETSIZE;
        CPU_SET(cpu, &one);
        CHECK(!sched_setaffinity(0, sizeof one, &one));
        torture_work(50);
    }
    return argument;
}

static void wandering(void)
{
    victim_in_threads(4, wander);
}

int main(int argc, char **argv)
{
    static const struct torture_case cases[] = {
        {"at_once", at_once},         {"tiny_stacks", tiny_stacks}, {"exit_race", exit_race},
        {"main_leaves", main_leaves}, {"cancelled", cancelled},     {"dlopen_race", dlopen_race},
        {"wandering", wandering},     {"remap_race", remap_race},   {NULL, NULL},
    };
    plugins = (const char *const *)argv + 2;
    return torture_main(argc, argv, cases);
}
