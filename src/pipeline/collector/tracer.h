/* Writes the trace of one process image on a thread of its own. The merge copies what it passes to
 * the replay into a chunk of memory. The thread encodes, packs and writes the chunks.
 *
 *      merge ──▶ chunk being filled ──▶ queue of full chunks ──▶ thread ──▶ trace_writer ──▶ .tmt
 *                        ▲                                          │
 *                        └────────────── empty chunks ◀─────────────┘
 *
 * Invariants
 *   full chunks and the one at the thread <= TRACER_CHUNKS_MAX
 *       The merge waits for the thread, so nothing is lost.
 *   chunk.nodes = number of path nodes when the chunk was full
 *       The thread writes these nodes before the chunk's events. So a node is in the file before
 *       each event that names it.
 *
 * A disk that becomes full ends the trace before the profile beside it: the trace is completed
 * while there is room for both.
 *
 * No file is made before the first full chunk. The first failed write is kept as a sentence. What
 * was written before stays in the file, and everything after it is dropped.
 *
 * The file is open while the process lives if there is a descriptor to spare (quota.h), else while
 * a chunk is written.
 *
 * All functions are for the thread that merges. Out of memory ends the process, as in the replay.
 */
#ifndef TIDEMARK_COLLECTOR_TRACER_H
#define TIDEMARK_COLLECTOR_TRACER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "collector/shared_view.h"
#include "trace/trace.h"

enum { TRACER_CHUNK_BYTES = 256 << 10, TRACER_CHUNKS_MAX = 16 };

struct name_takeover;
struct tracer;

/* The view must live as long as the tracer. `name`: no file of that path is made before this
 * takeover is complete; NULL: the path is free. `path` is copied. */
struct tracer *tracer_new(const char *path, const struct trace_options *options, struct view *view,
                          const struct name_takeover *name);
/* Ends as if killed: without a file if none was made yet, else with what is in it. NULL is
 * allowed. */
void tracer_free(struct tracer *tracer);

void tracer_runs(struct tracer *tracer, const struct replay_run *runs, size_t count,
                 const void *records);
void tracer_note(struct tracer *tracer, const struct trace_note *note);
void tracer_fact(struct tracer *tracer, const char *key, const char *value);

/* Hands the chunk being filled to the thread, which flushes the file to disk after it. */
void tracer_flush(struct tracer *tracer);

/* From now on the thread uses the QUOTA_TRACE descriptors that the caller has taken, and waits for
 * none. */
void tracer_lend(struct tracer *tracer);

/* Waits until everything is written. Returns the writer, for what comes last in the file; NULL if
 * writing has failed. */
struct trace_writer *tracer_settle(struct tracer *tracer);

/* Completes the file, after tracer_settle(). */
void tracer_finish(struct tracer *tracer);

/* NULL: nothing has failed. Belongs to the tracer. */
const char *tracer_error(const struct tracer *tracer);
/* Bytes in the file, after tracer_finish(); 0: there is none. */
uint64_t tracer_file_bytes(const struct tracer *tracer);

#endif
