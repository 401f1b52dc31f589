/* A trace as a writer of profiles sees it. Inside the room. */
#ifndef TIDEMARK_OFFLINE_TRACE_ORIGINS_H
#define TIDEMARK_OFFLINE_TRACE_ORIGINS_H

#include "profile_build/origins.h"
#include "trace/trace.h"

struct trace_origins {
    struct trace_node *nodes;
    size_t node_count;            /* the root at least */
    struct trace_module *modules; /* strings of those below */
    size_t module_count;
    struct trace_origin_module {
        struct origins_module entry;
        _Atomic uint32_t died;
    } * by_number; /* a number that is missing stands for a module that is nowhere */
    size_t number_count;
    struct origins origins;
};

/* 0 or -ENOMEM. It must stay where it is until it is released. */
int trace_origins_open(struct trace_origins *origins, const struct trace *trace);
void trace_origins_release(struct trace_origins *origins);

#endif
