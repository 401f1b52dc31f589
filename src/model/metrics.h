/* The figures of each call path, and of the program as a whole. The replay writes them, and every
 * presenter reads them. metrics.def has a row for each metric of a call path; doc/METRICS.md
 * defines each. Times are ticks of the recording's clock until the profile writer converts them to
 * ns.
 *
 * Terms. An *allocation* is a call of malloc, calloc, the aligned family or operator new that
 * returned a block. A *reallocation* is a realloc that was given a block and returned one: the old
 * block's life ends (at its own call path), the new block's begins (at the realloc's call path).
 * realloc(NULL, n) is an allocation, realloc(p, 0) that returns NULL is a free. "free_" counts at
 * the path that allocated a block, "freed_" at the path that freed it.
 *
 * Every number that a recording may not know is a struct figure (figure.h). */
#ifndef TIDEMARK_MODEL_METRICS_H
#define TIDEMARK_MODEL_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "model/figure.h"

/* Of one call path (exclusive), or merged over many. The fields are the rows of metrics.def.
 * Unknown are: freed_… where frees were recorded without their call paths; alloc_time and free_time
 * where calls were not timed; sample_count and variances where every allocation was recorded;
 * counts of calls in recordings of pages; size_min, lifetime_min and the like where there was no
 * such block; and what an imported file does not have. */
struct call_metrics {
#define METRIC(field, ...) struct figure field;
#include "model/metrics.def"
};

/* The number of rows of metrics.def. */
enum { METRICS = sizeof(struct call_metrics) / sizeof(struct figure) };

enum metric_unit {
    METRIC_BYTES = 0,
    METRIC_COUNT,
    METRIC_NS,       /* how long */
    METRIC_MOMENT,   /* ns since the start of the recording */
    METRIC_VARIANCE, /* (sampling interval)^2 / 1024, in bytes^2 */
};
enum metric_merge {
    METRIC_SUM = 0, /* unknown if it is unknown of one path */
    METRIC_MIN,     /* a path whose figure is unknown had no block, and is passed over */
    METRIC_MAX,
    METRIC_NEVER, /* unknown of more than one path */
    METRIC_LEAST, /* the sum of the known figures, so it is at least that much */
};

/* A row of metrics.def as data. */
struct metric_row {
    const char *column; /* in JSON, SQL, --columns and doc/METRICS.md */
    const char *title;  /* of a column, lower case */
    const char *help;   /* a sentence without full stop */
    size_t offset;      /* in struct call_metrics */
    size_t variance;    /* offset of its variance; METRIC_NO_VARIANCE: it has none */
    enum metric_unit unit;
    enum metric_merge merge;
    bool counts_calls; /* so recordings of pages do not know it */
    bool later;        /* not in the first version of the profile format */
};
#define METRIC_NO_VARIANCE SIZE_MAX
/* In the order of metrics.def. */
extern const struct metric_row metric_rows[METRICS];
/* The row of a field, as a constant expression. */
#define METRIC_ROW(field)                                                                          \
    (&metric_rows[offsetof(struct call_metrics, field) / sizeof(struct figure)])

/* NULL: no metric has that column name. */
const struct metric_row *metric_row_find(const char *column);
const char *metric_unit_name(enum metric_unit unit);
const char *metric_merge_name(enum metric_merge merge);

static inline struct figure metric_value(const struct metric_row *row,
                                         const struct call_metrics *call)
{
    return *(const struct figure *)((const char *)call + row->offset);
}
static inline struct figure *metric_field(const struct metric_row *row, struct call_metrics *call)
{
    return (struct figure *)((char *)call + row->offset);
}

static inline bool metric_row_adds_up(const struct metric_row *row)
{
    return row->merge == METRIC_SUM || row->merge == METRIC_LEAST;
}

/* Does the recording have this metric, by the program's sums? It is known of all call paths or of
 * none. */
static inline bool metric_is_recorded(const struct metric_row *row,
                                      const struct call_metrics *total)
{
    return !metric_row_adds_up(row) || figure_known(metric_value(row, total));
}

/* into += from, each metric by its rule. */
void call_metrics_merge(struct call_metrics *into, const struct call_metrics *from);
/* Sets the metrics of a path where nothing happened: 0 where metrics are sums, unknown elsewhere.
 * Metrics that are unknown in `like` (NULL: none) are unknown. */
void call_metrics_clear(struct call_metrics *metrics, const struct call_metrics *like);
/* Sets all metrics to unknown. */
void call_metrics_know_nothing(struct call_metrics *metrics);
/* Sets metrics that count calls to unknown, for recordings of pages. */
void call_metrics_forget_calls(struct call_metrics *metrics);

/* Are the call paths of frees known? */
static inline bool call_metrics_know_frees(const struct call_metrics *metrics)
{
    return figure_known(metrics->freed_count);
}
/* Were calls timed? */
static inline bool call_metrics_know_times(const struct call_metrics *metrics)
{
    return figure_known(metrics->alloc_time);
}
/* Blocks ever allocated or reallocated here, and their requested bytes. */
static inline struct figure call_metrics_blocks(const struct call_metrics *metrics)
{
    return figure_add(metrics->alloc_count, metrics->realloc_count);
}
static inline struct figure call_metrics_bytes(const struct call_metrics *metrics)
{
    return figure_add(metrics->alloc_bytes, metrics->realloc_bytes);
}

/* The metrics of one call path, with its number on the wire. */
struct replay_site {
    uint32_t node;
    struct call_metrics metrics;
};

/* The metrics of one call path in a region (an index in replay_regions()): of the blocks that the
 * path allocated in the region, wherever they are freed; freed_… of the blocks that it freed in the
 * region. */
struct replay_region_site {
    uint32_t region, node;
    struct call_metrics metrics;
};

/* The metrics of the whole program. Plain numbers are always known. */
struct program_metrics {
    /* peak_bytes, peak_ticks and at_peak_… of `total` are of the global high-water mark. */
    struct call_metrics total;
    struct figure live_peak_count; /* most blocks alive at once */
    uint64_t foreign_frees;   /* frees and reallocs of blocks whose allocation was not recorded,
                               * because it was before the recording, or in the parent of a fork */
    uint64_t replaced_blocks; /* allocations at an address where a block was still alive, so a free
                               * was missed (if its record only comes late, the number falls
                               * again) */
    struct figure unmap_count, unmap_bytes;
    struct figure brk_count, brk_bytes; /* sbrk/brk growth asked for by the program itself */
    uint64_t events;                    /* records replayed */
    uint64_t late_events;      /* records with an earlier time than one that was replayed before */
    uint64_t lost_events;      /* events the recorder could not record */
    uint64_t malformed_events; /* records that make no sense and were skipped, because the stream is
                                * damaged */
    /* Of memory that the program maps itself (unknown in files without it): */
    struct call_metrics mapped; /* the sums; peak_bytes/peak_ticks: its global high-water mark */
    struct figure all_peak_bytes, all_peak_ticks; /* of heap and mappings together */
    struct figure discard_count, discard_bytes;   /* by madvise */
};

/* Sets the figures of memory that the program maps itself to unknown. */
static inline void program_metrics_forget_mapped(struct program_metrics *program)
{
    call_metrics_know_nothing(&program->mapped);
    program->all_peak_bytes = program->all_peak_ticks = FIGURE_UNKNOWN;
    program->discard_count = program->discard_bytes = FIGURE_UNKNOWN;
}

/* One interval of the timeline. A level keeps its minimum and maximum in the interval, so that
 * halving the resolution loses no peak. Both are unknown if the level was never sampled. */
struct timeline_level {
    struct figure min, max;
};
struct timeline_bucket {
    struct timeline_level requested; /* live requested bytes */
    struct timeline_level blocks;    /* live blocks */
    struct timeline_level physical;  /* resident bytes of the program, the tool's own taken out */
    struct timeline_level virt;      /* virtual bytes, likewise */
    struct timeline_level tool;      /* resident bytes of the tool inside the program */
    struct timeline_level mapped;    /* bytes that the program maps itself */
    struct timeline_level all;       /* live requested bytes and mapped bytes together */
    struct figure alloc_count, alloc_bytes; /* allocations and reallocations in the interval */
    struct figure free_count, free_bytes;
};

static inline void timeline_bucket_know_nothing(struct timeline_bucket *bucket)
{
    struct figure *all = (struct figure *)bucket; /* the fields are figures, and nothing else is */
    for (size_t i = 0; i < sizeof *bucket / sizeof *all; i++)
        all[i] = FIGURE_UNKNOWN;
}

static inline void timeline_bucket_forget_calls(struct timeline_bucket *bucket)
{
    bucket->alloc_count = bucket->alloc_bytes = FIGURE_UNKNOWN;
    bucket->free_count = bucket->free_bytes = FIGURE_UNKNOWN;
}

struct thread_metrics {
    uint32_t tid;
    uint32_t seen_node; /* a call path that it was at, which tells whose thread it is; 0: not
                         * known */
    uint64_t start_ticks, end_ticks; /* end 0: still running at the end */
    /* of this thread: its allocations and reallocations, and the blocks whose life it ended */
    struct figure alloc_count, alloc_bytes, free_count, free_bytes;
    uint64_t waits, wait_ticks; /* waits for the collector because the ring was full */
    /* its calls by kind; they add up to alloc_count (with pool_count) */
    struct figure malloc_count, calloc_count, aligned_count, new_count, realloc_count;
    /* Of the blocks that this thread allocated, minus those that any thread freed. */
    struct figure live_bytes;
    struct figure peak_bytes, peak_ticks;                       /* high-water mark of that */
    struct figure freed_elsewhere_count, freed_elsewhere_bytes; /* its blocks that others freed */
    struct figure alloc_time, free_time;                        /* ticks inside the allocator */
    /* its stack: the deepest extent below the stack's beginning at any event, and the pages ever
     * touched. stack_node: the call path at the deepest event; 0: not known */
    struct figure stack_deepest_bytes, stack_touched_bytes;
    uint32_t stack_node;
    struct figure pool_count; /* its calls that cut a block from a pool */
    /* Threads that ended before this one began, whose figures are in this row: one after the other
     * they used the same ring. 0 for the 1024 that began first */
    struct figure earlier_count;
    char name[16]; /* the kernel's name of it, or what the names of all begin with; "": not known */
};

static inline void thread_metrics_forget_calls(struct thread_metrics *thread)
{
    thread->alloc_count = thread->alloc_bytes = FIGURE_UNKNOWN;
    thread->free_count = thread->free_bytes = FIGURE_UNKNOWN;
    thread->malloc_count = thread->calloc_count = thread->aligned_count = FIGURE_UNKNOWN;
    thread->new_count = thread->realloc_count = thread->pool_count = FIGURE_UNKNOWN;
    thread->freed_elsewhere_count = thread->freed_elsewhere_bytes = FIGURE_UNKNOWN;
}

#endif
