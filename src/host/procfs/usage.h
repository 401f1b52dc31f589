/* What a process and its threads have used so far, by the kernel's count: page faults, processor
 * time, context switches, peaks. Functions return 0 or -errno: -ESRCH for what is gone. Numbers
 * that the kernel does not give are unknown. Thread-safe. */
#ifndef TIDEMARK_PROCFS_USAGE_H
#define TIDEMARK_PROCFS_USAGE_H

#include <stdint.h>
#include <sys/types.h>

#include "model/figure.h"

struct usage {
    struct figure minor_faults, major_faults; /* of all threads, ended ones included */
    struct figure user_ns, system_ns;         /* the same; exact to a clock tick (10 ms) */
    /* Σ over the threads that live now: the kernel keeps no sum with those that have ended. */
    struct figure voluntary_switches, involuntary_switches;
    struct figure threads; /* alive now */
    char name[16];         /* the first thread's; control characters are '?'; "": not known */
    /* High-water marks. The kernel counts resident pages in batches per processor: the peak may be
     * off by some 100 KiB, and a process that executes another program begins anew. */
    struct figure peak_resident_bytes, peak_virtual_bytes;
    struct figure resident_bytes, swapped_bytes; /* VmRSS, VmSwap */
    struct figure locked_bytes;                  /* VmLck */
    struct figure page_table_bytes;              /* VmPTE: what the mapping itself costs */
};

/* Of a zombie only the faults and times are known. */
int usage_read(pid_t pid, struct usage *usage);

struct usage_thread {
    pid_t tid;
    char name[16]; /* control characters are '?' */
    char state;    /* R S D T t Z X I; '?' if unknown */
    struct figure minor_faults, major_faults, user_ns, system_ns;
    struct figure voluntary_switches, involuntary_switches;
};

/* Calls `visit` for every thread until it returns other than 0, which is then returned. Threads
 * that end meanwhile may be missing. */
int usage_threads(pid_t pid, int (*visit)(const struct usage_thread *thread, void *context),
                  void *context);

/* The same for the texts of stat and of status (for tests; either may be cut anywhere). */
void usage_parse_stat(const char *stat, struct usage *usage);
void usage_parse_status(const char *status, struct usage *usage);

#endif
