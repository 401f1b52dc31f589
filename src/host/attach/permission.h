/* Why the kernel did not let us trace a process, and what to do about it. */
#ifndef TIDEMARK_ATTACH_PERMISSION_H
#define TIDEMARK_ATTACH_PERMISSION_H

#include <stdbool.h>
#include <sys/types.h>

/* The policy of the Yama module: 0 the same user, 1 descendants, 2 root, 3 nobody. Not there: as
 * 0. */
#define PERMISSION_YAMA "/proc/sys/kernel/yama/ptrace_scope"

/* Notes a sentence for error_text() about the ptrace error -errno, which it gives back; `yama` is
 * the file with the policy. */
int permission_refused(pid_t pid, int error, const char *yama);

/* May we read the memory of a process of our user only if that names us? By the policy as it was
 * when this was asked first. Thread-safe. */
bool permission_must_be_given(void);

#endif
