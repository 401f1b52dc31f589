/* bfm_account(): every resident byte of BFM's mappings has one cause. The sum is compared with what
 * the system says of the process (smaps_rollup), to the byte; the causes with a model that knows
 * each block and asks the system for each of its pages (pagemap). */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "bfm/layout.h"
#include "tidemark/bfm.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 }; /* their shadow is resident too */
#else
enum { SANITIZED = 0 };
#endif

enum { BLOCKS = 40000, OTHERS = 64, IDLERS = 8, GUESTS = 200 };

static struct {
    char *at;
    size_t asked;
} blocks[BLOCKS];
static struct bfm_account account = {.size = sizeof account};
static _Thread_local unsigned long long seed = 1;
static pthread_barrier_t began;
static char stacks[IDLERS][65536] __attribute__((aligned(4096)));

static size_t draw(size_t below)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (size_t)(seed >> 33) % below;
}

/* Without stdio, which would allocate. */
static size_t anonymous(void)
{
    static char text[4096];
    int file = open("/proc/self/smaps_rollup", O_RDONLY);
    ssize_t got = file < 0 ? -1 : read(file, text, sizeof text - 1);
    const char *line;

    close(file);
    text[got > 0 ? got : 0] = 0;
    line = strstr(text, "Anonymous:");
    if (!line)
        _exit(2);
    return strtoul(line + 10, NULL, 10) << 10;
}

/* Present: none of these pages was only read. */
static size_t present(int file, uintptr_t start, uintptr_t end)
{
    size_t bytes = 0;

    for (uintptr_t at = start, next; at < end; at = next) {
        uint64_t entry = 0;
        next = (at | 4095) + 1 < end ? (at | 4095) + 1 : end;
        if (pread(file, &entry, sizeof entry, (off_t)(at / 4096 * sizeof entry)) != sizeof entry)
            _exit(3);
        bytes += entry >> 63 ? next - at : 0;
    }
    return bytes;
}

/* ---- programs ---- */

static void take(size_t i, size_t bytes)
{
    blocks[i].at = bfm_malloc(bytes);
    blocks[i].asked = bytes;
    if (!blocks[i].at)
        _exit(4);
    memset(blocks[i].at, 1, draw(8) ? bytes : bytes / 2);
}

static void give(size_t i)
{
    bfm_free(blocks[i].at);
    blocks[i].at = NULL;
}

static size_t any_size(void)
{
    size_t kind = draw(100);

    return kind < 80 ? 1 + draw(512) : kind < 99 ? 513 + draw(20000) : 1 + draw(3 << 20);
}

static void mixed(void)
{
    for (size_t i = 0; i < BLOCKS / 2; i++)
        take(i, any_size());
    for (size_t i = 0; i < BLOCKS / 2; i++)
        if (draw(3))
            give(i);
    for (size_t i = BLOCKS / 2; i < BLOCKS; i++)
        if (draw(2))
            take(i, any_size());
}

static void small(void)
{
    for (size_t i = 0; i < BLOCKS; i++)
        take(i, 1 + i % 512);
    for (size_t i = 0; i < BLOCKS; i += 2)
        give(i);
}

static void large(void)
{
    for (size_t i = 0; i < 6; i++)
        take(i, ((size_t)33 << 20) + i * 12345);
    for (size_t i = 0; i < 3; i++)
        give(i);
    blocks[9].at = bfm_calloc(1, blocks[9].asked = (size_t)40 << 20);
    for (size_t i = 0; i < blocks[9].asked; i += 4096 * 3) /* reads, and writes some */
        if (blocks[9].at[i] || i % 5)
            blocks[9].at[i]++;
}

static void *other(void *part)
{
    size_t first = (size_t)part * 100;

    for (size_t i = first; i < first + 100; i++)
        take(i, any_size() % 30000);
    for (size_t i = first; i < first + 100; i += 2)
        give(i);
    for (size_t i = first; part && first % 200 && i < first + 100; i++)
        if (blocks[i - 100].at && i % 3 == 0)
            give(i - 100); /* a block of a thread that has ended */
    return NULL;
}

static void threads(void)
{
    pthread_t thread;

    for (size_t i = 0; i < OTHERS; i++) {
        pthread_create(&thread, NULL, other, (void *)i);
        pthread_join(thread, NULL);
    }
}

/* Threads that do not end, with full caches. Their stacks are the test's. */
static void *idler(void *part)
{
    other(part);
    pthread_barrier_wait(&began);
    pause();
    return NULL;
}

static pthread_t begin_on(void *(*run)(void *), size_t i)
{
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stacks[i], sizeof stacks[i]);
    pthread_create(&thread, &attributes, run, (void *)(2 * i));
    return thread;
}

static void idle(void)
{
    pthread_barrier_init(&began, NULL, IDLERS + 1);
    for (size_t i = 0; i < IDLERS; i++)
        begin_on(idler, i);
    pthread_barrier_wait(&began);
}

/* One heap remains when the sums are taken, and one is destroyed before. */
static void heaps(void)
{
    bfm_heap *heap = bfm_heap_create(), *gone = bfm_heap_create();

    for (size_t i = 0; i < 5000; i++) {
        blocks[i].asked = any_size();
        blocks[i].at = bfm_heap_malloc(i % 2 ? heap : gone, blocks[i].asked);
        memset(blocks[i].at, 1, blocks[i].asked);
        if (i % 2 == 0)
            blocks[i].at = NULL;
    }
    bfm_heap_destroy(gone);
}

/* ---- the comparison ---- */

static bool same(const char *what, size_t ours, size_t theirs)
{
    if (ours != theirs)
        printf("%s: %zu bytes, and not %zu\n", what, ours, theirs);
    return ours == theirs;
}

static size_t of_blocks(int file)
{
    size_t bytes = 0;

    for (size_t i = 0; i < BLOCKS; i++) {
        uintptr_t at = (uintptr_t)blocks[i].at;
        if (at)
            bytes += present(file, at, at + bfm_malloc_usable_size(blocks[i].at));
    }
    return bytes;
}

extern char __data_start[], _end[];

static void *give_one(void *unused)
{
    (void)unused;
    bfm_free(bfm_malloc(1));
    return NULL;
}

static void *fill_stack(void *unused)
{
    volatile char stack[100000];

    (void)unused;
    for (size_t i = 0; i < sizeof stack; i += 4096)
        stack[i] = 1;
    return give_one(NULL);
}

/* What is not BFM's is resident before, so that it is not in the difference: the program's
 * variables, among them the default heap, but for the table of leaves; stacks, of which libc keeps
 * a thread's for the next; what libc sets up. */
static void settle(void)
{
    const char *leaves = (const char *)bfm_leaves, *behind = leaves + sizeof bfm_leaves;

    pthread_t thread;

    volatile char *own = malloc(100000); /* for libc's own of threads */

    fill_stack(NULL);
    for (size_t i = 0; i < 100000; i += 4096)
        own[i] = 1;
    free((void *)own);
    pthread_create(&thread, NULL, fill_stack, NULL);
    pthread_join(thread, NULL);
    pthread_join(begin_on(give_one, 0), NULL);
    for (uintptr_t at = (uintptr_t)__data_start & ~4095ul; at < (uintptr_t)_end; at += 4096) {
        volatile char *byte =
            (volatile char *)(at < (uintptr_t)__data_start ? (uintptr_t)__data_start : at);
        if ((const char *)byte < leaves || (const char *)byte >= behind)
            *byte = *byte;
    }
    if (bfm_account(&account))
        _exit(5);
    (void)anonymous();
}

/* As many blocks of all classes as a thread would keep, all freed. */
static void *guest(void *part)
{
    void *own[1000];

    seed += (size_t)part;
    for (size_t i = 0; i < 1000; i++)
        own[i] = bfm_malloc(1 + draw(512));
    for (size_t i = 0; i < 1000; i++)
        bfm_free(own[i]);
    pthread_barrier_wait(&began);
    pause();
    return NULL;
}

/* Of threads that wait: their caches, records and descriptors. On one processor, for the number of
 * arenas grows with those. */
static void run_guests(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    cpu_set_t one;
    size_t before;

    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    settle();
    before = account.resident;
    pthread_barrier_init(&began, NULL, GUESTS + 1);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 65536);
    for (size_t i = 0; i < GUESTS; i++)
        pthread_create(&thread, &attributes, guest, (void *)i);
    pthread_barrier_wait(&began);
    bfm_account(&account);
    if ((account.resident - before) / GUESTS > 40 << 10)
        printf("%zu bytes for each thread that waits\n", (account.resident - before) / GUESTS);
    fflush(stdout);
    _exit((account.resident - before) / GUESTS > 40 << 10);
}

static void run(void (*program)(void))
{
    size_t before, after;
    int file = open("/proc/self/pagemap", O_RDONLY);
    bool good;

    settle();
    before = anonymous() - (account.resident - sizeof bfm_default_heap);
    program();
    after = anonymous();
    if (bfm_account(&account))
        _exit(6);
    good = same("resident", account.resident - sizeof bfm_default_heap, after - before);
    if (account.rounding != BFM_UNKNOWN) /* usable is what was asked for */
        account.blocks -= account.rounding;
    if (program != large) /* reads, and pagemap does not say so */
        good &= same("blocks", account.blocks, of_blocks(file));
    good &= same("caches", program != idle || account.caches > IDLERS * 1000, true);
    for (size_t i = 0; i < BLOCKS; i++)
        give(i);
    bfm_malloc_trim(0);
    after = anonymous();
    bfm_account(&account);
    good &= same("resident at the end", account.resident - sizeof bfm_default_heap, after - before);
    good &= same("check", bfm_check(NULL) != NULL, 0);
    fflush(stdout);
    _exit(good ? 0 : 1);
}

static int in_child(void (*program)(void), const char *options)
{
    int status = 0;
    pid_t child = fork();

    if (!child) {
        setenv("BFM_OPTIONS", options, 1);
        program == run_guests ? run_guests() : run(program);
    }
    waitpid(child, &status, 0);
    return status;
}

static void every_resident_byte_has_a_cause(void **unused)
{
    static void (*const programs[])(void) = {mixed, small, large, threads, idle, heaps};

    (void)unused;
    if (SANITIZED)
        skip();
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        assert_int_equal(in_child(programs[i], ""), 0);
}

static void with_canaries_the_rounding_is_known(void **unused)
{
    (void)unused;
    if (SANITIZED)
        skip();
    assert_int_equal(in_child(mixed, "canary"), 0);
    assert_int_equal(in_child(small, "canary"), 0);
    assert_int_equal(in_child(threads, "canary"), 0);
}

static void a_thread_that_waits_holds_little(void **unused)
{
    (void)unused;
    if (SANITIZED)
        skip();
    assert_int_equal(in_child(run_guests, ""), 0);
}

static void a_size_that_is_none_is_refused(void **unused)
{
    struct bfm_account none = {.size = 8};
    int before = dup(0), after;

    (void)unused;
    assert_int_equal(bfm_account(&none), -22);
    after = dup(0);
    assert_int_equal(after, before + 1); /* no descriptor is left open */
    close(before);
    close(after);
}

static void a_heap_that_is_gone_leaves_nothing(void **unused)
{
    size_t before;

    (void)unused;
    bfm_free(bfm_malloc(1));
    assert_int_equal(bfm_account(&account), 0);
    before = account.threads;
    for (int i = 0; i < 3000; i++) {
        bfm_heap *heap = bfm_heap_create();
        assert_non_null(bfm_heap_malloc(heap, 100));
        bfm_heap_destroy(heap);
    }
    assert_int_equal(bfm_account(&account), 0);
    assert_int_equal(account.threads, before);
}

static _Atomic bool stop;

/* Takes blocks from its stacks and shelves and puts them back, mostly without a lock. */
static void *churn(void *part)
{
    void *own[30];

    seed += (size_t)part;
    while (!stop) {
        size_t bytes = draw(2) ? 1 + draw(64) : 513 + draw(900), count = 1 + draw(30);
        for (size_t round = 0; round < 300; round++) {
            for (size_t i = 0; i < count; i++)
                own[i] = bfm_malloc(bytes);
            for (size_t i = 0; i < count; i++)
                bfm_free(own[i]);
        }
    }
    return NULL;
}

/* The sums are not exact then, but there are some. */
static void other_threads_may_allocate_meanwhile(void **unused)
{
    pthread_t threads[3];

    (void)unused;
    if (SANITIZED)
        skip();
    for (size_t i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, churn, (void *)i);
    for (int i = 0; i < 4000; i++) {
        assert_int_equal(bfm_account(&account), 0);
        assert_in_range(account.resident, 1, (size_t)1 << 30);
    }
    stop = true;
    for (size_t i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert_null(bfm_check(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_resident_byte_has_a_cause),
        cmocka_unit_test(with_canaries_the_rounding_is_known),
        cmocka_unit_test(a_thread_that_waits_holds_little),
        cmocka_unit_test(a_size_that_is_none_is_refused),
        cmocka_unit_test(a_heap_that_is_gone_leaves_nothing),
        cmocka_unit_test(other_threads_may_allocate_meanwhile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
