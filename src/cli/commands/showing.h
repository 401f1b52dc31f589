/* The operands of serve, html and plot: profiles, directories of jobs, traces. Of jobs and traces
 * profiles are made, in a directory that nobody else can read and that is removed when the process
 * ends. */
#ifndef TIDEMARK_COMMANDS_SHOWING_H
#define TIDEMARK_COMMANDS_SHOWING_H

#include <stdbool.h>
#include <stddef.h>
#include "offline/offline.h"
#include "commands/job_filler.h"
#include "server/served_list.h"
#include "trace/trace.h"

struct showing {
    /* Jobs, profiles and traces as they were given, then the jobs' ranks. */
    struct served_source *shown;
    size_t count, room;
    const char *directory; /* NULL: nothing had to be made */
    /* the structure's own */
    char **strings;
    size_t string_count, string_room;
    struct trace **traces;
    size_t trace_count, trace_room;
    struct job_filler *filling; /* NULL: there is no job whose ranks are read while it is shown */
    struct showing_late **late; /* ranks that are listed while their job is shown */
    size_t late_count, late_room;
};

struct showing_options {
    const char *command;            /* "serve" */
    const char *id;                 /* of a job, where a directory has several; or NULL */
    bool ranks;                     /* the profiles of a job's ranks too */
    bool fills;                     /* jobs are read while they are shown: showing_fill() */
    struct offline_moment from, to; /* of traces: only what happens between them */
};

/* 0, or an exit status after a sentence on stderr. The caller releases `showing` in any case. */
int showing_open(struct showing *showing, const struct showing_options *options,
                 const char *const *paths, size_t count);
void showing_release(struct showing *showing);

/* If something was made, signals that end the process are blocked, and a thread waits for them to
 * clean up. This ends the thread, for callers that wait for the signals themselves. The signals
 * stay blocked, or are as they were before. */
void showing_unguard(bool keep_blocked);

/* Begins to read the ranks of jobs, and waits a moment: small jobs are whole then. Signals that end
 * the process must be blocked. */
void showing_fill(struct showing *showing);
/* From now on progress is told on a terminal. */
void showing_tell_filling(struct showing *showing);
/* No further rank is read. showing_release() waits for the one at hand. */
void showing_stop_filling(struct showing *showing);

#endif
