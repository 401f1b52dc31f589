/* The first screen of the report: whose the resident memory is, who held most at the peak, and what
 * is wrong, three lines each, or as many as 24 lines have room for. All of it comes again below,
 * whole.
 *
 *   Resident  407 MiB after 2.10 s
 *      353 MiB  86.7 %  mapping    ggc_internal_alloc ← alloc_page   ggc-page.cc:798
 *   Held at the peak  18.5 MiB
 *     4.10 MiB  22.2 %  parse_document                               src/parser.c:123
 *   Insights
 *     severe   my_malloc ← parse_header loses 4.76 MiB in 5,000 blocks …  parser.c:88 */
#include "report/report_text.h"

#include <errno.h>
#include "aggregate/facts.h"
#include "aggregate/metric_choice.h"
#include "insights/insight.h"
#include "model/figure_human.h"

enum { SCREEN_LINES = 24, TITLE_LINES = 2 }; /* a title has an empty line in front */
enum { FIRST_ROWS = 3, FIGURE = 10, SHARE = 7, GAP = 2, FIRST_USED = 1 + FIGURE + SHARE + 2 * GAP };
#define FIRST_SHARE 0.75 /* rows with so much of all answer whose it is */
static const struct text_column report_text_first_columns[] = {
    {NULL, FIGURE, TEXT_RIGHT, 1}, {NULL, SHARE, TEXT_RIGHT, GAP}, {NULL, 0, TEXT_LEFT, GAP}};

/* ---- Holders ------------------------------------------------------------------------------- */

static void report_text_first_add_holder(struct report_text *text, const struct site_group *group,
                                         double whole)
{
    struct figure value = call_sites_group_value(group, 0);
    report_part_row(text, report_text_first_columns);
    report_part_next_figure(text, figure_human_bytes(value).text);
    report_part_next(text, human_percent(figure_double(value), whole).text);
    report_part_next(text, "");
    report_part_frame(text, group->frame, FIRST_USED, false);
}

/* One line for all that run-times asked for as they started. */
static void report_text_first_add_startup(struct report_text *text, double whole)
{
    struct figure value = startup_sum(&text->startup, text->profile, metrics[0].row);
    struct strbuf name = STRBUF_INIT;
    if (!figure_positive(value))
        return;
    style_begin(&text->out, &text->style, TONE_DIM);
    report_part_row(text, report_text_first_columns);
    report_part_next(text, figure_human_bytes(value).text);
    report_part_next(text, human_percent(figure_double(value), whole).text);
    startup_add_name(&name, &text->startup);
    strbuf_add_string(&name, " (--startup)");
    report_part_next(text, "");
    report_part_name(text, name.data, text->style.columns - FIRST_USED);
    style_end(&text->out, &text->style);
    report_part_end(text);
    strbuf_release(&name);
}

/* What the call sites after the first `shown` have, without start-up; *others is their number. */
static double report_text_first_others(const struct report_text *text, size_t shown, size_t *others)
{
    const struct site_group *top[FIRST_ROWS];
    size_t count = call_sites_top(&text->sites, 0, top, FIRST_ROWS);
    double left = figure_double(text->sites.totals[0]);
    for (size_t i = 0; i < shown && i < count; i++)
        left -= figure_double(call_sites_group_value(top[i], 0));
    *others = count > shown ? count - shown : 0;
    return left;
}

/* Do so many rows show who held most? */
static bool report_text_first_lead(const struct report_text *text, size_t rows)
{
    double whole = figure_double(text->profile->program.total.at_peak_bytes);
    size_t others;
    return !(report_text_first_others(text, rows, &others) > (1 - FIRST_SHARE) * whole);
}

static size_t report_text_first_holders_needed(const struct report_text *text)
{
    size_t needed = 1;
    while (needed <= FIRST_ROWS && !report_text_first_lead(text, needed))
        needed++;
    return needed > FIRST_ROWS ? 1 : needed;
}

/* One line for all other call sites, if the rows above do not show who held most. */
static void report_text_first_add_others(struct report_text *text, size_t shown, double whole)
{
    struct strbuf name = STRBUF_INIT;
    size_t others;
    double bytes = report_text_first_others(text, shown, &others);
    if (!others || report_text_first_lead(text, shown))
        return;
    strbuf_addf(&name, "%zu other%s", others, others == 1 ? "" : "s");
    style_begin(&text->out, &text->style, TONE_DIM);
    report_part_row(text, report_text_first_columns);
    report_part_next(text, human_bytes((uint64_t)bytes).text);
    report_part_next(text, human_percent(bytes, whole).text);
    report_part_next(text, name.data);
    style_end(&text->out, &text->style);
    report_part_end(text);
    strbuf_release(&name);
}

static void report_text_first_holders(struct report_text *text, size_t most)
{
    const struct site_group *top[FIRST_ROWS];
    struct figure whole = text->profile->program.total.at_peak_bytes;
    struct strbuf rest = STRBUF_INIT;
    if (!figure_positive(whole) || !most)
        return;
    size_t count = call_sites_top(&text->sites, 0, top, FIRST_ROWS);
    strbuf_addf(&rest, "%s by call site", figure_human_bytes(whole).text);
    report_part_title(text,
                      profile_get(text->profile, PROFILE_META_REGION) ? "Held at the program's peak"
                                                                      : "Held at the peak",
                      rest.data);
    for (size_t i = 0; i < count && i < most; i++)
        report_text_first_add_holder(text, top[i], figure_double(whole));
    report_text_first_add_others(text, most, figure_double(whole));
    report_text_first_add_startup(text, figure_double(whole));
    strbuf_release(&rest);
}

/* ---- Insights ------------------------------------------------------------------------------ */

static void report_text_first_insights(struct report_text *text, const struct insights *insights,
                                       size_t most)
{
    size_t shown = insights->count < most ? insights->count : most;
    struct strbuf rest = STRBUF_INIT;
    if (!shown)
        return;
    if (shown < insights->count)
        strbuf_addf(&rest, "%zu of %zu; ", shown, insights->count);
    strbuf_add_string(&rest, "tidemark insight has evidence and advice");
    report_part_title(text, "Insights", rest.data);
    insights_add_lines(&text->out, insights, &text->style, shown);
    strbuf_release(&rest);
}

/* ---- As many rows as a screen has ------------------------------------------------------------ */

static size_t report_text_first_lines(const struct report_text *text)
{
    size_t lines = 0;
    for (size_t i = 0; i < text->out.length; i++)
        lines += text->out.data[i] == '\n';
    return lines;
}

/* How many rows each list has, and whether owners have lines of callers, and lines on copies, huge
 * pages and swap. */
struct first_layout {
    size_t owners, holders;
    bool with_callers, with_notes;
};

/* Narrows the layout by a step: lists go down to the rows that are needed, owners before holders;
 * then owners lose their callers, and at last their notes if these are not needed. False: it cannot
 * be narrowed. */
static bool report_text_first_narrow(struct first_layout *layout, struct first_layout needed)
{
    if (layout->owners > needed.owners)
        layout->owners--;
    else if (layout->holders > needed.holders)
        layout->holders--;
    else if (layout->with_callers)
        *layout = (struct first_layout){needed.owners, FIRST_ROWS, false, true};
    else if (layout->with_notes && !needed.with_notes)
        layout->with_notes = false;
    else
        return false;
    return true;
}

bool report_first_heap_is_small(const struct report_text *text)
{
    double held = figure_double(text->profile->program.total.at_peak_bytes);
    return held < figure_double(facts_owned_by_program(text->profile)) / 10;
}

/* Adds both lists with as many rows as there is room for above `below` lines. False: there is no
 * room for the rows that are needed. */
static bool report_text_first_fit(struct report_text *text, size_t below,
                                  struct first_layout needed)
{
    struct first_layout layout = {FIRST_ROWS, FIRST_ROWS, true, true};
    size_t begun = text->out.length;
    do {
        strbuf_truncate(&text->out, begun);
        report_first_owners(text, layout.owners, layout.with_callers, layout.with_notes);
        report_text_first_holders(text, layout.holders);
        if (report_text_first_lines(text) + below <= SCREEN_LINES)
            return true;
    } while (report_text_first_narrow(&layout, needed));
    return false;
}

/* Insights but one make room for the rows that together have most of the memory, because a part of
 * these would mislead. One is there always: for it the rows and notes give way that come again
 * below. A heap that is a small part of what is resident needs no rows. */
static void report_text_first_add_lists(struct report_text *text, size_t insights)
{
    bool is_small = report_first_heap_is_small(text);
    struct first_layout needed = {report_first_owners_needed(text, FIRST_ROWS),
                                  is_small ? 0 : report_text_first_holders_needed(text), false,
                                  true};
    struct first_layout least = {1, !is_small, false, false};
    size_t begun = text->out.length, rows = insights;
    do {
        if (report_text_first_fit(text, rows ? TITLE_LINES + rows : 0, needed))
            return;
        strbuf_truncate(&text->out, begun);
    } while (rows > 1 && rows--);
    report_text_first_fit(text, rows ? TITLE_LINES + rows : 0, least);
}

int report_first_screen(struct report_text *text, bool has_insights)
{
    struct insights *insights = !has_insights ? NULL
                                : text->options->hide_std
                                    ? insights_find_hiding(text->profile, text->sites.hidden)
                                    : insights_find(text->profile);
    if (has_insights && !insights)
        return -ENOMEM;
    size_t wanted = insights && insights->count < FIRST_ROWS ? insights->count : FIRST_ROWS;
    report_text_first_add_lists(text, insights ? wanted : 0);
    size_t used = report_text_first_lines(text) + TITLE_LINES;
    size_t room = used < SCREEN_LINES ? SCREEN_LINES - used : 1;
    if (insights)
        report_text_first_insights(text, insights, room < wanted ? room : wanted);
    insights_free(insights);
    return 0;
}
