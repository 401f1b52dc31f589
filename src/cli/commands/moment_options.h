/* What at, blocks, events and replay share: moments of a trace, and how it is shown. */
#ifndef TIDEMARK_COMMANDS_MOMENT_OPTIONS_H
#define TIDEMARK_COMMANDS_MOMENT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/options.h"
#include "base/term.h"
#include "heap_at/heap_at.h"
#include "offline/offline.h"
#include "trace/trace.h"

struct moments_arguments {
    uint64_t top, depth, width;
    int colour;
    bool json, pager, hide_std;
};
#define MOMENTS_ARGUMENTS(top_, depth_)                                                            \
    {                                                                                              \
        .top = (top_), .depth = (depth_), .pager = true, .hide_std = true                          \
    }

void moments_settle(const struct moments_arguments *arguments, struct heap_at_style *style);

/* Leaves `moment` as it is where `text` is NULL. 0, or the exit status after a sentence on stderr.
 */
int moments_parse(const struct options_command *command, const char *text,
                  struct offline_moment *moment);
/* Turns marks and shares into times. `within`: the moment may not lie behind the trace's end. 0, or
 * the exit status after a sentence on stderr. */
int moments_resolve(const char *command, const struct trace *trace, struct offline_moment *moment,
                    bool within);
/* NULL, after a sentence on stderr. */
struct trace *moments_open(const char *command, const char *path);

/* Says on stderr that what came after the last whole block is missing, for lists whose text has no
 * place for that. */
void moments_say_cut(const char *command, const struct trace *trace);

struct term_pager moments_pager(const struct moments_arguments *arguments,
                                const struct heap_at_style *style);
/* The exit status. A reader that stops early is no error. */
int moments_close(const char *command, struct term_pager *pager, int error);

#endif
