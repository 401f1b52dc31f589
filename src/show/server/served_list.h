/* What is served: a profile, and what it was made of. */
#ifndef TIDEMARK_SERVER_SERVED_LIST_H
#define TIDEMARK_SERVER_SERVED_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/json.h"
#include "model/level.h"
#include "server/served_reading.h"
#include "trace/trace.h"

enum shown_kind {
    SHOWN_PROFILE = 0, /* of a process */
    SHOWN_JOB,         /* of all ranks of a job */
    SHOWN_RANK,        /* of one of them */
    SHOWN_TRACE,       /* of a trace, which answers what the profile cannot */
};

/* Strings and the trace must live on. */
struct served_source {
    const char *path; /* the profile: maybe one that was made for this */
    const char *name; /* in lists; NULL: the last part of `path` */
    const char *file; /* as the user gave it; NULL: `path` */
    enum shown_kind kind;
    bool on_demand;            /* read only when first asked for, since there are many */
    size_t job;                /* of a rank: the place of its job among what is shown … */
    uint32_t rank_id;          /* … and its id in the job's `ranks` */
    const struct trace *trace; /* NULL: none */
    size_t region;             /* 1 + the place of the region that it is cut to; 0: it is not cut */
    enum memory_level level;   /* the level that it is reduced to */
    const struct offline_born
        *born; /* NULL, or of a window: blocks that began in it and are alive */
    size_t born_count;
    struct served_reading *reading; /* of a job whose ranks are read meanwhile; NULL: it is not */
};

const char *served_list_name(const struct served_source *shown);
/* Writes members of an open object: the entry in the list of profiles, with or without `file`. */
void served_list_write(struct json *json, const struct served_source *shown, size_t index,
                       bool with_file);

#endif
