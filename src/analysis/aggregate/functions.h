/* Functions, by what they ask for themselves and by what is asked for below them.
 *
 *   path    main → solve → solve → push_back → operator new
 *           │      │               │           └ hidden (a library's)
 *           │      │               └ exclusive: the innermost frame that is not hidden
 *           └──────┴─────────────── inclusive: every function on the path, each once
 *
 * Every frame counts, inlined ones too. Invariants: exclusive metrics that merge by sum add up to
 * those of all paths; a function's inclusive sums are at least its exclusive ones and at most those
 * of all paths.
 *
 * The walk keeps log2(sites) running sums instead of sums for each node, and recursion is a
 * counter. Beside it in this room: `top_down`, the call tree of functions; `metrics_merge`, many
 * call paths as one; `derived`, figures such as the recycling ratio, as a table by which the
 * browser computes too. */
#ifndef TIDEMARK_AGGREGATE_FUNCTIONS_H
#define TIDEMARK_AGGREGATE_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"
#include "profile/profile.h"
#include "aggregate/frames.h"
#include "aggregate/metrics_merge.h"

/* What is listed as one function: a number below function_key_count(). Functions of the profile
 * have their own index; behind them come unnamed code of no module, what stands for frames that are
 * not known, and each piece of unnamed code of a module. Such code is told apart by its address, as
 * call sites are, because one row for a module would add up many functions. */
enum function_key_kind {
    FUNCTION_KEY_FUNCTION = 0,
    FUNCTION_KEY_ANONYMOUS,  /* code in no module */
    FUNCTION_KEY_UNWALKABLE, /* "the stack could not be walked further" */
    FUNCTION_KEY_CUT,        /* "deeper than --max-depth" */
    FUNCTION_KEY_NO_PATH,    /* recorded without call path */
    FUNCTION_KEY_UNNAMED,    /* code of a module that has no name */
};
uint32_t function_key(const struct profile *profile, uint32_t code, uint32_t line);
size_t function_key_count(const struct profile *profile);
/* *index: of the function, or of the module that unnamed code is in. */
enum function_key_kind function_key_kind(const struct profile *profile, uint32_t key,
                                         uint32_t *index);
/* The one frame of unnamed code of a module; false: the key is of something else. */
bool function_key_frame(const struct profile *profile, uint32_t key, struct frame *frame);

/* What a key is called: "main", "libx.so+0x12", "[code in no module]". `frame`: one of it. Not
 * shortened, not made safe. */
void function_key_add_name(struct strbuf *out, const struct profile *profile, uint32_t key,
                           struct frame frame);

/* The frame that the path to `node` counts for; false: it is one of hidden frames only, and it is
 * the innermost of them. */
bool function_exclusive_frame(const struct profile *profile, const bool *hidden, uint32_t node,
                              uint32_t *code, uint32_t *line);

struct function_row {
    uint32_t key;
    uint32_t code, line; /* a frame of it, of the innermost one seen first */
    struct merged_metrics exclusive, inclusive;
};
struct functions {
    struct function_row *rows; /* by key; those on a path with metrics */
    size_t count;
};

/* `hidden` (by index of profile->lines; NULL: none): frames that are passed over; a path of nothing
 * else counts for its innermost frame. `wanted` (by node; NULL: all): paths that count. 0 or
 * -ENOMEM. One pass over the call tree, in which recursion costs nothing more. Takes 16 bytes a
 * node, and a row for each key. */
int functions_init(struct functions *functions, const struct profile *profile, const bool *hidden,
                   const bool *wanted);
/* As functions_init(), by library: exclusive is what the library asks for itself, inclusive with
 * what is asked for below it. Rows' keys are indices of modules; a library that was loaded again
 * has its first index. The keys behind these stand for code without a module, in the order of enum
 * function_key_kind. */
int functions_init_libraries(struct functions *functions, const struct profile *profile,
                             const bool *hidden, const bool *wanted);
size_t functions_library_key_count(const struct profile *profile);
/* The path of a module, or what a function of that kind is called. Not shortened, not made safe. */
void functions_library_key_add_name(struct strbuf *out, const struct profile *profile, uint32_t key,
                                    struct frame frame);
void functions_release(struct functions *functions);

#endif
