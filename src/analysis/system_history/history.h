/* What `tidemark ps` saw over time, read from the lines that it wrote as it looked at the machine
 * (`ps --record`), or from one answer of `ps --json` (doc/PS-JSON.md, "History"). Its writer is in
 * the room system_memory.
 *
 *   line 1   whole: every row with its name and figures
 *   line 2   rows that changed, and what is gone
 *   …
 *
 * A line is written at once, so that a file is right however its writer ends. Files are of
 * strangers: what cannot be read is refused with the number of its line, and an unfinished last
 * line is left out. */
#ifndef TIDEMARK_SYSTEM_HISTORY_HISTORY_H
#define TIDEMARK_SYSTEM_HISTORY_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/map.h"
#include "base/strbuf.h"
#include "model/figure.h"

#define HISTORY_BEGINNING "{\"format\":\"tidemark-ps-history\",\"version\":1,"

/* The figures that are followed over time. */
enum {
    SYSTEM_HISTORY_PSS,
    SYSTEM_HISTORY_USS,
    SYSTEM_HISTORY_RSS,
    SYSTEM_HISTORY_SWAP,
    SYSTEM_HISTORY_FIGURES
};
extern const char *const history_members[SYSTEM_HISTORY_FIGURES]; /* "pss_bytes" … */

struct history_point {
    size_t sample; /* from which on it holds these */
    bool gone;     /* the row is not there */
    struct figure figures[SYSTEM_HISTORY_FIGURES];
};
struct history_row {
    char *key, *name; /* as they came: whoever shows them makes them safe */
    struct history_point *points;
    size_t count, room;
};
struct history_sample {
    uint64_t time_unix_ns; /* 0: not said */
    struct figure total[SYSTEM_HISTORY_FIGURES], processes, available_bytes;
};
struct history {
    bool is_single; /* one answer of `ps --json` */
    char by[16];    /* "process" … */
    struct history_row *rows;
    size_t row_count, row_room;
    struct history_sample *samples;
    size_t sample_count, sample_room;
    struct map numbers; /* of rows, by key */
};

/* Does a text that begins so come of `ps`? */
bool history_begins(const char *bytes, size_t count);
/* 0, -EINVAL with a sentence in `why`, or -errno of reading; to be released in any case. */
int history_read(struct history *history, FILE *file, const char *name, struct strbuf *why);
void history_release(struct history *history);
/* What a row held at a sample, NULL: it was not there. */
const struct history_point *history_at(const struct history_row *row, size_t sample);

#endif
