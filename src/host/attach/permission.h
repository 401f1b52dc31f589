/* Why the kernel did not let us trace a process, and what to do about it. */
#ifndef TIDEMARK_ATTACH_PERMISSION_H
#define TIDEMARK_ATTACH_PERMISSION_H

#include <stdbool.h>
#include <sys/types.h>

/* The policy of the Yama module: 0 the same user, 1 descendants, 2 root, 3 nobody. Not there: as
 * 0. */
#define PERMISSION_YAMA "/proc/sys/kernel/yama/ptrace_scope"

/* Sets the sentence of error_text() for the ptrace error `error` (-errno), and returns `error`.
 * `yama`: the file with the policy. */
int permission_refused(pid_t pid, int error, const char *yama);

/* Whether a process of our user must name us (PR_SET_PTRACER) before we may read its memory. By the
 * policy at the first call. Thread-safe. */
bool permission_must_be_given(void);

#endif
