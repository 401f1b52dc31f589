/* The pass of one look over the page table: it chooses the ranges and gives each run of pages its
 * properties. Where contents are wanted, resident pages are read (page_content.h); contents are
 * never kept. */
#ifndef TIDEMARK_COLLECTOR_LOOK_SWEEP_H
#define TIDEMARK_COLLECTOR_LOOK_SWEEP_H

#include <stdbool.h>
#include <sys/types.h>
#include "collector/areas.h"
#include "collector/heat.h"
#include "collector/page_content.h"
#include "collector/residency.h"
#include "procfs/page_table.h"
#include "procfs/smaps.h"

struct look_sweep {
    pid_t pid;
    const struct smaps *smaps;
    const struct areas *areas;
    struct residency *residency;
    bool wants_content;
    /* How a page's NUMA node is asked for: numa_ask(); NULL: not at all. */
    void (*ask_nodes)(pid_t pid, uint64_t start, uint64_t step, size_t count, int *nodes);
    struct heat *heat;  /* NULL: it is not known when pages were written */
    bool is_last;       /* no look at the process follows */
    bool knows_content; /* result: all wanted contents could be read */
    size_t area;        /* where the sweep stands */
    int memory;         /* /proc/PID/mem, where contents are wanted */
    char *buffer;
    struct page_content content;
    bool tells_zero; /* the page table says what is the zero page */
};

/* Whether private memory has pages that other processes map too, because a forked process lives. */
bool look_sweep_has_forked(const struct smaps *smaps);

/* 0 or -errno. */
int look_sweep(struct look_sweep *sweep, struct pages *pages);

#endif
