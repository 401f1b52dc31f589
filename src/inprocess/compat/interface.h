/* What the drop-in libraries share. They live in programs that link them; the part that runs inside
 * malloc is in counters/observers.c and memprofile.c (no malloc that would be told of, no stdio),
 * the rest is called by the program like any library.
 *
 * malloc_count.c, stack_count.c, malloc_profile.c and memprofile.c each serve the interface of that
 * name, over counters/. operations.c has malloc_count's log and check. memprofile.c writes lines of
 * time and size by the original's rule; a test replays that rule beside it. */
#ifndef TIDEMARK_COMPAT_INTERFACE_H
#define TIDEMARK_COMPAT_INTERFACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "counters/line.h"
#include "counters/observers.h"

/* ---- by_locale.c ---- */

void line_add_by_locale(struct line *line, int64_t number);
/* "exiting, total: 12,582,912, peak: 4,194,304, current: 0"; or that nothing was counted, and
 * why. */
void line_add_totals_by_locale(struct line *line, const struct count_figures *figures);

/* ---- memprofile.c ---- */

struct tidemark_memprofile;

/* How a profile learns what is current, and what else a line has behind seconds and bytes. */
struct memprofile_source {
    size_t (*current)(void);
    /* Adds to a line, NULL: nothing. At most 100 bytes; returns how many. */
    size_t (*details)(char *line, size_t bytes);
};

struct tidemark_memprofile *memprofile_open(const char *path, double time_resolution,
                                            size_t size_resolution, const char *function,
                                            const void *stack_base,
                                            const struct memprofile_source *source);
/* Something has changed: writes a line if it is time to. */
void memprofile_changed(struct tidemark_memprofile *profile, size_t current);
/* A line of the program's own, by the rule of all others. */
void memprofile_output(struct tidemark_memprofile *profile, double seconds, size_t bytes);
/* An empty line, behind one of what has been so far. */
void memprofile_break(struct tidemark_memprofile *profile);
/* The file, for lines of the caller's own; NULL: there is no memory. */
FILE *memprofile_stream(struct tidemark_memprofile *profile);
double memprofile_seconds(const struct tidemark_memprofile *profile);
void memprofile_close(struct tidemark_memprofile *profile);

#endif
