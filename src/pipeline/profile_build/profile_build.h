/* Writes one process image's profile: joins what the replay knows (by path node) with the nodes,
 * the modules and their symbols. May run beside the replay: it reads a snapshot, and the
 * origins, which never change once published.
 *
 * The room's other files: `origins` gives the nodes and modules, from the live shared memory or
 * from a trace. `snapshot` and `details` copy what a profile needs of a replay. A `proc_sample` has
 * the results of a look at the process. `naming` shares symbols between processes, `clock` measures
 * the length of a tick, `sources` collects source files for --embed-sources, and `globals` reads
 * the modules' variables, each file once per session. `supplement` adds to a trace what does not
 * follow from events. When the trace is replayed, `code_index` finds the names in the
 * supplement. */
#ifndef TIDEMARK_PROFILE_BUILD_PROFILE_BUILD_H
#define TIDEMARK_PROFILE_BUILD_PROFILE_BUILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "profile_build/naming.h"
#include "profile_build/origins.h"
#include "profile_build/snapshot.h"

struct writer;

/* Creates the profile. `pid` and `root` are for JIT maps and for files seen through another root;
 * `executable` is the path of the main program. 0 or -errno, with error_text()'s sentence. */
int profile_build_open(struct writer **out, const char *path, pid_t pid, const char *executable);
/* The same with names from `naming`, which belongs to the writer afterwards. */
int profile_build_open_named(struct writer **out, const char *path, struct naming *naming,
                             const char *executable);
/* The same as profile_build_open() for the small profile of an ended process: it is written once,
 * and the file appears when it is finished (profile_writer_open_at_once()). */
int profile_build_open_at_once(struct writer **out, const char *path, pid_t pid,
                               const char *executable);
/* For a process that ended soon: no file and no SQL. The other calls are as usual, but for
 * profile_build_copy() and profile_build_finish(), in whose place profile_build_finish_memory()
 * gives the body of a row for session_file_append() of a file that profile_session_open() opened.
 * `name` is for sentences. 0 or -errno, with error_text()'s sentence. */
int profile_build_open_memory(struct writer **out, const char *name, pid_t pid,
                              const char *executable);
/* Appends to `body`. Frees the writer either way. 0 or -errno, with the sentence. */
struct strbuf;
int profile_build_finish_memory(struct writer *writer, struct strbuf *body);
/* From now on notes which source files the code is of; profile_build_finish() puts their text into
 * the profile. To be called before anything is written. */
void profile_build_keep_sources(struct writer *writer);
/* A fact for the profile's meta table; written with the next snapshot. */
void profile_build_fact(struct writer *writer, const char *key, const char *value);
void profile_build_fact_number(struct writer *writer, const char *key, int64_t value);

/* At the end of the process: begins to read the variables of its modules, which the next
 * profile_build_write() writes. */
void profile_build_read_globals(struct writer *writer, const struct origins *origins);

/* The same with the variables and sources of `known` (a supplement), which must live until
 * profile_build_finish(). The next profile_build_write() writes the variables,
 * profile_build_finish() the sources. */
void profile_build_give_known(struct writer *writer, const struct profile *known);

/* As profile_writer_be_patient(). */
void profile_build_be_patient(struct writer *writer, bool (*patience)(void *context),
                              void *context);
/* After a profile_build_write(): naming_rest(), and profile_writer_rest() beside other ranks. */
void profile_build_rest(struct writer *writer);
/* Writes all that is new in one transaction. 0 or -errno. */
int profile_build_write(struct writer *writer, const struct origins *origins,
                        const struct snapshot *snapshot);
/* Marks the profile complete and packs it. Frees the writer either way. */
int profile_build_finish(struct writer *writer, bool pack);
/* Copies the last written state into a profile of its own (profile_writer_copy()). */
struct profile_fact;
int profile_build_copy(struct writer *writer, const char *path, const struct profile_fact *facts,
                       size_t count);
/* Removes the profile. Frees the writer. */
void profile_build_discard(struct writer *writer);

#endif
