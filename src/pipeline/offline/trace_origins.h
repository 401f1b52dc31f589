/* A trace as the origins of a profile (origins.h). Inside the room. */
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
    } * by_number; /* a missing number stands for a module without addresses */
    size_t number_count;
    struct origins origins;
};

/* 0 or -ENOMEM. `origins` must not move until it is released. */
int trace_origins_open(struct trace_origins *origins, const struct trace *trace);
void trace_origins_release(struct trace_origins *origins);

#endif
