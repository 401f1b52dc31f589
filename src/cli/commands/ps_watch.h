/* `tidemark ps` more than once: watched, or written down (ps_watch.c). */
#ifndef TIDEMARK_COMMANDS_PS_WATCH_H
#define TIDEMARK_COMMANDS_PS_WATCH_H

#include "commands/proc_output.h"
#include "system_memory/processes.h"

struct ps_watching {
    const char *command; /* for sentences */
    const struct system_memory_request *request;
    const struct proc_arguments *common;
    struct show_columns columns;
    enum system_memory_by by;
    enum system_memory_order order;
    bool reverse, tree, bars;
    bool watch;                /* show it */
    const char *record;        /* write it to this file; NULL: do not */
    uint64_t every_ns, for_ns; /* for_ns 0: until it is interrupted */
};

/* The exit status. */
int ps_watch(const struct ps_watching *watching);

#endif
