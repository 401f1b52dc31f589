/* Callbacks on changes of the counters, for the drop-in libraries and libtidemark-count. Only for
 * exact counters (count_exact, or no step so far), where current is one figure that all threads can
 * read. Thread-safe. */
#ifndef TIDEMARK_COUNTERS_OBSERVERS_H
#define TIDEMARK_COUNTERS_OBSERVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

size_t count_current(void); /* bytes */
/* Sets the peak to current, and returns the old peak. */
int64_t count_reset_peak(void);

/* Called after each change in the thread that made it, but not for changes that the observer makes.
 * `current`: bytes at that time; at a realloc's first call without the new block. */
typedef void observer(bool allocated, size_t size, size_t current);
void observers_set(observer *observer); /* NULL: none */
/* The same, but also for changes that an observer makes. To be called at the program's start, and
 * with NULL at its end. */
void observers_set_all(observer *observer);

/* While `mute` is set, no observer is called in this thread. Returns the value before. For code
 * that holds a lock which the observer takes, because a signal handler may allocate meanwhile. */
bool observers_mute(bool mute);

/* A function and its cookie, which are changed and read together. */
struct callback {
    void (*call)(void); /* NULL: none */
    void *cookie;
    unsigned version; /* odd: being changed */
};
void callback_set(struct callback *callback, void (*call)(void), void *cookie);
struct callback callback_get(const struct callback *callback);

/* Calls only the observer of observers_set(), for a change that is no call. */
void observers_tell_change(bool allocated, size_t size);

#endif
