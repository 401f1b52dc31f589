/* Threads' slots and the level that they share; see counters.h and state.h. Runs inside other
 * programs: no malloc, no stdio, errno kept. */
#include "count/counters.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* By pages, for another mapping may take its place (process.c). */
struct count_state count_state __attribute__((aligned(65536)));
__thread struct count_slot *count_slot_current;
int64_t count_step_bytes;
bool count_exact;
bool count_real_nests;
void (*count_observer)(bool allocated, size_t size, size_t ahead);
void (*count_corrected)(int64_t change_bytes);

/* ---- Slots ---- */

static bool thread_is_gone(int32_t thread)
{
    return syscall(SYS_tgkill, getpid(), thread, 0) < 0 && errno == ESRCH;
}

static bool claim(struct count_slot *slot, int32_t before, int32_t thread)
{
    return __atomic_compare_exchange_n(&slot->thread, &before, thread, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

/* The slot of a thread that has ended: a few are looked at by each thread that begins, so that
 * programs that start threads for ever need about as many slots as they have threads at a time. */
static struct count_slot *slot_reuse(int32_t thread)
{
    static uint32_t hand;
    uint32_t used = __atomic_load_n(&count_state.slots_used, __ATOMIC_ACQUIRE);
    for (uint32_t looks = 0; looks < 4 && looks < used; looks++) {
        uint32_t at = __atomic_fetch_add(&hand, 1, __ATOMIC_RELAXED) % used;
        struct count_slot *slot = &count_state.slots[at];
        int32_t owner = __atomic_load_n(&slot->thread, __ATOMIC_RELAXED);
        /* A thread of our number that is not us has ended. */
        if (owner != 0 && (owner == thread || thread_is_gone(owner)) &&
            claim(slot, owner, thread)) {
            slot->before_bytes = slot->requested_bytes;
            slot->before_count = count_allocations(slot->calls);
            return slot;
        }
    }
    return NULL;
}

static struct count_slot *slot_new(int32_t thread)
{
    uint32_t used = __atomic_load_n(&count_state.slots_used, __ATOMIC_RELAXED);
    while (used < COUNT_SLOTS)
        if (__atomic_compare_exchange_n(&count_state.slots_used, &used, used + 1, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            __atomic_store_n(&count_state.slots[used].thread, thread, __ATOMIC_RELEASE);
            return &count_state.slots[used];
        }
    return NULL;
}

/* The peak's error that the step makes possible. */
static void note_error(int64_t error)
{
    int64_t *noted = &count_state.peak_error_bytes;
    int64_t seen = __atomic_load_n(noted, __ATOMIC_RELAXED);
    while (error > seen && !__atomic_compare_exchange_n(noted, &seen, error, true, __ATOMIC_RELAXED,
                                                        __ATOMIC_RELAXED))
        ;
}

static void fit_step(void)
{
    uint32_t slots = __atomic_load_n(&count_state.slots_used, __ATOMIC_RELAXED);
    if (count_exact || slots < 2)
        return;
    int64_t peak = __atomic_load_n(&count_state.peak_bytes, __ATOMIC_RELAXED);
    int64_t step = (peak >> COUNT_STEP_SHIFT) / slots;
    note_error(step * slots); /* first: who finds no error may trust the level (provide.c) */
    __atomic_store_n(&count_step_bytes, step, __ATOMIC_RELEASE);
}

struct count_slot *count_slot_begin(void)
{
    int saved_errno = errno;
    int32_t thread = (int32_t)syscall(SYS_gettid);
    struct count_slot *slot = slot_reuse(thread);
    if (!slot)
        slot = slot_new(thread);
    if (slot) {
        __atomic_fetch_add(&count_state.threads, 1, __ATOMIC_RELAXED);
        fit_step();
    }
    count_slot_current = slot;
    errno = saved_errno;
    return slot;
}

/* ---- The level ---- */

void count_share(int64_t bytes)
{
    int64_t level = __atomic_add_fetch(&count_state.current_bytes, bytes, __ATOMIC_RELAXED);
    if (level <= __atomic_load_n(&count_state.peak_bytes, __ATOMIC_RELAXED))
        return;
    count_raise_peak(level);
    fit_step();
}

void count_drain(struct count_slot *slot)
{
    count_share(__atomic_exchange_n(&slot->pending_bytes, 0, __ATOMIC_RELAXED));
}
