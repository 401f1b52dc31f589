/* Parts that pages ask for, made one at a time and kept while there is room: a range of a trace's time
 * is replayed into a profile of its own, a region of a profile is cut out of it.
 *
 *   request ─ take ─▶ window ─ await ─▶ ready: its exhibit answers
 *                                    └▶ not yet: the connection sleeps; whoever makes windows wakes it
 *
 * Whoever goes away meanwhile is noticed, and what nobody waits for is not made to its end.
 * Thread-safe. Inside the room. */
#ifndef TIDEMARK_SERVER_WINDOWS_H
#define TIDEMARK_SERVER_WINDOWS_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>
#include "server/exhibit.h"

enum { WINDOWS_KEPT = 8 };

struct windows;
struct window;

/* `directory`: for files that live for a moment; NULL: no trace is asked of. All arguments must live on. 0 or -errno. */
int windows_begin(struct windows **out, const char *directory, const struct source_paths *paths);
/* Ends what is under way and wakes everyone: they are told WINDOW_CLOSED. */
void windows_close(struct windows *windows);
/* When no request is under way any more. NULL is allowed. */
void windows_free(struct windows *windows);

/* What it is a part of must live on. */
struct window_part {
    const struct shown *of;
    size_t region;           /* as in struct shown; 0: a range of the trace's time … */
    uint64_t from_ns, to_ns; /* … both included, since the recording's start */
};
/* A reference to it. To be released. NULL: out of memory. */
struct window *windows_take(struct windows *windows, const struct window_part *part);
void windows_release(struct windows *windows, struct window *window);
/* One more for the same. */
void windows_hold(struct windows *windows, struct window *window);

/* A connection that waits. */
struct waiter {
    struct waiter *next;
    struct MHD_Connection *connection;
    bool is_gone; /* its other end has closed: nothing need be answered */
};

enum window_state {
    WINDOW_AWAITED, /* the connection was suspended, and is resumed when there is more to say */
    WINDOW_READY,
    WINDOW_FAILED, /* with a sentence in `why` */
    WINDOW_CLOSED,
};
/* For the handler of a connection's request. */
enum window_state windows_await(struct windows *windows, struct window *window,
                                struct waiter *waiter, struct strbuf *why);
/* Of one that is ready; lives as long as the reference. */
struct exhibit *window_exhibit(const struct window *window);

#endif
