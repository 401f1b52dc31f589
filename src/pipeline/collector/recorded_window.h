/* Which part of a run is recorded: --start-on, --until and --for.
 *
 *   program starts ── followed ──▶ mark of --start-on ── recorded ──▶ mark of --until; --for is up;
 *                                                                     or the program's end
 *
 * Events before the first mark are replayed too. At the mark their history is cleared and the live
 * blocks are kept (replay_restart()). So the frees of these blocks are known, and the levels are
 * right from the beginning of the window. Events after the last mark are dropped.
 *
 * One `struct window` is shared by the images of a session, each of which has a `struct
 * window_gate` that its events pass (event_sink.h). Patterns are fnmatch's: `*`, `?` and `[…]`; a
 * name is its own pattern. */
#ifndef TIDEMARK_COLLECTOR_RECORDED_WINDOW_H
#define TIDEMARK_COLLECTOR_RECORDED_WINDOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/ticks.h"
#include "replay/replay.h"

/* MEMORY: the control group's is nearly used up, and part of it is ours (own_group.h). */
enum window_end { WINDOW_GOES_ON = 0, WINDOW_UNTIL, WINDOW_FOR, WINDOW_MEMORY };
#define WINDOW_MEMORY_TEXT                                                                         \
    "because the memory of its control group was nearly used up, and recording took part of it"

struct window {
    /* of the options; not changed */
    const char *start_on, *until; /* NULL: not given */
    uint64_t for_ns;              /* 0: not given */
    /* any image's thread and the collector */
    int wake;                  /* eventfd: began_ns or end has changed; -1: none */
    _Atomic uint64_t began_ns; /* CLOCK_MONOTONIC; 0: not yet */
    _Atomic uint32_t end;      /* enum window_end */
};

/* 0 or -errno. */
int window_open(struct window *window, const char *start_on, const char *until, uint64_t for_ns);
void window_close(struct window *window);

/* An image's time to record has begun. Only the first call counts. */
void window_begin(struct window *window, uint64_t now_ns);
/* Milliseconds until --for is over, rounded up; 0: it is over; -1: there is no --for, or it has not
 * begun. */
int window_left_ms(const struct window *window, uint64_t now_ns);
/* Notes how the recording ended. Only the first call counts. */
void window_end(struct window *window, enum window_end end);
/* Empties `wake`. */
void window_hear(struct window *window);

enum window_gate_state { GATE_BEFORE, GATE_OPEN, GATE_SHUT };

struct window_gate {
    struct window *window;
    enum window_gate_state state;
    uint64_t ticks;     /* of the mark that it was shut by, or of --for's end */
    uint64_t end_ticks; /* of --for; 0: not given, or not known yet */
    /* name_of(): the text of a name's number. changed(): called where the window begins and ends,
     * after the gate has its new state. */
    const char *(*name_of)(void *context, uint32_t number);
    void (*changed)(void *context, const char *mark, uint64_t ticks);
    void *context;
};

/* `window` NULL, or one without marks: everything passes. */
void window_gate_init(struct window_gate *gate, struct window *window);
/* Whether --for is over, so that later events may have come. */
static inline bool window_gate_is_late(const struct window_gate *gate)
{
    return gate->end_ticks && gate->state == GATE_OPEN && ticks_now() >= gate->end_ticks;
}
/* Whether the events must be scanned. */
static inline bool window_gate_watches(const struct window_gate *gate)
{
    return gate && (gate->state == GATE_BEFORE || gate->state == GATE_SHUT ||
                    (gate->window && gate->window->until) || window_gate_is_late(gate));
}
/* Bytes of the records before --for's end. */
uint32_t window_gate_in_time(const struct window_gate *gate, const void *records, uint32_t bytes);
/* --for is up: nothing passes any more. */
void window_gate_time_out(struct window_gate *gate);
/* Bytes of the records before the mark that changes the gate; all bytes if there is none. *mark:
 * the mark's name, or NULL. *ticks: its time. */
uint32_t window_gate_scan(const struct window_gate *gate, const void *records, uint32_t bytes,
                          const char **mark, uint64_t *ticks);
/* The mark has come: calls `changed`. */
void window_gate_turn(struct window_gate *gate, const char *mark, uint64_t ticks);

#endif
