/* A program that is being recorded, watched in the terminal: its profile is read again whenever it
 * has changed.
 *
 *   find ── path ──▶ model ── rows, figures ──▶ screen (ncurses) or plain (lines)
 *
 * Uses call sites of the aggregate room and charts of the plot room. One thread.
 *
 * `find` looks for a process's profile among the open files of all processes. `model` finds call
 * sites again by their names, since indices differ between readings. `screen` draws everything anew
 * after each key and each reading; `overview` has several programs, a model each (`watched`).
 * `terminal` restores the terminal on every way out: after a crash it writes prepared bytes, since
 * a signal handler may not call ncurses. */
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
/* Likewise, for several programs. */
int top_overview(const struct top_options *options, struct strbuf *why);
int top_plain_overview(const struct top_options *options, struct strbuf *why);

/* Finds the profile of a process that is being recorded, among the profiles that processes of this
 * user are writing: the one that says that it is of `pid`, or the only one that `pid` itself
 * writes. 0, or -errno with a sentence in `why`. */
int top_find(pid_t pid, struct strbuf *path, struct strbuf *why);

struct top_paths {
    char **items;
    size_t count, room;
};
/* Adds all profiles that are being written by processes whose files this user may see. */
void top_find_all(struct top_paths *paths);
void top_paths_add(struct top_paths *paths, const char *path); /* once each */
void top_paths_release(struct top_paths *paths);

#endif
