/* Lets a child finish the hook in which its parent's signal handler has forked (forked.h). Whether
 * there is such a hook is read from the stack. Where that cannot be walked, `hook_frame` says
 * it. */
#include "recorder/forked.h"

#include <errno.h>
#include <stdint.h>
#include "recorder/session.h"
#include "recorder/shared.h"
#include "recorder/thread.h"
#include "unwind/signal_lock.h"

static struct lock forked_lock = LOCK_INIT; /* of the next word, and what memory a child gets */
static uint32_t forked_keepers;             /* forks of threads inside hooks that are under way */
static __thread struct thread *forked_from; /* the state of this thread in such a fork */

/* In such a child: the thread that goes on inside a hook (its thread pointer), and its state. */
static uintptr_t forked_unfinished;
static const struct thread *forked_thread;

static bool forked_is_inside(const struct thread *thread, const struct unwind_start *start,
                             bool by_signal)
{
    enum unwind_answer answer = unwind_is_inside(start, by_signal);
    return answer == UNWIND_NOT_KNOWN ? thread_hook_is_nested(thread->hook_frame, start->sp)
                                      : answer == UNWIND_YES;
}

static bool forked_may_keep(void)
{
    return session_is_on() && !permitted_calls_is_forbidden(CALL_MAP);
}

__attribute__((noinline)) void forked_before(void)
{
    struct unwind_start start = UNWIND_START_HERE();
    struct thread *thread = thread_current;
    int saved_errno = errno;
    if (thread && thread->ring && forked_may_keep() && forked_is_inside(thread, &start, true) &&
        thread_suspend()) {
        signal_lock_take(&forked_lock);
        if (forked_keepers++ == 0)
            shared_keep_for_child();
        signal_lock_release(&forked_lock);
        forked_from = thread;
    }
    errno = saved_errno;
}

void forked_in_parent(void)
{
    struct thread *thread = forked_from;
    if (!thread)
        return;
    forked_from = NULL;
    signal_lock_take(&forked_lock);
    if (forked_keepers == 1)
        shared_wipe_for_child();
    forked_keepers--; /* last: what another thread forks until then wipes its memory itself */
    signal_lock_release(&forked_lock);
    thread_resume(thread);
}

/* If another thread's fork was under way, this child has got the memory too. */
void forked_in_child(void)
{
    bool was_kept = forked_keepers != 0;
    atomic_flag_clear(&forked_lock.held);
    forked_keepers = 0;
    if (forked_from) {
        forked_thread = forked_from;
        forked_unfinished = arch_thread_pointer();
        forked_from = NULL;
        session_is_of_parent();
        shared_stand_in();
        thread_begins_anew();
    } else if (was_kept) {
        shared_wipe();
    }
}

bool forked_is_left(const struct thread *thread)
{
    return forked_unfinished && thread == forked_thread;
}

static __attribute__((noinline)) bool forked_finish(void)
{
    struct unwind_start start = UNWIND_START_HERE();
    if (forked_unfinished != arch_thread_pointer() ||
        forked_is_inside(forked_thread, &start, false))
        return false;
    uint64_t signals = signal_lock_block();
    if (forked_unfinished)
        shared_wipe();
    forked_unfinished = 0;
    signal_lock_restore(signals);
    return true;
}

bool forked_may_begin(void)
{
    return likely(!forked_unfinished) || forked_finish();
}
