/* How much memory each process of the machine has, read once: USS, PSS, RSS and swap by process,
 * by the mapped thing, and what of the machine's memory is in no process.
 *
 *     struct system_memory system;
 *     system_memory_take(&system, &request);          500 processes: some 0.1 s
 *     system_memory_tabulate(&table, &system, SYSTEM_MEMORY_BY_USER, SYSTEM_MEMORY_PSS, false);
 *     system_memory_table_release(&table);
 *     system_memory_release(&system);
 *
 * The processes are read one after the other (on several threads) while they run: each is some
 * milliseconds of its own, the whole is no single moment. Processes that share one address space
 * (between vfork and exec) both show all of it. Functions return 0 or -errno.
 *
 * Everything of a process is read below one descriptor of its directory, so that a process number
 * that was used again reads as gone. Sums of a process come from smaps_rollup; only views by
 * mapping read smaps. A zombie whose other threads live is read through one of them. status.c makes
 * the balance of the machine: the parts and a signed rest add up to MemTotal. table.c groups and
 * sorts, process_maps.c sums one process's mappings by kind and file, and processes_text.c,
 * process_maps_text.c and processes_data.c print. */
#ifndef TIDEMARK_SYSTEM_MEMORY_PROCESSES_H
#define TIDEMARK_SYSTEM_MEMORY_PROCESSES_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "procfs/process.h"
#include "procfs/smaps.h"

/* ---- Processes ----------------------------------------------------------------------------- */

enum system_memory_state {
    SYSTEM_MEMORY_READ = 0,
    SYSTEM_MEMORY_FORBIDDEN, /* the kernel does not let us look; rss and swap are known all the
                              * same */
    SYSTEM_MEMORY_KERNEL,    /* a thread of the kernel: no memory of its own */
    SYSTEM_MEMORY_ZOMBIE,    /* has ended, its parent has not asked yet */
    SYSTEM_MEMORY_GONE,      /* ended while it was read */
    SYSTEM_MEMORY_LEFT_OUT,  /* not what was asked for */
    SYSTEM_MEMORY_STATES,
};

/* All mappings of one name in one process. */
struct system_memory_piece {
    const char *name; /* a file, or what the memory is: "[heap]", "[anonymous]" */
    uint64_t mappings;
    struct smaps_bytes bytes;
};

/* What /proc/PID/status says. */
struct system_memory_status {
    char name[64]; /* the short name, as its owner set it: any bytes */
    char state;    /* R S D T t Z X I; '?' */
    pid_t pid, parent;
    pid_t inner_pid; /* as the process calls itself: another in a container; 0 unknown */
    uid_t uid;       /* effective; (uid_t)-1: not said */
    struct figure threads, size_bytes, rss_bytes, swap_bytes;
    uint64_t start_ticks; /* since the machine's start, where it was asked for; 0: not known */
    bool is_kernel;
};

/* The text may be cut anywhere. -EINVAL if it names no process. */
int system_memory_parse_status(const char *text, struct system_memory_status *status);

/* The same of /proc/PID/stat, for captures that have no status (smemcap's). Sizes are not known. */
int system_memory_parse_stat(const char *text, struct system_memory_status *status);

/* When it began, as the same text says; 0: it does not. */
uint64_t system_memory_parse_start(const char *text);

/* The group in a text of /proc/PID/cgroup: that of the memory controller, else the unified one,
 * else the first. NULL if there is none; malloc'd. */
char *system_memory_parse_cgroup(const char *text);

struct system_memory_process {
    enum system_memory_state state;
    struct system_memory_status status;
    char *command;            /* the arguments as a shell would take them, or [name] */
    char *cgroup;             /* "/user.slice/…" as seen from here, NULL: none */
    struct smaps_bytes bytes; /* unless read: only rss, swap and size, if at all */
    uint64_t mappings;        /* of the pieces; 0 if none were asked for */
    struct system_memory_piece *pieces;
    size_t piece_count;
    char *piece_names;
};

/* ---- The machine --------------------------------------------------------------------------- */

/* Bytes as /proc/meminfo says. */
struct system_memory_machine {
    struct figure total, free, available, buffers, cached, swap_cached, shared_memory, anonymous;
    struct figure slab, slab_reclaimable, reclaimable, kernel_stacks, page_tables,
        other_page_tables;
    struct figure per_cpu, huge_pool, swap_total, swap_free;
};

void system_memory_parse_machine(const char *text, struct system_memory_machine *machine);

/* Where all of the machine's memory is. Σ of all up to `free` and `rest` = total. */
struct system_memory_balance {
    uint64_t total;
    struct figure available;
    uint64_t processes;           /* PSS of those that were read */
    uint64_t anonymous_elsewhere; /* of processes that were not read, or are in no view of ours */
    uint64_t shared_memory;       /* tmpfs and shared memory that none of them maps */
    uint64_t page_cache;          /* of files that none of them maps, and buffers */
    uint64_t kernel;              /* slab, stacks, page tables, per-processor memory */
    uint64_t huge_pool;           /* set aside for huge pages, used or not */
    uint64_t free;
    int64_t rest;                /* drivers, firmware; and what changed while it was read */
    uint64_t kernel_reclaimable; /* of kernel: caches that are given up when memory is short */
    struct figure swap_total, swap_used, swap_processes; /* the latter: swap PSS */
};

/* ---- All of it ----------------------------------------------------------------------------- */

struct system_memory_request {
    const pid_t *pids; /* only these; none: all */
    size_t pid_count;
    const uid_t *users;
    size_t user_count;
    const regex_t *name, *cgroup; /* name: that name or command line match, but not the caller's;
                                     NULL: any */
    const regex_t *mapping;       /* only mappings whose name matches; processes that have some */
    bool pieces, libraries; /* by what is mapped; a library's data and bss are the library's */
    bool starts;            /* when each began, so that it is known again */
    size_t threads;         /* 0: as many as processors, eight at most */
    const char *root; /* NULL: /proc; else that of another machine, or what was saved of one */
};

struct system_memory {
    struct system_memory_process *processes; /* sorted by pid */
    size_t count, state_counts[SYSTEM_MEMORY_STATES];
    struct system_memory_machine machine;
    bool is_whole;        /* nothing was filtered: there is a balance */
    bool hides_processes; /* /proc is mounted so that others' processes cannot be seen */
};

/* Copies what is read of /proc into a new directory, for `root`. 0 or -errno, with `processes` of
 * them. */
int system_memory_save(const char *directory, size_t *processes);

int system_memory_take(struct system_memory *system, const struct system_memory_request *request);
void system_memory_release(struct system_memory *system);

/* False where there is none: not every process was read, or the kernel does not say enough. */
bool system_memory_balance(const struct system_memory *system,
                           struct system_memory_balance *balance);

/* ---- Tables -------------------------------------------------------------------------------- */

enum system_memory_by {
    SYSTEM_MEMORY_BY_PROCESS,
    SYSTEM_MEMORY_BY_NAME,
    SYSTEM_MEMORY_BY_USER,
    SYSTEM_MEMORY_BY_CGROUP,
    SYSTEM_MEMORY_BY_MAPPING,
    SYSTEM_MEMORY_BY_LIBRARY,
};
#define SYSTEM_MEMORY_BY_CHOICE "process|name|user|cgroup|mapping|library"

enum system_memory_order {
    SYSTEM_MEMORY_PSS,
    SYSTEM_MEMORY_USS,
    SYSTEM_MEMORY_RSS,
    SYSTEM_MEMORY_SWAP,
    SYSTEM_MEMORY_COUNT,
    SYSTEM_MEMORY_NAME,
    SYSTEM_MEMORY_GROWTH, /* of PSS, once it was compared (row_marks.h) */
};
#define SYSTEM_MEMORY_ORDER_CHOICE "pss|uss|rss|swap|count|name|growth"

struct system_memory_row {
    const char *name; /* raw bytes: to be made safe before they are shown */
    const struct system_memory_process *process; /* by process; else any one of the row's */
    uint64_t processes, mappings;
    struct smaps_bytes bytes; /* Σ over the processes: rss counts a shared page in each of them */
    double growth_bytes;      /* of PSS since another moment; NAN: not compared */
    /* In a tree. */
    struct figure with_all; /* PSS, with all that the process started */
    size_t depth;
    uint64_t open_levels; /* bit d: at depth d a sibling follows */
};

struct system_memory_table {
    enum system_memory_by by;
    struct system_memory_row *rows;
    size_t count;
    struct system_memory_row total;
    char **user_names; /* by row, only by user */
    bool is_tree;
};

int system_memory_tabulate(struct system_memory_table *table, const struct system_memory *system,
                           enum system_memory_by by, enum system_memory_order order, bool reverse);
void system_memory_sort(struct system_memory_table *table, enum system_memory_order order,
                        bool reverse);
/* Of a table by process: each behind who started it, the largest first. 0 or -ENOMEM. */
int system_memory_make_tree(struct system_memory_table *table);
void system_memory_table_release(struct system_memory_table *table);

/* The user's name, or the number; "?" if unknown. Asks the system's data base, which may take its
 * time, and is not thread-safe. */
void system_memory_user_name(uid_t uid, char *name, size_t size);

#endif
