/* The parts of the report for people. Inside the room. */
#ifndef TIDEMARK_REPORT_TEXT_H
#define TIDEMARK_REPORT_TEXT_H

#include "base/human.h"
#include "base/strbuf.h"
#include "profile/profile.h"
#include "report/call_sites.h"
#include "report/order.h"
#include "report/report.h"
#include "present/style.h"

enum { TEXT_LABEL_COLUMNS = 15 };

struct text {
    struct style style;
    struct strbuf out;
    const struct profile *profile;
    const struct report_options *options;
    struct call_sites sites;
    size_t figure_columns; /* left of the names, in the section of sites that is being written */
};

/* ---- Pieces (text_parts.c) ----------------------------------------------------------------- */

/* "  label        " of the head. */
void part_label(struct text *text, const char *label);
/* What stands behind it, with a newline. */
void part_wrapped(struct text *text, const char *string);
/* An empty line, the title of a section and, if not NULL, what stands behind it. */
void part_title(struct text *text, const char *title, const char *rest);
/* A dim line, or several, below a title. */
void part_note(struct text *text, const char *string);
/* The rest of a line whose first `used` columns are taken: name, and place at the right edge. */
void part_frame(struct text *text, struct frame frame, size_t used, bool strong);
/* part_frame() for the frame that the path of a node is listed under. */
void part_path(struct text *text, uint32_t node, size_t used, bool strong);
/* Groups nodes that part_path() would show alike: by index of `nodes` a group, numbered as they come;
 * *groups is how many. To be freed; NULL: out of memory. */
uint32_t *part_groups(const struct text *text, const uint32_t *nodes, size_t count, size_t *groups);
/* Ends a line; spaces at its end go. */
void part_end(struct text *text);
/* A figure, right-aligned in `columns`. */
void part_figure(struct text *text, const char *figure, size_t columns);
void part_cell(struct text *text, const char *figure, size_t columns);
/* The same, left-aligned and cut; made safe for a terminal. */
void part_name(struct text *text, const char *name, size_t columns);
/* From `begin` to `end` of a scale of `whole` that is `columns` wide; what is above 0 is seen. With
 * no newline. */
void part_bar(struct text *text, double begin, double end, double whole, size_t columns);
/* A row of columns of eighths. */

/* "-" for UINT64_MAX. */
struct human known_bytes(uint64_t bytes);
struct human known_count(uint64_t count);
struct human known_duration(uint64_t ns);
struct human signed_bytes(int64_t bytes);

/* ---- Sections ------------------------------------------------------------------------------ */

/* Each adds itself, or in full says why it is not there. 0 or -ENOMEM. */
int section_sites(struct text *text);
int section_functions(struct text *text);
int section_tree(struct text *text);
int section_memory(struct text *text);
int section_peaks(struct text *text);
int section_paths(struct text *text);
int section_sizes(struct text *text);
int section_lifetimes(struct text *text);
int section_reallocs(struct text *text);
int section_threads(struct text *text);
int section_stacks(struct text *text);
int section_globals(struct text *text);
int section_residency(struct text *text);
int section_regions(struct text *text);

/* Short forms for the overview: nothing where there is nothing to say. */
void overview_ledger(struct text *text);
void overview_peaks(struct text *text);
void overview_regions(struct text *text);

#endif
