/* The functions that switch recording on and off in a running program. Their names and types are a
 * contract with other versions of `tidemark attach` and of libtidemark-api, and never change. */
#ifndef TIDEMARK_RECORDER_LATE_H
#define TIDEMARK_RECORDER_LATE_H

/* Begins recording, for the collector of that name; NULL: starts a collector, with options from
 * TIDEMARK_OPTIONS. May be called where a program may call dlopen(). 0 or -errno as
 * session_attach(); -EBUSY: another thread is in one of these functions. */
int tidemark_late_begin(const char *session);

/* Restores the program's functions and ends the recording. Returns the address of a word that
 * becomes WIRE_SESSION_SAFE (1) when the profile is complete on disk; NULL: nothing was being
 * recorded, or the library was preloaded, and then it goes on. */
const void *tidemark_late_end(void);

/* Forgets a recording that is over, so that another can begin. To be called while all other threads
 * are stopped outside of this library. Takes no locks, because a stopped thread may hold any lock.
 * 0 or -errno as session_renew(). */
int tidemark_late_renew(void);

#endif
