/* What the library exports for those who switch it on in a program that runs already. The names and
 * types of these functions are a contract with other versions of `tidemark attach` and of
 * libtidemark-api: they do not change. */
#ifndef TIDEMARK_RECORDER_LATE_H
#define TIDEMARK_RECORDER_LATE_H

/* Records from here on, for the collector of that name; NULL: for one that it starts, whose options
 * come from TIDEMARK_OPTIONS. Where a program may call dlopen() this may be called. 0 or a negative
 * errno: see session_attach(); -EBUSY: another thread is at it. */
int tidemark_late_begin(const char *session);

/* Puts the program's functions back and ends the recording. Where the word is that turns to
 * WIRE_SESSION_SAFE (1) when the profile is complete on disk; NULL: nothing was being recorded (or
 * the library came with the program, and then it stays). */
const void *tidemark_late_end(void);

/* Forgets a recording that is over, so that another can begin. To be called while all other threads
 * are stopped outside of this library; takes no locks, so that it does not matter where else they
 * are. 0 or a negative errno: see session_renew(). */
int tidemark_late_renew(void);

#endif
