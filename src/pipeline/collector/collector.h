/* The collector: accepts the processes of a session and makes a profile of each. */
#ifndef TIDEMARK_COLLECTOR_COLLECTOR_H
#define TIDEMARK_COLLECTOR_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "collector/process_image.h"
#include "collector/triggers.h"
#include "collector/unsaved.h"
#include "trace/trace.h"

/* First byte of a message about a file; the file's name follows. */
#define COLLECTOR_FILE_MEANT '?' /* the name that the first program's file will have */
#define COLLECTOR_FILE_SOON  '~' /* the file is about to be created; its log may exist */
#define COLLECTOR_FILE_BEGUN '+' /* the file exists and is not complete */

struct collector_options {
    const char *output;         /* pattern, output_name.h */
    const char *job;            /* instead: a directory of jobs, job_place.h; NULL: none */
    const char *job_id;         /* the id that all processes shall have; NULL: the launcher's */
    const char *node;           /* the address by which all ranks of a node find it, as NAME of a
                                 * session (the key is made up); NULL: it is no node's */
    const char *recorded_ranks; /* the choice of ranks (rank_choice.h), for entries; NULL: all */
    const char *session;        /* collector_open() sets it: an id for what has no launcher */
    bool follow;                /* children too */
    const char *only;   /* names of programs, patterns of fnmatch() between commas: no others;
                          * NULL: all */
    bool drop;          /* a full ring drops events instead of waiting */
    bool free_stacks;   /* frees carry their call path */
    bool native;        /* call paths show an interpreter's own frames */
    bool devices;       /* what drivers of devices hand out is recorded */
    bool timed;         /* calls of the allocator are timed */
    bool embed_sources; /* profiles hold the source files that their code locations name */
    bool exit_waits;    /* programs wait at exit for their profile */
    bool looks;         /* at the process's memory, through /proc */
    bool types;         /* looks at peaks find the classes of live blocks, too */
    bool page_content;  /* looks read what pages hold */
    uint64_t heat_ns;   /* interval between scans for written pages; 0: none (heat.h) */
    bool held;          /* the last look says who holds what, however many blocks there are */
    bool pack;          /* compress finished profiles */
    bool separate;      /* small processes have files of their own too */
    bool trace;         /* keep every event, in a trace beside the profile */
    enum trace_compression trace_compression;
    int trace_level;     /* of zstd; 0: the usual one */
    int stacks;          /* enum wire_stacks */
    uint32_t max_depth;  /* 0: no limit */
    uint32_t ring_bytes; /* a power of two */
    uint32_t exit_wait_ms;
    /* Called with the path of each profile with a file of its own that is complete and packed, on a
     * thread of its process, before the entry of a job says the end. NULL: nothing is called. */
    void (*packed)(const char *path);
    struct pool_functions *pool_functions; /* --allocator-functions; NULL: none */
    uint64_t sample_bytes;        /* mean bytes between recorded allocations; 0: all are recorded */
    uint64_t memory_bytes;        /* that the collector may have (memory_bound.h); 0: not given */
    uint32_t budget_millionths;   /* what recording may cost (overhead_budget.h); 0: no limit */
    const char *start_on, *until; /* patterns of marks, or NULL (recorded_window.h) */
    uint64_t for_ns;              /* recording ends after this; 0: with the programs */
    struct window *window;        /* collector_open() sets it */
    struct session_rows *rows;    /* collector_open() sets it; NULL: every process has a file */
    struct node_files *nodes;     /* likewise, of a job: who ends goes into it; NULL: nobody */
    int finished; /* collector_open() sets it: an eventfd for images that are complete; -1: none */
    int begun;    /* a socket of messages for what becomes of files; -1: none */
    struct unsaved *unsaved; /* processes without a file or a row (unsaved.h); NULL: not kept */
    struct trigger triggers[TRIGGERS_MAX]; /* of snapshots */
    size_t trigger_count;
};

#define COLLECTOR_OPTIONS_INIT                                                                     \
    ((struct collector_options){.output = "tidemark.%n.%p.tmk",                                    \
                                .follow = true,                                                    \
                                .looks = true,                                                     \
                                .devices = true,                                                   \
                                .pack = true,                                                      \
                                .trace_compression = TRACE_ZSTD,                                   \
                                .ring_bytes = 256 << 10,                                           \
                                .exit_wait_ms = 10000,                                             \
                                .begun = -1})

struct collector;

/* Prepares this process for collecting. Call it only if the process starts no other program
 * afterwards. A file that reaches its size limit then gives an error instead of a signal. The
 * limits of files, descriptors and stacks are raised to the hard limits, whatever the program's
 * limits are. Large memory goes back to the system when it is freed. */
void collector_prepare_limits(void);

/* Listens under the session's name (an abstract Unix socket; `name` is NAME:KEY as in
 * WIRE_SESSION_VARIABLE); NULL: makes up a name and a key. 0 or -errno. */
int collector_open(struct collector **out, const struct collector_options *options,
                   const char *name);
/* A sentence for an error of collector_open(). */
const char *collector_open_error(int error);
void collector_close(struct collector *collector);
const char *collector_name(const struct collector *collector);
/* Call it before the first process comes. `socket` gets the messages about files
 * (COLLECTOR_FILE_*), and `unsaved` lists processes until they have a file (collector_options). */
void collector_tell_begun(struct collector *collector, int socket, struct unsaved *unsaved);

/* Waits until something happens, `extra_fd` (or -1) is readable or the time is up, and deals with
 * it. True if extra_fd is readable. */
bool collector_wait(struct collector *collector, int extra_fd, int timeout_ms);
/* Process `pid` is a rank, which may execute and start recorded programs: the collector is active
 * as long as it lives (WIRE_HELLO_RANK). */
void collector_expect_rank(struct collector *collector, pid_t pid);
/* Forgets all expected ranks, so that the collector can end. */
void collector_expect_nobody(struct collector *collector);
/* Processes being recorded now, and ranks that are expected. */
size_t collector_active(const struct collector *collector);
/* Those of them that have not ended yet (the others complete their profiles). */
size_t collector_running(const struct collector *collector);
/* The index-th of the processes that have not ended. The strings are valid until the next call of
 * the collector. `path`: its profile's, which may not exist yet; NULL: not chosen yet. False: there
 * are not so many. */
struct collector_process {
    pid_t pid;
    const char *program, *path;
    const char *rows; /* the session's file, if the process may become a row of it; else NULL */
};
bool collector_running_at(const struct collector *collector, size_t index,
                          struct collector_process *process);
/* Process `pid` is the caller's own child: its end comes by collector_tell_end() only. */
void collector_own_child(struct collector *collector, pid_t pid);
/* For the parent of process `pid`, which alone learns how it ended. */
void collector_tell_end(struct collector *collector, pid_t pid, enum process_image_end how,
                        int status);
/* Leaves everything that still runs. */
void collector_detach(struct collector *collector);
/* The same, without waiting until the profiles are complete; for signals. The third and further
 * calls give up names of functions that are not known yet; the profiles still have all figures. */
void collector_leave(struct collector *collector);
/* Has a snapshot taken of every process that runs; `why` is told of it. Returns at once. */
void collector_snapshot(struct collector *collector, const char *why);
/* How the recording ended before the programs did (--for, --until), such as "after 30 s (--for)".
 * NULL: it has not ended. After such an end no further process is recorded. */
const char *collector_over(const struct collector *collector);

/* Number of processes that could not be recorded for want of a thread or of memory. */
size_t collector_turned_away(const struct collector *collector);

/* Number of programs that `only` does not name and that were not recorded. */
size_t collector_passed_over(const struct collector *collector);

/* Number of small processes that are rows of the session's file. `path`: the file's name; NULL if
 * there are none. */
size_t collector_rows(const struct collector *collector, const char **path);
/* After all processes have ended: how many further rows found no room on the disk. It may wait five
 * seconds, once. If there are any, error_text() says why. */
size_t collector_rows_without_room(struct collector *collector);
/* The one of them with the highest peak: its pid (0: there is none whose peak is known), program
 * (the name may be cut) and peak. */
pid_t collector_largest_row(const struct collector *collector, char program[64],
                            uint64_t *peak_bytes);

/* Programs that were executed and are not recorded, of processes that have ended. */
uint32_t collector_unfollowed(const struct collector *collector, enum wire_unfollowed kind);
size_t collector_result_count(const struct collector *collector);
const struct process_image_result *collector_result(const struct collector *collector,
                                                    size_t index);

#endif
