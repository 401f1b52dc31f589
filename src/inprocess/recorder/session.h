/* The process's side of a recording: it finds or starts the collector, ends the recording, and
 * begins it anew in the child of a fork. */
#ifndef TIDEMARK_RECORDER_SESSION_H
#define TIDEMARK_RECORDER_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include "wire/wire.h"

/* Connects this process image to its collector and readies unwinder and module log. Called with
 * hooks disabled for this thread. False: this process is not recorded. */
bool session_begin(void);
/* Whether it was begun in this very process (not in a parent by fork) and still records. */
bool session_is_on(void);
/* The same, asked of the kernel: not in the child of a vfork either. */
bool session_is_own_process(void);
/* Whether recording is over for good here: no collector, or it died, or children are not
 * followed. */
bool session_is_over(void);
/* The collector has died or asks us to stop. */
void session_stop(void);

/* The program is about to end with `status`: says so and waits, at most as long as the session
 * allows, until the profile is safe (only where nobody else would wait for it). */
void session_end(int status);
/* Where nobody tells us (musl): the collector may know it from who waits for the process. */
enum { SESSION_STATUS_UNKNOWN = -0x80000000 };
/* The program has called quick_exit(status): session_end() follows after its handlers. */
void session_will_quick_exit(int status);

/* ---- Into a program that runs already, by the thread that was sent here (late.c) ---- */

/* Connects to the session of that name; NULL: starts a collector. With this thread on hold. 0;
 * -EALREADY: recorded; -EEXIST: we came with the program; -ESTALE: what is left of an earlier
 * session must be renewed first; -ECONNREFUSED: no collector, or it sends us away. */
int session_attach(const char *name);
/* Ends the recording and lets the collector know. Hooks pass on what comes to them. False: there
 * was nothing to end. */
bool session_leave(void);
/* Forgets a session that is over. Every other thread must be stopped, outside of our code. 0;
 * -EALREADY: it is not over; -EAGAIN: a thread is in the middle of an event. */
int session_renew(void);
/* The word that turns to WIRE_SESSION_SAFE when the last session's profile is; NULL: none. */
const void *session_state_word(void);

/* The program is under a filter that forbids to connect: what it executes from here on does not
 * try. */
void session_forbid_programs(void);

/* Whether what is executed should be recorded: the session's children are followed, and it is not
 * over. Also in the child of a fork that has recorded nothing yet. */
bool session_follows(void);
/* The child of a fork that has recorded nothing tells the collector of `difference` programs (1 or
 * -1) that will not be recorded. */
void session_say_unfollowed(enum wire_unfollowed kind, int difference);

/* Wakes the collector if it sleeps. */
void session_wake_collector(void);
/* Asks the collector for something and waits for its answer, or `patience_ms`. One thread after the
 * other; not from signal handlers. 0; -ENODATA: not recorded (any more); -ETIMEDOUT. Keeps
 * errno. */
struct session_answer {
    uint64_t current_bytes, peak_bytes, total_bytes, count, live_count;
    uint64_t mapped_bytes, mapped_peak_bytes, resident_bytes, resident_peak_bytes;
};
int session_ask(enum wire_request request, uint32_t asker, unsigned patience_ms,
                struct session_answer *answer);

/* False once the collector is dead or has told us to stop. */
bool session_collector_lives(void);

#endif
