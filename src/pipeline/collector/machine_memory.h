/* The memory of the machine and of the process's control group over time. It shows whether a
 * program that ran short of memory was small beside others.
 *
 *   rows     | 0 … 250 ms | 250 … 500 ms | …                at most MACHINE_MOMENTS
 *   full:    | 0 … 500 ms | …                               two become one
 *
 * A row is the reading of its stretch that had the least available, with the most that the group
 * used. Nothing is read of a process that ends within the first 100 ms: its looks have these
 * figures. */
#ifndef TIDEMARK_COLLECTOR_MACHINE_MEMORY_H
#define TIDEMARK_COLLECTOR_MACHINE_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "profile/profile.h"

enum { MACHINE_MOMENTS = 64 };

struct machine_memory {
    struct profile_machine_moment rows[MACHINE_MOMENTS]; /* in the order of time */
    size_t count;
    uint64_t stretch_ns; /* 0: nothing was read */
    uint64_t next_ns;    /* of the process's age */
};

/* Reads, if it is time: `age_ns` since the process began to be recorded. */
void machine_memory_see(struct machine_memory *machine, pid_t pid, uint64_t age_ns);

/* A reading; times rise. */
void machine_memory_add(struct machine_memory *machine,
                        const struct profile_machine_moment *moment);

/* Copies the rows, for the caller to free; NULL: none, or no memory. */
struct profile_machine_moment *machine_memory_take(const struct machine_memory *machine,
                                                   size_t *count);

#endif
