/* Finds out which of our system calls the program's own seccomp filters forbid, by running the
 * filters. Runs inside the program: no system call, no malloc. */
#ifndef TIDEMARK_RECORDER_FILTER_H
#define TIDEMARK_RECORDER_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>

/* The kernel has just accepted this filter, so all of it is readable and valid. Calls that the
 * filter does not allow are forbidden from now on (unwind/permitted_calls.h), whether they would
 * kill or only fail. A filter of one thread counts for all threads. */
void filter_installed(const struct sock_fprog *filter);
/* SECCOMP_MODE_STRICT permits only read, write, exit and sigreturn, and on x86-64 it also forbids
 * reading the processor's clock. */
void filter_strict(void);
/* PR_SET_TSC: reading the processor's clock kills this thread, and threads that it starts. */
void filter_clock(void);

/* The filter's result for a call: an action and its data, SECCOMP_RET_…. */
uint32_t filter_run(const struct sock_fprog *filter, const struct seccomp_data *data);

#endif
