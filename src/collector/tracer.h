/* Writes the trace of one process image, on a thread of its own: the merge copies what it feeds the
 * replay with into a parcel and goes on; encoding, packing and the disk are the thread's.
 *
 *      merge ──▶ parcel being filled ──▶ queue of full parcels ──▶ thread ──▶ trace/writer ──▶ .tmt
 *                        ▲                                            │
 *                        └────────────── empty parcels ◀──────────────┘
 *
 * There are at most TRACER_PARCELS: when the thread falls behind, the merge waits; nothing is lost.
 * A parcel takes with it the number of path nodes there were when it was full, and the thread writes
 * them first: whatever events name is in the file before them.
 *
 * No file is made before the first parcel is handed over. When a write fails that is remembered once
 * as a sentence, what is in the file stays there, and what is told afterwards is dropped.
 *
 * All functions are for the thread that merges. Out of memory ends the process, as in the replay. */
#ifndef TIDEMARK_COLLECTOR_TRACER_H
#define TIDEMARK_COLLECTOR_TRACER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "collector/view.h"
#include "trace/trace.h"

enum { TRACER_PARCEL_BYTES = 256 << 10, TRACER_PARCELS = 16 };

struct handover;
struct tracer;

/* The view must live as long, and `name`: NULL, or before its end no file of that path is made.
 * `path` is copied. */
struct tracer *tracer_new(const char *path, const struct trace_options *options,
                          struct view *view, const struct handover *name);
/* Ends without a file if none has been made yet, else with what is in it: as if killed. NULL is
 * allowed. */
void tracer_free(struct tracer *tracer);

void tracer_runs(struct tracer *tracer, const struct replay_run *runs, size_t count,
                 const void *records);
void tracer_note(struct tracer *tracer, const struct trace_note *note);
void tracer_fact(struct tracer *tracer, const char *key, const char *value);

/* Hands over what there is, to be on disk as soon as the thread gets to it. */
void tracer_flush(struct tracer *tracer);

/* Waits until all that was told is written. Returns the writer, for what comes last in the file;
 * NULL if writing has failed. */
struct trace_writer *tracer_settle(struct tracer *tracer);

/* Completes the file, after tracer_settle(). */
void tracer_finish(struct tracer *tracer);

/* NULL: nothing has failed. Belongs to the tracer. */
const char *tracer_error(const struct tracer *tracer);
/* Bytes in the file, after tracer_finish(); 0: there is none. */
uint64_t tracer_file_bytes(const struct tracer *tracer);

#endif
