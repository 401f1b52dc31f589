/* What a job's directory holds (doc/FORMAT-job.md): its jobs, their ranks, the processes of each
 * rank with their profiles, how they ended, and who is missing. Made of the entries that each
 * process has beside its profile, of profiles without one, or of a list of profiles. The files are
 * not trusted: a damaged entry costs only itself.
 *
 *     DIR ─┬─ openmpi-12345-1/ ─┬─ rank-00000.app.host.812.entry, .tmk, .tmt     a process
 *          │                    └─ rank-00001.app.host.813.entry, .tmk
 *          └─ slurm-77.0/ …                                                      a job
 *
 * Only entries and meta are read; profiles are for profile_read(). Read-only when it is made. While
 * it is being made another thread may only see what manifest_peek() shows. */
#ifndef TIDEMARK_JOBDIR_MANIFEST_H
#define TIDEMARK_JOBDIR_MANIFEST_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/map.h"
#include "jobdir/entry.h"

enum manifest_state {
    MANIFEST_ENDED,    /* exited; entry.end_status is its status, -1 if nobody saw it */
    MANIFEST_KILLED,   /* by signal entry.end_status */
    MANIFEST_REPLACED, /* executed another program, which is a process of its own here */
    MANIFEST_LEFT,     /* ran on when recording ended */
    MANIFEST_RUNNING,  /* is being recorded now */
    MANIFEST_CUT,      /* its recorder or its machine went down: the profile is what it last
                        * wrote */
    MANIFEST_UNKNOWN,  /* neither entry nor profile say */
    MANIFEST_STATES
};

struct manifest_process {
    struct entry entry;
    enum manifest_state state;
    char *entry_path;       /* NULL: none, what is known is the profile's meta */
    char *profile_path;     /* NULL: there is none (yet): entry.error may say why */
    uint64_t profile_bytes; /* of that file; 0: not known */
    uint64_t part_at;       /* where it begins in a node's file, which profile_path then names as
                             * FILE@PID; 0: it is a file of its own */
    char *trace_path;       /* NULL: none */
    char *damage; /* NULL, or a sentence: the entry or the profile's meta could not be read */
};

/* The processes of a rank: processes[first … first + count - 1] of its job, by start. */
struct manifest_rank {
    int64_t rank;
    size_t first, count;
    size_t main; /* index into processes: the MPI process itself, not a shell around it or a
                    helper that it started (see doc/FORMAT-job.md) */
};

struct manifest_job {
    char *id;                   /* "" for a list of profiles without one */
    char *directory;            /* NULL: a list of profiles */
    const char *launcher;       /* of a rank; NULL: none */
    int64_t ranks;              /* how many there should be; -1: not known */
    int64_t start_unix_ns;      /* of the first process; -1: not known */
    size_t rank_count;          /* how many there are */
    struct manifest_rank *rank; /* by rank */
    size_t process_count; /* of ranks, then processes of no rank: launchers, or a run without MPI */
    size_t process_room;
    struct manifest_process *processes;
    const char *recorded_ranks; /* of a rank's entry: the choice of --ranks; NULL: all */
    size_t missing;             /* ranks of which nothing is here: (ranks, if known) - rank_count */
    /* Of the scan. */
    uint64_t finishing_until_ns; /* so long it waits for ranks that have ended; 0: no need yet */
    unsigned finishing_naps;     /* likewise, until files come: those of `directory` have … */
    uint64_t changed_unix_ns;    /* … when that changed */
    struct map by_identity;      /* numbers of processes, by pid, start and boot … */
    size_t indexed;              /* … as far as they are in it */
};

/* The making of a manifest, for other threads: how far it is, and how it is stopped. */
struct manifest_making {
    atomic_size_t done, of;    /* entries; `of`: as far as directories have been listed */
    atomic_bool stops;         /* set by others: no further file is read, and it fails */
    atomic_bool are_several;   /* jobs: known before the first entry is read */
    pthread_mutex_t lock;      /* the manifest grows under it */
    struct manifest *manifest; /* NULL: not begun, or all is read */
};

struct manifest {
    size_t job_count, job_room;
    struct manifest_job *jobs;      /* by start */
    struct manifest_making *making; /* NULL: nobody looks on */
};

/* Each path is a directory that --job was given, the directory of one job in it, or a profile. 0,
 * or -errno with error_text()'s sentence: a path that is none of these, nothing recorded
 * there. `making`: NULL, or who else may look on. */
int manifest_open(struct manifest **out, const char *const *paths, size_t path_count,
                  struct manifest_making *making);
void manifest_free(struct manifest *manifest);

void manifest_making_init(struct manifest_making *making);
void manifest_making_release(struct manifest_making *making);
/* Calls `see` with what is known of the job by now, in order: of the job with that id, or if `id`
 * is NULL of the only one. What is there not yet is as if it were missing. The job is valid during
 * the call only, and nothing is read meanwhile. False: nothing is known, or all is, or nobody says
 * which of several is meant. */
bool manifest_peek(struct manifest_making *making, const char *id,
                   void (*see)(void *context, const struct manifest_job *job), void *context);

/* The lowest rank above `after` (-1 at first) of which nothing is here; -1: no more. */
int64_t manifest_next_missing(const struct manifest_job *job, int64_t after);

#endif
