/* The set of sampled blocks: who frees a block is told whether it was sampled, never wrongly,
 * however many threads exchange blocks at addresses that fall on each other; and what a fork leaves
 * of it. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/hash.h"
#include "recorder/draw.h"
#include "recorder/followed.h"
#include "recorder/sampled.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { ROUNDS = 20 * 1000 };
#else
enum { ROUNDS = 200 * 1000 };
#endif
enum { THREADS = 8, POOL = 512, SAMPLED = 1 };

static bool filter_is_empty(void)
{
    for (size_t i = 0; i < SAMPLED_COUNTERS; i++)
        if (sampled_filter[i])
            return false;
    return true;
}

/* Blocks that nobody holds and blocks that are on their way; bit 0 of the latter: sampled. */
static _Atomic uintptr_t unused[POOL], handed_over[POOL];
static _Atomic unsigned long wrong, samples;
static atomic_bool stop;

static uintptr_t take(_Atomic uintptr_t *pool, uint64_t from)
{
    for (unsigned i = 0; i < 16; i++) {
        uintptr_t block = atomic_exchange(&pool[(from + i) % POOL], 0);
        if (block)
            return block;
    }
    return 0;
}

static void put(_Atomic uintptr_t *pool, uint64_t from, uintptr_t block)
{
    for (uint64_t i = from;; i++) {
        uintptr_t empty = 0;
        if (atomic_compare_exchange_strong(&pool[i % POOL], &empty, block))
            return;
    }
}

static void *exchange(void *argument)
{
    uint64_t random = (uint64_t)(uintptr_t)argument * 77 + 5;
    for (unsigned i = 0; i < ROUNDS && !atomic_load(&stop); i++) {
        uint64_t dice = draw_random(&random);
        uintptr_t block = take(unused, dice);
        if (block) {
            bool sampled = dice >> 40 & 1;
            if (sampled && !sampled_add(block))
                atomic_fetch_add(&wrong, 1);
            atomic_fetch_add(&samples, sampled);
            put(handed_over, dice >> 20, block | sampled);
        }
        if ((block = take(handed_over, dice >> 10))) {
            bool sampled = block & SAMPLED;
            block -= sampled;
            if (sampled_remove(block) != sampled)
                atomic_fetch_add(&wrong, 1);
            put(unused, dice >> 30, block);
        }
    }
    return NULL;
}

static void start(pthread_t *threads)
{
    atomic_store(&stop, false);
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, exchange, (void *)(i + 1));
}

static void finish(const pthread_t *threads)
{
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < POOL; i++) {
        uintptr_t block = atomic_exchange(&handed_over[i], 0);
        if (block && sampled_remove(block & ~(uintptr_t)SAMPLED) != (block & SAMPLED))
            atomic_fetch_add(&wrong, 1);
        if (block)
            put(unused, i, block & ~(uintptr_t)SAMPLED);
    }
}

/* All of them fall on 32 counters, and their home is the same 16 slots (of the smallest table):
 * each removal moves many of the others. */
static void fill_pool(void)
{
    uintptr_t block = 0x7f0000000000;
    for (unsigned i = 0; i < POOL; i++) {
        do
            block += block % 512 == 496 ? (1ull << 36) - 496 : 16;
        while (hash_u64(block >> 4) >> 56);
        atomic_store(&unused[i], block);
    }
}

static void whoever_frees_is_told_the_truth(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    assert_true(sampled_begin());
    fill_pool();
    start(threads);
    finish(threads);
    assert_int_equal(wrong, 0);
    assert_true(samples > ROUNDS);
    assert_true(filter_is_empty());
}

static void the_set_grows_while_it_is_used(void **state)
{
    (void)state;
    enum { MANY = 100000 };
    pthread_t threads[THREADS];
    start(threads);
    for (uintptr_t i = 0; i < MANY; i++)
        assert_true(sampled_add(0x10000000 + 48 * i));
    for (uintptr_t i = 0; i < MANY; i++) {
        assert_false(sampled_remove(0x10000000 + 48 * i + 16));
        assert_true(sampled_remove(0x10000000 + 48 * i));
        assert_false(sampled_remove(0x10000000 + 48 * i));
    }
    atomic_store(&stop, true);
    finish(threads);
    assert_int_equal(wrong, 0);
    assert_true(filter_is_empty());
}

static void an_address_twice_is_there_once(void **state)
{
    (void)state;
    assert_true(sampled_add(0x5550) && sampled_add(0x5550));
    assert_true(sampled_remove(0x5550));
    assert_false(sampled_remove(0x5550));
    assert_true(filter_is_empty());
}

static void a_full_counter_stays_and_does_no_harm(void **state)
{
    (void)state;
    enum { SAME = 300 };
    uintptr_t step = 1ull << 36; /* beyond what a counter looks at */
    for (uintptr_t i = 1; i <= SAME; i++)
        assert_true(sampled_add(0x70 + i * step));
    for (uintptr_t i = 1; i <= SAME; i++)
        assert_true(sampled_remove(0x70 + i * step));
    assert_true(sampled_maybe(sampled_filter, (void *)0x70));
    assert_false(sampled_remove(0x70 + step));
    sampled_filter[sampled_counter(0x70)] = 0;
}

/* In the child the set is empty and its lock free, whatever the other threads were doing. */
static void a_child_begins_with_nothing(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    assert_true(sampled_add(0xabc0));
    start(threads);
    for (int i = 0; i < 50; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            bool good = filter_is_empty() && !sampled_remove(0xabc0) && sampled_begin() &&
                        sampled_add(0xdef0) && !sampled_remove(0xabc0) && sampled_remove(0xdef0);
            _exit(good ? 0 : 1);
        }
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    atomic_store(&stop, true);
    finish(threads);
    assert_int_equal(wrong, 0);
    assert_true(sampled_remove(0xabc0));
    assert_true(filter_is_empty());
}

/* A block whose counter is that of the address 0, and free(NULL) while it lives. */
static void no_block_is_not_in_the_set(void **state)
{
    uintptr_t block = (uintptr_t)1 << 36 | (uintptr_t)1 << 20 | 1 << 4;
    (void)state;
    assert_int_equal(sampled_counter(block), sampled_counter(0));
    assert_true(sampled_add(block));
    assert_true(sampled_maybe(sampled_filter, NULL));
    assert_false(sampled_remove(0));
    assert_true(sampled_maybe(sampled_filter, (void *)block));
    assert_true(sampled_remove(block));
    assert_true(filter_is_empty());
}

/* ---- Where all blocks may be in it (followed.h) ---- */

static void followed_as_an_array_of_flags_says(void **state)
{
    enum { PLACES = 4096, STEPS = 200000 };
    static bool there[PLACES];
    uint64_t random = (uint64_t)getpid();
    (void)state;
    print_message("SEED=%llu\n", (unsigned long long)random);
    assert_true(sampled_follow());
    assert_true(sampled_maybe(sampled_filter, &random)); /* nothing passes */
    for (unsigned i = 0; i < STEPS; i++) {
        uint64_t dice = draw_random(&random);
        unsigned place = (unsigned)(dice % PLACES);
        /* Neighbours, eight bytes apart; over the ends of words, of leaves and of what leads to
         * them. */
        uintptr_t address = ((uintptr_t)(place >> 11) << 37) + (1ull << 37) - 512 * 8 +
                            (uintptr_t)(place & 1023) * 8 + ((uintptr_t)(place >> 10 & 1) << 26);
        assert_int_equal(followed_has(address), there[place]);
        if (dice >> 40 & 1) {
            assert_true(sampled_add(address));
            there[place] = true;
        } else {
            assert_int_equal(sampled_remove(address), there[place]);
            there[place] = false;
        }
    }
    assert_false(sampled_add((uintptr_t)1 << 48));
    assert_false(sampled_remove((uintptr_t)1 << 48));
    assert_false(sampled_remove(0));
}

static void followed_by_whoever_frees(void **state)
{
    pthread_t threads[THREADS];
    (void)state;
    for (unsigned i = 0; i < POOL; i++) /* in each word blocks of all threads */
        atomic_store(&unused[i], 0x7f0003fffe00 + i * 16);
    start(threads);
    finish(threads);
    assert_int_equal(wrong, 0);
    assert_true(sampled_add(0xabc0));
    pid_t child = fork();
    if (child == 0)
        _exit(!followed_has(0xabc0) && !sampled_remove(0xabc0) && sampled_follow() &&
                      sampled_add(0xabc0) && sampled_remove(0xabc0)
                  ? 0
                  : 1);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(sampled_remove(0xabc0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_frees_is_told_the_truth),
        cmocka_unit_test(the_set_grows_while_it_is_used),
        cmocka_unit_test(an_address_twice_is_there_once),
        cmocka_unit_test(a_full_counter_stays_and_does_no_harm),
        cmocka_unit_test(no_block_is_not_in_the_set),
        cmocka_unit_test(a_child_begins_with_nothing),
        cmocka_unit_test(followed_as_an_array_of_flags_says),
        cmocka_unit_test(followed_by_whoever_frees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
