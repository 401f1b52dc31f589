/* From the counters to whoever wants to be told of changes: of the drop-in libraries and of
 * libtidemark-count. All of it is for counters that are exact (count_exact, or a step that is 0):
 * there current is one figure that all threads can read. Any thread may call any of it. */
#ifndef TIDEMARK_COUNTERS_OBSERVERS_H
#define TIDEMARK_COUNTERS_OBSERVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

size_t count_current(void); /* bytes */
/* From here on the peak is the most since now; gives what it was. */
int64_t count_reset_peak(void);

/* Called after each change in the thread that made it, never within itself. `current`: bytes then;
 * of a realloc's first half, without the new block. */
typedef void observer(bool allocated, size_t size, size_t current);
void observe(observer *observer); /* NULL: no more */
/* The same, also for changes that an observer makes. At the start, and NULL at the end. */
void observe_all(observer *observer);

/* Whether the calling thread is told of nothing; gives how it was. For who holds what its observer
 * needs: a signal's handler may allocate meanwhile. */
bool observe_mute(bool mute);

/* A function and its cookie, which are changed and read together. */
struct callback {
    void (*call)(void); /* NULL: none */
    void *cookie;
    unsigned version; /* odd: being changed */
};
void callback_set(struct callback *callback, void (*call)(void), void *cookie);
struct callback callback_get(const struct callback *callback);

/* Tells observe()'s observer, only, of a change that is no call. */
void observe_change(bool allocated, size_t size);

#endif
