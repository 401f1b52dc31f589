/* Recording of programs that run already: loads libtidemark.so into them, and switches it on and
 * off. This is the side outside the program; recorder/late.h is the side inside.
 *
 *   check     reasons that show without touching the process: its user, its executable
 *   seize     stop one thread at a safe place (safe_place.h); the others run on, so that they
 *             release their locks
 *   call      dlopen(library), tidemark_late_begin(session)
 *   release   the thread goes on in the system call that it was in
 *
 * After a failure the thread is put back and runs on. Functions return 0, or a negative number with
 * a sentence in error_text(). Call one function at a time, and each from one thread, because
 * ptrace is bound to a thread. A function can take seconds in a busy process, until a thread comes
 * to a safe place.
 *
 * Files: tracee.c is ptrace of one thread; way_back.c makes the frames by which the thread comes
 * back without us. target.c finds the loaded modules and their symbols, only in the memory of the
 * process. safe_place.c decides whether a library can be loaded where a thread stands.
 * attach_check.c finds reasons against attaching beforehand. permission.c tells why the kernel
 * forbade it. attach.c calls these in order. */
#ifndef TIDEMARK_ATTACH_ATTACH_H
#define TIDEMARK_ATTACH_ATTACH_H

#include <sys/types.h>

/* Whether `library` (an absolute path) can be loaded into the process, as far as that shows from
 * outside. */
int attach_check(pid_t pid, const char *library);

/* Starts recording for the collector of that session, which must answer meanwhile. */
int attach_begin(pid_t pid, const char *library, const char *session);

/* Puts the program's functions back and ends the recording. */
int attach_end(pid_t pid);
/* Waits until the profile of the recording that attach_end() has ended is complete. */
int attach_wait_safe(pid_t pid);

/* Frees the library's memory of a recording that is over. All threads are stopped meanwhile
 * (microseconds each). */
int attach_forget(pid_t pid);

#endif
