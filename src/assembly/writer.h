/* Writes one process image's profile: joins what the replay knows (by path node) with the nodes,
 * the modules and their symbols. May run beside the replay: it reads a snapshot, and the
 * origins, which never change once published. */
#ifndef TIDEMARK_ASSEMBLY_WRITER_H
#define TIDEMARK_ASSEMBLY_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "assembly/naming.h"
#include "assembly/origins.h"
#include "assembly/snapshot.h"

struct writer;

/* Creates the profile. `pid` and `root` are for JIT maps and for files seen through another root;
 * `executable` is the path of the main program. 0 or -errno, with profile_error()'s sentence. */
int writer_open(struct writer **out, const char *path, pid_t pid, const char *executable);
/* The same with names from wherever, which are the writer's afterwards. */
int writer_open_named(struct writer **out, const char *path, struct naming *naming,
                      const char *executable);
/* From now on notes which source files the code is of; writer_finish() puts their text into the
 * profile. To be called before anything is written. */
void writer_keep_sources(struct writer *writer);
/* A fact for the profile's meta table; written with the next snapshot. */
void writer_fact(struct writer *writer, const char *key, const char *value);
void writer_fact_number(struct writer *writer, const char *key, int64_t value);

/* The process has come to its end: begins to read the variables of its modules, which the next
 * writer_write() writes. */
void writer_read_globals(struct writer *writer, const struct origins *origins);

/* The same for who knows variables and sources already: a profile (a supplement) that must stay until
 * writer_finish(). The next writer_write() writes the variables, writer_finish() the sources. */
void writer_give_known(struct writer *writer, const struct profile *known);

/* One transaction with all that is new. 0 or -errno. */
int writer_write(struct writer *writer, const struct origins *origins, const struct snapshot *snapshot);
/* Marks the profile complete and packs it. Frees the writer either way. */
int writer_finish(struct writer *writer, bool pack);
/* What was written last as a profile of its own (profile_writer_copy()). */
struct profile_fact;
int writer_copy(struct writer *writer, const char *path, const struct profile_fact *facts,
                size_t count);
/* Removes the profile. Frees the writer. */
void writer_discard(struct writer *writer);

#endif
