/* Source with the figures of each line beside it, for people and (JSON) for programs.
 *
 *     struct annotation annotation;
 *     if (annotate_open(&annotation, profile, &options, &why)) … one sentence in why …
 *     annotation_text(stdout, &annotation);
 *     annotate_close(&annotation); */
#ifndef TIDEMARK_REPORT_ANNOTATION_H
#define TIDEMARK_REPORT_ANNOTATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "base/strbuf.h"
#include "profile/profile.h"
#include "aggregate/source_lines.h"
#include "aggregate/source_text.h"

struct annotate_options {
    const char *where; /* a function, a file or FILE:LINE; NULL: files, and the lines with most */
    int metric;        /* position in METRIC_CHOICE */
    bool with[METRIC_CHOICES]; /* further columns; none set: as many as there is room for */
    size_t context;            /* lines around those with figures; SIZE_MAX: the usual */
    size_t top;                /* files, and lines, where no place is given */
    bool full;                 /* the whole file */
    bool callees;              /* name the callee of a line whose text does not */
    bool hide_std;
    const char *filter;               /* the filter's text; NULL: none */
    const bool *passes;               /* by node: the paths that pass the filter; NULL: all */
    const struct source_paths *paths; /* may be NULL */
    bool colour, utf8;
    size_t columns; /* REPORT_LEAST_COLUMNS at least */
};

struct annotation {
    const struct profile *profile;
    const struct annotate_options *options;
    struct source_lines lines;
    const struct source_file *file; /* NULL: no place was asked for */
    struct source_text text;        /* of the file */
    char *function;                 /* the name that was found; NULL: no function was asked for */
    uint32_t wanted;                /* of FILE:LINE; else 0 */
    uint32_t first, last;           /* lines of the file that are shown, if not folded away */
    bool exact;                     /* lines without figures are shown as well: nothing is folded */
};

/* 0; -ENOENT, -EINVAL (ambiguous), -ENODATA (not recorded) or -ENOMEM with a sentence in `why`. The
 * profile and the options must live on. */
int annotate_open(struct annotation *annotation, const struct profile *profile,
                  const struct annotate_options *options, struct strbuf *why);
void annotate_close(struct annotation *annotation);

/* 0 or -errno of the stream. */
int annotation_text(FILE *out, const struct annotation *annotation);
int annotation_json(FILE *out, const struct annotation *annotation);

/* The file's path from the directory in which the program was started. Not made safe. */
const char *annotate_name(const struct annotation *annotation, const struct source_file *file);

/* The `max` files (lines) with most of the metric, exclusive before inclusive; returns how many
 * were written. */
size_t annotate_top_files(const struct annotation *annotation, const struct source_file **top,
                          size_t max);
size_t annotate_top_lines(const struct annotation *annotation, const struct source_line **top,
                          size_t max);

#endif
