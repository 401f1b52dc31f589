/* The counters against an oracle that sees every call: threads are played by one that changes
 * slots, so that the order of the calls is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "counters/counters.h"

enum { BLOCKS = 4096, CALLS = 400000, THREADS_MOST = 16 };

static uint64_t next_random;

static unsigned below(unsigned limit)
{
    next_random = next_random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(next_random >> 33) % limit;
}

/* The blocks' addresses: nothing is read or written there. */
static void *address_of(unsigned block)
{
    return (void *)(0x10000000u + (uintptr_t)block * 0x1000);
}

static uint64_t sizes[BLOCKS]; /* UINT64_MAX: not allocated */
static int64_t current, peak, total;
static uint64_t births, deaths;

static void begin(unsigned threads)
{
    memset(&count_state, 0, sizeof count_state);
    memset(sizes, 0xff, sizeof sizes);
    current = peak = total = 0;
    births = deaths = 0;
    count_exact = false;
    for (unsigned i = 0; i < threads; i++)
        count_state.slots[i].thread = (int32_t)i + 1;
    count_state.slots_used = threads;
    count_slot_current = &count_state.slots[0];
}

static uint64_t any_size(void)
{
    switch (below(16)) {
    case 0:
        return below(10);
    case 1:
        return 62000 + below(2000);
    case 2:
        return below(4000);
    default:
        return 16 + below(256);
    }
}

static void allocate_bytes(unsigned block, uint64_t size)
{
    if (!count_common_birth(COUNT_MALLOC, address_of(block), size))
        count_birth(count_slot_current, COUNT_MALLOC, address_of(block), size);
    sizes[block] = size;
    current += (int64_t)size;
    total += (int64_t)size;
    births++;
    peak = current > peak ? current : peak;
}

static void allocate(unsigned block)
{
    allocate_bytes(block, any_size());
}

static void release(unsigned block)
{
    if (!count_common_death(address_of(block)))
        count_death(address_of(block));
    current -= (int64_t)sizes[block];
    sizes[block] = UINT64_MAX;
    deaths++;
}

/* Any thread frees any block; `live` of BLOCKS are there most of the time. */
static void run(unsigned threads, unsigned live)
{
    for (unsigned i = 0; i < CALLS; i++) {
        unsigned block = below(live);
        if (below(3) == 0)
            count_slot_current = &count_state.slots[below(threads)];
        if (sizes[block] == UINT64_MAX)
            allocate(block);
        else
            release(block);
    }
}

static struct count_figures check(unsigned threads)
{
    struct count_figures figures;
    count_figures_of(&figures, &count_state);
    assert_int_equal(figures.current_bytes, current);
    assert_int_equal(figures.requested_bytes, total);
    assert_int_equal(figures.calls[COUNT_MALLOC], births);
    assert_int_equal(figures.calls[COUNT_FREE], deaths);
    assert_int_equal(figures.live_count, births - deaths);
    int64_t error = figures.peak_error_bytes;
    assert_true(figures.peak_bytes - error <= peak && peak <= figures.peak_bytes + error);
    assert_true(error <= (figures.peak_bytes >> COUNT_STEP_SHIFT) + threads * COUNT_STEP_LEAST);
    return figures;
}

/* What a process is that has had a second thread. */
static void *wait_for_end(void *end)
{
    pthread_barrier_wait(end);
    return NULL;
}

static void with_threads(void (*test)(void))
{
    pthread_barrier_t end;
    pthread_t thread;
    pthread_barrier_init(&end, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_end, &end), 0);
    assert_false(c_library_is_single_threaded());
    test();
    pthread_barrier_wait(&end);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&end);
}

static void quick(void)
{
    for (unsigned threads = 1; threads <= THREADS_MOST; threads *= 2)
        for (unsigned live = 4; live <= BLOCKS; live *= 32) {
            begin(threads);
            run(threads, live);
            assert_true(check(threads).peak_error_bytes > 0);
        }
}

static void exact(void)
{
    for (unsigned threads = 1; threads <= THREADS_MOST; threads *= 4) {
        begin(threads);
        count_exact = true;
        run(threads, 512);
        assert_int_equal(check(threads).peak_error_bytes, 0);
        assert_int_equal(count_state.current_bytes, current);
    }
}

static void few(void)
{
    begin(THREADS_MOST);
    for (unsigned i = 0; i < THREADS_MOST * (COUNT_STEP_DRAINS - 1); i++) {
        count_slot_current = &count_state.slots[i % THREADS_MOST];
        allocate(i);
    }
    assert_int_equal(check(THREADS_MOST).peak_error_bytes, 0);
}

static void large(void)
{
    begin(2);
    for (unsigned i = 0; i < 1000; i++) {
        count_slot_current = &count_state.slots[i % 2];
        sizes[0] == UINT64_MAX ? (void)0 : release(0);
        allocate_bytes(0, 1 << 20);
    }
    assert_int_equal(check(2).peak_error_bytes, 0);
}

static uint64_t drains(void)
{
    return count_state.slots[0].drains_done + count_state.slots[1].drains_done;
}

/* Two threads allocate a block of nearly two steps and free it, in turn. */
static void nearly_two_steps(void)
{
    begin(2);
    for (unsigned i = 0; i < 4000; i++) {
        unsigned thread = i % 2;
        count_slot_current = &count_state.slots[thread];
        sizes[thread] == UINT64_MAX ? allocate_bytes(thread, 2 * COUNT_STEP_LEAST - 90)
                                    : release(thread);
    }
    check(2);
    assert_true(drains() < 600); /* until their steps are large enough */
}

/* One allocates what the other frees, in blocks of a tenth of a step: each goes to the level once
 * for fifteen of them, its bytes beginning on the other side of 0. */
static void passed_on(void)
{
    enum { BLOCK_BYTES = COUNT_STEP_LEAST / 10, ROUNDS = 6000 };
    uint64_t before = 0;
    begin(2);
    for (unsigned i = 0; i < ROUNDS; i++) {
        before = i == ROUNDS / 2 ? drains() : before;
        count_slot_current = &count_state.slots[0];
        allocate_bytes(i % BLOCKS, BLOCK_BYTES);
        count_slot_current = &count_state.slots[1];
        release(i % BLOCKS);
    }
    check(2);
    assert_in_range(drains() - before, 2 * ROUNDS / 2 / 17, 2 * ROUNDS / 2 / 13);
}

static void all_but_the_peak_is_exact_and_the_peak_within_its_error(void **state)
{
    (void)state;
    with_threads(quick);
}

static void exact_peaks_have_no_error_and_one_level(void **state)
{
    (void)state;
    with_threads(exact);
}

static void threads_that_call_seldom_keep_nothing(void **state)
{
    (void)state;
    with_threads(few);
}

static void blocks_larger_than_any_step_make_none(void **state)
{
    (void)state;
    with_threads(large);
}

static void blocks_of_nearly_two_steps_seldom_go_to_the_level(void **state)
{
    (void)state;
    with_threads(nearly_two_steps);
}

static void blocks_passed_on_go_to_the_level_once_for_a_step_and_a_half(void **state)
{
    (void)state;
    with_threads(passed_on);
}

static void bytes_on_their_way_to_the_level_are_told(void **state)
{
    struct count_figures figures;
    (void)state;
    begin(2);
    assert_true(count_figures_of(&figures, &count_state));
    count_state.slots[1].drains_begun++;
    assert_false(count_figures_of(&figures, &count_state));
    count_state.slots[1].drains_done++;
    assert_true(count_figures_of(&figures, &count_state));
}

static void one_thread_has_an_exact_peak(void **state)
{
    (void)state;
    if (!c_library_is_single_threaded())
        skip(); /* a C library that does not tell again */
    begin(1);
    run(1, 512);
    assert_int_equal(check(1).peak_error_bytes, 0);
}

int main(void)
{
    next_random = (uint64_t)time(NULL);
    print_message("seed %llu\n", (unsigned long long)next_random);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_has_an_exact_peak),
        cmocka_unit_test(all_but_the_peak_is_exact_and_the_peak_within_its_error),
        cmocka_unit_test(exact_peaks_have_no_error_and_one_level),
        cmocka_unit_test(bytes_on_their_way_to_the_level_are_told),
        cmocka_unit_test(threads_that_call_seldom_keep_nothing),
        cmocka_unit_test(blocks_larger_than_any_step_make_none),
        cmocka_unit_test(blocks_of_nearly_two_steps_seldom_go_to_the_level),
        cmocka_unit_test(blocks_passed_on_go_to_the_level_once_for_a_step_and_a_half),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
