/* Threads: blocks pass between them, threads end and others take over what they left, and fork in
 * the midst of it. Run under ThreadSanitizer too (preset tsan). TIDEMARK_TEST_SEED=n repeats one
 * run as far as threads can be repeated. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "bfm/cache.h"
#include "tidemark/bfm.h"

#if defined(__SANITIZE_THREAD__)
enum { CALLS = 20000, GENERATIONS = 60, FORKS = 5 };
#else
enum { CALLS = 60000, GENERATIONS = 300, FORKS = 25 };
#endif
enum { THREADS = 4, SLOTS = 512 };

/* Where threads leave blocks for each other: a block begins with its size and a mark. */
static _Atomic(uint64_t *) slots[SLOTS];
static uint64_t seed;

static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15ull;

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

static size_t size_of(uint64_t random)
{
    return 16 + (random % 8    ? random / 8 % 500
                 : random % 64 ? random / 64 % 9000
                               : random / 64 % 1500000);
}

static uint64_t *make(uint64_t random)
{
    size_t bytes = size_of(random);
    uint64_t *block = bfm_malloc(bytes);

    if (!block)
        abort();
    block[0] = bytes;
    block[1] = ~bytes;
    ((unsigned char *)block)[bytes - 1] = block == NULL;
    return block;
}

static void unmake(uint64_t *block)
{
    if (!block)
        return;
    /* while others change flags of its tag */
    if (bfm_malloc_usable_size(block) < block[0] || (block[0] > 16 && block[1] != ~block[0])) {
        fprintf(stderr, "a block has changed\n");
        abort();
    }
    bfm_free(block);
}

static void *exchange(void *argument)
{
    uint64_t state = seed + (uintptr_t)argument;

    for (int i = 0; i < CALLS; i++) {
        uint64_t random = next(&state);
        unmake(atomic_exchange(&slots[random % SLOTS], random % 3 ? make(random >> 9) : NULL));
        if (random % 4096 == 0)
            bfm_malloc_trim(0);
    }
    return NULL;
}

static void empty_slots(void)
{
    for (unsigned i = 0; i < SLOTS; i++)
        unmake(atomic_exchange(&slots[i], NULL));
}

static void start(pthread_t *thread, void *(*run)(void *), uintptr_t argument)
{
    if (pthread_create(thread, NULL, run, (void *)argument))
        abort();
}

static void blocks_pass_between_threads(void **unused)
{
    pthread_t threads[THREADS];

    (void)unused;
    for (unsigned i = 0; i < THREADS; i++)
        start(&threads[i], exchange, i);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_null(bfm_check(NULL));
    empty_slots();
    assert_null(bfm_check(NULL));
}

static void *live_briefly(void *argument)
{
    uint64_t state = seed ^ (uintptr_t)argument << 20;

    for (int i = 0; i < 300; i++) {
        uint64_t random = next(&state);
        unmake(atomic_exchange(&slots[random % SLOTS], make(random >> 9)));
    }
    return NULL;
}

static void threads_come_and_go(void **unused)
{
    struct bfm_statistics before = {.size = sizeof before}, after = before;
    pthread_t threads[2];

    (void)unused;
    bfm_statistics(NULL, &before);
    for (unsigned i = 0; i < GENERATIONS; i++) {
        start(&threads[0], live_briefly, i * 2);
        start(&threads[1], live_briefly, i * 2 + 1);
        pthread_join(threads[0], NULL);
        pthread_join(threads[1], NULL);
    }
    bfm_statistics(NULL, &after);
    /* Two at a time: what one left the next took over. */
    assert_true(after.arena_count <= before.arena_count + 2);
    empty_slots();
    assert_null(bfm_check(NULL));
}

/* A destructor of a thread's data runs when its cache is gone. */
static pthread_key_t keys[4];

static void late(void *value)
{
    static _Thread_local int rounds;

    bfm_free(value);
    for (int i = 0; i < 50; i++)
        bfm_free(bfm_malloc((size_t)i * 40));
    if (rounds++ < 3)
        pthread_setspecific(keys[rounds], bfm_malloc(100));
}

static void *with_late_frees(void *unused)
{
    pthread_setspecific(keys[0], bfm_malloc(3000));
    pthread_setspecific(keys[3], bfm_malloc(30));
    return unused;
}

static void destructors_may_allocate(void **unused)
{
    pthread_t thread;

    (void)unused;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_key_create(&keys[i], late), 0);
    for (int i = 0; i < 20; i++) {
        start(&thread, with_late_frees, 0);
        pthread_join(thread, NULL);
    }
    assert_null(bfm_check(NULL));
}

static atomic_bool stop;

static void *until_stopped(void *argument)
{
    uint64_t state = seed + 77 + (uintptr_t)argument;

    while (!atomic_load(&stop)) {
        uint64_t random = next(&state);
        unmake(atomic_exchange(&slots[random % SLOTS], random % 3 ? make(random >> 9) : NULL));
    }
    return NULL;
}

static int in_child(void)
{
    alarm(60);
    for (int i = 0; i < 2000; i++)
        bfm_free(bfm_malloc((size_t)(i * 37 % 5000)));
    if (bfm_check(NULL))
        return 1;
    /* A slot may hold a block that a vanished thread was about to free: they are left alone. */
    return 0;
}

static void fork_and_wait(int signal_number)
{
    pid_t child = fork();

    (void)signal_number;
    if (child == 0)
        _exit(0);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
}

static bool signals; /* in the next fork */

static void signal_within_fork(void)
{
    if (!signals)
        return;
    signals = false;
    raise(SIGUSR1);
}

/* As where a child signals its parent before the parent's fork is over. It must not have threads:
 * this is the first test. Its handler comes before BFM's, as it is there before BFM's first call. */
static void a_handler_may_fork_within_a_fork(void **unused)
{
    const struct sigaction action = {.sa_handler = fork_and_wait};

    (void)unused;
    assert_int_equal(pthread_atfork(NULL, signal_within_fork, NULL), 0);
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    bfm_free(bfm_malloc(100));
    alarm(60); /* it would wait for ever */
    signals = true;
    fork_and_wait(0);
    alarm(0);
    assert_false(signals);
    bfm_free(bfm_malloc(100));
    assert_null(bfm_check(NULL));
}

static void children_of_a_fork_allocate(void **unused)
{
    pthread_t threads[THREADS];

    (void)unused;
    atomic_store(&stop, false);
    for (unsigned i = 0; i < THREADS; i++)
        start(&threads[i], until_stopped, i);
    for (int i = 0; i < FORKS; i++) {
        int status;
        pid_t child = fork();
        if (child == 0)
            _exit(in_child());
        assert_true(child > 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    atomic_store(&stop, true);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    empty_slots();
    assert_null(bfm_check(NULL));
}

/* One thread only takes, the other only gives: nothing piles up. */
static void *give_all(void *unused)
{
    while (!atomic_load(&stop))
        for (unsigned i = 0; i < SLOTS; i++)
            unmake(atomic_exchange(&slots[i], NULL));
    return unused;
}

static void what_others_free_is_used_again(void **unused)
{
    struct bfm_statistics statistics = {.size = sizeof statistics};
    uint64_t state = seed;
    pthread_t thread;

    (void)unused;
    atomic_store(&stop, false);
    start(&thread, give_all, 0);
    for (int i = 0; i < 4 * CALLS; i++) {
        uint64_t *block = make(next(&state) % 400 * 8 + 1), *none = NULL;
        while (!atomic_compare_exchange_weak(&slots[i % SLOTS], &none, block))
            none = NULL;
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    empty_slots();
    bfm_statistics(NULL, &statistics);
    assert_true(statistics.records < (size_t)8 << 20);
    assert_null(bfm_check(NULL));
}

/* A pair up to 32 KiB takes nothing but the thread's own: the heap's lock may be held meanwhile. */
static void pairs_take_no_lock(void **unused)
{
    (void)unused;
    for (size_t bytes = 513; bytes <= 32768; bytes += 400) {
        void *volatile block;
        for (int i = 0; i < 60; i++) {
            block = bfm_malloc(bytes);
            bfm_free(block);
        }
        bfm_cache->passes = 1000; /* no look at the clock meanwhile */
        alarm(20);
        lock_take(&bfm_default_heap.lock);
        for (int i = 0; i < 100; i++) {
            block = bfm_malloc(bytes);
            memset(block, 1, bytes);
            bfm_free(block);
        }
        lock_give(&bfm_default_heap.lock);
        alarm(0);
    }
    assert_null(bfm_check(NULL));
}

/* What a thread keeps for itself is bounded, whatever sizes it frees. */
static void a_thread_keeps_little(void **unused)
{
    static void *blocks[4000];
    uint64_t state = seed;

    (void)unused;
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 4000; i++)
            blocks[i] = bfm_malloc(513 + next(&state) % 33000);
        for (int i = 0; i < 4000; i++) {
            bfm_free(blocks[i]);
            assert_true(cache_shelved_bytes(bfm_cache) <= 65536);
        }
    }
    bfm_malloc_trim(0);
    assert_int_equal(cache_shelved_bytes(bfm_cache), 0);
    assert_null(bfm_check(NULL));
}

/* The same while events are told: each block that is taken is returned, whoever does it. */
static _Atomic long told;

static void hear(const struct bfm_event *event, void *unused)
{
    (void)unused;
    told += event->kind == BFM_SAMPLE_TAKEN || event->kind == BFM_BLOCK_TAKEN;
    told -= event->kind == BFM_SAMPLE_RETURNED || event->kind == BFM_BLOCK_RETURNED;
}

static void what_is_told_passes_between_threads(void **unused)
{
    assert_int_equal(bfm_set_hook(hear, NULL), 0);
    blocks_pass_between_threads(unused);
    children_of_a_fork_allocate(unused);
    what_others_free_is_used_again(unused);
    assert_int_equal(told, 0);
    assert_int_equal(bfm_set_hook(NULL, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handler_may_fork_within_a_fork),
        cmocka_unit_test(blocks_pass_between_threads),
        cmocka_unit_test(threads_come_and_go),
        cmocka_unit_test(destructors_may_allocate),
        cmocka_unit_test(children_of_a_fork_allocate),
        cmocka_unit_test(what_others_free_is_used_again),
        cmocka_unit_test(pairs_take_no_lock),
        cmocka_unit_test(a_thread_keeps_little),
        cmocka_unit_test(what_is_told_passes_between_threads),
    };
    const char *given = getenv("TIDEMARK_TEST_SEED");

    seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 1000003 + (uint64_t)getpid();
    printf("TIDEMARK_TEST_SEED=%llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
