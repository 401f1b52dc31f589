/* Calls observers in the thread of the change (observers.h). Blocks that an observer itself
 * allocates are counted, but it is not called for them. Runs inside other programs: no malloc, no
 * stdio, errno kept. */
#include "counters/observers.h"
#include "counters/counters.h"

#include <errno.h>

size_t count_current(void)
{
    int64_t current = __atomic_load_n(&count_state.current_bytes, __ATOMIC_RELAXED);
    return current > 0 ? (size_t)current : 0;
}

int64_t count_reset_peak(void)
{
    int64_t peak =
        __atomic_exchange_n(&count_state.peak_bytes, (int64_t)count_current(), __ATOMIC_SEQ_CST);
    /* between the two another thread may have raised the level */
    count_raise_peak(__atomic_load_n(&count_state.current_bytes, __ATOMIC_SEQ_CST));
    return peak;
}

static observer *observers_observing, *observers_counting;
static __thread bool observers_being_told;

static void observers_tell(bool allocated, size_t size, size_t current)
{
    observer *told = __atomic_load_n(&observers_observing, __ATOMIC_ACQUIRE);
    if (observers_being_told || !told)
        return;
    int saved_errno = errno;
    struct count_slot *slot = count_slot_current;
    const void *last = slot->last; /* operator new reads its malloc's block there */
    observers_being_told = true;
    told(allocated, size, current);
    observers_being_told = false;
    slot->last = last;
    errno = saved_errno;
}

static void observers_tell_ahead(bool allocated, size_t size, size_t ahead)
{
    size_t current = count_current();
    current -= ahead < current ? ahead : current;
    if (observers_counting)
        observers_counting(allocated, size, current);
    observers_tell(allocated, size, current);
}

bool observers_mute(bool mute)
{
    bool before = observers_being_told;
    observers_being_told = mute;
    return before;
}

void observers_tell_change(bool allocated, size_t size)
{
    observers_tell(allocated, size, count_current());
}

void observers_set(observer *to)
{
    __atomic_store_n(&observers_observing, to, __ATOMIC_RELEASE);
    __atomic_store_n(&count_observer, to || observers_counting ? observers_tell_ahead : NULL,
                     __ATOMIC_RELEASE);
    count_watch_again();
}

void observers_set_all(observer *to)
{
    observers_counting = to;
    count_observer = observers_tell_ahead;
    count_watch_again();
}

void callback_set(struct callback *callback, void (*call)(void), void *cookie)
{
    __atomic_fetch_add(&callback->version, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&callback->call, call, __ATOMIC_SEQ_CST);
    __atomic_store_n(&callback->cookie, cookie, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&callback->version, 1, __ATOMIC_SEQ_CST);
}

struct callback callback_get(const struct callback *callback)
{
    struct callback now;
    do {
        now.version = __atomic_load_n(&callback->version, __ATOMIC_SEQ_CST);
        now.call = __atomic_load_n(&callback->call, __ATOMIC_SEQ_CST);
        now.cookie = __atomic_load_n(&callback->cookie, __ATOMIC_SEQ_CST);
    } while (now.version % 2 ||
             now.version != __atomic_load_n(&callback->version, __ATOMIC_SEQ_CST));
    return now;
}
