/* Keeps the counters: a slot for each thread, and the level that threads share in batches
 * (counters.h, counter_state.h). Runs inside other programs: no malloc, no stdio, errno kept. */
#include "counters/counters.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* whole pages, because counted_process.c may replace them by another mapping */
struct count_state count_state __attribute__((aligned(65536)));
__thread struct count_slot *count_slot_current;
struct count_watch count_watch __attribute__((aligned(65536)));
bool count_in_file;
bool count_exact;
bool count_real_nests = true;
void (*count_observer)(bool allocated, size_t size, size_t ahead);
void (*count_corrected)(int64_t change_bytes);

void (*count_log)(const void *old, size_t old_size, const void *block, size_t size);
void (*count_unknown_freed)(const void *block);

/* ---- The process ---- */

void count_watch_again(void)
{
    bool nobody = !__atomic_load_n(&count_observer, __ATOMIC_ACQUIRE);
    __atomic_store_n(&count_watch.plain, nobody && count_watch.same, __ATOMIC_RELEASE);
}

void __attribute__((noinline, cold)) count_begin_here(void)
{
    int saved_errno = errno;
    if (count_process_begins)
        count_process_begins();
    else
        count_watch.same = true;
    count_watch_again();
    errno = saved_errno;
}

/* ---- Slots ---- */

static bool count_thread_is_gone(int32_t thread)
{
    return syscall(SYS_tgkill, getpid(), thread, 0) < 0 && errno == ESRCH;
}

static bool count_claim(struct count_slot *slot, int32_t before, int32_t thread)
{
    return __atomic_compare_exchange_n(&slot->thread, &before, thread, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

/* A slot whose thread has ended; NULL: none was found. Each new thread tests a few slots, so that
 * programs that start threads all the time need about as many slots as they have threads at one
 * time. */
static struct count_slot *count_slot_reuse(int32_t thread)
{
    static uint32_t hand;
    uint32_t used = __atomic_load_n(&count_state.slots_used, __ATOMIC_ACQUIRE);
    for (uint32_t looks = 0; looks < 4 && looks < used; looks++) {
        uint32_t at = __atomic_fetch_add(&hand, 1, __ATOMIC_RELAXED) % used;
        struct count_slot *slot = &count_state.slots[at];
        int32_t owner = __atomic_load_n(&slot->thread, __ATOMIC_RELAXED);
        /* an owner with this thread's own id has ended */
        if (owner != 0 && (owner == thread || count_thread_is_gone(owner)) &&
            count_claim(slot, owner, thread)) {
            slot->before_bytes = slot->requested_bytes;
            slot->before_count = count_allocations(slot->calls);
            return slot;
        }
    }
    return NULL;
}

/* A write to a page for which the file system has no room would kill the program. Kernels before
 * 5.14 cannot test it. */
static bool count_slot_has_room(const struct count_slot *slot)
{
    uintptr_t page = (uintptr_t)getpagesize();
    return !count_in_file ||
           madvise((void *)((uintptr_t)slot & -page), page, MADV_POPULATE_WRITE) == 0 ||
           errno == EINVAL;
}

static struct count_slot *count_slot_new(int32_t thread)
{
    uint32_t used = __atomic_load_n(&count_state.slots_used, __ATOMIC_RELAXED);
    while (used < COUNT_SLOTS && count_slot_has_room(&count_state.slots[used]))
        if (__atomic_compare_exchange_n(&count_state.slots_used, &used, used + 1, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            __atomic_store_n(&count_state.slots[used].thread, thread, __ATOMIC_RELEASE);
            return &count_state.slots[used];
        }
    return NULL;
}

struct count_slot *count_slot_begin(void)
{
    int saved_errno = errno;
    int32_t thread = (int32_t)syscall(SYS_gettid);
    struct count_slot *slot = count_slot_reuse(thread);
    if (!slot)
        slot = count_slot_new(thread);
    if (slot)
        __atomic_fetch_add(&count_state.threads, 1, __ATOMIC_RELAXED);
    count_slot_current = slot;
    errno = saved_errno;
    return slot;
}

/* Reports the free of an unknown block, but not of one that operator delete has already counted
 * (`last`). */
void __attribute__((noinline, cold)) count_see_unknown(struct count_slot *slot, const void *block)
{
    if (!slot || !count_unknown_freed || count_real_nests || count_state.lost)
        return;
    if (slot->last == block)
        slot->last = NULL;
    else
        count_unknown_freed(block);
}

void count_forked(void)
{
    for (uint32_t i = 0; i < count_state.slots_used; i++) {
        struct count_slot *slot = &count_state.slots[i];
        count_state.current_bytes += slot->pending_bytes - slot->reserve_bytes;
        slot->pending_bytes = slot->step_bytes = slot->reserve_bytes = 0;
        slot->drains_done = slot->drains_begun; /* a thread may have been at it */
    }
    count_state.reserving = RESERVING_OFF;
    count_state.reserves_used = 0;
    count_state.moving_bytes = count_state.peak_most_bytes = 0;
    count_raise_peak(count_state.current_bytes);
    if (count_slot_current)
        count_slot_current->thread = (int32_t)syscall(SYS_gettid);
}

/* ---- The level ---- */

static inline void count_tick(uint32_t *figure)
{
#if defined(__x86_64__)
    __asm__ volatile("incl %0" : "+m"(*figure)::"cc");
#else
    __atomic_fetch_add(figure, 1, __ATOMIC_RELAXED);
#endif
}

static int64_t count_most_step(void)
{
    int64_t share = __atomic_load_n(&count_state.peak_bytes, __ATOMIC_RELAXED) >> COUNT_STEP_SHIFT;
    int64_t noted = __atomic_load_n(&count_state.peak_error_bytes, __ATOMIC_RELAXED);
    if (noted >= share)
        return COUNT_STEP_LEAST;
    share /= __atomic_load_n(&count_state.slots_used, __ATOMIC_RELAXED);
    return share > COUNT_STEP_LEAST ? share : COUNT_STEP_LEAST;
}

/* Raises the noted error first, then the step. So a thread that wants exact peaks and finds no
 * error may trust the level, and a thread that finds that wish between the two takes no step
 * (provide.c). If a handler comes between, the step is smaller than noted, which does no harm. */
static void __attribute__((noinline)) count_grow_step(struct count_slot *slot, int64_t moved)
{
    int64_t step = slot->step_bytes, most = count_most_step(), more = 64 + step / 4;
    if (more > most - step)
        more = most - step;
    /* not for blocks of more than two steps, which would go to the level anyway */
    if (count_exact || more <= 0 || moved > 2 * most || moved < -2 * most)
        return;
    __atomic_add_fetch(&count_state.peak_error_bytes, more, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&count_exact, __ATOMIC_SEQ_CST))
        __atomic_sub_fetch(&count_state.peak_error_bytes, more, __ATOMIC_SEQ_CST);
    else
        slot->step_bytes = step + more;
}

/* How many of its pending bytes a thread keeps when it goes to the level. After a large block: a
 * whole step, because the block may be freed next. So only blocks of more than two steps go to the
 * level at each call. After small blocks: half a step, because a random walk near an edge would
 * cross it again and again. If the last move had the same direction, the next will probably have it
 * too, so the kept bytes get the other sign, which is far from that edge. */
static int64_t count_kept_of(int64_t pending, const struct count_slot *slot)
{
    bool up = pending > 0, again = slot->last_moved == (up ? 1 : -1);
    int64_t step = slot->step_bytes, over = (up ? pending : -pending) - step;
    if (likely(!step))
        return 0;
    int64_t kept = over > step / 4 ? step : step / 2;
    return up != again ? kept : -kept;
}

void count_drain(struct count_slot *slot)
{
    int64_t pending = __atomic_load_n(&slot->pending_bytes, __ATOMIC_RELAXED), kept;
    count_tick(&slot->drains_begun);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    do
        kept = count_kept_of(pending, slot);
    while (!count_replace(&slot->pending_bytes, &pending, kept));
    reserves_change(slot, pending - kept);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    count_tick(&slot->drains_done);
    slot->last_moved = pending > 0 ? 1 : -1;
    if (unlikely(slot->drains_done % COUNT_STEP_DRAINS == 0))
        count_grow_step(slot, pending);
}
