/* What rows of a table held at one moment, to be compared with those of another: a process is known
 * again by its number and the time of its start, all else by its name. */
#ifndef TIDEMARK_SYSTEM_MEMORY_ROW_MARKS_H
#define TIDEMARK_SYSTEM_MEMORY_ROW_MARKS_H

#include <stdio.h>

#include "system_history/history.h"
#include "system_memory/processes.h"

struct row_mark {
    char *key;
    const struct system_memory_row *row; /* of the table, while that is there */
    struct figure figures[SYSTEM_HISTORY_FIGURES];
};
struct row_marks {
    struct row_mark *items; /* by key */
    size_t count;
    struct figure total[SYSTEM_HISTORY_FIGURES];
};

/* Without memory the tool ends. */
void row_marks_take(struct row_marks *marks, const struct system_memory_table *table);
void row_marks_release(struct row_marks *marks);
const struct row_mark *row_marks_find(const struct row_marks *marks, const char *key); /* or NULL */

/* Every row's growth is that of its PSS since `start`. What was not there then had nothing, so that
 * the rows and what is gone add up to the growth of the total. */
void row_marks_compare(const struct row_marks *start, struct system_memory_table *table);
/* PSS that rows had at `start` which are not there any more; `count` says how many. */
struct figure row_marks_gone(const struct row_marks *start, const struct system_memory_table *table,
                             size_t *count);

/* ---- Written down -------------------------------------------------------------------------- */

/* Adds a line; `before` NULL: the first of a file, or of another run of the command that adds to
 * it. 0 or -errno of writing. */
int row_marks_write(FILE *out, const struct system_memory *system,
                    const struct system_memory_table *table, const struct row_marks *before,
                    const struct row_marks *now, uint64_t time_unix_ns);

#endif
