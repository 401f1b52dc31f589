/* What if the recorded program had had another allocator? The stream of allocations in a trace,
 * with its threads, is run again against each candidate in a process of its own, and what that took
 * is compared.
 *
 * One thread at a time. Functions return 0 or -errno with a sentence in `sentence`.
 *
 * `flow` says whose thread makes and ends which block. `survey` is the first pass over the trace
 * (counts, peak, blocks that pass between threads), `stream_author` the second, which writes the
 * stream. `candidates` finds allocators, `trial` runs one in a process of its own, and whatif.c
 * holds rounds by turns and makes the figures. */
#ifndef TIDEMARK_WHATIF_WHATIF_H
#define TIDEMARK_WHATIF_WHATIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "base/strbuf.h"
#include "format/style.h"
#include "model/figure.h"

struct trace;

/* How far apart threads may get that have nothing to wait for. */
enum whatif_order {
    /* 4,096 calls of all of them, which begin and end no more than a hundredth of the peak, or one
     * block */
    WHATIF_NEAR = 0,
    WHATIF_FREE,   /* as they run: only a block's birth is awaited */
    WHATIF_STRICT, /* not at all: every call in recorded order */
};
#define WHATIF_ORDER_CHOICE "near|free|strict"

enum whatif_touch { WHATIF_TOUCH_ALL = 0, WHATIF_TOUCH_FIRST, WHATIF_TOUCH_NONE };
#define WHATIF_TOUCH_CHOICE "all|first|none"

/* ---- Candidates ---------------------------------------------------------------------------- */

struct whatif_candidate {
    char *name;      /* as asked for, its settings first: "MALLOC_ARENA_MAX=1 glibc" */
    char *library;   /* to be preloaded; "" for the C library's own */
    char **settings; /* "VARIABLE=VALUE", NULL at the end */
};

struct whatif_candidates {
    struct whatif_candidate *all;
    size_t count;
};

/* Adds those of a list: names ("glibc", "jemalloc": libjemalloc.so* in the usual places) or paths
 * of libraries, separated by commas, each after settings for its environment if there are any. A
 * backslash takes what follows as it is. -EINVAL, -ENOENT: a sentence says which and why. */
int whatif_candidates_add(struct whatif_candidates *candidates, const char *list,
                          struct strbuf *sentence);
void whatif_candidates_release(struct whatif_candidates *candidates);

/* ---- Running ------------------------------------------------------------------------------- */

struct whatif_options {
    unsigned rounds; /* >= 1 */
    enum whatif_order order;
    enum whatif_touch touch;
    uint64_t patience_ns; /* a run that makes no call for so long hangs */
    /* Called before each run; may be NULL. */
    void (*progress)(void *context, const char *name, unsigned round);
    void *context;
};

/* Over the rounds. All three are unknown where no round has the figure. */
struct whatif_figure {
    struct figure median, least, most;
};

enum whatif_call {
    WHATIF_MALLOC,
    WHATIF_CALLOC,
    WHATIF_ALIGNED,
    WHATIF_REALLOC,
    WHATIF_CALL_FREE,
    WHATIF_CALLS
};
enum { WHATIF_READINGS = 40 };

struct whatif_row {
    const struct whatif_candidate *candidate; /* NULL: the driver alone, without any call */
    unsigned rounds;                          /* that came to the end: figures are of these */
    char *failure;                            /* how the first that did not ended; NULL: all did */
    char *allocator;                          /* the file that malloc was in; NULL: not known */
    double reached; /* with a failure: the share of the stream that was run, 0 to 1 */
    struct whatif_figure peak_bytes;    /* resident, above what the driver takes */
    struct whatif_figure at_peak_bytes; /* when most was requested */
    struct whatif_figure end_bytes;
    struct whatif_figure cpu_ns, wall_ns, system_ns; /* the driver's share taken out of
                                                       the first */
    /* In all calls together, without touching: from one in 16 that is timed. */
    struct figure calls_ns;
    struct whatif_figure faults, failed_calls;
    struct {
        struct figure median_ns, p99_ns; /* of single calls; unknown: there are none */
    } calls[WHATIF_CALLS];
    struct figure readings[WHATIF_READINGS]; /* resident at even distances, medians */
};

struct whatif {
    uint64_t call_counts[WHATIF_CALLS], call_count;
    uint64_t peak_bytes, peak_blocks, end_bytes; /* requested, as recorded */
    uint64_t page_bytes;
    uint32_t threads;
    uint64_t crossing_count; /* blocks that another thread freed than made them */
    uint64_t unknown_frees, unknown_reallocs, failed_calls, stale_frees, implied_frees, mappings,
        lost_events, nonsense, damaged_blocks;
    uint64_t stream_bytes;
    struct whatif_options options;
    struct whatif_row driver;
    struct whatif_row *rows;
    size_t row_count;
};

/* -EINVAL: a sampled trace, or one without calls. *whatif: whatif_free(). `candidates` must outlive
 * it. */
int whatif_run(struct whatif **whatif, const struct trace *trace,
               const struct whatif_candidates *candidates, const struct whatif_options *options,
               struct strbuf *sentence);
void whatif_free(struct whatif *whatif);

/* Peak beyond what was requested at the peak, in whole pages; false: it is not known (a candidate
 * that failed, or blocks that were not touched). May be negative: pages of blocks that were freed
 * do not count as requested. */
bool whatif_waste(const struct whatif *whatif, const struct whatif_row *row, int64_t *bytes);

/* ---- Showing ------------------------------------------------------------------------------- */

void whatif_text(struct strbuf *out, const struct whatif *whatif, const struct style *style,
                 const char *trace_name);
int whatif_json(FILE *out, const struct whatif *whatif, const char *trace_name);

#endif
