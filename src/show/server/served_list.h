/* What is shown: a profile, and what it is of. */
#ifndef TIDEMARK_SERVER_SERVED_LIST_H
#define TIDEMARK_SERVER_SERVED_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/json.h"
#include "model/level.h"
#include "trace/trace.h"

enum shown_kind {
    SHOWN_PROFILE = 0, /* of a process */
    SHOWN_JOB,         /* of all ranks of a job */
    SHOWN_RANK,        /* of one of them */
    SHOWN_TRACE,       /* made of a trace, and what the profile does not know is asked of that */
};

/* Strings and the trace must live on. */
struct served_source {
    const char *path; /* the profile: maybe one that was made for this */
    const char *name; /* in lists; NULL: the last part of `path` */
    const char *file; /* as the user knows it; NULL: `path` */
    enum shown_kind kind;
    bool on_demand;            /* is read when something of it is first asked for: there are many */
    size_t job;                /* of a rank: the place of its job among what is shown … */
    uint32_t rank_id;          /* … and its id in the job's `ranks` */
    const struct trace *trace; /* NULL: none */
    size_t region;             /* 1 + the place of the region that it is cut to; 0: it is not cut */
    enum memory_level level;   /* that it is made one of */
    const struct offline_born *born; /* NULL, or of a window: what began in it and is alive */
    size_t born_count;
};

const char *served_list_name(const struct served_source *shown);
/* Members of an object that is open: what the list of profiles says of it. `file` may be left
 * out. */
void served_list_write(struct json *json, const struct served_source *shown, size_t index,
                       bool with_file);

#endif
