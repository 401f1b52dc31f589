/* Where a profile goes: the pattern of -o with what is known of the process put in. */
#ifndef TIDEMARK_COLLECTOR_OUTPUT_NAME_H
#define TIDEMARK_COLLECTOR_OUTPUT_NAME_H

#include <stdbool.h>
#include <sys/types.h>

#define OUTPUT_NAME_DEFAULT "tidemark.%n.%p.tmk"

/* %p pid, %h host, %r rank (of the MPI launcher, "none" outside a job and for the launcher itself),
 * %n program, %q{VAR} environment variable, %% percent; rank and variables are the process's own,
 * or else the collector's. NULL if all is well, else what is wrong with the pattern. */
const char *output_name_check(const char *pattern);

/* Checks whether files of that pattern can be made, as far as that is known before any process
 * runs: -errno of the directory; -EINVAL: a device, a directory or the like has that name. `place`
 * (malloc'd) is which. 0: nothing is wrong, or it is not known. */
int output_name_obstacle(const char *pattern, char **place);

/* malloc'd. Slashes in the inserted texts become '_'. A name that this collector has given already
 * gets ".NAME.PID" before its suffix (".2", ".3" if the pattern has %p), so that profiles of one
 * session do not replace each other. One thread at a time. */
char *output_name(const char *pattern, const char *program, pid_t pid);

/* Whether the pattern gives `name`, which is taken, for this process too. */
bool output_name_fits(const char *name, const char *pattern, const char *program, pid_t pid);
/* Another name for `program`, which has to give up `name`: with program and pid, then numbered.
 * malloc'd. */
char *output_name_beside(const char *name, const char *pattern, const char *program, pid_t pid);

#endif
