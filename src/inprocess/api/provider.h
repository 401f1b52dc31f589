/* Two tables of functions for libtidemark-api: the recorder exports one, and a library that counts
 * in the program itself exports the other. The api's functions refer to both weakly: the dynamic
 * linker stores their addresses if such a library is preloaded or linked, and 0 otherwise.
 *
 * A table only grows at its end, and `bytes` is its size, so libraries of different versions work
 * together. tidemark/tidemark.h describes the functions.
 *
 * The library itself has no state. api.c tests both tables in one branch. stack.c measures the
 * caller's own stack and needs neither table. Marks and regions become records in the ring.
 * Counters and snapshots are requests, which the collector answers when it has replayed all earlier
 * records. */
#ifndef TIDEMARK_API_PROVIDER_H
#define TIDEMARK_API_PROVIDER_H

#include "tidemark/tidemark.h"

struct tidemark_recorder {
    size_t bytes; /* of the table */
    int (*is_recording)(void);
    void (*mark)(const char *name);
    void (*region_begin)(const char *name);
    void (*region_end)(const char *name);
    void (*pause)(void);
    void (*resume)(void);
    int (*snapshot)(const char *name);
    /* The callee may write the first struct_bytes bytes of the struct, which are fewer in an older
     * library. All figures are TIDEMARK_UNKNOWN before the call, and stay so if the callee does not
     * know them. */
    int (*read_counters)(enum tidemark_scope scope, struct tidemark_counters *counters);
    int (*reset_peak)(enum tidemark_scope scope);
    void (*pool_chunk)(const void *chunk);
    void (*pool_alloc)(const void *block, size_t size);
    void (*pool_free)(const void *block);
};
extern const struct tidemark_recorder tidemark_recorder_1 __attribute__((weak));

struct tidemark_counter {
    size_t bytes;
    int (*read_counters)(enum tidemark_scope scope, struct tidemark_counters *counters);
    int (*reset_peak)(enum tidemark_scope scope);
    int (*on_change)(tidemark_change *callback, void *context);
};
extern const struct tidemark_counter tidemark_counter_1 __attribute__((weak));

#endif
