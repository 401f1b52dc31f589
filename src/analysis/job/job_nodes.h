/* Ranks of a node on the node's one clock: what they held together, which is what a batch system
 * kills a job for.
 *
 *   rank 0  ▁▃█▅▅▅▅▂          steps of 1/JOB_STEPS of its own run, maximum and minimum known
 *   rank 1    ▁▂█▆▅▅▅▂
 *   node    ▁▃▆█▇▇▇▇▅▂        upper: the sum of the maxima; lower: of the minima
 *
 * The highest sum of maxima is an upper bound of the combined peak. Lower bounds are the sum of
 * minima at any moment, and at the moment of any rank's own high-water mark (which is exact) that
 * mark and the others' minima: the highest of all these is given. What is resident is sampled, so
 * the sum of its maxima is no bound but what was seen, at moments at which all ranks that ran had
 * been looked at. Where the beginning of a rank is not known (of another tool's recording, say), it
 * may have held its mark beside any other's: then the sum of all marks is the upper bound, and the
 * highest of them the lower one. */
#ifndef TIDEMARK_JOB_JOB_NODES_H
#define TIDEMARK_JOB_JOB_NODES_H

#include <stddef.h>
#include <stdint.h>
#include "job/job_summary.h"

enum { NODE_TOP = 3 };

struct job_node_peak {
    const char *key;       /* of its ranks: job_node_key() */
    const char *name;      /* the host; "?" if it is not known */
    size_t ranks, helpers; /* processes with figures on it */
    size_t unread;         /* without: damaged, unreadable, missing, or imported without levels */
    uint64_t lower_bytes, upper_bytes; /* of the combined peak of requested bytes */
    bool is_exact;                     /* both are it, to the event: its ranks' traces say so */
    uint64_t peak_sum;                 /* of the high-water marks, whenever they were */
    uint64_t at_unix_ns;               /* when the upper bound begins to hold; 0: not known */
    uint64_t step_ns;                /* the longest step of its ranks: how exactly that is known */
    size_t top[NODE_TOP], top_count; /* indices of the ranks with the largest part in it */
    uint64_t top_bytes[NODE_TOP];    /* upper bounds */
    struct figure resident_bytes;    /* highest sum of what was seen resident */
    uint64_t resident_at_unix_ns;
    struct figure machine_bytes, limit_bytes, cgroup_peak_bytes;
    struct figure available_bytes, available_unix_ns; /* least of the machine's, and when */
};

/* Is anything known of what its ranks held? Else their sums say nothing. */
static inline bool job_node_is_read(const struct job_node_peak *node)
{
    return node->ranks + node->helpers > 0;
}

static inline struct figure job_node_figure(const struct job_node_peak *node, uint64_t bytes)
{
    return job_node_is_read(node) ? figure_of(bytes) : FIGURE_UNKNOWN;
}

/* Ranks with the same key are on one node. */
const char *job_node_key(const struct job_rank *rank);
/* What the traces of its ranks say: what they held together at most, when, and each of them. */
struct job_node_mark {
    uint64_t bytes, at_unix_ns;
    const size_t *ranks; /* indices in the summary */
    const uint64_t *rank_bytes;
    size_t rank_count;
};
/* Exact where the traces are all that ran on the node; else a lower bound. */
void job_node_take_mark(struct job_node_peak *node, const struct job_node_mark *mark, bool is_all);
/* By name; *count of them, in malloc'd memory. The summary is sorted. */
struct job_node_peak *job_nodes(const struct job_summary *summary, size_t *count);
/* By index of its rank, in malloc'd memory: the node's index; JOB_NO_NODE: it is not known which,
 * and nothing could be read of the rank. */
#define JOB_NO_NODE UINT32_MAX
uint32_t *job_nodes_of_ranks(const struct job_summary *summary, const struct job_node_peak *nodes,
                             size_t count);

/* The whole job on one clock in `count` equal intervals from its first start to its last end, as
 * if all clocks were one. resident_max is unknown where none was seen. */
struct job_moment {
    uint64_t requested_min, requested_max;
    struct figure resident_max;
};
struct job_course {
    uint64_t start_unix_ns, duration_ns;
    size_t count;
    struct job_moment *moments;
    uint64_t upper_bytes, at_unix_ns; /* as for a node */
    /* Processes that do not say when they began (of another tool's recordings, say): they have no
     * place in time and are in none of the figures above. */
    size_t undated;
};
void job_course_init(struct job_course *course, const struct job_summary *summary, size_t count);
void job_course_release(struct job_course *course);

#endif
