/* The process's side of a recording: finds or starts the collector, ends the recording, and begins
 * it again in the child of a fork. */
#ifndef TIDEMARK_RECORDER_SESSION_H
#define TIDEMARK_RECORDER_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include "wire/wire.h"

/* Connects this process image to its collector, and initialises the unwinder and the module log. To
 * be called with hooks disabled for this thread. False: this process is not recorded. */
bool session_begin(void);
/* Has a session begun in this process (not in its parent before a fork), and is it recording? */
bool session_is_on(void);
/* The same, with the process id from the kernel: false in the child of a vfork too. */
bool session_is_own_process(void);
/* Is recording over for good: no collector, or it died, or children are not followed? */
bool session_is_over(void);
/* Stops recording, because the collector has died or wants it. */
void session_stop(void);

/* The program is about to end with `status`: tells the collector. If the session's flags say so,
 * waits until the profile is safe or the process was looked at, at most as long as the session
 * allows. */
void session_end(int status);
/* With musl the status is not known here; the collector may know it from the process's parent. */
enum { SESSION_STATUS_UNKNOWN = -0x80000000 };
/* The same where it dies of a signal. To be called by the signal's handler. */
struct session_cut { /* where the signal has interrupted its thread */
    uintptr_t stack; /* memory of the thread's stack from here on is the program's */
    uintptr_t registers[WIRE_EXIT_REGISTERS]; /* 0: none */
};
void session_end_by_signal(int number, const struct session_cut *cut);
/* The program has called quick_exit(status): session_end() will be called after its handlers. */
void session_will_quick_exit(int status);

/* ---- In a running program, by the thread that called a function of late.c ---- */

/* Connects to the session of that name; NULL: starts a collector. The thread has to be on hold
 * (thread_hold()). 0; -EALREADY: it is being recorded; -EEXIST: the library was preloaded; -ESTALE:
 * session_renew() has to be called first, because there was an earlier session; -ECONNREFUSED: no
 * collector, or it refuses; -EPERM, -ENOMEM, -ENOSYS. */
int session_attach(const char *name);
/* Ends the recording and tells the collector. Hooks then pass all calls on. False: nothing was
 * being recorded. */
bool session_leave(void);
/* Forgets a session that is over. Every other thread has to be stopped, outside of our code. 0;
 * -EALREADY: the session is not over; -EAGAIN: a thread is recording an event. */
int session_renew(void);
/* The word that becomes WIRE_SESSION_SAFE when the last session's profile is safe; NULL: none. */
const void *session_state_word(void);

/* "/name" of the file that this process executes, in `path`; NULL: not known, or longer. */
const char *session_program_name(char *path, size_t room);

/* The program has a filter that forbids to connect: programs that it executes will not try. */
void session_forbid_programs(void);

/* In the child of a fork whose memory is not wiped yet: no session has begun here. */
void session_is_of_parent(void);

/* Should programs that are executed be recorded? True if the session follows children and is not
 * over; also in the child of a fork that has recorded nothing yet. */
bool session_follows(void);
/* For the child of a fork that has recorded nothing: adds `difference` (1 or -1) to the collector's
 * count of programs that will not be recorded. */
void session_say_unfollowed(enum wire_unfollowed kind, int difference);

/* Wakes the collector if it sleeps. */
void session_wake_collector(void);
/* Sends a request to the collector and waits for the answer, at most `patience_ms`. Requests of
 * several threads wait for one another; not for signal handlers. 0; -ENODATA: not being recorded;
 * -ETIMEDOUT. Keeps errno. */
struct session_answer {
    uint64_t current_bytes, peak_bytes, total_bytes, count, live_count;
    uint64_t mapped_bytes, mapped_peak_bytes, resident_bytes, resident_peak_bytes;
};
int session_ask(enum wire_request request, uint32_t asker, unsigned patience_ms,
                struct session_answer *answer);

/* False: the collector is dead or has told us to stop. */
bool session_collector_lives(void);

#endif
