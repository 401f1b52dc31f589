/* Reserves let threads allocate and free large blocks without changing the shared level. A thread
 * that changes the level takes more bytes from it than it needs, as its *reserve*, and frees go to
 * the reserve too. Its next blocks then change only the reserve. A change that would raise the
 * level above the peak ends all reserves first. Runs inside other programs: no malloc, no stdio, no
 * lock; a handler may interrupt any of it.
 *
 *   level = current + Σ reserves ≤ peak
 *
 * Bytes that move between a reserve and the level are added to moving_bytes before, and taken off
 * after they have arrived: between, the level may contain bytes that no reserve has. A thread that
 * finds moving bytes at its new peak tries again. If the other thread does not run for long, an
 * upper bound of the peak is noted too. */
#include "counters/counters.h"

#include <errno.h>

enum {
    CALLS_BEFORE = 16, /* how often a thread has to change the level before it gets a reserve */
    WAIT = 512,        /* changes of the level, after reserves had to end, until there are some
                        * again */
    SLOTS_MOST = 256,  /* with more slots there are no reserves, because all slots are visited when
                        * reserves end */
    FAR = 16,          /* room for so many blocks of each thread below the peak: reserves begin at
                        * once */
    BLOCKS_LEAST = 8,  /* blocks that a reserve may always have */
    TRIES = 100,
};

static int64_t reserves_load(const int64_t *figure)
{
    return __atomic_load_n(figure, __ATOMIC_SEQ_CST);
}

static int64_t reserves_add(int64_t *figure, int64_t bytes)
{
    return __atomic_add_fetch(figure, bytes, __ATOMIC_SEQ_CST);
}

/* ---- Between a reserve and the level ---- */

/* Moves all of a reserve above `keep` to the level. */
void reserves_return(struct count_slot *slot, int64_t keep)
{
    int64_t seen = reserves_load(&slot->reserve_bytes), more;
    while ((more = seen - keep) > 0) {
        reserves_add(&count_state.moving_bytes, more);
        bool done = reserves_swap(&slot->reserve_bytes, &seen, keep);
        if (done)
            reserves_add(&count_state.current_bytes, -more);
        reserves_add(&count_state.moving_bytes, -more);
        if (done)
            return;
    }
}

void reserves_end(void)
{
    uint32_t ends = RESERVING_ENDS;
    __atomic_store_n(&count_state.reserving, ends, __ATOMIC_SEQ_CST);
    count_state.reserves_wait = WAIT;
    for (uint32_t i = 0; i < count_state.slots_used && i < COUNT_SLOTS; i++)
        reserves_return(&count_state.slots[i], 0);
    __atomic_compare_exchange_n(&count_state.reserving, &ends, RESERVING_OFF, false,
                                __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* ---- Whether to have any, and how large ---- */

static void reserves_begin(void)
{
    __atomic_store_n(&count_state.reserves_used, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&count_state.reserving, RESERVING_ON, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&count_exact, __ATOMIC_SEQ_CST))
        reserves_end(); /* a thread has just asked for exact figures (provide.c) */
}

/* After a change of the level by `bytes`: decides whether there are reserves, and the slot's
 * largest size. */
static void reserves_see(struct count_slot *slot, int64_t bytes)
{
    int64_t threads = count_state.slots_used, size = bytes < 0 ? -bytes : bytes;
    int64_t room =
        reserves_load(&count_state.peak_bytes) - reserves_load(&count_state.current_bytes);
    if (count_exact || threads > SLOTS_MOST || slot->drains_done < CALLS_BEFORE || size == 0)
        return;
    int64_t share = room / threads, few = BLOCKS_LEAST * size, most = share > few ? share : few;
    slot->most_shift = (uint8_t)(63 - __builtin_clzll((unsigned long long)most));
    if (reserves_are(RESERVING_OFF) &&
        (room >= FAR * threads * size || --count_state.reserves_wait <= 0))
        reserves_begin();
}

/* ---- The level ---- */

/* How many bytes a slot takes as a reserve, of `room` bytes below the peak. */
static int64_t reserves_extra(const struct count_slot *slot, int64_t room)
{
    int64_t half = ((int64_t)1 << slot->most_shift) / 2;
    if (!reserves_are(RESERVING_ON) || !slot->most_shift || room / 2 < half)
        return 0;
    return half - reserves_load(&slot->reserve_bytes) > 0 ? half : 0;
}

/* Adds bytes that do not raise the peak. False: another thread changed the level meanwhile. */
static bool reserves_add_below(struct count_slot *slot, int64_t level, int64_t bytes, int64_t room)
{
    int64_t extra = reserves_extra(slot, room);
    if (extra)
        reserves_add(&count_state.moving_bytes, extra);
    bool done = reserves_swap(&count_state.current_bytes, &level, level + bytes + extra);
    if (done && extra)
        reserves_add(&slot->reserve_bytes, extra);
    if (extra)
        reserves_add(&count_state.moving_bytes, -extra);
    if (done && extra && !reserves_are(RESERVING_ON))
        reserves_return(slot, 0);
    return done;
}

/* Bytes of another thread have been moving for long: the peak is at least the level without them,
 * and at most the level. */
static void reserves_raise_unsure(int64_t level)
{
    int64_t *most = &count_state.peak_most_bytes, seen = reserves_load(most);
    while (level > seen && !reserves_swap(most, &seen, level))
        ;
    reserves_end();
    count_raise_peak(reserves_load(&count_state.current_bytes) -
                     reserves_load(&count_state.moving_bytes));
}

static bool reserves_are_none(void)
{
    return reserves_are(RESERVING_OFF) && !reserves_load(&count_state.moving_bytes);
}

static void reserves_allocate(struct count_slot *slot, int64_t bytes)
{
    int64_t level;
    for (unsigned tries = 0; tries < TRIES && !reserves_are_none();) {
        level = reserves_load(&count_state.current_bytes);
        int64_t room = reserves_load(&count_state.peak_bytes) - level - bytes;
        if (room < 0 && ++tries)
            reserves_end();
        else if (reserves_add_below(slot, level, bytes, room))
            return;
    }
    bool sure = reserves_are_none();
    level = reserves_add(&count_state.current_bytes, bytes);
    if (likely(level <= reserves_load(&count_state.peak_bytes)))
        return;
    if (likely(sure && reserves_are_none()))
        count_raise_peak(level);
    else
        reserves_raise_unsure(level);
}

void reserves_change(struct count_slot *slot, int64_t bytes)
{
    if (bytes < 0 ? reserves_put(slot, -bytes) : reserves_take(slot, bytes))
        return;
    if (bytes < 0) {
        reserves_return(slot, ((int64_t)1 << slot->most_shift) / 2);
        reserves_add(&count_state.current_bytes, bytes);
    } else {
        reserves_allocate(slot, bytes);
    }
    reserves_see(slot, bytes);
}
