/* The path nodes and the modules to which events refer. They come from the shared memory of a live
 * process or from a trace. Published nodes and modules never change, except for the unloading of a
 * module. So a profile can be written from them while the recording goes on. */
#ifndef TIDEMARK_PROFILE_BUILD_ORIGINS_H
#define TIDEMARK_PROFILE_BUILD_ORIGINS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct origins_node {
    uint64_t ip;     /* return address; or a mark, below WIRE_MARK_LIMIT */
    uint32_t parent; /* the caller's node */
};

/* As struct wire_module in wire.h. Strings and `died` live as long as the origins. */
struct origins_module {
    uint32_t born;                /* number of nodes when it was first seen */
    const _Atomic uint32_t *died; /* number of nodes when it was found unloaded; UINT32_MAX:
                                     still loaded */
    uint64_t bias, start, end;
    const uint8_t *build_id;
    uint8_t build_id_bytes; /* 0: it has none */
    const char *path;       /* "": the main program */
};

struct origins {
    void *context;
    /* Published so far; number 0 is the root. */
    uint32_t (*node_count)(void *context);
    struct origins_node (*node)(void *context, uint32_t number);
    /* Nodes below `count` will hardly be read again. */
    void (*leave_nodes)(void *context, uint32_t count);
    /* Calls `visit` for each module logged from position *cursor on (0 at first), in the order of
     * the log, which numbers them from 0, and moves it. */
    void (*modules)(void *context, size_t *cursor,
                    void (*visit)(void *visitor, const struct origins_module *module),
                    void *visitor);
};

#endif
