/* The hot path: the changes of one call. Runs inside other programs: no malloc, no stdio, errno
 * kept. Signal handlers may interrupt any of it and allocate too, so each figure is changed by one
 * instruction. */
#ifndef TIDEMARK_COUNTERS_COUNTERS_H
#define TIDEMARK_COUNTERS_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include "counters/ledger.h"
#include "counters/counter_state.h"
#include "interpose/c_library.h"
#include "unwind/arch.h"

extern struct count_state count_state;
extern __thread struct count_slot *count_slot_current;

/* No slot gets a step: peaks are exact, and current_bytes is current at any time. */
extern bool count_exact;
/* The real allocator calls functions that we hook, or the program's own malloc stands between C++'s
 * operators and ours, or the real allocator is not known yet. */
extern bool count_real_nests;
/* Frame of the outermost hooked call of this thread; 0: there is none. */
extern __thread uintptr_t count_outermost;
/* To be called before the first call of a real function; ends the program if it has no malloc. */
void count_find_real(void);
/* Notes whose malloc the program calls, if it is not ours. To be called when the library is
 * loaded. */
void count_see_in_front(void);
/* Blocks that the calling thread allocates while `hide` is set are not counted, nor are their
 * frees. Not to be nested. */
void count_hide(bool hide);

/* Wiped in the child of a fork (MADV_WIPEONFORK), however it was made: fork() calls our handler,
 * but _Fork() and clone() call none. Hot paths test it in one comparison with `plain`. In pages of
 * its own. */
struct count_watch {
    bool plain; /* there is no observer, and `same` */
    bool same;  /* the counters are of this process */
    char rest[65536 - 2];
};
extern struct count_watch count_watch;
/* Called after each change while there is an observer; NULL: no function. A free has no `block`, an
 * allocation has no `old`. */
extern void (*count_log)(const void *old, size_t old_size, const void *block, size_t size);
/* Called before the free of a block that no allocation has returned; NULL: no function. */
extern void (*count_unknown_freed)(const void *block);
void count_see_unknown(struct count_slot *slot, const void *block);

/* Called at the first counted call of a process, or of a fork's child. There is only one thread
 * then, because a thread is not started without a malloc. Sets count_watch.same. NULL: the library
 * has nothing to do then. */
void count_process_begins(void) __attribute__((weak));
/* The state lies in a file, whose file system may be full when another slot is needed. */
extern bool count_in_file;

/* Called after every change, in the thread that made it; NULL: no function. `size`: bytes allocated
 * or freed. A realloc is a free and then an allocation. current_bytes has both already at the first
 * call: `ahead` is by how much. */
extern void (*count_observer)(bool allocated, size_t size, size_t ahead);
/* After a change of count_observer or of count_watch.same. */
void count_watch_again(void);
/* Likewise, when the size of the block that was counted last is corrected (aligned new). */
extern void (*count_corrected)(int64_t change_bytes);

/* To be called if count_watch.same is false. */
void count_begin_here(void);
/* Gives this thread a slot; NULL: there are too many threads. */
struct count_slot *count_slot_begin(void);
/* Moves a thread's pending bytes to the shared level. */
void count_drain(struct count_slot *slot);
/* Reserves (reserves.c): bytes below the peak that a thread may allocate without changing the
 * level. reserves_change() changes the level, or the slot's reserve if that has room. */
void reserves_change(struct count_slot *slot, int64_t bytes);
/* Give the reserve of one slot above `keep`, or all reserves, back to the level. Without reserves
 * the level is current. */
void reserves_return(struct count_slot *slot, int64_t keep);
void reserves_end(void);
/* In the child of a fork, which has one thread and all of its parent's slots. The thread's slot
 * gets its new id. Pending bytes of all slots go to the level, because the other threads are not
 * there to move them. */
void count_forked(void);

static inline struct count_slot *count_slot_of_thread(void)
{
    if (unlikely(!count_watch.same))
        count_begin_here();
    struct count_slot *slot = count_slot_current;
    return likely(slot) ? slot : count_slot_begin();
}

/* ---- One instruction each ---- */

static inline void count_add(uint64_t *figure, uint64_t amount)
{
#if defined(__x86_64__)
    __asm__ volatile("addq %1, %0" : "+m"(*figure) : "er"(amount) : "cc");
#else
    __atomic_fetch_add(figure, amount, __ATOMIC_RELAXED);
#endif
}

/* Adds and returns the sum, for figures that only one thread changes. */
static inline int64_t count_sum(int64_t *figure, int64_t amount)
{
#if defined(__x86_64__)
    int64_t before = amount;
    __asm__ volatile("xaddq %0, %1" : "+r"(before), "+m"(*figure)::"cc");
    return before + amount;
#else
    return __atomic_add_fetch(figure, amount, __ATOMIC_RELAXED);
#endif
}

/* Changes a figure from *seen to `to`. False: it has another value, which is in *seen now. For
 * figures that only one thread changes. */
static inline bool count_replace(int64_t *figure, int64_t *seen, int64_t to)
{
#if defined(__x86_64__)
    bool done;
    __asm__ volatile("cmpxchgq %3, %1"
                     : "+a"(*seen), "+m"(*figure), "=@ccz"(done)
                     : "r"(to)
                     : "memory");
    return done;
#else
    return __atomic_compare_exchange_n(figure, seen, to, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
#endif
}

static inline void count_raise_peak(int64_t level)
{
    int64_t *peak = &count_state.peak_bytes;
    int64_t seen = __atomic_load_n(peak, __ATOMIC_RELAXED);
    if (likely(level <= seen))
        return;
    if (likely(c_library_is_single_threaded())) { /* only a signal handler could change it
                                                   * meanwhile */
        while (level > seen && !count_replace(peak, &seen, level))
            ;
        return;
    }
    while (level > seen && !__atomic_compare_exchange_n(peak, &seen, level, true, __ATOMIC_RELAXED,
                                                        __ATOMIC_RELAXED))
        ;
}

/* ---- Reserves ----
 * Other threads may take a reserve back, so instructions are locked. */

static inline bool reserves_swap(int64_t *figure, int64_t *seen, int64_t to)
{
    return __atomic_compare_exchange_n(figure, seen, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static inline bool reserves_are(enum count_reserving state)
{
    return __atomic_load_n(&count_state.reserving, __ATOMIC_ACQUIRE) == state;
}

/* Takes bytes from the slot's reserve. False: it has not enough. */
static inline __attribute__((always_inline)) bool reserves_take(struct count_slot *slot,
                                                                int64_t bytes)
{
    int64_t seen = __atomic_load_n(&slot->reserve_bytes, __ATOMIC_RELAXED);
    return seen >= bytes && reserves_swap(&slot->reserve_bytes, &seen, seen - bytes);
}

/* Puts bytes into the slot's reserve. False: it has no room. */
static inline __attribute__((always_inline)) bool reserves_put(struct count_slot *slot,
                                                               int64_t bytes)
{
    int64_t seen = __atomic_load_n(&slot->reserve_bytes, __ATOMIC_RELAXED);
    if ((uint64_t)(seen + bytes) >> slot->most_shift || !reserves_are(RESERVING_ON) ||
        !reserves_swap(&slot->reserve_bytes, &seen, seen + bytes))
        return false;
    /* a thread that ended reserves meanwhile has either found these bytes, or is noticed here */
    if (unlikely(!reserves_are(RESERVING_ON)))
        reserves_return(slot, 0);
    return true;
}

/* ---- Changes ---- */

static inline __attribute__((always_inline)) void count_level(struct count_slot *slot,
                                                              int64_t bytes)
{
    if (likely(c_library_is_single_threaded())) {
        if (unlikely(count_state.reserving))
            reserves_end();
        count_raise_peak(count_sum(&count_state.current_bytes, bytes));
        return;
    }
    int64_t pending = count_sum(&slot->pending_bytes, bytes);
    int64_t step = slot->step_bytes;
    if (unlikely((uint64_t)(pending + step) > 2 * (uint64_t)step))
        count_drain(slot);
}

/* Counts a new block. */
static inline __attribute__((always_inline)) void
count_birth(struct count_slot *slot, enum count_kind kind, void *block, size_t size)
{
    if (unlikely(!slot || !ledger_put(block, size))) {
        __atomic_fetch_add(&count_state.lost, 1, __ATOMIC_RELAXED);
        return;
    }
    slot->last = block;
    count_add(&slot->calls[kind], 1);
    count_add(&slot->requested_bytes, size);
    count_level(slot, (int64_t)size);
    if (unlikely(count_observer))
        count_observer(true, size, 0);
    if (unlikely(count_log))
        count_log(NULL, 0, block, size);
}

/* Counts the end of a block that is no longer in the ledger. */
static inline __attribute__((always_inline)) void count_gone(struct count_slot *slot, uint64_t size)
{
    count_add(&slot->calls[COUNT_FREE], 1);
    count_level(slot, -(int64_t)size);
    if (unlikely(count_observer))
        count_observer(false, size, 0);
}

/* To be called before a block is freed. */
static inline __attribute__((always_inline)) void count_death(void *block)
{
    uint64_t size = ledger_take(block);
    struct count_slot *slot = count_slot_of_thread();
    if (unlikely(size == LEDGER_UNKNOWN || !slot)) {
        /* a part of a call that is counted already, or an unknown block */
        count_see_unknown(slot, block);
        return;
    }
    count_gone(slot, size);
    if (unlikely(count_log))
        count_log(block, size, NULL, 0);
}

/* ---- The common case ----
 * Nearly every call is of a block of a middle size, in a leaf that is mapped, by a thread that has
 * a slot, and makes no new peak. That case makes no call and saves no register. False: it is
 * another case, nothing was changed, and the functions above have to be called. The level is tested
 * first and then changed; a handler between the two may leave more pending bytes than the step
 * until the next call. */

static inline __attribute__((always_inline)) bool count_common_birth(enum count_kind kind,
                                                                     void *block, size_t size)
{
    struct count_slot *slot = count_slot_current;
    unsigned char *leaf = ledger_leaf((uintptr_t)block);
    if (unlikely(!slot) || unlikely(!block) || unlikely(!leaf) ||
        unlikely(!ledger_fits_two(size)) || unlikely(!count_watch.plain))
        return false;
    bool alone = c_library_is_single_threaded();
    int64_t *level = likely(alone) ? &count_state.current_bytes : &slot->pending_bytes;
    const int64_t *most = likely(alone) ? &count_state.peak_bytes : &slot->step_bytes;
    bool fits = *level + (int64_t)size <= __atomic_load_n(most, __ATOMIC_RELAXED);
    if (unlikely(!fits) && (alone || !reserves_take(slot, (int64_t)size)))
        return false;
    ledger_put_two(leaf + ledger_index((uintptr_t)block), size);
    slot->last = block;
    count_add(&slot->calls[kind], 1);
    count_add(&slot->requested_bytes, size);
    if (likely(fits))
        count_add((uint64_t *)level, size);
    return true;
}

static inline __attribute__((always_inline)) bool count_common_death(void *block)
{
    struct count_slot *slot = count_slot_current;
    unsigned char *leaf = ledger_leaf((uintptr_t)block);
    if (unlikely(!slot || !leaf || !count_watch.plain))
        return false;
    unsigned char *entry = leaf + ledger_index((uintptr_t)block);
    uint64_t size = ledger_read_two(entry);
    if (unlikely(size == LEDGER_UNKNOWN))
        return false;
    int64_t *level = &count_state.current_bytes;
    bool fits = true;
    if (unlikely(!c_library_is_single_threaded())) {
        level = &slot->pending_bytes;
        fits = *level - (int64_t)size >= -slot->step_bytes;
        if (unlikely(!fits) && !reserves_put(slot, (int64_t)size))
            return false;
    }
    __builtin_memset(entry, 0, 2);
    count_add(&slot->calls[COUNT_FREE], 1);
    if (likely(fits))
        count_add((uint64_t *)level, -(uint64_t)size);
    return true;
}

#endif
