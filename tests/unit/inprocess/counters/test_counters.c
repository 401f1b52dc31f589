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

/* ---- Reserves ---- */

static uint64_t large_size(void)
{
    return 3000 + below(60000);
}

/* Like run(), of large blocks. */
static void run_large(unsigned threads, unsigned live, unsigned calls)
{
    for (unsigned i = 0; i < calls; i++) {
        unsigned block = below(live);
        count_slot_current = &count_state.slots[below(threads)];
        if (sizes[block] == UINT64_MAX)
            allocate_bytes(block, large_size());
        else
            release(block);
    }
}

static int64_t reserves(void)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < count_state.slots_used; i++)
        sum += count_state.slots[i].reserve_bytes;
    return sum;
}

static void any_large(void)
{
    for (unsigned threads = 2; threads <= THREADS_MOST; threads *= 2)
        for (unsigned live = 16; live <= BLOCKS; live *= 4) {
            begin(threads);
            for (unsigned i = 0; i < 100; i++) {
                run_large(threads, live, CALLS / 200);
                check(threads);
                assert_true(count_state.current_bytes <= count_state.peak_bytes);
            }
            assert_true(count_state.reserves_used);
        }
}

/* Two threads have a block of four steps and free it, in turn: each keeps one. */
static void four_steps(void)
{
    begin(2);
    for (unsigned i = 0; i < 8000; i++) {
        unsigned thread = i % 2;
        count_slot_current = &count_state.slots[thread];
        sizes[thread] == UINT64_MAX ? allocate_bytes(thread, 4 * COUNT_STEP_LEAST)
                                    : release(thread);
    }
    struct count_figures figures = check(2);
    assert_int_equal(figures.peak_error_bytes, 0);
    assert_int_equal(figures.peak_bytes, peak);
    assert_true(drains() < 1200); /* until reserves are tried */
}

/* One allocates 2000 blocks, the other frees them, again and again. */
static void filled_and_drained(void)
{
    enum { FILLED = 2000, TURNS = 20 };
    uint64_t before = 0;
    begin(2);
    for (unsigned turn = 0; turn < TURNS; turn++) {
        before = turn == TURNS / 2 ? drains() : before;
        count_slot_current = &count_state.slots[0];
        for (unsigned i = 0; i < FILLED; i++)
            allocate_bytes(i, 60000);
        count_slot_current = &count_state.slots[1];
        for (unsigned i = 0; i < FILLED; i++)
            release(i);
    }
    check(2);
    assert_true(drains() - before < 2 * FILLED * (TURNS / 2) / 10);
}

static uint64_t drains_of_all(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < count_state.slots_used; i++)
        sum += count_state.slots[i].drains_done;
    return sum;
}

/* Each thread puts a new block in the place of any other: bytes go from thread to thread, while the
 * level hardly moves. */
static void exchanged_by_any(void)
{
    enum { EXCHANGES = CALLS / 2 };
    for (unsigned threads = 4; threads <= 8; threads *= 2) {
        uint64_t before = 0;
        begin(threads);
        for (unsigned i = 0; i < BLOCKS; i++)
            allocate_bytes(i, large_size());
        for (unsigned i = 0; i < EXCHANGES; i++) {
            unsigned block = below(BLOCKS);
            before = i == EXCHANGES / 2 ? drains_of_all() : before;
            count_slot_current = &count_state.slots[below(threads)];
            release(block);
            allocate_bytes(block, large_size());
        }
        check(threads);
        /* Of EXCHANGES calls; twice as many are too many, and a half is what there are. */
        assert_true((drains_of_all() - before) * 90 < EXCHANGES * threads);
    }
}

/* What is allocated beyond the peak with reserves outstanding makes the peak that it makes without. */
static void grown_after_reserves(void)
{
    begin(4);
    for (unsigned turn = 0; turn < 200; turn++) {
        run_large(4, 64, 2000);
        if (count_state.peak_error_bytes == 0)
            assert_int_equal(count_state.peak_bytes, peak);
        for (unsigned i = 64; i < 64 + 8 * (turn + 1); i++)
            if (sizes[i] == UINT64_MAX)
                allocate_bytes(i, 62000);
        assert_true(count_state.current_bytes <= count_state.peak_bytes);
        check(4);
    }
    assert_true(count_state.reserves_used);
}

static void moving(void)
{
    begin(2);
    for (unsigned i = 0; i < 100; i++)
        allocate_bytes(i, 10000);
    count_state.moving_bytes = 5000; /* of a thread that is not run just now */
    allocate_bytes(100, 10000);
    struct count_figures figures = check(2 + 5000 / COUNT_STEP_LEAST);
    assert_true(figures.peak_error_bytes >= 5000);
    count_state.moving_bytes = 0;
    allocate_bytes(101, 10000);
    assert_int_equal(check(2).peak_error_bytes, 0);
}

static void exact_has_none(void)
{
    begin(2);
    count_exact = true;
    run_large(2, 64, CALLS / 10);
    assert_int_equal(check(2).peak_error_bytes, 0);
    assert_false(count_state.reserves_used);
    assert_int_equal(reserves(), 0);
    assert_int_equal(count_state.current_bytes, current);
}

/* Threads at once: nothing is lost on any way between level and reserves. */
enum { AT_ONCE = 4, PLACES = 256 };
static void *at_once_places[PLACES];

static void *at_once_thread(void *argument)
{
    uintptr_t number = (uintptr_t)argument;
    uint64_t random = number + 1;
    count_slot_current = &count_state.slots[number];
    for (unsigned i = 0; i < CALLS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        void *block = (void *)(0x20000000u + (number * CALLS + i) * 128);
        uint64_t size = 3000 + (random >> 40) % 50000;
        if (!count_common_birth(COUNT_MALLOC, block, size))
            count_birth(count_slot_current, COUNT_MALLOC, block, size);
        void *old = __atomic_exchange_n(&at_once_places[random >> 56], block, __ATOMIC_ACQ_REL);
        if (old && !count_common_death(old))
            count_death(old);
    }
    return NULL;
}

static void at_once(void)
{
    pthread_t threads[AT_ONCE];
    struct count_figures figures;
    begin(AT_ONCE);
    for (uintptr_t i = 0; i < AT_ONCE; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, at_once_thread, (void *)i), 0);
    for (unsigned i = 0; i < AT_ONCE; i++)
        pthread_join(threads[i], NULL);
    int64_t left = 0;
    for (unsigned i = 0; i < PLACES; i++) {
        left += at_once_places[i] ? (int64_t)ledger_size(at_once_places[i]) : 0;
        at_once_places[i] = NULL;
    }
    assert_true(count_figures_of(&figures, &count_state));
    assert_int_equal(figures.current_bytes, left);
    assert_true(figures.peak_bytes + figures.peak_error_bytes >= left);
    assert_true(figures.peak_bytes <= (PLACES + AT_ONCE) * (int64_t)53000);
    assert_true(count_state.reserves_used);
    assert_int_equal(count_state.moving_bytes, 0);
    reserves_end();
    assert_int_equal(reserves(), 0);
    assert_true(count_state.current_bytes <= count_state.peak_bytes);
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

static void large_blocks_are_counted_exactly_with_reserves(void **state)
{
    (void)state;
    with_threads(any_large);
}

static void blocks_of_four_steps_are_kept_from_the_level_and_the_peak_is_exact(void **state)
{
    (void)state;
    with_threads(four_steps);
}

static void blocks_passed_on_in_turn_seldom_go_to_the_level(void **state)
{
    (void)state;
    with_threads(filled_and_drained);
}

static void blocks_freed_by_any_thread_seldom_go_to_the_level(void **state)
{
    (void)state;
    with_threads(exchanged_by_any);
}

static void reserves_hide_no_peak(void **state)
{
    (void)state;
    with_threads(grown_after_reserves);
}

static void bytes_on_their_way_make_the_peak_unsure_by_themselves(void **state)
{
    (void)state;
    with_threads(moving);
}

static void exact_peaks_have_no_reserves(void **state)
{
    (void)state;
    with_threads(exact_has_none);
}

static void threads_at_once_lose_nothing(void **state)
{
    (void)state;
    with_threads(at_once);
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
        cmocka_unit_test(large_blocks_are_counted_exactly_with_reserves),
        cmocka_unit_test(blocks_of_four_steps_are_kept_from_the_level_and_the_peak_is_exact),
        cmocka_unit_test(blocks_passed_on_in_turn_seldom_go_to_the_level),
        cmocka_unit_test(blocks_freed_by_any_thread_seldom_go_to_the_level),
        cmocka_unit_test(reserves_hide_no_peak),
        cmocka_unit_test(bytes_on_their_way_make_the_peak_unsure_by_themselves),
        cmocka_unit_test(exact_peaks_have_no_reserves),
        cmocka_unit_test(threads_at_once_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
