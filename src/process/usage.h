/* What a process and its threads have used so far, by the kernel's count: page faults, processor
 * time, context switches, peaks. Functions return 0 or -errno: -ESRCH for what is gone. Numbers
 * that the kernel does not say are PROCESS_UNKNOWN. Thread-safe. */
#ifndef TIDEMARK_PROCESS_USAGE_H
#define TIDEMARK_PROCESS_USAGE_H

#include <stdint.h>
#include <sys/types.h>

#include "process/process.h"

struct usage {
    uint64_t minor_faults, major_faults; /* of all threads, ended ones included */
    uint64_t user_ns, system_ns;         /* the same; exact to a clock tick (10 ms) */
    /* Σ over the threads that live now: the kernel keeps no sum with those that have ended. */
    uint64_t voluntary_switches, involuntary_switches;
    uint64_t threads; /* alive now */
    /* High-water marks. The kernel counts resident pages in batches per processor: the peak may be
     * off by some 100 KiB, and a process that executes another program begins anew. */
    uint64_t peak_resident_bytes, peak_virtual_bytes;
    uint64_t resident_bytes, swapped_bytes; /* VmRSS, VmSwap */
    uint64_t locked_bytes;                  /* VmLck */
    uint64_t page_table_bytes;              /* VmPTE: what the mapping itself costs */
};

/* Of a zombie the faults and times are known, the rest is not. */
int usage_read(pid_t pid, struct usage *usage);

struct usage_thread {
    pid_t tid;
    char name[16]; /* control characters are '?' */
    char state;    /* R S D T t Z X I; '?' if unknown */
    uint64_t minor_faults, major_faults, user_ns, system_ns;
    uint64_t voluntary_switches, involuntary_switches;
};

/* Calls `visit` for every thread until it returns other than 0, which is then returned. Threads
 * that end meanwhile may be missing. */
int usage_threads(pid_t pid, int (*visit)(const struct usage_thread *thread, void *context),
                  void *context);

/* The same for the texts of stat and of status (for tests; either may be cut anywhere). */
void usage_parse_stat(const char *stat, struct usage *usage);
void usage_parse_status(const char *status, struct usage *usage);

#endif
