/* Parts of a profile that pages ask for. A window is a range of a trace's time, replayed into a
 * profile of its own. A region is cut out of a window or out of the profile that is shown. Parts
 * are made one at a time and kept while there is room.
 *
 *   request ─ take ─▶ part ─ await ─▶ ready: its profile answers
 *                                  └▶ not yet: the connection is suspended until the part is made
 *
 * A closed connection is noticed, and a part that no connection waits for any more is abandoned.
 * Thread-safe. Inside the room. */
#ifndef TIDEMARK_SERVER_PARTS_H
#define TIDEMARK_SERVER_PARTS_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>
#include "server/served_profile.h"

enum { PARTS_KEPT = 8 };

struct parts;
struct part;

/* `directory`: for temporary files; NULL: no trace is shown, so there are no windows. All arguments
 * must live on. 0 or -errno. */
int parts_begin(struct parts **out, const char *directory, const struct source_paths *paths);
/* Ends what is under way and wakes all waiters, which get PART_CLOSED. */
void parts_close(struct parts *parts);
/* To be called when no request is under way any more. NULL is allowed. */
void parts_free(struct parts *parts);

/* `of` must live on. */
struct part_key {
    const struct served_source *of;
    bool is_window;
    uint64_t from_ns, to_ns; /* of a window; both included, since the recording's start */
    size_t region;           /* as in struct served_source */
    enum memory_level level; /* likewise */
};
/* A reference, which the caller releases. NULL: out of memory. */
struct part *parts_take(struct parts *parts, const struct part_key *key);
void parts_release(struct parts *parts, struct part *part);
/* Takes one more reference. */
void parts_hold(struct parts *parts, struct part *part);

/* A connection that waits. */
struct waiter {
    struct waiter *next;
    struct MHD_Connection *connection;
    bool is_gone; /* its other end has closed: no answer is needed */
};

/* Has the other end of a suspended connection closed? libmicrohttpd does not read from it. */
bool waiter_has_gone(const struct waiter *waiter);

enum part_state {
    PART_AWAITED, /* the connection was suspended, and is resumed when there is more to say */
    PART_READY,
    PART_FAILED, /* with a sentence in `why` … */
    PART_ABSENT, /* … likewise: there is no such part */
    PART_CLOSED,
};
/* For the handler of a connection's request. */
enum part_state parts_await(struct parts *parts, struct part *part, struct waiter *waiter,
                            struct strbuf *why);
/* The profile of a part that is ready; lives as long as the reference. */
struct served_profile *part_served_profile(const struct part *part);

#endif
