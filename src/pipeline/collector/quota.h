/* What all images of this process share, so that thousands of recorded processes fit into few
 * descriptors, threads and little memory: descriptors, and turns at completing a profile.
 *
 *   descriptors   ╞══ open before ══╪═ spare ═╪═══════════ counted here ═══════════╡ limit
 *                                              kept while a process lives: a half at most
 *                                              newcomers:         three quarters at most
 *
 * Who completes a profile holds nothing that a newcomer or a living process must give back, so what
 * is short is always given back in the end, and whoever asks only waits. A session that is not
 * opened has no limits (tests, replays).
 *
 * For any thread. */
#ifndef TIDEMARK_COLLECTOR_QUOTA_H
#define TIDEMARK_COLLECTOR_QUOTA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    QUOTA_NEWCOMER = 6, /* descriptors: its socket, memory, pidfd, meter; what of it is read */
    QUOTA_LOOK = 4,     /* mappings, pages, threads */
    QUOTA_HEAT = 2,     /* the watch that is handed over, pages */
    QUOTA_TRACE = 1,    /* its file, while something is written */
    QUOTA_PROFILE = 7,  /* the file, the database, its log, the packed file; names of its code */
};

/* Counts what there is: the limits are what they will be, nobody has taken anything yet. */
void quota_open(void);

/* ---- Descriptors ---- */

/* For a newcomer, if there is room for one. Given back by quota_give(). */
bool quota_admit(void);
/* So many for as long as a process lives, which can do without. Given back by quota_release(). */
bool quota_keep(size_t count);
void quota_release(size_t count);
/* So many for a moment: waits for them. */
void quota_take(size_t count);
void quota_give(size_t count);
/* The same for who may be lent some meanwhile: false when `lent` is set, and nothing was taken. */
bool quota_take_unless(size_t count, const atomic_bool *lent);
void quota_lend(atomic_bool *lent);

/* ---- Threads ---- */

/* So many images may have `threads` each. `ulimit -u` is of all processes and threads of the user:
 * what we take the program lacks. */
size_t quota_images(size_t threads);

/* ---- Turns ---- */

/* So many images may have ended and not be complete, before newcomers wait: each holds a megabyte,
 * and more of them than a few for each turn make nothing faster. */
size_t quota_backlog(void);
/* Waits until few others complete a profile. */
void quota_begin_completion(void);
void quota_end_completion(void);

/* Looks at processes that live, and writing what is known of them: all of a node's ranks begin
 * together, and each takes tens of megabytes for it. From the call on few do so at a time. */
void quota_bound_work(void);
/* False: it is not our turn. Who is asked for something takes a turn without asking. */
bool quota_try_work(void);
/* For whom somebody waits, who comes before the others: waits, and does `meanwhile` again and
 * again. After some seconds without a turn as well: those who write may be waiting for a disk that
 * is full. */
void quota_begin_work(void (*meanwhile)(void *context), void *context);
void quota_end_work(void);

/* Images that live. */
void quota_begin_life(void);
void quota_end_life(void);
/* How many of them there are for each turn at work, where that is bounded; at least 1. What each
 * does from time to time it does so many times as seldom: else a node with more ranks than
 * processors would be busy with that alone. */
unsigned quota_crowd(void);

#endif
