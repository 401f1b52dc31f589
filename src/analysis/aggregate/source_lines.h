/* Source lines and files, by what is asked for on them and what is asked for through them.
 *
 *   path   main.c:42 → mesh.c:118 → mesh.c:77 → stl_vector.h:1281 → new_allocator.h:137
 *          │           │            │           └ hidden (a library's)
 *          │           │            └ exclusive: the innermost frame that is not hidden
 *          └───────────┴──────────┴ inclusive: every line on the path, each once
 *
 * Every frame counts at its own file and line, inlined ones too. A path of hidden frames only
 * counts for its innermost one; a path whose innermost visible frame has no file is exclusive to no
 * line.
 *
 * Invariants, of metrics that add up: exclusive sums of all lines are `placed`, at most `totals`;
 * inclusive sums of a line or file are at least its exclusive ones and at most `totals`; a file's
 * exclusive sums are those of its lines, its inclusive ones at most the sum of its lines' (a path
 * may pass through several). Of extremes (the largest block, …) a line has the most extreme of its
 * paths; unknown: of none.
 *
 * Made for text and web alike: reads struct profile and the metric table, shows nothing. */
#ifndef TIDEMARK_AGGREGATE_SOURCE_LINES_H
#define TIDEMARK_AGGREGATE_SOURCE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "profile/profile.h"
#include "aggregate/call_sites.h"
#include "aggregate/metric_choice.h"

#define LINES_NONE UINT32_MAX

struct line_sums {
    struct figure exclusive[METRIC_CHOICES], inclusive[METRIC_CHOICES];
};
struct source_line {
    uint32_t file;   /* index into files */
    uint32_t number; /* 0: the file is known, the line is not */
    uint32_t of;     /* index of profile->lines: one frame of this line, for its function */
    struct line_sums sums;
    /* The frame right below this line, hidden or not, through which most of the metric goes that
     * source_lines_init() was given, and how much. A value that is not positive: there is none, the
     * allocating call stands in the line, the metric is not known or does not add up. */
    struct frame callee;
    struct figure callee_value;
};
struct source_file {
    const char *path;    /* as recorded; of several spellings, one */
    char *name;          /* without ".", ".." and doubled slashes */
    size_t first, count; /* into lines */
    struct line_sums sums;
};
struct source_lines {
    struct source_line *lines; /* by file and number; only those with any metric */
    size_t line_count;
    struct source_file *files; /* by name */
    size_t file_count;
    uint32_t *line_of; /* by index of profile->lines: index into lines, LINES_NONE */
    struct figure totals[METRIC_CHOICES], placed[METRIC_CHOICES];
};

/* `hidden` (by index of profile->lines; NULL: none): frames that are passed over. `passes` (by
 * node; NULL: all): call paths that count. `metric`: the one that callees are chosen by. 0 or
 * -ENOMEM. One pass over the call tree, in which recursion costs nothing more. */
int source_lines_init(struct source_lines *lines, const struct profile *profile, const bool *hidden,
                      const bool *passes, size_t metric);
void source_lines_release(struct source_lines *lines);

/* The line of a file; NULL: nothing is known of it. */
const struct source_line *source_lines_find(const struct source_lines *lines,
                                            const struct source_file *file, uint32_t number);

/* A path without ".", "..", "//": by its letters, symbolic links are not looked at. malloc'd. */
char *source_lines_path_without_detours(const char *path);

#endif
