/* The program's own seccomp filters, asked which of our system calls they would let pass. Runs
 * inside the program: no system call, no malloc. */
#ifndef TIDEMARK_RECORDER_FILTER_H
#define TIDEMARK_RECORDER_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>

/* The kernel has just taken this filter (so all of it is readable and sound): what it does not let
 * pass is forbidden from now on (unwind/permitted_calls.h), be it that it kills or that the call
 * would fail. It may be one thread's only; it is taken to be everybody's. */
void filter_installed(const struct sock_fprog *filter);
/* SECCOMP_MODE_STRICT: read, write, exit, sigreturn; nor the processor's clock, on x86-64. */
void filter_strict(void);
/* PR_SET_TSC: reading the processor's clock kills this thread, and those that it begins. */
void filter_clock(void);

/* What a filter says of a call: an action and its data, SECCOMP_RET_…. */
uint32_t filter_run(const struct sock_fprog *filter, const struct seccomp_data *data);

#endif
