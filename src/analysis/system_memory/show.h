/* The memory of a system and the mappings of a process as people and programs read them. Names are
 * made safe for terminals; what is unknown is "-" in text, null in JSON and empty in CSV. */
#ifndef TIDEMARK_SYSTEM_MEMORY_SHOW_H
#define TIDEMARK_SYSTEM_MEMORY_SHOW_H

#include <stdio.h>

#include "system_memory/processes.h"
#include "system_memory/show_columns.h"
#include "system_memory/process_maps.h"
#include "format/style.h"

struct show_options {
    struct style style;
    uint64_t top; /* rows; 0: all */
    bool bars;
    bool watched;                /* growth is a column, and the machine is told of in a line */
    struct show_columns columns; /* none: the usual ones */
};

void show_system_memory_text(FILE *out, const struct system_memory *system,
                             const struct system_memory_table *table,
                             const struct show_options *options);
void show_system_memory_csv(FILE *out, const struct system_memory_table *table,
                            const struct show_options *options);
/* 0 or -errno of writing. */
int show_system_memory_json(FILE *out, const struct system_memory *system,
                            const struct system_memory_table *table,
                            const struct show_options *options);

void show_maps_text(FILE *out, const struct maps *maps, const struct show_options *options);
void show_maps_csv(FILE *out, const struct maps *maps);
int show_maps_json(FILE *out, const struct maps *maps);

/* ---- Between these ------------------------------------------------------------------------- */

struct json;
struct text_row;

const char *show_by_name(enum system_memory_by by); /* "process" */

void show_bytes(struct text_row *row, struct figure bytes); /* the next cell */
void show_growth(struct text_row *row, double bytes);       /* "+1.2 MiB"; NAN: "-" */
/* Two blanks and a name as far as there is room: of a path its end is kept, of all else its start.
 */
void show_name(struct strbuf *line, const struct style *style, const char *name, bool is_path);
void show_line(FILE *out, struct strbuf *line); /* ends and empties it */
/* How many of `count` rows are shown: `top` (0: all), but no line "1 other" in a row's place. */
size_t show_rows(uint64_t top, size_t count);

/* Members "size_bytes", "rss_bytes" … of an object, and the columns of the same names. */
void show_json_bytes(struct json *json, const struct smaps_bytes *bytes);
void show_csv_head(FILE *out);
void show_csv_bytes(FILE *out, const struct smaps_bytes *bytes);
void show_csv_text(FILE *out, const char *text);

#endif
