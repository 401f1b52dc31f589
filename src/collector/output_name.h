/* Where a profile goes: the pattern of -o with what is known of the process put in. */
#ifndef TIDEMARK_COLLECTOR_OUTPUT_NAME_H
#define TIDEMARK_COLLECTOR_OUTPUT_NAME_H

#include <sys/types.h>

#define OUTPUT_NAME_DEFAULT "tidemark.%n.%p.tmk"

/* %p pid, %h host, %r rank (of the MPI launcher, 0 outside a job), %n program, %q{VAR} environment
 * variable, %% percent. NULL if all is well, else what is wrong with the pattern. */
const char *output_name_check(const char *pattern);

/* malloc'd. Slashes in what is put in become '_'. `first`: the program that was asked for; the
 * others of its session get ".NAME.PID" before the suffix if the pattern has no %p, so that they do
 * not replace each other. */
char *output_name(const char *pattern, const char *program, pid_t pid, int first);

#endif
