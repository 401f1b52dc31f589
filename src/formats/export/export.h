/* A profile in the formats that others read: one file per format, one table of formats.
 *
 * Reads `struct profile` and nothing else. Sums of what is exported equal the profile's; where a
 * format wants a figure that a profile does not have, doc/EXPORT.md says what stands in its place.
 *
 * Formats with one figure walk the call tree of functions, formats with all figures walk sites.
 * exporting.h has what each format is given. A region is exported from a view of the profile, with
 * the moment of the program's peak. */
#ifndef TIDEMARK_EXPORT_EXPORT_H
#define TIDEMARK_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "base/strbuf.h"
#include "profile/profile.h"
#include "aggregate/source_text.h"

/* What the rows of a table are. */
enum export_rows { EXPORT_FUNCTIONS = 0, EXPORT_PATHS, EXPORT_TIMELINE };
#define EXPORT_ROWS_CHOICE "functions|paths|timeline"

struct export_options {
    const struct metric_row *metric; /* for formats of one figure; one that merges by sum */
    bool metric_is_default;          /* nobody chose it: formats that can may show several */
    enum export_rows rows;
    bool inclusive;
    bool hide_std;
    const char *filter;               /* NULL: all call paths, else as report has it */
    const char *region;               /* NULL: all; else only what was allocated in it */
    const struct source_paths *paths; /* NULL: files are where they were */
};

/* Which options mean something to a format. */
/* clang-format off */
enum { EXPORT_USES_METRIC = 1, EXPORT_USES_INCLUSIVE = 2, EXPORT_USES_ROWS = 4,
       /* no options, but what it cannot do without: what was allocated in all and what is left of
        * it; who held what at the peak */
       EXPORT_USES_CALLS = 8, EXPORT_USES_PEAK = 16 };
/* clang-format on */

struct exporting;
struct export_format {
    const char *name;    /* "pprof" */
    const char *ending;  /* of file names: ".pb.gz" */
    const char *readers; /* who reads it, for people */
    unsigned uses;
    bool is_binary;
    int (*write)(struct exporting *exporting); /* NULL: the database itself, by profile_unpack() */
};
extern const struct export_format export_formats[];               /* the last one's name is NULL */
const struct export_format *export_format_find(const char *name); /* NULL: there is none */

/* By the report's name ("peak", "leaked") or that of its column ("alloc_bytes"). NULL: there is
 * none that could be added up. */
const struct metric_row *export_metric_find(const char *name);

/* 0, or -errno with a sentence in `why`. */
int export_write(FILE *out, const struct profile *profile, const struct export_format *format,
                 const struct export_options *options, struct strbuf *why);

#endif
