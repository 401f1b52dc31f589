/* What the files of the writer share: profile_writer.c opens, commits and ends and writes the call
 * tree and the metrics, detail_writer.c writes the rest. Inside the room. */
#ifndef TIDEMARK_PROFILE_PROFILE_WRITING_H
#define TIDEMARK_PROFILE_PROFILE_WRITING_H

#include <stdint.h>
#include "profile/detail_tables.h"
#include "profile/profile.h"
#include "profile/statements.h"
#include "profile/values.h"

struct detail_writer {
    int64_t last_module[DETAIL_TABLES]; /* the highest that rows were written for */
    uint32_t last_sample;               /* likewise */
    uint32_t heap_sample;               /* the one whose map of the heap is in it; 0: none */
    uint64_t residency_count;           /* rows in blocks so far: the number of the next one */
};

struct detail_writer *profile_writing_details(struct profile_writer *writer);
/* Runs a statement with its values, or notes both in the log. After the first failure, in whatever
 * statement, all fail with its error. 0 or -errno, with the sentence. */
int profile_writing_put(struct profile_writer *writer, enum statement which,
                        const struct values *values);

#endif
