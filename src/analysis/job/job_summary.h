/* What is known of the ranks of a job, of one or of many: the *digest* of one profile is a summary
 * of one rank, and summaries merge.
 *
 *   profile ─▶ digest ─┐
 *   profile ─▶ digest ─┼─ merge ─▶ summary ─▶ statistics, nodes, text, JSON, job profile
 *   profile ─▶ digest ─┘
 *
 * Merging is associative, commutative and exact: numbers are integers, sums and sums of squares
 * have 128 bits, a tie goes to the lower rank. So a summary has the same bytes (job_summary_write)
 * in whatever order and on however many processes it came about. Nothing that is computed from it
 * with fractions is computed before all ranks are in it.
 *
 * Memory: 1.4 KiB a rank, and a few hundred bytes for each function that allocates in any of them;
 * never ranks × functions. Functions of their own have the two ranks at the ends. Not thread-safe;
 * out of memory ends the process. */
#ifndef TIDEMARK_JOB_JOB_SUMMARY_H
#define TIDEMARK_JOB_JOB_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"
#include "job/job_bytes.h"
#include "base/map.h"
#include "model/figure.h"
#include "profile/profile.h"

/* Larger figures make no sense, and sums of their squares would not fit: a rank that has one is
 * damaged. */
#define JOB_FIGURE_MAX ((uint64_t)1 << 56)

enum job_state {
    JOB_COMPLETE = 0, /* ended by itself, status 0 */
    JOB_DIED,         /* by a signal or with another status; recorded up to there */
    JOB_LEFT,         /* it ran on when its recording ended, or nobody saw with which status it
                         ended: figures are of all that was to be recorded */
    JOB_CUT,          /* the recording did not come to its end: figures are as of the last commit */
    JOB_RUNNING,      /* still being recorded: likewise */
    JOB_BEGUN,        /* likewise, and nothing can be read of it yet: listed, in no statistics */
    JOB_DAMAGED,      /* read in part: likewise */
    JOB_UNREADABLE,   /* not read at all */
    JOB_MISSING,      /* the launcher started it, and there is no profile */
    JOB_STATES
};

const char *job_state_name(enum job_state state); /* "complete", "died" … */

/* Memory over the run of a rank, each step 1/JOB_STEPS of its duration. Levels are shares of the
 * rank's own high-water mark, in 1/JOB_SHARE; a maximum is rounded up and a minimum down, so that
 * both stay bounds. */
enum { JOB_STEPS = 200, JOB_SHARE = 65534, JOB_NO_SHARE = 65535 };

struct job_rank {
    uint32_t rank;
    uint32_t place;  /* of the file among those of the job: no two ranks have the same */
    bool rank_known; /* otherwise its place among the files */
    bool is_helper;  /* another process of the rank, or of none: counts for its node alone */
    enum job_state state;
    uint32_t signal, status; /* how it died: one of them is not 0 */
    uint32_t size;           /* of the job, as the launcher said; 0: it did not */
    uint32_t pid;
    char *node;                          /* the host's name; NULL: not known */
    char *boot;                          /* names a machine since its boot; likewise */
    char *file;                          /* as given, or in the job's directory; never NULL */
    char *note;                          /* why it is damaged or missing; of one with figures, what
                                            is wrong with its entry; else NULL */
    char *unseen;                        /* what it lacks: lines as meta.unseen; else NULL */
    uint64_t sample_bytes;               /* 0: every allocation was recorded */
    uint64_t start_unix_ns, duration_ns; /* 0: not known */
    uint64_t events, lost_events;
    uint64_t unattributed;                    /* events without a call path */
    struct figure peak_bytes, peak_ns;        /* high-water mark of requested bytes, and when */
    struct figure live_bytes, live_count;     /* at exit */
    struct figure alloc_bytes, alloc_count;   /* reallocations included; unknown of pages */
    struct figure mpi_peak_bytes;             /* of peak_bytes, what MPI and what it calls held;
                                                 not looked for in helpers */
    struct figure resident_peak_bytes;        /* the program's own, the tool's taken out */
    struct figure owned_bytes;                /* resident at the look that its owners are of */
    struct figure machine_bytes, limit_bytes; /* of the node; of the tightest control group */
    struct figure cgroup_peak_bytes;
    struct figure available_bytes, available_unix_ns; /* least of the machine's, and when */
    uint16_t requested_max[JOB_STEPS], requested_min[JOB_STEPS], resident_max[JOB_STEPS];
};
/* A moment or a length of time of which 0 says that it is not known. */
static inline struct figure job_known(uint64_t ns)
{
    return ns ? figure_of(ns) : FIGURE_UNKNOWN;
}
/* Has it figures? */
static inline bool job_rank_is_read(const struct job_rank *rank)
{
    return rank->state <= JOB_RUNNING;
}
/* Is it known what the rank held over its run? Not of every imported file. */
static inline bool job_rank_has_levels(const struct job_rank *rank)
{
    return job_rank_is_read(rank) && figure_known(rank->peak_bytes);
}
/* Do they count in statistics? */
static inline bool job_rank_counts(const struct job_rank *rank)
{
    return job_rank_is_read(rank) && !rank->is_helper;
}

enum job_figure { JOB_AT_PEAK = 0, JOB_AT_EXIT, JOB_CUMULATED, JOB_FIGURES };

/* Of all ranks in which it is not 0. */
struct job_sum {
    uint64_t ranks;
    job_u128 sum, squares;
    uint64_t min, max;
    uint32_t min_rank, max_rank; /* the lowest that has it */
};

enum job_kind {
    JOB_FUNCTION = 0, /* the first frame that is not a library's of C, C++, Rust */
    JOB_LIBRARY,      /* its module, where no frame of MPI is on the call path */
    JOB_LIBRARY_MPI,  /* the module, where MPI or something that it called asked */
    /* From here on who has resident memory: two of each enum profile_owner_kind, without a call
     * path and by function. JOB_AT_PEAK has the bytes, of each rank those of its look with most. */
    JOB_OWNER,
    JOB_KINDS = JOB_OWNER + 2 * PROFILE_OWNER_KINDS
};
struct job_entry {
    enum job_kind kind;
    char *name, *module; /* name: "" of libraries and of unnamed code; module: file name or "" */
    /* The wrapper that a function asks through (aggregate/wrappers.h): its name where it is one and
     * the same on all paths of all ranks; "" where it is not, or there is none; NULL: not said. */
    char *through;
    struct job_sum of[JOB_FIGURES];
};

/* The entries of one rank: the rank with the highest and that with the lowest high-water mark. */
struct job_share {
    uint32_t entry; /* index */
    uint64_t bytes[JOB_FIGURES];
};
enum { JOB_LOWEST = 0, JOB_HIGHEST, JOB_ENDS };
struct job_end {
    bool is_there;
    uint32_t rank, place;
    uint64_t peak_bytes;
    struct job_share *shares;
    size_t share_count;
};

struct job_summary {
    struct job_rank *ranks;
    size_t rank_count, rank_capacity;
    struct job_entry *entries;
    size_t entry_count, entry_capacity;
    struct job_end ends[JOB_ENDS];
    size_t first_rank; /* index of the one that comes first (job_rank_order) of those that could be
                          read, if there is any, else of all */
    /* Facts of that one. May be NULL. */
    char *program, *command, *launcher, *tool;
    struct map map; /* of entries */
};

void job_summary_release(struct job_summary *summary);
/* Do all ranks that count say it? Otherwise its sums over functions and libraries are not known. */
bool job_summary_knows(const struct job_summary *summary, enum job_figure figure);

/* Adds a rank that has no figures, or takes over what `rank` owns. */
void job_summary_add_rank(struct job_summary *summary, const struct job_rank *rank);
/* The entry of that name; a new one is all zero. Indices change in job_summary_sort() only. */
uint32_t job_summary_entry(struct job_summary *summary, enum job_kind kind, const char *name,
                           const char *module);
/* A path of the entry asks through that wrapper; "": through none, or through several. */
void job_summary_through(struct job_entry *entry, const char *through);
/* Adds one rank's figure. */
void job_sum_add(struct job_sum *sum, uint64_t bytes, uint32_t rank);

/* Moves all that is in `from` into `into`; `from` is empty then. */
void job_summary_merge(struct job_summary *into, struct job_summary *from);
/* Ranks by number and entries by kind, name and module: the one order that all summaries of the
 * same profiles have. */
void job_summary_sort(struct job_summary *summary);

/* Sorts, and appends the bytes. */
void job_summary_write(struct strbuf *out, struct job_summary *summary);
/* 0, or -EINVAL: these are not the bytes of a summary; it is empty then. */
int job_summary_read(struct job_summary *summary, const void *bytes, size_t count);

/* By number, then by place. */
int job_rank_order(const struct job_rank *a, const struct job_rank *b);

/* A level as a share of `peak`, and back. The share of what is above the peak is the whole. */
uint16_t job_share_above(uint64_t bytes, uint64_t peak);
uint16_t job_share_below(uint64_t bytes, uint64_t peak);
uint64_t job_share_max(uint16_t share, uint64_t peak);
uint64_t job_share_min(uint16_t share, uint64_t peak);

#endif
