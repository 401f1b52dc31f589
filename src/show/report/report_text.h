/* The parts of the report for people. Inside the room. */
#ifndef TIDEMARK_REPORT_REPORT_TEXT_H
#define TIDEMARK_REPORT_REPORT_TEXT_H

#include "base/human.h"
#include "base/strbuf.h"
#include "base/text_table.h"
#include "profile/profile.h"
#include "aggregate/call_sites.h"
#include "aggregate/order.h"
#include "aggregate/startup.h"
#include "report/report.h"
#include "format/style.h"

enum { TEXT_LABEL_COLUMNS = 15 };

struct report_text {
    struct style style;
    struct strbuf out;
    const struct profile *profile;
    const struct report_options *options;
    struct startup startup; /* left out of the sites; empty where start-up is listed with them */
    struct call_sites sites;
    size_t
        figure_columns; /* width left of the names, in the section of sites that is being written */
    struct text_row row; /* the next cell of the table that is being written */
};

/* ---- Pieces (report_text_parts.c) ---------------------------------------------------------- */

/* Adds "  label        " of the head. */
void report_part_label(struct report_text *text, const char *label);
/* Adds the text behind a label, and a newline. */
void report_part_wrapped(struct report_text *text, const char *string);
/* Adds an empty line, the title of a section and, if `rest` is not NULL, a text behind it. */
void report_part_title(struct report_text *text, const char *title, const char *rest);
/* Adds a dim note below a title. */
void report_part_note(struct report_text *text, const char *string);
/* Adds the rest of a line whose first `used` columns are taken: the name, and the place at the
 * right edge. */
void report_part_frame(struct report_text *text, struct frame frame, size_t used, bool strong);
/* report_part_frame() for the frame that the path of a node is listed under. */
void report_part_path(struct report_text *text, uint32_t node, size_t used, bool strong);
/* Groups nodes that report_part_path() shows alike. Returns the group of each element of `nodes`,
 * numbered in order of appearance; *groups is their number. The caller frees it; NULL: out of
 * memory. */
uint32_t *report_part_groups(const struct report_text *text, const uint32_t *nodes, size_t count,
                             size_t *groups);
/* Ends a line without spaces at its end. */
void report_part_end(struct report_text *text);
/* Adds a name at the end of a row, cut to `columns` and made safe for a terminal. */
void report_part_name(struct report_text *text, const char *name, size_t columns);
/* Add the headings of a table with a newline; begin a row; add its cells one by one. */
void report_part_headings(struct report_text *text, const struct text_column *columns,
                          size_t count);
void report_part_row(struct report_text *text, const struct text_column *columns);
void report_part_next(struct report_text *text, const char *cell);
void report_part_next_figure(struct report_text *text, const char *figure);
/* Adds a cell, made safe for a terminal and cut to the column. */
void report_part_next_name(struct report_text *text, const char *name);
/* Adds a bar from `begin` to `end` of a scale of `whole` that is `columns` wide, without a newline.
 * A bar is visible if its length is above 0. */
void report_part_bar(struct report_text *text, double begin, double end, double whole,
                     size_t columns);

/* Says how many of `count` rows are below the last one that --top shows. */
void report_part_more(struct report_text *text, size_t count);

/* Copies of the owners that `counts` is true of, in the look `sample` (NULL: none); to be freed.
 * NULL: no memory. */
struct profile_owner *
report_part_take_owners(const struct report_text *text, const struct profile_sample *sample,
                        bool (*counts)(const struct profile_owner *owner, uint32_t sample),
                        size_t *count);

/* Joins owners that are shown alike. Returns how many are left. */
size_t
report_part_group_owners(const struct report_text *text, struct profile_owner *rows, size_t count,
                         void (*join)(struct profile_owner *to, const struct profile_owner *from));

/* ---- Sections ------------------------------------------------------------------------------ */

/* Each adds a section, or a sentence why there is none. 0 or -ENOMEM. */
int report_section_sites(struct report_text *text);
int report_section_functions(struct report_text *text);
int report_section_libraries(struct report_text *text);
int report_section_tree(struct report_text *text);
/* The title of a column of --columns (a position in report_column_name()), and its value for many
 * call paths. */
const char *report_column_title(size_t position);
struct human report_column_value(const struct report_text *text, size_t position,
                                 const struct merged_metrics *merged);
int report_section_memory(struct report_text *text);
int report_section_peaks(struct report_text *text);
int report_section_paths(struct report_text *text);
int report_section_sizes(struct report_text *text);
int report_section_lifetimes(struct report_text *text);
int report_section_reallocs(struct report_text *text);
int report_section_threads(struct report_text *text);
int report_section_stacks(struct report_text *text);
int report_section_globals(struct report_text *text);
int report_section_residency(struct report_text *text);
int report_section_regions(struct report_text *text);
int report_section_types(struct report_text *text);
int report_section_fill(struct report_text *text);
int report_section_heat(struct report_text *text);
/* The second table of the section on heat; nothing where nothing is known. */
int report_text_add_page_use(struct report_text *text);
int report_section_numa(struct report_text *text);
int report_section_devices(struct report_text *text);

/* The first screen (report_text_first.c, report_text_owners.c). */
void report_first_owners(struct report_text *text, size_t most, bool with_callers, bool with_notes);
/* How many of the largest owners have most of the resident memory together; 1: more than `most`. */
size_t report_first_owners_needed(const struct report_text *text, size_t most);
/* Is the heap at the peak less than a tenth of what is resident? */
bool report_first_heap_is_small(const struct report_text *text);
int report_first_screen(struct report_text *text, bool has_insights); /* 0 or -ENOMEM */
/* Adds the head's line about a module without symbols, if its functions have most of the memory. */
void report_text_add_names(struct report_text *text);

/* Short forms for the overview; nothing where there is nothing to say. */
void report_overview_ledger(struct report_text *text);
void report_overview_peaks(struct report_text *text);
void report_overview_regions(struct report_text *text);
/* Memory of devices, a line for each space; nothing if there is none. */
void report_overview_devices(struct report_text *text);
void report_overview_owners(struct report_text *text);

/* Parts of the section about memory; nothing where the profile has no such rows. */
int report_part_owners(struct report_text *text);
void report_part_container(struct report_text *text);

#endif
