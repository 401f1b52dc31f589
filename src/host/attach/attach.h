/* Recording of programs that run already: loads libtidemark.so into them, switches it on and off
 * (recorder/late.h). The host's side; what happens in the program is the recorder's.
 *
 *   check     what can be known without touching the process: its user, its executable
 *   seize     stop one thread at a safe place (safe_place.h); the others run on, so that the locks
 *             that they hold come free
 *   call      dlopen(library), tidemark_late_begin(session)
 *   release   the thread goes on in the system call that it was in
 *
 * After a failure the thread is put back and runs on. Functions return 0, or a negative number with
 * a sentence in attach_error(). Call one function at a time, and each from one thread, because
 * ptrace is bound to a thread. A function can take seconds in a busy process, until a thread comes
 * to a safe place.
 *
 * Files: tracee.c is ptrace of one thread; way_back.c makes the frames by which it comes back
 * without us. target.c finds what is loaded in the program, and
 * symbols, in the memory of the process alone. safe_place.c says whether a thread is where a
 * library can be loaded. attach_check.c says beforehand what speaks against attaching. permission.c
 * says why the kernel forbade it. attach.c calls these in order. */
#ifndef TIDEMARK_ATTACH_ATTACH_H
#define TIDEMARK_ATTACH_ATTACH_H

#include <sys/types.h>

/* Can `library` (an absolute path) be loaded into the process, as far as can be seen from
 * outside? */
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

#endif
