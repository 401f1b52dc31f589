/* The recorder's way of an event into the ring when signal handlers interrupt it anywhere, record
 * themselves, are interrupted in turn, or leave by siglongjmp. Never sanitised: a race detector
 * delays signals to where nothing can be found. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>
#include "stubs.h"
#include "../../model/numbers.h"

enum { RING = 16 << 10, PAUSE_NS = 20 * 1000 };

static void check_undamaged(void)
{
    struct program_metrics program = program_now();
    CHECK_EQUAL(program.late_events, 0);
    CHECK_EQUAL(program.foreign_frees, 0);
    CHECK_EQUAL(program.replaced_blocks, 0);
    CHECK_EQUAL(program.malformed_events, 0);
    CHECK_EQUAL(ring_merge_damaged_rings(merge), 0);
}

/* ---- Signals out of nowhere ---- */

static timer_t timer;

static void catch (int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_NODEFER | SA_RESTART};
    sigaction(number, &action, NULL);
}

/* Once: handlers ask for the next one, so that a slow machine does not drown in signals. */
static void set_timer(long ns)
{
    struct itimerspec spec = {.it_value = {0, ns}};
    timer_settime(timer, 0, &spec, NULL);
}

static void start_timer(void (*handler)(int))
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};
    event._sigev_un._tid = (int)syscall(SYS_gettid);
    catch (SIGALRM, handler);
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    set_timer(PAUSE_NS);
}

static volatile uint64_t handled, raised; /* blocks that handlers allocated and freed */
static _Atomic uint64_t next_address = 0x10000000;
static atomic_uint depth;
static volatile bool quiet;

static void allocate_and_free(void)
{
    uint64_t address = atomic_fetch_add(&next_address, 64);
    hook_malloc(address, 10);
    hook_free(address);
}

static void on_raise(int number)
{
    (void)number;
    allocate_and_free();
    atomic_fetch_add((_Atomic uint64_t *)&raised, 1);
}

static void on_timer(int number)
{
    (void)number;
    if (atomic_fetch_add(&depth, 1) < 3) /* the next one interrupts us */
        set_timer(PAUSE_NS);
    allocate_and_free();
    raise(SIGUSR1);
    allocate_and_free();
    atomic_fetch_add((_Atomic uint64_t *)&handled, 2);
    if (atomic_fetch_sub(&depth, 1) == 1 && !quiet)
        set_timer(PAUSE_NS);
}

static void stop_timer(void)
{
    quiet = true;
    set_timer(0);
}

enum { BLOCKS = 60 * 1000 };

static void record_under_signals(void)
{
    recording_open(RING, WIRE_ON_FULL_WAIT);
    capture_spins = 100;
    start_merging();
    hook_free(0); /* begins the thread */
    catch (SIGUSR1, on_raise);
    start_timer(on_timer);
    for (unsigned i = 0; i < BLOCKS; i++) {
        hook_malloc(0x1000, 100);
        hook_free(0x1000);
    }
    stop_timer();
    stop_merging();
    check_undamaged();
    uint64_t blocks = BLOCKS + handled + raised;
    CHECK_EQUAL(handled > 20, true);
    CHECK_EQUAL(number_of(program_now().total.alloc_count), blocks);
    CHECK_EQUAL(number_of(program_now().total.free_count), blocks);
    CHECK_EQUAL(program_now().events, 2 + 2 * blocks); /* and the start, and free(0) */
    CHECK_EQUAL(program_now().lost_events, 0);
    CHECK_EQUAL(thread_current->hook_frame, 0);
    CHECK_EQUAL(atomic_load(&thread_current->ring->busy), 0);
    recording_close();
}

static void nested_records_are_all_there(void **state)
{
    (void)state;
    in_a_process(record_under_signals);
}

/* ---- More in one handler than a ring holds ---- */

enum { FLOOD = 3000 };

static void on_flood(int number)
{
    (void)number;
    for (unsigned i = 0; i < FLOOD; i++)
        allocate_and_free();
}

static void flood_from_inside_a_hook(void)
{
    recording_open(RING, WIRE_ON_FULL_WAIT);
    start_merging();
    hook_free(0);
    /* As if a signal came in the middle of a capture. */
    struct thread *thread = thread_current;
    struct recording recording =
        thread_recording_begin(thread, (uintptr_t)__builtin_frame_address(0));
    catch (SIGUSR1, on_flood);
    raise(SIGUSR1);
    uint64_t ticks;
    struct wire_record *record = thread_record_begin(&recording, 16, &ticks);
    thread_record_word0(record, WIRE_FREE, 0);
    thread_record_publish(&recording, ticks);
    stop_merging();
    check_undamaged();
    CHECK_EQUAL(number_of(program_now().total.free_count), FLOOD);
    CHECK_EQUAL(program_now().events, 2 + 2 * FLOOD + 1);
    CHECK_EQUAL(atomic_load(&thread->ring->busy), 0);
}

static void a_handler_may_record_more_than_a_ring_holds(void **state)
{
    (void)state;
    in_a_process(flood_from_inside_a_hook);
}

/* ---- longjmp ---- */

static sigjmp_buf back;
static volatile sig_atomic_t can_jump;

static void on_timer_jump(int number)
{
    (void)number;
    set_timer(PAUSE_NS);
    if (can_jump) {
        can_jump = 0;
        siglongjmp(back, 1);
    }
}

/* What the program itself knows to have recorded may be one less than what is there. */
static void jump_out_of_records(void)
{
    recording_open(RING, WIRE_ON_FULL_WAIT);
    capture_spins = 20;
    start_merging();
    hook_free(0);
    static volatile uint64_t done, jumps;
    start_timer(on_timer_jump);
    if (sigsetjmp(back, 1))
        jumps = jumps + 1;
    can_jump = 1;
    while (done < 4 * BLOCKS) {
        hook_malloc(0x1000000 + 64 * done, 1);
        done = done + 1;
    }
    can_jump = 0;
    set_timer(0);
    hook_free(0);
    stop_merging();
    struct program_metrics program = program_now();
    CHECK_EQUAL(jumps > 10, true);
    CHECK_EQUAL(number_of(program.total.alloc_count) >= done &&
                    number_of(program.total.alloc_count) <= done + jumps,
                true);
    CHECK_EQUAL(program.malformed_events + program.late_events + program.foreign_frees, 0);
    CHECK_EQUAL(ring_merge_damaged_rings(merge), 0);
    CHECK_EQUAL(atomic_load(&thread_current->ring->busy), 0);
}

static void a_longjmp_leaves_no_damage(void **state)
{
    (void)state;
    in_a_process(jump_out_of_records);
}

static NOINLINE void dig_and_record(unsigned levels)
{
    volatile char room[4096];
    room[levels] = 1;
    if (levels > 0) {
        dig_and_record(levels - 1);
        room[0] = room[levels];
        return;
    }
    for (unsigned i = 0; i < BLOCKS; i++) {
        hook_malloc(0x1000, 100);
        hook_free(0x1000);
    }
}

/* After a longjmp out of a shallow hook everything happens deeper: to the frames' order these are
 * hooks inside that dead one. They must neither hang nor get lost. */
static void live_on_below_a_dead_hook(void)
{
    recording_open(RING, WIRE_ON_FULL_WAIT);
    start_merging();
    hook_free(0);
    /* and no end */
    thread_recording_begin(thread_current, (uintptr_t)__builtin_frame_address(0));
    dig_and_record(10);
    stop_merging();
    thread_current->hook_frame = 0;
    hook_free(0); /* further up the stack again */
    drain();
    check_undamaged();
    CHECK_EQUAL(number_of(program_now().total.free_count), BLOCKS);
    CHECK_EQUAL(program_now().events, 3 + 2 * BLOCKS);
}

static void hooks_below_a_dead_one_go_on(void **state)
{
    (void)state;
    in_a_process(live_on_below_a_dead_hook);
}

/* ---- A full ring that drops ---- */

static void fill_and_drop(void)
{
    recording_open(RING, WIRE_ON_FULL_DROP);
    uint64_t told = 0, events = 1; /* the thread's start */
    for (unsigned round = 1; round <= 5; round++) {
        for (unsigned i = 0; i < 2000; i++) /* nobody reads */
            hook_free(0);
        events += 2000;
        uint64_t lost = atomic_load(&thread_current->ring->lost_events);
        drain();
        CHECK_EQUAL(program_now().lost_events, told);
        CHECK_EQUAL(ring_merge_untold_events(merge), lost - told);
        hook_free(0);
        drain();
        CHECK_EQUAL(ring_merge_untold_events(merge), 0);
        events++;
        CHECK_EQUAL(lost > told, true);
        CHECK_EQUAL(atomic_load(&thread_current->ring->lost_events), lost);
        CHECK_EQUAL(program_now().lost_events, lost);
        CHECK_EQUAL(program_now().events, events - lost + round); /* round marks */
        CHECK_EQUAL(atomic_load(&thread_current->ring->waits), 0);
        told = lost;
    }
    check_undamaged();
}

static void drops_are_told_and_counted_exactly(void **state)
{
    (void)state;
    in_a_process(fill_and_drop);
}

static void drop_under_signals(void)
{
    recording_open(RING, WIRE_ON_FULL_DROP);
    capture_spins = 20;
    hook_free(0);
    catch (SIGUSR1, on_raise);
    start_timer(on_timer);
    uint64_t main_events = 0;
    for (unsigned i = 0; i < BLOCKS; i++) {
        hook_malloc(0x1000 + 64 * i, 1);
        main_events++;
        if (i % 1000 == 0)
            ring_merge_pass(merge, false); /* now and then a collector comes by */
    }
    stop_timer();
    drain();
    hook_free(0); /* tells */
    drain();
    struct wire_ring *ring = thread_current->ring;
    uint64_t lost = atomic_load(&ring->lost_events), all = 3 + main_events + 2 * (handled + raised);
    CHECK_EQUAL(lost > 1000, true);
    CHECK_EQUAL(program_now().lost_events, lost);
    struct program_metrics program = program_now();
    CHECK_EQUAL(program.late_events + program.malformed_events, 0);
    uint64_t frees =
        number_of(program.total.free_count) + program.foreign_frees; /* or the block was lost */
    CHECK_EQUAL(number_of(program.total.alloc_count) + frees + 3 + lost, all);
    CHECK_EQUAL(atomic_load(&ring->busy), 0);
}

static void drops_under_signals_are_counted_exactly(void **state)
{
    (void)state;
    in_a_process(drop_under_signals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested_records_are_all_there),
        cmocka_unit_test(a_handler_may_record_more_than_a_ring_holds),
        cmocka_unit_test(a_longjmp_leaves_no_damage),
        cmocka_unit_test(hooks_below_a_dead_one_go_on),
        cmocka_unit_test(drops_are_told_and_counted_exactly),
        cmocka_unit_test(drops_under_signals_are_counted_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
