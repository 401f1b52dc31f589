/* How much memory each process of the machine has, read once: USS, PSS, RSS and swap by process,
 * by the mapped thing, and what of the machine's memory is in no process.
 *
 *     struct census census;
 *     census_take(&census, &request);          500 processes: some 0.1 s
 *     census_tabulate(&table, &census, CENSUS_BY_USER, CENSUS_PSS, false);
 *     census_table_release(&table);
 *     census_release(&census);
 *
 * The processes are read one after the other (on several threads) while they run: each is some
 * milliseconds of its own, the whole is no single moment. Processes that share one address space
 * (between vfork and exec) both show all of it. Functions return 0 or -errno. */
#ifndef TIDEMARK_CENSUS_CENSUS_H
#define TIDEMARK_CENSUS_CENSUS_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/process.h"
#include "process/smaps.h"

/* ---- Processes ----------------------------------------------------------------------------- */

enum census_state {
    CENSUS_READ = 0,
    CENSUS_FORBIDDEN, /* the kernel does not let us look; rss and swap are known all the same */
    CENSUS_KERNEL,    /* a thread of the kernel: no memory of its own */
    CENSUS_ZOMBIE,    /* has ended, its parent has not asked yet */
    CENSUS_GONE,      /* ended while it was read */
    CENSUS_LEFT_OUT,  /* not what was asked for */
    CENSUS_STATES,
};

/* All mappings of one name in one process. */
struct census_piece {
    const char *name; /* a file, or what the memory is: "[heap]", "[anonymous]" */
    uint64_t mappings;
    struct smaps_bytes bytes;
};

/* What /proc/PID/status says. */
struct census_status {
    char name[64]; /* the short name, as its owner set it: any bytes */
    char state;    /* R S D T t Z X I; '?' */
    pid_t pid, parent;
    pid_t inner_pid; /* as the process calls itself: another in a container; 0 unknown */
    uid_t uid;       /* effective; (uid_t)-1: not said */
    uint64_t threads, size_bytes, rss_bytes, swap_bytes; /* or PROCESS_UNKNOWN */
    bool is_kernel;
};

/* The text may be cut anywhere. -EINVAL if it names no process. */
int census_parse_status(const char *text, struct census_status *status);

/* The group in a text of /proc/PID/cgroup: that of the memory controller, else the unified one,
 * else the first. NULL if there is none; malloc'd. */
char *census_parse_cgroup(const char *text);

struct census_process {
    enum census_state state;
    struct census_status status;
    char *command;            /* the arguments as a shell would take them, or [name] */
    char *cgroup;             /* "/user.slice/…" as seen from here, NULL: none */
    struct smaps_bytes bytes; /* unless read: only rss, swap and size, if at all */
    uint64_t mappings;        /* of the pieces; 0 if none were asked for */
    struct census_piece *pieces;
    size_t piece_count;
    char *piece_names;
};

/* ---- The machine --------------------------------------------------------------------------- */

/* Bytes as /proc/meminfo says, or PROCESS_UNKNOWN. */
struct census_machine {
    uint64_t total, free, available, buffers, cached, swap_cached, shared_memory, anonymous;
    uint64_t slab, slab_reclaimable, reclaimable, kernel_stacks, page_tables, other_page_tables;
    uint64_t per_cpu, huge_pool, swap_total, swap_free;
};

void census_parse_machine(const char *text, struct census_machine *machine);

/* Where all of the machine's memory is. Σ of all up to `free` and `rest` = total. */
struct census_balance {
    uint64_t total, available;
    uint64_t processes;           /* PSS of those that were read */
    uint64_t anonymous_elsewhere; /* of processes that were not read, or are in no view of ours */
    uint64_t shared_memory;       /* tmpfs and shared memory that none of them maps */
    uint64_t page_cache;          /* of files that none of them maps, and buffers */
    uint64_t kernel;              /* slab, stacks, page tables, per-processor memory */
    uint64_t huge_pool;           /* set aside for huge pages, used or not */
    uint64_t free;
    int64_t rest;                /* drivers, firmware; and what changed while it was read */
    uint64_t kernel_reclaimable; /* of kernel: caches that are given up when memory is short */
    uint64_t swap_total, swap_used, swap_processes; /* the latter: swap PSS, or unknown */
};

/* ---- All of it ----------------------------------------------------------------------------- */

struct census_request {
    const pid_t *pids; /* only these; none: all */
    size_t pid_count;
    const uid_t *users;
    size_t user_count;
    const regex_t *name, *cgroup; /* name: that name or command line match, but not the caller's;
                                     NULL: any */
    const regex_t *mapping;       /* only mappings whose name matches; processes that have some */
    bool pieces, libraries; /* by what is mapped; a library's data and bss are the library's */
    size_t threads;         /* 0: as many as processors, eight at most */
};

struct census {
    struct census_process *processes; /* sorted by pid */
    size_t count, state_counts[CENSUS_STATES];
    struct census_machine machine;
    bool is_whole;        /* nothing was filtered: there is a balance */
    bool hides_processes; /* /proc is mounted so that others' processes cannot be seen */
};

int census_take(struct census *census, const struct census_request *request);
void census_release(struct census *census);

/* False where there is none: the census is not whole, or the kernel does not say enough. */
bool census_balance(const struct census *census, struct census_balance *balance);

/* ---- Tables -------------------------------------------------------------------------------- */

enum census_by {
    CENSUS_BY_PROCESS,
    CENSUS_BY_NAME,
    CENSUS_BY_USER,
    CENSUS_BY_CGROUP,
    CENSUS_BY_MAPPING,
    CENSUS_BY_LIBRARY,
};
#define CENSUS_BY_CHOICE "process|name|user|cgroup|mapping|library"

enum census_order { CENSUS_PSS, CENSUS_USS, CENSUS_RSS, CENSUS_SWAP, CENSUS_COUNT, CENSUS_NAME };
#define CENSUS_ORDER_CHOICE "pss|uss|rss|swap|count|name"

struct census_row {
    const char *name;                     /* raw bytes: to be made safe before they are shown */
    const struct census_process *process; /* by process; else any one of the row's */
    uint64_t processes, mappings;
    struct smaps_bytes bytes; /* Σ over the processes: rss counts a shared page in each of them */
};

struct census_table {
    enum census_by by;
    struct census_row *rows;
    size_t count;
    struct census_row total;
    char **user_names; /* by row, only by user */
};

int census_tabulate(struct census_table *table, const struct census *census, enum census_by by,
                    enum census_order order, bool reverse);
void census_table_release(struct census_table *table);

/* The user's name, or the number; "?" if unknown. Asks the system's data base, which may take its
 * time, and is not thread-safe. */
void census_user_name(uid_t uid, char *name, size_t size);

#endif
