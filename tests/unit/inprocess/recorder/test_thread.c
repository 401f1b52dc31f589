/* Threads of a program and their rings: blocks handed from thread to thread, full rings that wait,
 * rings that pass from a thread to the next. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "stubs.h"
#include "../../model/numbers.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { ROUNDS = 20 * 1000 };
#else
enum { ROUNDS = 100 * 1000 };
#endif
enum { RING = 16 << 10, THREADS = 8, ADDRESSES = 12 };

static void check_undamaged(void)
{
    struct program_metrics program = program_now();
    CHECK_EQUAL(program.late_events, 0);
    CHECK_EQUAL(program.foreign_frees, 0);
    CHECK_EQUAL(program.replaced_blocks, 0);
    CHECK_EQUAL(program.malformed_events, 0);
    CHECK_EQUAL(program.lost_events, 0);
    CHECK_EQUAL(ring_merge_damaged_rings(merge), 0);
}

static _Atomic uint64_t free_addresses[ADDRESSES], handed_over[ADDRESSES];
static _Atomic uint64_t allocations;

static uint64_t take(_Atomic uint64_t *pool, unsigned from)
{
    for (unsigned i = 0; i < ADDRESSES; i++) {
        uint64_t address = atomic_exchange(&pool[(from + i) % ADDRESSES], 0);
        if (address)
            return address;
    }
    return 0;
}

static void put(_Atomic uint64_t *pool, unsigned from, uint64_t address)
{
    for (unsigned i = from;; i++) {
        uint64_t empty = 0;
        if (atomic_compare_exchange_strong(&pool[i % ADDRESSES], &empty, address))
            return;
    }
}

static pthread_barrier_t all_are_there; /* so that their first calls come at once */

static void *exchange_blocks(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&all_are_there);
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t block = take(free_addresses, i);
        if (block) {
            hook_malloc(block, 24);
            atomic_fetch_add(&allocations, 1);
            put(handed_over, i, block);
        }
        if ((block = take(handed_over, i / 2))) {
            hook_free(block);
            put(free_addresses, i / 2, block);
        }
    }
    return NULL;
}

static void run_threads(void)
{
    pthread_t threads[THREADS];
    recording_open(RING, WIRE_ON_FULL_WAIT);
    for (uint64_t i = 0; i < ADDRESSES; i++)
        atomic_store(&free_addresses[i], 0x7000000 + 64 * i);
    start_merging();
    pthread_barrier_init(&all_are_there, NULL, THREADS);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, exchange_blocks, NULL);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    stop_merging();
    check_undamaged();
    struct program_metrics program = program_now();
    CHECK_EQUAL(number_of(program.total.alloc_count), atomic_load(&allocations));
    CHECK_EQUAL(number_of(program.total.live_count),
                number_of(program.total.alloc_count) - number_of(program.total.free_count));
    CHECK_EQUAL(program.events, number_of(program.total.alloc_count) +
                                    number_of(program.total.free_count) + 2 * THREADS);
    CHECK_EQUAL(replay_thread_count(replay), THREADS);
    recording_close();
}

static void blocks_handed_between_threads_are_exact(void **state)
{
    (void)state;
    in_a_process(run_threads);
}

/* ---- Forks ---- */

static atomic_bool forks_are_over;

static void *record_until_over(void *block)
{
    while (!atomic_load(&forks_are_over)) {
        hook_malloc((uint64_t)(uintptr_t)block, 24);
        hook_free((uint64_t)(uintptr_t)block);
    }
    return NULL;
}

/* As session.c does it. */
static void record_in_child(void)
{
    alarm(30);
    if (shared_header())
        _exit(2); /* it is the parent's */
    thread_use_forget();
    recording_open(RING, WIRE_ON_FULL_WAIT);
    hook_malloc(0x7000000, 24);
    drain();
    struct program_metrics program = program_now();
    CHECK_EQUAL(number_of(program.total.alloc_count), 1);
    CHECK_EQUAL(program.malformed_events, 0);
    _exit(0);
}

static void fork_while_threads_record(void)
{
    pthread_t threads[4];
    recording_open(RING, WIRE_ON_FULL_WAIT);
    start_merging();
    for (uintptr_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, record_until_over, (void *)(0x7000000 + 64 * i));
    for (int i = 0; i < 20; i++) {
        int status = -1;
        pthread_mutex_lock(&merger_lock);
        pid_t child = fork();
        if (child == 0)
            record_in_child();
        pthread_mutex_unlock(&merger_lock);
        CHECK_EQUAL(waitpid(child, &status, 0), child);
        CHECK_EQUAL(status, 0);
    }
    atomic_store(&forks_are_over, true);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    stop_merging();
    check_undamaged();
    recording_close();
}

static void children_of_a_fork_record_anew(void **state)
{
    (void)state;
    in_a_process(fork_while_threads_record);
}

/* ---- Waiting ---- */

static void *fill_ring(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < 4 * RING / 16; i++)
        hook_free(0);
    return NULL;
}

static void wait_for_room(void)
{
    pthread_t thread;
    recording_open(RING, WIRE_ON_FULL_WAIT);
    pthread_create(&thread, NULL, fill_ring, NULL);
    while (atomic_load(&view.header->ring_count) == 0)
        sched_yield();
    shared_view_refresh(&view);
    while (!(atomic_load(&shared_view_ring(&view, 0)->space) & WIRE_SPACE_WANTED))
        sched_yield();
    start_merging();
    pthread_join(thread, NULL);
    stop_merging();
    uint64_t waits, wait_ticks;
    ring_merge_tell_waits(merge, &waits, &wait_ticks);
    CHECK_EQUAL(waits > 0 && wait_ticks > 0, true);
    CHECK_EQUAL(ring_merge_untold_events(merge), 0);
    CHECK_EQUAL(program_now().events, 4 * RING / 16 + 2);
    recording_close();
}

static void a_full_ring_waits_and_loses_nothing(void **state)
{
    (void)state;
    in_a_process(wait_for_room);
}

static void stop_while_waiting(void)
{
    pthread_t thread;
    recording_open(RING, WIRE_ON_FULL_WAIT);
    pthread_create(&thread, NULL, fill_ring, NULL);
    while (atomic_load(&view.header->ring_count) == 0)
        sched_yield();
    shared_view_refresh(&view);
    while (!(atomic_load(&shared_view_ring(&view, 0)->space) & WIRE_SPACE_WANTED))
        sched_yield();
    atomic_store(&view.header->stop, 1);
    pthread_join(thread, NULL); /* the program goes on without us */
    recording_close();
}

static void *grow_block(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < 1000; i++)
        hook_realloc(0x1000, 0x1000);
    return NULL;
}

/* The collector has gone when a thread begins, or between the two records of a realloc. */
static void stop_anywhere(void)
{
    for (unsigned before = 0; before < 3; before++) {
        pid_t child = fork();
        if (child == 0) {
            pthread_t thread;
            recording_open(RING, WIRE_ON_FULL_DROP);
            for (unsigned i = 0; i < before; i++)
                hook_free(0); /* shifts which of the two it is */
            if (before) {
                thread_current->limit = thread_current->cursor;
                atomic_store(&view.header->stop, 1);
                grow_block(NULL);
                CHECK_EQUAL(thread_current->ring, 0);
            }
            atomic_store(&view.header->stop, 1);
            pthread_create(&thread, NULL, grow_block, NULL);
            pthread_join(thread, NULL);
            _exit(0);
        }
        int status = -1;
        waitpid(child, &status, 0);
        CHECK_EQUAL(status, 0);
    }
}

static void a_collector_may_leave_anywhere(void **state)
{
    (void)state;
    in_a_process(stop_anywhere);
}

static void a_collector_that_leaves_lets_waiting_threads_go(void **state)
{
    (void)state;
    in_a_process(stop_while_waiting);
}

/* ---- One ring, many threads ---- */

static void *short_life(void *argument)
{
    uint64_t block = 0x1000 + 64 * (uint64_t)(uintptr_t)argument;
    hook_malloc(block, 8);
    hook_free(block);
    return NULL;
}

static void threads_one_after_the_other(void)
{
    enum { LIVES = 300 };
    recording_open(RING, WIRE_ON_FULL_WAIT);
    start_merging();
    for (uintptr_t i = 0; i < LIVES; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, short_life, (void *)i);
        pthread_join(thread, NULL);
    }
    stop_merging();
    check_undamaged();
    CHECK_EQUAL(atomic_load(&view.header->ring_count) < LIVES / 10, true);
    CHECK_EQUAL(replay_thread_count(replay), LIVES);
    for (unsigned i = 0; i < LIVES; i++) {
        CHECK_EQUAL(number_of(replay_thread(replay, i).alloc_count), 1);
        CHECK_EQUAL(number_of(replay_thread(replay, i).free_count), 1);
        CHECK_EQUAL(replay_thread(replay, i).end_ticks > replay_thread(replay, i).start_ticks,
                    true);
    }
    CHECK_EQUAL(program_now().events, 4 * LIVES);
    recording_close();
}

static void a_ring_serves_one_thread_after_the_other(void **state)
{
    (void)state;
    in_a_process(threads_one_after_the_other);
}

/* ---- No ring ---- */

static void *refused_for_a_while(void *unused)
{
    (void)unused;
    hook_malloc(0x2000, 8); /* asks, and gets none */
    view.header->chunk_limit = 64;
    for (unsigned i = 0; i < 100; i++)
        hook_malloc(0x3000 + 64 * i, 8);
    return NULL;
}

static void a_thread_without_a_ring(void)
{
    pthread_t thread;
    recording_open(WIRE_CHUNK_BYTES / 2, WIRE_ON_FULL_WAIT); /* a chunk for each */
    start_merging();
    hook_malloc(0x1000, 8);
    view.header->chunk_limit = atomic_load(&view.header->chunk_count);
    pthread_create(&thread, NULL, refused_for_a_while, NULL);
    pthread_join(thread, NULL);
    stop_merging();
    CHECK_EQUAL(atomic_load(&view.header->lost_events), 64);
    CHECK_EQUAL(number_of(replay_thread(replay, 1).alloc_count), 100 - 63);
    recording_close();
}

static void a_thread_that_gets_no_ring_asks_seldom(void **state)
{
    (void)state;
    in_a_process(a_thread_without_a_ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_handed_between_threads_are_exact),
        cmocka_unit_test(children_of_a_fork_record_anew),
        cmocka_unit_test(a_full_ring_waits_and_loses_nothing),
        cmocka_unit_test(a_collector_that_leaves_lets_waiting_threads_go),
        cmocka_unit_test(a_collector_may_leave_anywhere),
        cmocka_unit_test(a_ring_serves_one_thread_after_the_other),
        cmocka_unit_test(a_thread_that_gets_no_ring_asks_seldom),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
