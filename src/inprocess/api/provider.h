/* What libtidemark-api finds where somebody records or counts: a table that the recorder exports,
 * and one that a library may which counts in the program itself. The api's functions refer to both
 * weakly: the dynamic linker fills in their addresses when the library is preloaded or linked, and
 * 0 otherwise.
 *
 * A table only grows, at its end, and `bytes` says how far it goes: an older or newer library is no
 * danger. What is not in the header's words is said in tidemark/tidemark.h.
 *
 * The library itself holds no state. api.c looks at both tables in one branch. stack.c measures the
 * caller's own stack and needs neither table. Marks and regions become records in the ring;
 * counters and snapshots are requests that the collector answers when it has replayed everything
 * that came before. */
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
    /* As much of the struct as struct_bytes says is the callee's to fill: an older library asks for
     * fewer. What the callee does not know is unknown there already. */
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
