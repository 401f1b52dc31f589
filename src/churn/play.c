/* See play.h. Operations come from the script by the stretch: up to 128 calls that nothing else
 * interrupts. In one stretch of 16 each call is timed by itself. Decoding, which brings the slots
 * near, lies outside of what is timed. */
#include "churn/play.h"

#include <errno.h>
#include <stdlib.h>
#include "base/ticks.h"
#include "churn/measure.h"

enum { TIMED_STRETCHES = 16, PAGE_BYTES = 4096 };

static char failed_block; /* stands in a slot for a block that could not be had */

/* ---- Calls --------------------------------------------------------------------------------- */

static void touch(const struct stage *stage, char *block, uint64_t from, uint64_t bytes)
{
    volatile char *end = block + bytes;
    volatile char *at = block + from;

    if (from >= bytes || stage->touch == CHURN_TOUCH_NONE)
        return;
    *at = 1;
    if (stage->touch == CHURN_TOUCH_FIRST)
        return;
    for (at = (char *)(((uintptr_t)at | (PAGE_BYTES - 1)) + 1); at < end; at += PAGE_BYTES)
        *at = 1;
}

static void *aligned(unsigned align_log2, uint64_t size_bytes)
{
    void *block;

    if (align_log2 < 3) /* what posix_memalign takes at least */
        align_log2 = 3;
    return posix_memalign(&block, (size_t)1 << align_log2, size_bytes) ? NULL : block;
}

static inline void *call(const struct script_op *op, void *old)
{
    switch (op->kind) {
    case SCRIPT_MALLOC:
        return malloc(op->size_bytes);
    case SCRIPT_CALLOC:
        return calloc(1, op->size_bytes);
    case SCRIPT_ALIGNED:
        return aligned(op->align_log2, op->size_bytes);
    case SCRIPT_REALLOC:
        return realloc(old, op->size_bytes);
    default:
        free(old);
        return NULL;
    }
}

/* Waiting is the stream's, not the allocator's: its CPU time is taken out of the sum. */
static void await_turn(struct seat *seat, _Atomic uint32_t *word, uint32_t turn)
{
    uint64_t start_ns = measure_thread_ns();

    waits_await_turn(word, turn);
    seat->waited_ns += measure_thread_ns() - start_ns;
}

static void await_level(struct seat *seat, struct waits_level *level, uint32_t least)
{
    uint64_t start_ns;

    if (atomic_load(&level->value) >= least)
        return;
    start_ns = measure_thread_ns();
    waits_await_level(level, least);
    seat->waited_ns += measure_thread_ns() - start_ns;
}

static void *take_shared(struct seat *seat, uint32_t number, uint32_t turn)
{
    struct shared_slot *slot = &seat->stage->shared[number];
    void *block;

    if (atomic_load_explicit(&slot->turn, memory_order_acquire) != 2 * turn + 1)
        await_turn(seat, &slot->turn, 2 * turn + 1);
    block = slot->block;
    slot->block = NULL;
    waits_give_turn(&slot->turn, 2 * turn + 2);
    return block;
}

static void put_shared(struct seat *seat, uint32_t number, uint32_t turn, void *block)
{
    struct shared_slot *slot = &seat->stage->shared[number];

    if (atomic_load_explicit(&slot->turn, memory_order_acquire) != 2 * turn)
        await_turn(seat, &slot->turn, 2 * turn);
    slot->block = block;
    waits_give_turn(&slot->turn, 2 * turn + 1);
}

static inline void *take(struct seat *seat, const struct script_op *op)
{
    bool old = op->kind == SCRIPT_REALLOC;
    uint32_t number = old ? op->old_slot : op->slot;
    void *block;

    if (op->kind < SCRIPT_REALLOC)
        return NULL;
    if (op->flags & (old ? SCRIPT_OLD_SHARED : SCRIPT_SHARED)) {
        block = take_shared(seat, number, old ? op->old_turn : op->turn);
    } else {
        block = seat->slots[number];
        seat->slots[number] = NULL;
    }
    return block == &failed_block ? NULL : block;
}

static inline void put(struct seat *seat, const struct script_op *op, void *block)
{
    if (!block)
        block = &failed_block;
    if (op->flags & SCRIPT_SHARED)
        put_shared(seat, op->slot, op->turn, block);
    else
        seat->slots[op->slot] = block;
}

/* realloc() that fails leaves its block: it is given up, since the program went on without it. */
static void count_failure(struct seat *seat, const struct script_op *op, void *old)
{
    if (!op->size_bytes)
        return;
    seat->failed++;
    if (op->kind == SCRIPT_REALLOC)
        free(old);
}

static inline void note_time(struct seat *seat, unsigned kind, uint64_t ticks)
{
    uint64_t empty = seat->stage->empty_ticks;

    seat->bins[kind][churn_bin(ticks > empty ? ticks - empty : 0)]++;
}

/* Inlined for each combination. */
__attribute__((always_inline)) static inline void run_call(struct seat *seat,
                                                           const struct script_op *op, bool timed,
                                                           bool idle)
{
    void *old = take(seat, op);
    uint64_t start = timed ? ticks_now() : 0;
    void *block = idle ? (void *)op : call(op, old);

    if (timed) {
        uint64_t end = ticks_now();
        note_time(seat, op->kind, end - start);
    }
    if (op->kind == SCRIPT_FREE)
        return;
    if (!block)
        count_failure(seat, op, old);
    else if (!idle)
        touch(seat->stage, block, op->size_bytes - op->new_bytes, op->size_bytes);
    put(seat, op, block);
}

static void run_plain(struct seat *seat, int count)
{
    for (int i = 0; i < count; i++)
        run_call(seat, &seat->ops[i], false, false);
}

static void run_timed(struct seat *seat, int count)
{
    for (int i = 0; i < count; i++)
        run_call(seat, &seat->ops[i], true, false);
}

static void run_idle(struct seat *seat, int count)
{
    for (int i = 0; i < count; i++)
        run_call(seat, &seat->ops[i], false, true);
}

static void bring_near(struct seat *seat, int count)
{
    for (int i = 0; i < count; i++) {
        const struct script_op *op = &seat->ops[i];
        if (op->flags & SCRIPT_SHARED)
            __builtin_prefetch(&seat->stage->shared[op->slot], 1);
        else
            __builtin_prefetch(&seat->slots[op->slot], 1);
    }
}

static void run_stretch(struct seat *seat, int count)
{
    bring_near(seat, count);
    if (seat->stage->idle)
        run_idle(seat, count);
    else if (seat->stretches++ % TIMED_STRETCHES == 0)
        run_timed(seat, count);
    else
        run_plain(seat, count);
    seat->calls += (uint64_t)count;
    atomic_store_explicit(&churn_progress(seat->stage->result)[seat->number].calls, seat->calls,
                          memory_order_relaxed);
}

/* ---- Epochs -------------------------------------------------------------------------------- */

static bool is_over(const struct stage *stage, uint32_t epoch)
{
    return epoch < stage->header.epoch_count && !atomic_load(&stage->epochs[epoch]);
}

static void advance_frontier(struct stage *stage)
{
    uint32_t epoch = atomic_load(&stage->frontier.value);

    while (is_over(stage, epoch))
        if (atomic_compare_exchange_strong(&stage->frontier.value, &epoch, epoch + 1))
            epoch++;
    waits_level_rose(&stage->frontier);
}

static void leave_epoch(struct seat *seat)
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
        advance_frontier(stage);
    }
}

static void enter_epoch(struct seat *seat, uint32_t epoch)
{
    struct stage *stage = seat->stage;

    leave_epoch(seat);
    seat->epoch_1 = epoch + 1;
    await_level(seat, &stage->frontier, epoch);
}

/* ---- Lanes --------------------------------------------------------------------------------- */

static void *run_lane(void *argument);

static void end_lane_before(struct seat *seat)
{
    if (!seat->has_thread)
        return;
    pthread_join(seat->thread, NULL);
    seat->has_thread = false;
}

/* Whoever it is that begins the lane before it, it comes first. */
static void spawn(struct seat *by, uint32_t number, uint32_t lane)
{
    struct stage *stage = by->stage;
    struct seat *seat = &stage->seats[number];
    pthread_attr_t attributes;
    int error;

    if (!number || !lane)
        measure_fail(stage->result, "the script begins the first thread twice", 0);
    await_level(by, &seat->begun, lane - 1);
    end_lane_before(seat);
    atomic_fetch_add(&stage->spawned, 1);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, seat->stack, STAGE_STACK_BYTES);
    error = pthread_create(&seat->thread, &attributes, run_lane, seat);
    pthread_attr_destroy(&attributes);
    if (error)
        measure_fail(stage->result, "a thread cannot be created", error);
    seat->has_thread = true;
    atomic_fetch_add(&seat->begun.value, 1);
    waits_level_rose(&seat->begun);
}

static void release(struct stage *stage, uint32_t number)
{
    struct seat *seat = &stage->seats[number];

    atomic_fetch_add(&seat->released.value, 1);
    waits_level_rose(&seat->released);
}

static void run_control(struct seat *seat, const struct script_op *op)
{
    struct stage *stage = seat->stage;

    switch (op->kind) {
    case SCRIPT_SPAWN:
        spawn(seat, op->number, op->turn);
        break;
    case SCRIPT_RELEASE:
        release(stage, op->number);
        break;
    case SCRIPT_EPOCH:
        enter_epoch(seat, op->number);
        break;
    case SCRIPT_SAMPLE:
        measure_reading(stage->result, op->number);
        break;
    default:
        break;
    }
}

/* Until the lane's end, or the script's. */
static void run_script(struct seat *seat)
{
    for (;;) {
        int count = script_decode(&seat->cursor, seat->ops, STAGE_OPS);
        const struct script_op *last = &seat->ops[count > 0 ? count - 1 : 0];
        bool control;
        if (count < 0)
            measure_fail(seat->stage->result, "the script is damaged", count);
        if (count == 0)
            return;
        control = last->kind == SCRIPT_END || last->kind >= SCRIPT_CALLS;
        if (count > control)
            run_stretch(seat, count - control);
        if (last->kind == SCRIPT_END)
            return;
        if (control)
            run_control(seat, last);
    }
}

static void *run_lane(void *argument)
{
    struct seat *seat = argument;

    seat->lanes++;
    run_script(seat);
    leave_epoch(seat);
    atomic_fetch_add(&seat->stage->arrived.value, 1);
    waits_level_rose(&seat->stage->arrived);
    await_level(seat, &seat->released, seat->lanes);
    return NULL;
}

/* Lanes may still begin others: until none does, and all are there. */
static void await_lanes(struct stage *stage)
{
    uint32_t spawned;

    do {
        spawned = atomic_load(&stage->spawned);
        await_level(&stage->seats[0], &stage->arrived, spawned);
    } while (spawned != atomic_load(&stage->spawned));
}

static void time_nothing(struct stage *stage)
{
    uint64_t least = UINT64_MAX;

    for (unsigned i = 0; i < 1000; i++) {
        uint64_t start = ticks_now(), ticks = ticks_now() - start;
        least = ticks < least ? ticks : least;
    }
    stage->empty_ticks = stage->result->empty_ticks = least;
}

static void add_up(struct stage *stage)
{
    struct churn_result *result = stage->result;

    for (uint32_t i = 0; i < stage->header.seat_count; i++) {
        result->cpu_ns -= stage->seats[i].waited_ns < result->cpu_ns ? stage->seats[i].waited_ns : 0;
        result->failed_calls += stage->seats[i].failed;
        for (unsigned kind = 0; kind < SCRIPT_CALLS; kind++)
            for (unsigned bin = 0; bin < CHURN_BINS; bin++)
                result->bins[kind][bin] += stage->seats[i].bins[kind][bin];
    }
}

void play(struct stage *stage)
{
    struct seat *first = &stage->seats[0];

    time_nothing(stage);
    if (stage->epochs) /* the first may be empty */
        advance_frontier(stage);
    measure_begin(stage->result);
    atomic_store(&stage->result->state, CHURN_RUNNING);
    run_script(first);
    leave_epoch(first);
    await_lanes(stage);
    measure_end(stage->result);
    add_up(stage);
    atomic_store(&stage->result->state, CHURN_DONE);
}
