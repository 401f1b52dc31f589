/* The common parts of the drop-in libraries, which programs link. counters/observers.c and parts of
 * memprofile.c run inside malloc: no stdio, and no malloc that an observer is called for. The
 * program calls the rest like any library.
 *
 * malloc_count.c, stack_count.c, malloc_profile.c and memprofile.c each implement the interface of
 * that name with counters/. operations.c has malloc_count's log and check. memprofile.c writes
 * lines of time and size by the original's rule; a test compares it with that rule. */
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
/* "exiting, total: 12,582,912, peak: 4,194,304, current: 0"; or why nothing was counted. */
void line_add_totals_by_locale(struct line *line, const struct count_figures *figures);

/* ---- memprofile.c ---- */

struct tidemark_memprofile;

/* Gives a profile the current bytes, and further columns for its lines. */
struct memprofile_source {
    size_t (*current)(void);
    /* Adds further columns to a line, at most 100 bytes, and returns how many bytes. NULL: there
     * are none. */
    size_t (*details)(char *line, size_t bytes);
};

struct tidemark_memprofile *memprofile_open(const char *path, double time_resolution,
                                            size_t size_resolution, const char *function,
                                            const void *stack_base,
                                            const struct memprofile_source *source);
/* To be called after each change: writes a line if one is due. */
void memprofile_changed(struct tidemark_memprofile *profile, size_t current);
/* Writes a line with the program's own numbers. */
void memprofile_output(struct tidemark_memprofile *profile, double seconds, size_t bytes);
/* Writes a line of the present figures, and an empty line. */
void memprofile_break(struct tidemark_memprofile *profile);
/* The file as a stream, for the caller's own lines; NULL: no memory. */
FILE *memprofile_stream(struct tidemark_memprofile *profile);
double memprofile_seconds(const struct tidemark_memprofile *profile);
void memprofile_close(struct tidemark_memprofile *profile);

#endif
