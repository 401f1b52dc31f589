/* See pause.h. */
#include "recorder/pause.h"

#include <stddef.h>
#include <stdint.h>
#include "recorder/sampled.h"
#include "recorder/thread.h"
#include "unwind/lock.h"

/* In the child of a fork too: it goes on as its parent was. */
static uint32_t depth;
static struct lock lock = LOCK_INIT;

/* With the lock: of a pause and a resume at the same time, both halves of one come first. */
static void set(bool paused)
{
    __atomic_store_n(&thread_paused, paused, __ATOMIC_SEQ_CST);
    if (thread_sample_bytes)
        return;
    __atomic_store_n(&sampled_filter, paused ? sampled_filter_full() : NULL, __ATOMIC_RELEASE);
}

bool pause_begin(void)
{
    lock_take(&lock);
    bool first = depth++ == 0;
    if (first)
        set(true);
    lock_release(&lock);
    return first;
}

bool pause_end(void)
{
    lock_take(&lock);
    bool last = depth == 1;
    depth -= depth > 0;
    if (last)
        set(false);
    lock_release(&lock);
    return last;
}
