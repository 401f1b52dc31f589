/* What the files of the writer share: profile_writer.c opens, commits and ends and writes the call
 * tree and the metrics, detail_writer.c writes the rest. Inside the room. */
#ifndef TIDEMARK_PROFILE_PROFILE_WRITING_H
#define TIDEMARK_PROFILE_PROFILE_WRITING_H

#include <stdint.h>
#include "profile/detail_tables.h"
#include "profile/profile.h"

struct sqlite3_stmt;

struct detail_writer {
    struct sqlite3_stmt *put[DETAIL_TABLES];  /* a row; those that are kept in blocks: a block */
    struct sqlite3_stmt *drop[DETAIL_TABLES]; /* all rows; those of one sample, module or path */
    int64_t last_module[DETAIL_TABLES];       /* the highest that rows were written for */
    uint32_t last_sample;                     /* likewise */
    uint32_t heap_sample;                     /* the one whose map of the heap is in it; 0: none */
    uint64_t residency_count; /* rows in blocks so far: the number of the next one */
};

/* Prepares its statements; the writer's writing_fail() has the error. 0 or -errno. */
int detail_writer_begin(struct detail_writer *details, struct profile_writer *writer);
void detail_writer_end(struct detail_writer *details);

struct detail_writer *profile_writing_details(struct profile_writer *writer);
/* Prepares a statement. 0 or -errno, with the sentence. */
int profile_writing_prepare(struct profile_writer *writer, const char *sql,
                            struct sqlite3_stmt **out);
/* Runs a statement whose values are bound. After the first failure, in whatever statement, all
 * fail with its error. 0 or -errno. */
int profile_writing_step(struct profile_writer *writer, struct sqlite3_stmt *statement);

#endif
