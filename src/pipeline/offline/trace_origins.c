/* The nodes and modules of a trace, as the profile's writer asks for them (trace_origins.h). Both
 * are read once. Modules are placed in an array by their numbers, with an empty entry for each
 * number that is missing. */
#include "offline/trace_origins.h"

#include <errno.h>
#include <stdlib.h>

enum { MODULES_MAX = 65536 };

static uint32_t trace_origins_node_count(void *context)
{
    const struct trace_origins *origins = context;
    return (uint32_t)origins->node_count;
}

static struct origins_node trace_origins_node_at(void *context, uint32_t number)
{
    const struct trace_origins *origins = context;
    const struct trace_node *node = &origins->nodes[number];
    return (struct origins_node){node->ip, node->parent};
}

static void trace_origins_leave_nodes(void *context, uint32_t count)
{
    (void)context, (void)count;
}

static void trace_origins_visit_modules(void *context, size_t *cursor,
                                        void (*visit)(void *visitor,
                                                      const struct origins_module *module),
                                        void *visitor)
{
    const struct trace_origins *origins = context;
    for (; *cursor < origins->number_count; ++*cursor)
        visit(visitor, &origins->by_number[*cursor].entry);
}

static void trace_origins_place_module(struct trace_origins *origins,
                                       const struct trace_module *module)
{
    struct trace_origin_module *place = &origins->by_number[module->number];
    atomic_store(&place->died, module->died);
    place->entry = (struct origins_module){.born = module->born,
                                           .died = &place->died,
                                           .bias = module->bias,
                                           .start = module->start,
                                           .end = module->end,
                                           .build_id = module->build_id,
                                           .build_id_bytes = module->build_id_bytes,
                                           .path = module->path};
}

static int trace_origins_number_modules(struct trace_origins *origins)
{
    for (size_t i = 0; i < origins->module_count; i++)
        if (origins->modules[i].number < MODULES_MAX &&
            origins->modules[i].number >= origins->number_count)
            origins->number_count = origins->modules[i].number + 1;
    origins->by_number = calloc(origins->number_count + 1, sizeof *origins->by_number);
    if (!origins->by_number)
        return -ENOMEM;
    for (size_t i = 0; i < origins->number_count; i++)
        origins->by_number[i].entry = (struct origins_module){
            .died = &origins->by_number[i].died, .build_id = (const uint8_t *)"", .path = "?"};
    for (size_t i = 0; i < origins->module_count; i++)
        if (origins->modules[i].number < MODULES_MAX)
            trace_origins_place_module(origins, &origins->modules[i]);
    return 0;
}

int trace_origins_open(struct trace_origins *origins, const struct trace *trace)
{
    *origins = (struct trace_origins){0};
    origins->origins = (struct origins){origins, trace_origins_node_count, trace_origins_node_at,
                                        trace_origins_leave_nodes, trace_origins_visit_modules};
    int error = trace_nodes(trace, SIZE_MAX, &origins->nodes, &origins->node_count);
    if (!error && !origins->nodes) {
        origins->nodes = calloc(1, sizeof *origins->nodes);
        origins->node_count = 1;
        error = origins->nodes ? 0 : -ENOMEM;
    }
    if (!error)
        error = trace_modules(trace, SIZE_MAX, &origins->modules, &origins->module_count);
    if (!error)
        error = trace_origins_number_modules(origins);
    if (error)
        trace_origins_release(origins);
    return error;
}

void trace_origins_release(struct trace_origins *origins)
{
    free(origins->nodes);
    free(origins->modules);
    free(origins->by_number);
    *origins = (struct trace_origins){0};
}
