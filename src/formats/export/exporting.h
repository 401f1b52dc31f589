/* What every format is given, and what several need. Inside the room. */
#ifndef TIDEMARK_EXPORT_EXPORTING_H
#define TIDEMARK_EXPORT_EXPORTING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "base/strbuf.h"
#include "export/export.h"
#include "aggregate/frames.h"
#include "profile/intern.h"

struct exporting {
    FILE *out;
    const struct profile *profile; /* of a region: its view */
    struct figure peak_ns; /* when all paths had what at_peak_bytes says: of the program, not of a
                              region */
    const struct export_options *options;
    bool *hidden; /* by line: not shown */
    bool *wanted; /* by node; NULL: all */
    struct strbuf *why;
};

/* Keeps a sentence and returns `error`. */
int export_fail(struct exporting *exporting, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Is the site's path one of those to be exported? */
static inline bool export_wants(const struct exporting *exporting, size_t site)
{
    return !exporting->wanted || exporting->wanted[profile_site_path(exporting->profile, site)];
}

/* ---- Columns ------------------------------------------------------------------------------- */

/* What was recorded, of what can be added up: the events of callgrind, the columns of tables. */
struct export_columns {
    const struct metric_row *entries[METRICS];
    size_t count;
};
/* `additive`: only what merges by sum and is no variance. */
void export_columns_init(struct export_columns *columns, const struct profile *profile,
                         bool additive);

/* The program's sum of a metric, over the paths that are exported. */
struct figure export_total(const struct exporting *exporting, const struct metric_row *metric);

/* Blocks that a path ever made, and their bytes. Files of other tools do not tell reallocations
 * apart: they are among the allocations there, and unknown for themselves. */
static inline struct figure export_blocks(const struct call_metrics *metrics)
{
    return figure_known(metrics->realloc_count) ? call_metrics_blocks(metrics)
                                                : metrics->alloc_count;
}
static inline struct figure export_bytes(const struct call_metrics *metrics)
{
    return figure_known(metrics->realloc_bytes) ? call_metrics_bytes(metrics)
                                                : metrics->alloc_bytes;
}

/* What a path had alive at the program's peak, for formats that cannot leave it out. Where its
 * bytes are not known the end stands for them: no less was ever alive. Where only the number of its
 * blocks is not known it is estimated by the path's mean size. */
struct export_level {
    uint64_t blocks, bytes;
};
struct export_level export_peak_level(const struct call_metrics *metrics);
/* Of `born`, the blocks that are both in `peak`, alive at the peak, and in `left`, never freed: as
 * many as can be, with as many bytes. Where the one has more blocks and the other more bytes, one
 * block at least is not; where no block is in neither, no byte is. */
struct export_level export_kept(struct export_level born, struct export_level peak,
                                struct export_level left);
/* So many bytes in blocks of a path's mean size: at least one, and no more than it ever made. */
uint64_t export_blocks_in(const struct call_metrics *metrics, uint64_t bytes);

/* By site: resident bytes at the highest resident peak that was looked at page by page, else at the
 * last such look. NULL: none was made. To be freed. `*time_ns` may be NULL. */
struct figure *export_resident(const struct exporting *exporting, uint64_t *time_ns);

/* ---- Frames -------------------------------------------------------------------------------- */

/* The frames of a path, innermost first, hidden ones left out (a path of hidden ones only is its
 * innermost). Valid until the next call with the same `stack`. */
struct export_stack {
    struct frame *frames;
    size_t count, capacity;
};
#define EXPORT_STACK_INIT                                                                          \
    {                                                                                              \
        NULL, 0, 0                                                                                 \
    }
void export_stack_take(struct export_stack *stack, const struct exporting *exporting,
                       uint32_t node);
void export_stack_release(struct export_stack *stack);

/* Adds the file as --source-path maps it; nothing where none is known. */
void export_add_file(struct strbuf *out, const struct exporting *exporting, const char *file);

/* The name of a frame on a line of text: what could drive a terminal is a space, what is not UTF-8
 * is U+FFFD, and `reserved` (ASCII; NULL: none) become `instead`. */
void export_add_line_name(struct strbuf *out, const struct profile *profile, struct frame frame,
                          const char *reserved, char instead);
/* Any text likewise. */
void export_add_plain(struct strbuf *out, const char *text, const char *reserved, char instead);

/* Likewise of what is listed as one function (aggregate/functions.h), by its key and a frame of
 * it. */
void export_add_key_name(struct strbuf *out, const struct profile *profile, uint32_t key,
                         struct frame frame, const char *reserved, char instead);

/* What a timeline's `requested` is of: "requested", or of another level than the heap's "mapped",
 * "requested and mapped" or "resident". */
const char *export_level_words(const struct exporting *exporting);
bool export_is_of(const struct exporting *exporting, enum memory_level level);
/* Mappings over time are known, and are no level of their own. */
bool export_has_mapped(const struct exporting *exporting);

/* The executable's name, for titles; never NULL. */
const char *export_title(const struct profile *profile);
/* A number of the meta table; 0: not there. */
uint64_t export_number(const struct profile *profile, const char *key);

/* Numbers for strings, from 1; `is_new` may be NULL. Out of memory ends the process, as in strbuf.
 */
uint32_t export_intern(struct intern *intern, const char *bytes, size_t count, bool *is_new);

/* ---- Formats ------------------------------------------------------------------------------- */

int export_pprof(struct exporting *exporting);
int export_folded(struct exporting *exporting);
int export_speedscope(struct exporting *exporting);
int export_callgrind(struct exporting *exporting);
int export_massif(struct exporting *exporting);
int export_heaptrack(struct exporting *exporting);
int export_dhat(struct exporting *exporting);
int export_perfetto(struct exporting *exporting);
int export_chrome(struct exporting *exporting);
int export_openmetrics(struct exporting *exporting);
int export_csv(struct exporting *exporting);
int export_jsonl(struct exporting *exporting);
int export_dot(struct exporting *exporting);
int export_svg(struct exporting *exporting);

#endif
