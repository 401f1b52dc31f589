/* Runs the operations of lanes (play.h). They are decoded in stretches of up to 128 calls of the
 * allocator. In one stretch of 16 each call is timed. Decoding, and prefetching of slots, are not
 * timed. */
#include "alloc_driver/play.h"

#include <errno.h>
#include <stdlib.h>
#include "base/ticks.h"
#include "alloc_driver/self_measure.h"

enum { TIMED_STRETCHES = 16, PAGE_BYTES = 4096 };

static char play_failed_block; /* in a slot: the call for its block has failed */

/* ---- Calls --------------------------------------------------------------------------------- */

static void play_touch(const struct stage *stage, char *block, uint64_t from, uint64_t bytes)
{
    volatile char *end = block + bytes;
    volatile char *at = block + from;

    if (from >= bytes || stage->touch == DRIVER_TOUCH_NONE)
        return;
    *at = 1;
    if (stage->touch == DRIVER_TOUCH_FIRST)
        return;
    for (at = (char *)(((uintptr_t)at | (PAGE_BYTES - 1)) + 1); at < end; at += PAGE_BYTES)
        *at = 1;
}

static void *play_aligned(unsigned align_log2, uint64_t size_bytes)
{
    void *block;

    if (align_log2 < 3) /* the least that posix_memalign takes */
        align_log2 = 3;
    return posix_memalign(&block, (size_t)1 << align_log2, size_bytes) ? NULL : block;
}

static inline void *play_call(const struct stream_op *op, void *old)
{
    switch (op->kind) {
    case STREAM_MALLOC:
        return malloc(op->size_bytes);
    case STREAM_CALLOC:
        return calloc(1, op->size_bytes);
    case STREAM_ALIGNED:
        return play_aligned(op->align_log2, op->size_bytes);
    case STREAM_REALLOC:
        return realloc(old, op->size_bytes);
    default:
        free(old);
        return NULL;
    }
}

/* Waiting is not the allocator's work, so its CPU time is taken off the sum. */
static void play_await_turn(struct seat *seat, _Atomic uint32_t *word, uint32_t turn)
{
    uint64_t start_ns = measure_thread_ns();

    waits_await_turn(word, turn);
    seat->waited_ns += measure_thread_ns() - start_ns;
}

static void play_await_level(struct seat *seat, struct waits_level *level, uint32_t least)
{
    uint64_t start_ns;

    if (atomic_load(&level->value) >= least)
        return;
    start_ns = measure_thread_ns();
    waits_await_level(level, least);
    seat->waited_ns += measure_thread_ns() - start_ns;
}

static void *play_take_shared(struct seat *seat, uint32_t number, uint32_t turn)
{
    struct shared_slot *slot = &seat->stage->shared[number];
    void *block;

    if (atomic_load_explicit(&slot->turn, memory_order_acquire) != 2 * turn + 1)
        play_await_turn(seat, &slot->turn, 2 * turn + 1);
    block = slot->block;
    slot->block = NULL;
    waits_give_turn(&slot->turn, 2 * turn + 2);
    return block;
}

static void play_put_shared(struct seat *seat, uint32_t number, uint32_t turn, void *block)
{
    struct shared_slot *slot = &seat->stage->shared[number];

    if (atomic_load_explicit(&slot->turn, memory_order_acquire) != 2 * turn)
        play_await_turn(seat, &slot->turn, 2 * turn);
    slot->block = block;
    waits_give_turn(&slot->turn, 2 * turn + 1);
}

static inline void *play_take(struct seat *seat, const struct stream_op *op)
{
    bool old = op->kind == STREAM_REALLOC;
    uint32_t number = old ? op->old_slot : op->slot;
    void *block;

    if (op->kind < STREAM_REALLOC)
        return NULL;
    if (op->flags & (old ? STREAM_OLD_SHARED : STREAM_SHARED)) {
        block = play_take_shared(seat, number, old ? op->old_turn : op->turn);
    } else {
        block = seat->slots[number];
        seat->slots[number] = NULL;
    }
    return block == &play_failed_block ? NULL : block;
}

static inline void play_put(struct seat *seat, const struct stream_op *op, void *block)
{
    if (!block)
        block = &play_failed_block;
    if (op->flags & STREAM_SHARED)
        play_put_shared(seat, op->slot, op->turn, block);
    else
        seat->slots[op->slot] = block;
}

/* Counts a failed call. A realloc() that fails leaves its old block, which is freed, because the
 * stream does not use it any more. */
static void play_count_failure(struct seat *seat, const struct stream_op *op, void *old)
{
    if (!op->size_bytes)
        return;
    seat->failed++;
    if (op->kind == STREAM_REALLOC)
        free(old);
}

static inline void play_note_time(struct seat *seat, unsigned kind, uint64_t ticks)
{
    uint64_t empty = seat->stage->empty_ticks;

    seat->bins[kind][driver_bin(ticks > empty ? ticks - empty : 0)]++;
}

/* Inlined for each combination of `timed` and `idle`. */
__attribute__((always_inline)) static inline void
play_run_call(struct seat *seat, const struct stream_op *op, bool timed, bool idle)
{
    void *old = play_take(seat, op);
    uint64_t start = timed ? ticks_now() : 0;
    void *block = idle ? (void *)op : play_call(op, old);

    if (timed) {
        uint64_t end = ticks_now();
        play_note_time(seat, op->kind, end - start);
    }
    if (op->kind == STREAM_FREE)
        return;
    if (!block)
        play_count_failure(seat, op, old);
    else if (!idle)
        play_touch(seat->stage, block, op->size_bytes - op->new_bytes, op->size_bytes);
    play_put(seat, op, block);
}

static void play_run_plain(struct seat *seat, int count)
{
    for (int i = 0; i < count; i++)
        play_run_call(seat, &seat->ops[i], false, false);
}

static void play_run_timed(struct seat *seat, int count)
{
    for (int i = 0; i < count; i++)
        play_run_call(seat, &seat->ops[i], true, false);
}

static void play_run_idle(struct seat *seat, int count)
{
    for (int i = 0; i < count; i++)
        play_run_call(seat, &seat->ops[i], false, true);
}

static void play_bring_near(struct seat *seat, int count)
{
    for (int i = 0; i < count; i++) {
        const struct stream_op *op = &seat->ops[i];
        if (op->flags & STREAM_SHARED)
            __builtin_prefetch(&seat->stage->shared[op->slot], 1);
        else
            __builtin_prefetch(&seat->slots[op->slot], 1);
    }
}

static void play_run_stretch(struct seat *seat, int count)
{
    play_bring_near(seat, count);
    if (seat->stage->idle)
        play_run_idle(seat, count);
    else if (seat->stretches++ % TIMED_STRETCHES == 0)
        play_run_timed(seat, count);
    else
        play_run_plain(seat, count);
    seat->calls += (uint64_t)count;
    atomic_store_explicit(&driver_progress(seat->stage->result)[seat->number].calls, seat->calls,
                          memory_order_relaxed);
}

/* ---- Epochs -------------------------------------------------------------------------------- */

static bool play_is_over(const struct stage *stage, uint32_t epoch)
{
    return epoch < stage->header.epoch_count && !atomic_load(&stage->epochs[epoch]);
}

static void play_advance_frontier(struct stage *stage)
{
    uint32_t epoch = atomic_load(&stage->frontier.value);

    while (play_is_over(stage, epoch))
        if (atomic_compare_exchange_strong(&stage->frontier.value, &epoch, epoch + 1))
            epoch++;
    waits_level_rose(&stage->frontier);
}

static void play_leave_epoch(struct seat *seat)
{
    struct stage *stage = seat->stage;
    uint32_t epoch = seat->epoch_1 - 1;

    if (!seat->epoch_1)
        return;
    seat->epoch_1 = 0;
    if (!stage->epochs) {
        atomic_store(&stage->frontier.value, epoch + 1);
        waits_level_rose(&stage->frontier);
    } else if (atomic_fetch_sub(&stage->epochs[epoch], 1) == 1) {
        play_advance_frontier(stage);
    }
}

static void play_enter_epoch(struct seat *seat, uint32_t epoch)
{
    struct stage *stage = seat->stage;

    play_leave_epoch(seat);
    seat->epoch_1 = epoch + 1;
    play_await_level(seat, &stage->frontier, epoch);
}

/* ---- Lanes --------------------------------------------------------------------------------- */

static void *play_run_lane(void *argument);

static void play_end_lane_before(struct seat *seat)
{
    if (!seat->has_thread)
        return;
    pthread_join(seat->thread, NULL);
    seat->has_thread = false;
}

/* Starts a lane, after any thread has started the seat's lane before. */
static void play_spawn(struct seat *by, uint32_t number, uint32_t lane)
{
    struct stage *stage = by->stage;
    struct seat *seat = &stage->seats[number];
    pthread_attr_t attributes;
    int error;

    if (!number || !lane)
        measure_fail(stage->result, "the stream begins the first thread twice", 0);
    play_await_level(by, &seat->begun, lane - 1);
    play_end_lane_before(seat);
    atomic_fetch_add(&stage->spawned, 1);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, seat->stack, STAGE_STACK_BYTES);
    error = pthread_create(&seat->thread, &attributes, play_run_lane, seat);
    pthread_attr_destroy(&attributes);
    if (error)
        measure_fail(stage->result, "a thread cannot be created", error);
    seat->has_thread = true;
    atomic_fetch_add(&seat->begun.value, 1);
    waits_level_rose(&seat->begun);
}

static void play_release(struct stage *stage, uint32_t number)
{
    struct seat *seat = &stage->seats[number];

    atomic_fetch_add(&seat->released.value, 1);
    waits_level_rose(&seat->released);
}

static void play_run_control(struct seat *seat, const struct stream_op *op)
{
    struct stage *stage = seat->stage;

    switch (op->kind) {
    case STREAM_SPAWN:
        play_spawn(seat, op->number, op->turn);
        break;
    case STREAM_RELEASE:
        play_release(stage, op->number);
        break;
    case STREAM_EPOCH:
        play_enter_epoch(seat, op->number);
        break;
    case STREAM_SAMPLE:
        measure_reading(stage->result, op->number);
        break;
    default:
        break;
    }
}

/* Runs operations until the end of the lane or of the stream. */
static void play_run_stream(struct seat *seat)
{
    for (;;) {
        int count = stream_decode(&seat->cursor, seat->ops, STAGE_OPS);
        const struct stream_op *last = &seat->ops[count > 0 ? count - 1 : 0];
        bool control;
        if (count < 0)
            measure_fail(seat->stage->result, "the stream is damaged", count);
        if (count == 0)
            return;
        control = last->kind == STREAM_END || last->kind >= STREAM_CALLS;
        if (count > control)
            play_run_stretch(seat, count - control);
        if (last->kind == STREAM_END)
            return;
        if (control)
            play_run_control(seat, last);
    }
}

static void *play_run_lane(void *argument)
{
    struct seat *seat = argument;

    seat->lanes++;
    play_run_stream(seat);
    play_leave_epoch(seat);
    atomic_fetch_add(&seat->stage->arrived.value, 1);
    waits_level_rose(&seat->stage->arrived);
    play_await_level(seat, &seat->released, seat->lanes);
    return NULL;
}

/* Waits until all lanes have ended. Lanes may start others meanwhile. */
static void play_await_lanes(struct stage *stage)
{
    uint32_t spawned;

    do {
        spawned = atomic_load(&stage->spawned);
        play_await_level(&stage->seats[0], &stage->arrived, spawned);
    } while (spawned != atomic_load(&stage->spawned));
}

static void play_time_nothing(struct stage *stage)
{
    uint64_t least = UINT64_MAX;

    for (unsigned i = 0; i < 1000; i++) {
        uint64_t start = ticks_now(), ticks = ticks_now() - start;
        least = ticks < least ? ticks : least;
    }
    stage->empty_ticks = stage->result->empty_ticks = least;
}

static void play_add_up(struct stage *stage)
{
    struct driver_result *result = stage->result;

    for (uint32_t i = 0; i < stage->header.seat_count; i++) {
        result->cpu_ns -=
            stage->seats[i].waited_ns < result->cpu_ns ? stage->seats[i].waited_ns : 0;
        result->failed_calls += stage->seats[i].failed;
        for (unsigned kind = 0; kind < STREAM_CALLS; kind++)
            for (unsigned bin = 0; bin < DRIVER_BINS; bin++)
                result->bins[kind][bin] += stage->seats[i].bins[kind][bin];
    }
}

void play(struct stage *stage)
{
    struct seat *first = &stage->seats[0];

    play_time_nothing(stage);
    if (stage->epochs) /* the first may be empty */
        play_advance_frontier(stage);
    measure_begin(stage->result);
    atomic_store(&stage->result->state, DRIVER_RUNNING);
    play_run_stream(first);
    play_leave_epoch(first);
    play_await_lanes(stage);
    measure_end(stage->result);
    play_add_up(stage);
    atomic_store(&stage->result->state, DRIVER_DONE);
}
