/* One look at a process through /proc: its memory by mapping and by owner (owners.h), the resident
 * pages of its live blocks, and its threads with their names and the used parts of their stacks.
 *
 * A look works on copies, so that it can run on its own thread while the replay goes on. In a
 * process that runs, smaps, pages and live blocks are read at slightly different times. Pages that
 * appear in between count as resident, and pages that disappear are the ledger's rest
 * (residency.h). A process that waits in its exit has no such difference. */
#ifndef TIDEMARK_COLLECTOR_PROC_LOOK_H
#define TIDEMARK_COLLECTOR_PROC_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "profile_build/clock.h"
#include "profile_build/proc_sample.h"
#include "collector/area_memory.h"
#include "collector/areas.h"
#include "collector/block_fills.h"
#include "collector/block_types.h"
#include "collector/live_list.h"
#include "collector/owners.h"
#include "procfs/cgroup_parts.h"
#include "procfs/smaps.h"
#include "procfs/stacks.h"
#include "profile/profile.h"
#include "wire/wire.h"

struct heat;
struct view;

struct look_thread {
    pid_t tid;
    char name[16];
    struct figure stack_touched_bytes, stack_reach_bytes;
};

struct look {
    /* asked */
    pid_t pid;
    bool over_pages;         /* the ledger, the residency and the owners too; takes `blocks` */
    bool of_container;       /* what the control group's memory is made of, too */
    bool wants_content;      /* zeros, copies, compressible: reads the pages */
    struct heat *heat;       /* which pages were written, and when; NULL: not known */
    bool is_last;            /* the process ends */
    bool wants_types;        /* the classes of blocks, also without over_graph */
    const struct view *view; /* with over_graph */
    const char *unknown;     /* the name for memory of unknown blocks: there is no ledger then, but
                            rows of owners; NULL: all blocks are known */
    bool is_sample;          /* `blocks` are a few of them all */
    bool knows_mappings;     /* all that the program has mapped is claimed: the rest is the
                            allocator's */
    bool at_threads;         /* their stacks too: they wait */
    bool over_graph;         /* with over_pages: which blocks can be reached; not of a sample */
    bool wants_held;         /* with over_graph: who holds what */
    bool without_links;      /* with over_graph: the lists of a garbage collector hold nothing */
    uint64_t path_to;        /* with wants_held: the chain to this address; 0: none */
    size_t row_limit;        /* at most so many call paths, those with the most bytes; 0: all */
    size_t owner_limit;      /* of owners likewise */
    struct area_memory *allocators; /* of earlier looks at the process; NULL: there are none */
    struct live_list blocks;
    struct area_claim *claims; /* malloc'd; the look's */
    size_t claim_count, claim_room;
    struct stacks_place *places; /* in threads' stacks, by thread; malloc'd; the look's */
    size_t place_count;
    uint64_t exit_stack, exit_pointer, exit_registers[WIRE_EXIT_REGISTERS]; /* wire.h */
    bool waits;    /* it stands in its exit */
    bool is_alone; /* … and has no other thread: so some files of the single threads need not be
                      read. Set by look_take() */
    char name[16]; /* of its first thread */

    /* answered */
    struct profile_sample sample;     /* the caller sets id, why, time and the replay's figures */
    struct profile_mapping *mappings; /* paths are `smaps`' */
    size_t mapping_count;
    struct profile_residency *rows; /* by path */
    size_t row_count;
    struct profile_heap_page *cells; /* the heap, by address */
    size_t cell_count;
    struct profile_island *islands; /* of lost blocks, by path */
    size_t island_count;
    struct held *held;           /* with wants_held; NULL else */
    struct block_types types;    /* classes of blocks, by path */
    struct block_fills fills;    /* how full they are, by path */
    struct owners owners;        /* strings are `smaps`', the threads' or constants */
    struct look_thread *threads; /* by tid */
    size_t thread_count, thread_room;
    struct profile_container *containers; /* names are `parts`' */
    struct cgroup_parts parts;
    uint64_t tool_rss_bytes; /* with or without a ledger; 0: not known */
    int graph_error;         /* with over_graph: 0, or why it is not known what can be reached */
    int error;               /* 0, or why the sample or its ledger are not known: -errno */
    uint64_t cpu_ns;
    struct smaps smaps;
    struct stacks stacks; /* listed once, when smaps was read */
};

/* A look with nothing known and nothing asked. */
void look_init(struct look *look, pid_t pid);
void look_take(struct look *look);
void look_release(struct look *look);
/* Ticks become nanoseconds since the start: of the islands. Once. */
void look_scale_times(struct look *look, struct clock_scale scale);
/* What a profile keeps of it; lives as long as the look. */
struct proc_sample look_proc_sample(struct look *look);

/* Orders rows by path, after cutting them to the `limit` (0: none) that have most resident and
 * pinned bytes. Returns how many are left. */
size_t look_choose_rows(struct profile_residency *rows, size_t count, size_t limit);

#endif
