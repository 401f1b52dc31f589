/* Where a profile goes: the pattern of -o with what is known of the process put in. */
#ifndef TIDEMARK_COLLECTOR_OUTPUT_NAME_H
#define TIDEMARK_COLLECTOR_OUTPUT_NAME_H

#include <sys/types.h>

#define OUTPUT_NAME_DEFAULT "tidemark.%n.%p.tmk"

/* %p pid, %h host, %r rank (of the MPI launcher, "none" outside a job and for the launcher itself), %n program, %q{VAR} environment
 * variable, %% percent; rank and variables are the process's own, or else ours. NULL if all is
 * well, else what is wrong with the pattern. */
const char *output_name_check(const char *pattern);

/* malloc'd. Slashes in what is put in become '_'. A name that this collector has given
 * already gets ".NAME.PID" before its suffix (".2", ".3" if the pattern has %p), so that profiles of
 * one session do not replace each other. One thread at a time. */
char *output_name(const char *pattern, const char *program, pid_t pid);

#endif
