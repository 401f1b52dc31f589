/* libtidemark-count answers the functions of tidemark/tidemark.h that ask for counters. A figure
 * that is not known exactly is TIDEMARK_UNKNOWN: the live bytes of a thread once there was a second
 * thread, which may have freed some of its blocks (the ledger has no owners); and the peak of the
 * process once threads had steps (counter_state.h). Runs inside other programs: no malloc, no
 * stdio, errno kept. */
#include "api/provider.h"
#include "counters/counters.h"
#include "counters/observers.h"

#include <errno.h>

enum { TRIES = 100 };

/* Are peaks exact so far? Then they stay exact from now on, because the program will probably ask
 * again. */
static bool provide_is_exact(void)
{
    __atomic_store_n(&count_exact, true, __ATOMIC_SEQ_CST);
    return !__atomic_load_n(&count_state.peak_error_bytes, __ATOMIC_SEQ_CST) &&
           !__atomic_load_n(&count_state.reserves_used, __ATOMIC_SEQ_CST);
}

static bool provide_all_is_counted(void)
{
    return !__atomic_load_n(&count_state.lost, __ATOMIC_RELAXED);
}

/* Has only this thread been counted? Then the process's figures are the thread's. */
static bool provide_is_alone(void)
{
    return __atomic_load_n(&count_state.threads, __ATOMIC_RELAXED) <= 1 && !count_state.forked;
}

static uint64_t provide_known(int64_t figure)
{
    return figure > 0 ? (uint64_t)figure : 0;
}

/* Reads figures, again until no thread has moved bytes to the level meanwhile. False: none of the
 * tries was so. */
static bool provide_settled_figures(struct count_figures *figures)
{
    bool settled = false;
    for (int i = 0; i < TRIES && !settled; i++)
        settled = count_figures_of(figures, &count_state);
    return settled;
}

static void provide_read_process(struct tidemark_counters *counters)
{
    struct count_figures figures;
    bool settled = provide_settled_figures(&figures);
    uint64_t current = count_current();
    bool exact = provide_is_exact(); /* tested after reading, because threads may just have got
                                      * steps */
    counters->total_bytes = figures.requested_bytes;
    counters->count = count_allocations(figures.calls);
    counters->live_count = provide_known(figures.live_count);
    if (exact) { /* each of these is one figure, so no change meanwhile matters */
        counters->current_bytes = current;
        counters->peak_bytes =
            provide_known(__atomic_load_n(&count_state.peak_bytes, __ATOMIC_RELAXED));
        if (counters->peak_bytes < counters->current_bytes)
            counters->peak_bytes = counters->current_bytes;
    } else if (settled) {
        counters->current_bytes = provide_known(figures.current_bytes);
    }
}

static void provide_read_thread(struct tidemark_counters *counters)
{
    const struct count_slot *slot = count_slot_current;
    if (!slot) { /* the thread has called no counted function */
        counters->current_bytes = counters->peak_bytes = counters->live_count = 0;
        counters->total_bytes = counters->count = 0;
        return;
    }
    if (provide_is_alone()) {
        provide_read_process(counters);
        return;
    }
    counters->total_bytes = slot->requested_bytes - slot->before_bytes;
    counters->count = count_allocations(slot->calls) - slot->before_count;
}

static int provide_read_counters(enum tidemark_scope scope, struct tidemark_counters *counters)
{
    if (!provide_all_is_counted())
        return 0; /* all figures stay TIDEMARK_UNKNOWN */
    if (scope == TIDEMARK_THREAD)
        provide_read_thread(counters);
    else
        provide_read_process(counters);
    return 0;
}

/* The peak before is kept, because the line at the end and the command tell the peak of the whole
 * run. */
static int provide_reset_peak(enum tidemark_scope scope)
{
    if (!provide_is_exact() || (scope == TIDEMARK_THREAD && !provide_is_alone()))
        return -ENOTSUP;
    int64_t peak = count_reset_peak();
    int64_t *earlier = &count_state.earlier_peak_bytes;
    int64_t seen = __atomic_load_n(earlier, __ATOMIC_RELAXED);
    while (peak > seen && !__atomic_compare_exchange_n(earlier, &seen, peak, true, __ATOMIC_RELAXED,
                                                       __ATOMIC_RELAXED))
        ;
    return 0;
}

/* ---- Changes ---- */

static struct callback provide_callback;

static void provide_pass_on(int64_t change, size_t current)
{
    struct callback now = callback_get(&provide_callback);
    if (now.call)
        ((tidemark_change *)now.call)(now.cookie, change, current);
}

static void provide_changed(bool allocated, size_t size, size_t current)
{
    provide_pass_on(allocated ? (int64_t)size : -(int64_t)size, current);
}

static void provide_corrected(int64_t change_bytes)
{
    bool more = change_bytes > 0;
    observers_tell_change(more, (size_t)(more ? change_bytes : -change_bytes));
}

static int provide_on_change(tidemark_change *call, void *context)
{
    if (call && !provide_is_exact())
        return -ENOTSUP;
    observers_set(NULL); /* no calls while the callback changes */
    __atomic_store_n(&count_corrected, NULL, __ATOMIC_RELEASE);
    callback_set(&provide_callback, (void (*)(void))call, context);
    if (!call)
        return 0;
    __atomic_store_n(&count_corrected, provide_corrected, __ATOMIC_RELEASE);
    observers_set(provide_changed);
    return 0;
}

__attribute__((visibility("default"))) const struct tidemark_counter tidemark_counter_1 = {
    .bytes = sizeof tidemark_counter_1,
    .read_counters = provide_read_counters,
    .reset_peak = provide_reset_peak,
    .on_change = provide_on_change,
};
