/* Which live blocks of a process can still be reached, and from where. The memory of the process,
 * which waits or runs, is read into a graph (graph/graph.h).
 *
 *   roots    variables of modules, the program's own mappings, shared memory, stacks from their
 *            stack pointers on, registers, and what only the kernel points to: alternate stacks of
 *            signals, what epoll and timers give back
 *   blocks   the live blocks
 *   nothing  all else of the allocator's memory: pointers in free memory hold no block
 *
 * Only pages that the page table shows as present are read. A process with one thread that waits
 * for us need not be stopped. All threads of other processes are stopped while their memory is
 * read. Contents are looked at word by word and never kept. */
#ifndef TIDEMARK_COLLECTOR_GRAPH_LOOK_H
#define TIDEMARK_COLLECTOR_GRAPH_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "collector/areas.h"
#include "collector/block_fills.h"
#include "collector/block_types.h"
#include "collector/live_list.h"
#include "procfs/page_table.h"
#include "procfs/smaps.h"
#include "procfs/stacks.h"
#include "profile/profile.h"
#include "profile_build/held.h"
#include "wire/wire.h"

struct owners_request;
struct view;

/* `blocks`: sorted and disjoint; their `row` is a place in `rows`. */
struct graph_look_asked {
    pid_t pid;
    const struct smaps *smaps;
    const struct areas *areas;
    const struct live_list *blocks;
    struct pages *pages;
    uint64_t exit_stack;            /* wire.h */
    const uint64_t *exit_registers; /* WIRE_EXIT_REGISTERS of them; NULL: none */
    bool waits;         /* the process stands in its exit; else its threads are stopped */
    bool without_links; /* the list that Python's garbage collector has of all objects holds none */
    const struct stacks *threads; /* as listed before */
    bool has_unknown;        /* there are blocks that `blocks` does not have: all of the allocator's
                            memory beside these counts as roots */
    const struct view *view; /* its rings show whether there are newer records; merged until now;
                                NULL: there are none (bench/pipeline/graph.c) */
    struct profile_residency *rows;
    size_t row_count;

    /* which memory holds which blocks */
    const struct owners_request *names; /* gives areas their owners; NULL: holders are not wanted */
    const struct stacks_place *places;  /* thread pointers, stacks of signals */
    size_t place_count;
    uint64_t path_to; /* an address whose chain of pointers is wanted; 0: none */
};

/* Islands by the call path of their heads, and classes by call path; `sample` of the rows is 0, and
 * their times are ticks. */
struct graph_look {
    struct profile_island *islands;
    size_t island_count;
    struct held *held; /* with `names`; the caller frees it (held_free()) and sets it to NULL */
    struct block_types types;
    struct block_fills fills;
};

/* Also sets the rows' figures of lost, indirect, possible and reachable blocks. 0 or -errno:
 * -ENOMEM, -EPERM (no right to read its memory or to stop its threads), -ESRCH; these figures are
 * unknown then. */
int graph_look_take(const struct graph_look_asked *asked, struct graph_look *out);
/* Only finds the classes of blocks: stops no thread, and leaves the rows alone. The classes of
 * blocks that come and go meanwhile may be wrong. 0 or -errno. */
int graph_look_take_types(const struct graph_look_asked *asked, struct block_types *types);
/* Sets the sample's figures of lost, indirect, possible and reachable blocks to the sums of the
 * rows. */
void graph_look_sum(const struct graph_look_asked *asked, struct profile_sample *sample);
void graph_look_release(struct graph_look *look);

#endif
