/* Which part of a run is recorded: --start-on, --until and --for.
 *
 *   program starts ── followed ──▶ mark of --start-on ── recorded ──▶ mark of --until; --for is up;
 *                                                                     or the program's end
 *
 * What comes before the first mark is replayed all the same, and forgotten at the mark but for the
 * blocks that are alive then (replay_restart()): so their frees are known, and the levels are true
 * from the first moment on. What comes after the last one is thrown away.
 *
 * One `struct window` is shared by the images of a session, each of which has a `struct gate` that
 * its events pass (feed.h). Patterns are fnmatch's: `*`, `?` and `[…]`; a name is its own pattern. */
#ifndef TIDEMARK_COLLECTOR_WINDOW_H
#define TIDEMARK_COLLECTOR_WINDOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "replay/replay.h"

enum window_end { WINDOW_GOES_ON = 0, WINDOW_UNTIL, WINDOW_FOR };

struct window {
    /* of the options; not changed */
    const char *start_on, *until; /* NULL: not given */
    uint64_t for_ns;              /* 0: not given */
    /* any image's thread and the collector */
    int wake;                  /* eventfd: one of these has changed; -1: nobody asks for it */
    _Atomic uint64_t began_ns; /* CLOCK_MONOTONIC; 0: not yet */
    _Atomic uint32_t end;      /* enum window_end */
};

/* 0 or -errno. */
int window_open(struct window *window, const char *start_on, const char *until, uint64_t for_ns);
void window_close(struct window *window);

/* An image's time to record has begun: the first one's counts. */
void window_begin(struct window *window, uint64_t now_ns);
/* Milliseconds until --for is up, rounded up; 0: it is; -1: it is not asked for, or not begun. */
int window_left_ms(const struct window *window, uint64_t now_ns);
/* Notes how it ended, if nobody did before. */
void window_end(struct window *window, enum window_end end);
/* Takes what `wake` holds. */
void window_hear(struct window *window);

enum gate_state { GATE_BEFORE, GATE_OPEN, GATE_SHUT };

struct gate {
    struct window *window;
    enum gate_state state;
    uint64_t ticks; /* of the mark that it was shut by */
    /* The text of a name's number; and what to do where the window begins and ends (the gate has its
     * new state then). */
    const char *(*name_of)(void *context, uint32_t number);
    void (*changed)(void *context, const char *mark, uint64_t ticks);
    void *context;
};

/* `window` NULL, or one without marks: everything passes. */
void gate_init(struct gate *gate, struct window *window);
/* Is there anything to look for among the events? */
static inline bool gate_watches(const struct gate *gate)
{
    return gate && (gate->state == GATE_BEFORE || gate->state == GATE_SHUT ||
                    (gate->window && gate->window->until));
}
/* Bytes of the records up to the mark that changes the gate, or all. *mark: where it is, at the
 * returned offset; NULL: not among them. */
uint32_t gate_scan(const struct gate *gate, const void *records, uint32_t bytes,
                   const char **mark, uint64_t *ticks);
/* The mark has come: calls `changed`. */
void gate_turn(struct gate *gate, const char *mark, uint64_t ticks);

#endif
