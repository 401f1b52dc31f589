/* A trace at one moment: what is alive then and who holds it, which blocks these are, and what
 * happened. Joins the trace's own state with the names of call paths.
 *
 * 0 or -errno, with a sentence in error_text(). A structure is for one thread at a time.
 *
 * holders.c makes sites of what is alive at the moment and at the peak, in a profile of names
 * alone, so that functions follow as they do for any profile. Of the heap it needs no replay: the
 * trace's own sums say what is alive. level_at.c replays what is mapped. block_list.c replays up to
 * the moment and lists the live blocks, in an order that block_pick.c has. event_list.c streams
 * records. Text and JSON of each are beside it. */
#ifndef TIDEMARK_HEAP_AT_HEAP_AT_H
#define TIDEMARK_HEAP_AT_HEAP_AT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "aggregate/match.h"
#include "model/level.h"
#include "profile/profile.h"
#include "offline/offline.h"
#include "trace/trace.h"

/* How what follows is shown. */
struct heap_at_style {
    bool json, colour, utf8;
    size_t columns; /* 72 at least */
    size_t top;     /* rows of a table; 0: all */
    size_t depth;   /* callers shown of a call path */
    bool hide_std;  /* frames of the C, C++, Rust and Python libraries */
};

/* ---- What is alive ------------------------------------------------------------------------- */

struct holders {
    const struct trace *trace;
    struct offline_clock clock;
    uint64_t ticks;  /* the moment; of a peak or an event that of the newest record */
    uint64_t events; /* of the whole trace */
    enum memory_level of;
    struct trace_state at, peak;
    /* Names, and a site for each call path that holds something at the moment or at the peak:
     * live_* are of the moment, at_peak_* of the peak. Their other metrics mean nothing. */
    struct profile *profile;
    /* holders_filter()'s; NULL: all are there. */
    const char *filter;
    uint64_t passing_bytes, passing_count; /* alive at the moment */
};

/* `of`: heap, mapped or all, of which the latter two need a replay. */
int holders_init(struct holders *holders, const struct trace *trace,
                 const struct offline_moment *moment, enum memory_level of);
/* Keeps the call paths that pass (aggregate/match.h); sums of the state stay those of the
 * program. */
int holders_filter(struct holders *holders, const char *filter);
void holders_release(struct holders *holders);

struct holders_options {
    struct heap_at_style style;
    bool inclusive;        /* functions by all that is held below them */
    bool paths, libraries; /* further tables */
};
/* -errno of the stream, or -ENOMEM. */
int holders_show(FILE *out, const struct holders *holders, const struct holders_options *options);

/* ---- Live blocks --------------------------------------------------------------------------- */

enum blocks_order { BLOCKS_BY_SIZE, BLOCKS_BY_AGE, BLOCKS_BY_ADDRESS, BLOCKS_BY_PATH };
#define BLOCKS_ORDER_CHOICE "size|age|address|path"

struct blocks_options {
    struct heap_at_style style;
    struct offline_moment at; /* OFFLINE_NO_MOMENT: the end */
    enum memory_level of;     /* heap, mapped or all: a trace has no pages */
    enum blocks_order order;
    uint64_t least_bytes, least_age_ns;
    uint64_t tid;                       /* UINT64_MAX: any thread's */
    const char *pattern;                /* a filter (aggregate/match.h); NULL: any path */
    struct match_conditions conditions; /* of the filter */
    bool paths_once; /* JSON: the frames of a path stand with the first of its blocks only */
    /* NULL, or called now and then while the trace is replayed. */
    void (*progress)(void *context, uint64_t events, uint64_t of_events);
    void *context;
};
/* Replays the trace up to the moment. */
int block_list_show(FILE *out, const struct trace *trace, const struct blocks_options *options);

/* The wanted blocks of a call path at the moment; a path that the trace lacks is node 0. */
struct block_sum {
    uint32_t node;
    uint64_t bytes, count;
};
struct block_sums {
    struct block_sum *list; /* by node, rising; the caller's to free() */
    size_t count;
    uint64_t time_ns, missing_blocks;
};
/* Of any thread but for the conditions; a pattern is not asked. 0, -ENOMEM or what the trace
 * says. */
int block_list_sums(const struct trace *trace, const struct blocks_options *options,
                    size_t node_count, struct block_sums *sums);

/* ---- Events -------------------------------------------------------------------------------- */

struct events_options {
    struct heap_at_style style;
    struct offline_moment from, to; /* OFFLINE_NO_MOMENT: no limit */
    uint64_t kinds;                 /* 1 << number (wire/records.def); 0: all */
    uint64_t tid;                   /* UINT64_MAX: all threads */
    uint64_t least_bytes, most_bytes;
    uint64_t address; /* 0: all; else only blocks that it lies in */
    const char *pattern;
    struct match_conditions conditions; /* of the pattern; no age: an event has none */
    bool stacks;
    uint64_t *shown; /* NULL, or counts what is printed */
};
/* Words in a list: "malloc,free" to a set; 0 or -EINVAL and the word in `wrong`. */
int events_kinds_parse(const char *list, uint64_t *kinds, char *wrong, size_t wrong_bytes);
#define EVENTS_KIND_CHOICE                                                                         \
    "malloc, calloc, aligned, new, realloc, free, mmap, munmap, mprotect, madvise, brk, "          \
    "thread, sample, pool, mark, region, lost, device"
/* Stops where the stream ends: -EPIPE. */
int events_show(FILE *out, const struct trace *trace, const struct events_options *options);

#endif
