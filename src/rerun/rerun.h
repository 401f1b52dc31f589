/* Replays of traces: what a recording's own replay knew, on any day and on another machine.
 *
 * 0 or -errno, with a sentence in rerun_error(). Safe from several threads, each with its own trace
 * or at least its own profile. */
#ifndef TIDEMARK_RERUN_RERUN_H
#define TIDEMARK_RERUN_RERUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profile/profile.h"
#include "trace/trace.h"

/* The sentence for the last failure of this thread. */
const char *rerun_error(void);

/* ---- Names --------------------------------------------------------------------------------- */

/* A profile without metrics in which there is what presenters need to show a call path of the trace:
 * nodes (by their numbers), codes, lines, functions, modules, meta. The caller frees it by
 * profile_free().
 *
 * `before_block`: as trace_nodes() takes it: the nodes that it can name and more; SIZE_MAX: all.
 * Names come from the trace's supplement. Where it has none (it was cut off), and for code that the
 * supplement lacks, they come from the object files if these are still there and have the build-ids
 * of the recording; that costs what the symbols of the files cost, so only the codes on the paths of
 * `wanted` are looked up (NULL: all). */
struct rerun_wanted {
    const uint32_t *nodes;
    size_t count;
};
int rerun_names(const struct trace *trace, size_t before_block, const struct rerun_wanted *wanted,
                struct profile **out);

/* Is what names() says only what is found on this machine today? One sentence for whoever reads what
 * is shown, or NULL. Lives as long as the profile. */
const char *rerun_names_doubt(const struct profile *names);
#define RERUN_META_DOUBT "names_doubt"

#endif
