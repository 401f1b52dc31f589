/* A profile as text for people, and as JSON for programs. Only struct profile is read.
 *
 * report_text.c and report_json.c put sections together. Each kind of section has a file of its
 * own: report_text_….c and report_json_….c. The server writes parts of the same JSON. annotation.c
 * finds the function, file or line to annotate. Room aggregate finds its text (source_text.c) and
 * merges call paths by source line (source_lines.c). */
#ifndef TIDEMARK_REPORT_REPORT_H
#define TIDEMARK_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "aggregate/metric_choice.h"
#include "base/json.h"
#include "profile/profile.h"

#define REPORT_LEAST_COLUMNS 72

/* Sections; report_options.show is a set of them, 1 << enum. None: the overview, in the text. */
enum report_section {
    REPORT_SITES = 0,
    REPORT_FUNCTIONS,
    REPORT_LIBRARIES,
    REPORT_TREE,
    REPORT_MEMORY,
    REPORT_PEAKS,
    REPORT_PATHS,
    REPORT_SIZES,
    REPORT_LIFETIMES,
    REPORT_REALLOCS,
    REPORT_THREADS,
    REPORT_STACKS,
    REPORT_GLOBALS,
    REPORT_RESIDENCY,
    REPORT_REGIONS,
    REPORT_TYPES,
    REPORT_FILL,
    REPORT_HEAT,
    REPORT_NUMA,
    REPORT_DEVICES,
    REPORT_SECTIONS
};
#define REPORT_SHOW_ALL ((1u << REPORT_SECTIONS) - 1)
/* Reads "peaks,threads" or "all" into a set. 0, or -EINVAL with the word that is no section in
 * `wrong`. */
int report_show_parse(const char *list, unsigned *show, char *wrong, size_t wrong_bytes);
extern const char *const report_section_names[REPORT_SECTIONS];

/* Further columns of functions and call sites: names of doc/METRICS.md, derived ones too, and of
 * METRIC_CHOICE. */
enum { REPORT_COLUMNS_MAX = 8 };
struct report_columns {
    uint8_t count;
    uint8_t at[REPORT_COLUMNS_MAX]; /* positions in report_column_name() */
};
int report_columns_parse(const char *list, struct report_columns *columns, char *wrong,
                         size_t wrong_bytes);
const char *report_column_name(size_t position); /* NULL: no more */

struct report_options {
    int metric;   /* position in METRIC_CHOICE; METRIC_CHOICE_ALL: the usual sections. One
                     that the profile does not know (metric_missing) gives no section. */
    size_t top;   /* call sites, and other rows, in a section */
    size_t depth; /* callers in a line of descent; levels of the tree that branch */
    bool brief;   /* no more than three lines of callers, one level of branches */
    unsigned show;
    bool inclusive; /* functions by their inclusive figures */
    struct report_columns more_columns;
    const char *filter; /* extended regular expression; NULL: none */
    bool hide_std;
    bool startup; /* the overview also lists what run-times ask for as they start */
    bool colour, utf8;
    size_t columns; /* REPORT_LEAST_COLUMNS at least */
};

/* 0 or -errno of the stream. */
int report_text(FILE *out, const struct profile *profile, const struct report_options *options);
int report_json(FILE *out, const struct profile *profile, const struct report_options *options);
/* Writes a member of that document into an open object of another one: those of "meta" (up to
 * "sampled"), "program", "modules", "threads", "peaks", "distributions", "exchanges", "stacks",
 * "globals", "samples", "mappings", "regions", "marks" or "page_uses". `hidden`: by index of
 * profile->lines, frames that no path is listed under. False: there is no such part. */
bool report_json_part(struct json *json, const struct profile *profile, const bool *hidden,
                      const char *part);

/* Many processes: the programs of a directory or of a session file (room programs). `top`: how many
 * programs and processes are listed; 0: as many as fill a screen. 0 or -errno of the stream. */
struct programs;
int report_programs_text(FILE *out, const struct programs *programs,
                         const struct report_options *options);
int report_programs_json(FILE *out, const struct programs *programs);

/* The summary after a recording: at most ten lines. `path`: of the profile. In colour if `out` is a
 * terminal. */
int report_summary(FILE *out, const struct profile *profile, const char *path);

#endif
