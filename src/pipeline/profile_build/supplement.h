/* Copies tables from a finished profile into the trace of the same recording. */
#ifndef TIDEMARK_PROFILE_BUILD_SUPPLEMENT_H
#define TIDEMARK_PROFILE_BUILD_SUPPLEMENT_H

#include <stddef.h>
#include "trace/trace.h"

/* Adds to the trace what the finished profile at `path` has and events do not tell. Call it last
 * before trace_writer_finish(). *error: NULL, or the sentence if it fails (of this thread, until
 * the next failure). 0 or -errno. */
int supplement_into_trace(struct trace_writer *trace, const char *path, const char **error);

#endif
