/* A program that is being recorded, watched in the terminal: its profile is read again whenever it
 * has changed.
 *
 *   find ── path ──▶ model ── rows, figures ──▶ screen (ncurses) or plain (lines)
 *
 * Uses what the report knows of call sites and the plot room's chart. One thread.
 *
 * `find` looks for a process's profile among the open files of all processes. `model` knows call
 * sites again by their names, since indices differ between readings. `screen` draws all of it anew
 * after each key and each reading; `overview` has several programs, a model each (`watched`).
 * `terminal` gives the terminal back on every way out: after a crash it writes bytes that were
 * prepared before, since nothing of ncurses may be called there. */
#ifndef TIDEMARK_TOP_TOP_H
#define TIDEMARK_TOP_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/strbuf.h"
#include "format/style.h"

/* In the order of the choice. */
#define TOP_SORT_CHOICE "live|growth|rate|count|bytes|peak"
enum top_sort {
    TOP_LIVE = 0,
    TOP_GROWTH, /* of live bytes, since the look before */
    TOP_RATE,   /* allocations a second, since the look before */
    TOP_COUNT,  /* allocations */
    TOP_BYTES,  /* bytes allocated in all */
    TOP_PEAK,   /* alive at the program's peak */
    TOP_SORTS
};

struct top_options {
    const char *path;         /* of one program */
    const char *const *paths; /* of several, or none: all that are being recorded */
    size_t path_count;
    uint64_t interval_ns; /* between two looks, at least */
    uint64_t count;       /* looks, in lines; 0: until the recording ends */
    size_t rows;          /* call sites in a look, in lines */
    enum top_sort sort;
    const char *filter; /* regular expression; NULL: none */
    bool hide_std;
    struct style style;
};

/* Both return 0 or -errno with a sentence in `why`. top_screen() needs a terminal on stdin and
 * stdout, and gives it back as it was on every way out, also when the process is ended by a signal.
 */
int top_screen(const struct top_options *options, struct strbuf *why);
int top_plain(const struct top_options *options, struct strbuf *why);
/* The same of several programs. */
int top_overview(const struct top_options *options, struct strbuf *why);
int top_plain_overview(const struct top_options *options, struct strbuf *why);

/* The profile of a process that is being recorded: of those that any process of ours is writing,
 * the one that says that it is of `pid`; or the only one that `pid` itself writes. */
int top_find(pid_t pid, struct strbuf *path, struct strbuf *why);

struct top_paths {
    char **items;
    size_t count, room;
};
/* All profiles that processes which may be looked at are writing. */
void top_find_all(struct top_paths *paths);
void top_paths_add(struct top_paths *paths, const char *path); /* once each */
void top_paths_release(struct top_paths *paths);

#endif
