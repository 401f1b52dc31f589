/* Recording of programs that run already: loads libtidemark.so into them, switches it on and off
 * (recorder/late.h). The host's side; what happens in the program is the recorder's.
 *
 *   check   what can be known without touching the process: whose it is, what it is
 *   seize   one thread that is at a safe place (place.h): the others run on, so that whatever locks
 *           they hold come free
 *   call    dlopen(library), tidemark_late_begin(session)
 *   release the thread goes on in the system call that it was in
 *
 * Whatever fails, the thread is put back and runs on. Functions return 0, or a negative number with a
 * sentence in attach_error(); one at a time, each in one thread from beginning to end (ptrace knows
 * threads). They may take seconds: of a busy process until a thread comes to a safe place. */
#ifndef TIDEMARK_ATTACH_ATTACH_H
#define TIDEMARK_ATTACH_ATTACH_H

#include <sys/types.h>

/* Can `library` (an absolute path) be loaded into the process, as far as can be seen from outside? */
int attach_check(pid_t pid, const char *library);

/* Starts recording for the collector of that name, which must answer meanwhile. */
int attach_begin(pid_t pid, const char *library, const char *session);

/* Puts the program's functions back and ends the recording. */
int attach_end(pid_t pid);
/* Waits until the profile of the recording that attach_end() has ended is complete. */
int attach_wait_safe(pid_t pid);

/* Gives back what the library holds of a recording that is over. All threads stand still meanwhile
 * (microseconds each). */
int attach_forget(pid_t pid);

const char *attach_error(void);

#endif
