/* Resources that all images of this process share: descriptors, threads, turns at completing a
 * profile, and turns at work. So thousands of recorded processes fit into few descriptors and
 * threads and little memory.
 *
 *   descriptors   ╞══ open before ══╪═ spare ═╪═══════════ counted here ═══════════╡ limit
 *                                              kept while a process lives: a half at most
 *                                              newcomers:         three quarters at most
 *
 * A thread that completes a profile does not wait for descriptors of newcomers or of live
 * processes. So descriptors are always given back in the end, and a thread that needs some only has
 * to wait. Before quota_open() there are no limits (tests, replays).
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

/* Counts the resources. Call it after the limits are raised, and before anything is taken. */
void quota_open(void);

/* ---- Descriptors ---- */

/* Takes QUOTA_NEWCOMER descriptors for a newcomer, if there are enough. Given back by
 * quota_give(). */
bool quota_admit(void);
/* Takes descriptors for as long as a process lives. False: there are too few, and the process does
 * without. Given back by quota_release(). */
bool quota_keep(size_t count);
void quota_release(size_t count);
/* Takes descriptors for a moment, and waits until there are enough. Given back by quota_give(). */
void quota_take(size_t count);
void quota_give(size_t count);
/* The same for a thread that may use another thread's descriptors: false as soon as `lent` is set,
 * and then nothing is taken. quota_lend() sets it. */
bool quota_take_unless(size_t count, const atomic_bool *lent);
void quota_lend(atomic_bool *lent);

/* ---- Threads ---- */

/* How many images may have `threads` threads each. `ulimit -u` holds for all processes and threads
 * of the user: those that we take the program lacks. */
size_t quota_images(size_t threads);

/* ---- Turns ---- */

/* How many ended images may wait for completion before newcomers must wait. Each holds a megabyte,
 * and more than a few for each turn make nothing faster. */
size_t quota_backlog(void);
/* Waits until few others complete a profile. */
void quota_begin_completion(void);
void quota_end_completion(void);

/* Bounds the turns at work. Work is a look at a live process or a flush of its profile. All ranks
 * of a node begin together, and each takes tens of megabytes for its work. After this call only a
 * few work at a time. */
void quota_bound_work(void);
/* Takes a turn at work if there is one. Work that was asked for is done without a turn. */
bool quota_try_work(void);
/* Takes an urgent turn, before the others: a program waits for this work. Calls `meanwhile` again
 * and again until there is a turn. After some seconds it goes on without one, because those that
 * write may be waiting for a full disk. */
void quota_begin_work(void (*meanwhile)(void *context), void *context);
void quota_end_work(void);

/* Count the live images. */
void quota_begin_life(void);
void quota_end_life(void);
/* Live images for each turn at work, where turns are bounded; at least 1. Regular work of each
 * image is done so many times less often. Otherwise a node with more ranks than processors would do
 * nothing else. */
unsigned quota_crowd(void);

#endif
