/* Pausing and resuming the recording (pause.h). A counter holds how many pauses are open. A lock
 * makes the change of the counter and of what follows from it one step: the flag `thread_paused`,
 * and the filter that sends each hook on the sampling path. */
#include "recorder/pause.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include "recorder/sampled.h"
#include "recorder/shared.h"
#include "recorder/thread.h"
#include "unwind/signal_lock.h"

/* How many pauses are open. The child of a fork keeps the number: it goes on as its parent was. */
static uint32_t pause_depth;

/* In memory that a fork wipes, so the lock is free in the child even if another thread of the
 * parent held it. Without memory there is no lock. */
static struct lock *pause_lock;

static struct lock *pause_take(void)
{
    struct lock *made, *expected = NULL;
    if (!__atomic_load_n(&pause_lock, __ATOMIC_ACQUIRE) &&
        (made = private_map_lasting(sizeof *made)))
        __atomic_compare_exchange_n(&pause_lock, &expected, made, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE);
    struct lock *taken = __atomic_load_n(&pause_lock, __ATOMIC_ACQUIRE);
    if (taken)
        signal_lock_take(taken);
    return taken;
}

static void pause_release(struct lock *taken)
{
    if (taken)
        signal_lock_release(taken);
}

/* With the lock held, so that a pause and a resume at the same time do not mix. A fork can come
 * between the change of `depth` and this call. So every function that changes or inherits `depth`
 * calls this one. */
static void pause_set_by_depth(void)
{
    bool paused = pause_depth > 0;
    __atomic_store_n(&thread_paused, paused, __ATOMIC_SEQ_CST);
    if (thread_sample_bytes)
        return;
    __atomic_store_n(&sampled_filter, paused ? sampled_filter_full() : NULL, __ATOMIC_RELEASE);
}

bool pause_begin(void)
{
    int saved_errno = errno;
    struct lock *taken = pause_take();
    bool first = pause_depth++ == 0;
    pause_set_by_depth();
    pause_release(taken);
    errno = saved_errno;
    return first;
}

bool pause_end(void)
{
    int saved_errno = errno;
    struct lock *taken = pause_take();
    bool last = pause_depth == 1;
    pause_depth -= pause_depth > 0;
    pause_set_by_depth();
    pause_release(taken);
    errno = saved_errno;
    return last;
}

void pause_go_on(void)
{
    if (!pause_depth && !thread_paused)
        return;
    struct lock *taken = pause_take();
    pause_set_by_depth();
    pause_release(taken);
}
