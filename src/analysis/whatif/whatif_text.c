/* The comparison of whatif as text: tables with one row per alternative, bars for the memory, and
 * notes. Each table is a function that adds its headings and then its rows, in columns of
 * fixed widths: the name and up to five figures. */
#include <stdlib.h>
#include <string.h>
#include "base/human.h"
#include "model/figure_human.h"
#include "base/text.h"
#include "base/text_table.h"
#include "format/names.h"
#include "whatif/whatif.h"

enum { NAME_LEAST = 9, NAME_MOST = 34, FIGURE = 12, LABEL = 12, SPAN = 23, FIGURES = 5 };

struct whatif_page {
    struct strbuf *out;
    const struct whatif *whatif;
    const struct style *style;
    size_t name_columns;
    struct text_column columns[1 + FIGURES];
    struct text_row row; /* the next cell */
};

/* ---- Pieces -------------------------------------------------------------------------------- */

/* Of a path the last component is enough; its settings stay. */
static void whatif_text_add_shown_name(struct strbuf *out, const char *name)
{
    const char *space = strrchr(name, ' ');
    const char *library = space ? space + 1 : name;
    struct strbuf shown = STRBUF_INIT;

    strbuf_add(&shown, name, (size_t)(library - name));
    strbuf_add_string(&shown, name_base(library));
    text_add_safe_string(out, shown.data);
    strbuf_release(&shown);
}

static void whatif_text_add_name(struct whatif_page *page, const char *name)
{
    struct strbuf safe = STRBUF_INIT, cut = STRBUF_INIT;

    whatif_text_add_shown_name(&safe, name);
    text_add_cut(&cut, safe.data, page->name_columns);
    text_row_add(&page->row, cut.data);
    strbuf_release(&safe);
    strbuf_release(&cut);
}

static void whatif_text_add_title(struct whatif_page *page, const char *title, const char *rest)
{
    strbuf_add_char(page->out, '\n');
    style_add(page->out, page->style, TONE_TITLE, title);
    strbuf_addf(page->out, "  %s\n", rest);
}

static void whatif_text_begin_cells(struct whatif_page *page)
{
    strbuf_add_string(page->out, "  ");
    page->row = text_row_begin(page->out, page->columns);
}

static void whatif_text_add_heads(struct whatif_page *page, const char *const *heads)
{
    whatif_text_begin_cells(page);
    style_begin(page->out, page->style, TONE_DIM);
    text_row_add(&page->row, "");
    for (size_t i = 0; i < FIGURES; i++)
        text_row_add(&page->row, heads[i]);
    style_end(page->out, page->style);
    strbuf_add_char(page->out, '\n');
}

typedef struct human (*humaniser)(struct figure value);

static void whatif_text_add_value(struct whatif_page *page, struct figure value, humaniser humanise)
{
    text_row_add(&page->row, humanise(value).text);
}

static const char *whatif_text_span(const struct whatif_page *page,
                                    const struct whatif_figure *figure, humaniser humanise,
                                    struct strbuf *made)
{
    strbuf_reset(made);
    if (!figure_known(figure->median))
        strbuf_add_char(made, '-');
    else
        strbuf_addf(made, "%s %s %s", humanise(figure->least).text,
                    style_sign(page->style, "–", "-"), humanise(figure->most).text);
    return made->data;
}

static void whatif_text_begin_row(struct whatif_page *page, const struct whatif_row *row)
{
    whatif_text_begin_cells(page);
    whatif_text_add_name(page, row->candidate->name);
}

/* ---- Memory -------------------------------------------------------------------------------- */

static void whatif_text_add_waste(struct whatif_page *page, const struct whatif_row *row)
{
    struct strbuf text = STRBUF_INIT;
    int64_t waste;

    if (!whatif_waste(page->whatif, row, &waste)) {
        text_row_add(&page->row, "-");
        text_row_add(&page->row, "-");
        return;
    }
    strbuf_addf(&text, "%s%s", waste < 0 ? "-" : "",
                human_bytes((uint64_t)(waste < 0 ? -waste : waste)).text);
    text_row_add(&page->row, text.data);
    strbuf_reset(&text);
    if (page->whatif->peak_bytes)
        strbuf_addf(
            &text, "%s%s", waste < 0 ? "-" : "",
            human_percent((double)(waste < 0 ? -waste : waste), (double)page->whatif->peak_bytes)
                .text);
    text_row_add(&page->row, text.length ? text.data : "-");
    strbuf_release(&text);
}

static void whatif_text_add_memory(struct whatif_page *page)
{
    static const char *const heads[FIGURES] = {"peak", "waste", "in percent", "at request",
                                               "at the end"};
    struct strbuf text = STRBUF_INIT;

    whatif_text_add_title(page, "Memory", "resident, above what the driver takes");
    whatif_text_add_heads(page, heads);
    for (size_t i = 0; i < page->whatif->row_count; i++) {
        const struct whatif_row *row = &page->whatif->rows[i];
        whatif_text_begin_row(page, row);
        whatif_text_add_value(page, row->peak_bytes.median, figure_human_bytes);
        whatif_text_add_waste(page, row);
        whatif_text_add_value(page, row->at_peak_bytes.median, figure_human_bytes);
        whatif_text_add_value(page, row->end_bytes.median, figure_human_bytes);
        strbuf_add_char(page->out, '\n');
    }
    strbuf_release(&text);
}

static uint64_t whatif_text_highest_peak(const struct whatif *whatif)
{
    struct figure highest = figure_of(whatif->peak_bytes ? whatif->peak_bytes : 1);

    for (size_t i = 0; i < whatif->row_count; i++)
        highest = figure_max(highest, whatif->rows[i].peak_bytes.median);
    return figure_or(highest, 1);
}

static void whatif_text_add_bar(struct whatif_page *page, uint64_t value, uint64_t whole)
{
    size_t room = page->style->columns - page->name_columns - 4 - FIGURE;
    size_t columns = (size_t)((double)value / (double)whole * (double)room + 0.5);

    style_begin(page->out, page->style, TONE_AREA);
    strbuf_add_repeated(page->out, style_sign(page->style, "█", "#"), columns);
    style_end(page->out, page->style);
}

static void whatif_text_add_bars(struct whatif_page *page)
{
    uint64_t whole = whatif_text_highest_peak(page->whatif);

    whatif_text_add_title(page, "Peak", "requested, and resident under each");
    whatif_text_begin_cells(page);
    text_row_add(&page->row, "requested");
    whatif_text_add_value(page, figure_of(page->whatif->peak_bytes), figure_human_bytes);
    strbuf_add_string(page->out, "  ");
    whatif_text_add_bar(page, page->whatif->peak_bytes, whole);
    strbuf_add_char(page->out, '\n');
    for (size_t i = 0; i < page->whatif->row_count; i++) {
        const struct whatif_row *row = &page->whatif->rows[i];
        whatif_text_begin_row(page, row);
        whatif_text_add_value(page, row->peak_bytes.median, figure_human_bytes);
        strbuf_add_string(page->out, "  ");
        uint64_t peak;
        if (figure_get(row->peak_bytes.median, &peak))
            whatif_text_add_bar(page, peak, whole);
        strbuf_add_char(page->out, '\n');
    }
}

/* ---- Over the stream ----------------------------------------------------------------------- */

static uint64_t whatif_text_highest_reading(const struct whatif *whatif)
{
    struct figure highest = figure_of(1);

    for (size_t i = 0; i < whatif->row_count; i++)
        for (unsigned k = 0; k < WHATIF_READINGS; k++)
            highest = figure_max(highest, whatif->rows[i].readings[k]);
    return figure_or(highest, 1);
}

static void whatif_text_add_readings(struct whatif_page *page, const struct figure *readings,
                                     uint64_t highest)
{
    uint64_t known[WHATIF_READINGS];

    for (unsigned k = 0; k < WHATIF_READINGS; k++)
        known[k] = figure_or(readings[k], 0); /* a gap in the line */
    style_add_spark(page->out, page->style, known, WHATIF_READINGS, highest);
}

static void whatif_text_add_course(struct whatif_page *page)
{
    uint64_t highest = whatif_text_highest_reading(page->whatif);
    struct strbuf rest = STRBUF_INIT;

    strbuf_addf(&rest, "resident in %d readings, evenly over time; the highest is %s",
                WHATIF_READINGS, human_bytes(highest).text);
    whatif_text_add_title(page, "Course", rest.data);
    strbuf_release(&rest);
    for (size_t i = 0; i < page->whatif->row_count; i++) {
        whatif_text_begin_row(page, &page->whatif->rows[i]);
        strbuf_add_string(page->out, "  ");
        whatif_text_add_readings(page, page->whatif->rows[i].readings, highest);
        strbuf_add_char(page->out, '\n');
    }
}

/* ---- Time ---------------------------------------------------------------------------------- */

static void whatif_text_add_per_call(struct whatif_page *page, const struct whatif_row *row)
{
    struct strbuf text = STRBUF_INIT;

    if (!figure_known(row->cpu_ns.median))
        strbuf_add_char(&text, '-');
    else
        strbuf_addf(&text, "%.1f ns",
                    figure_double(row->cpu_ns.median) / (double)page->whatif->call_count);
    text_row_add(&page->row, text.data);
    strbuf_release(&text);
}

static void whatif_text_add_time(struct whatif_page *page)
{
    static const char *const heads[FIGURES] = {"CPU", "a call", "in calls", "wall", "faults"};
    struct strbuf rest = STRBUF_INIT;

    strbuf_addf(&rest, "CPU without the driver's own %s%s; in calls: estimated",
                figure_human_duration(page->whatif->driver.cpu_ns.median).text,
                page->whatif->options.touch == WHATIF_TOUCH_NONE ? "" : ", with touching");
    whatif_text_add_title(page, "Time", rest.data);
    strbuf_release(&rest);
    whatif_text_add_heads(page, heads);
    for (size_t i = 0; i < page->whatif->row_count; i++) {
        const struct whatif_row *row = &page->whatif->rows[i];
        whatif_text_begin_row(page, row);
        whatif_text_add_value(page, row->cpu_ns.median, figure_human_duration);
        whatif_text_add_per_call(page, row);
        whatif_text_add_value(page, row->calls_ns, figure_human_duration);
        whatif_text_add_value(page, row->wall_ns.median, figure_human_duration);
        whatif_text_add_value(page, row->faults.median, figure_human_count);
        strbuf_add_char(page->out, '\n');
    }
}

static void whatif_text_add_calls(struct whatif_page *page)
{
    _Static_assert((int)WHATIF_CALLS == FIGURES, "a column for each kind of call");
    static const char *const heads[FIGURES] = {"malloc", "calloc", "aligned", "realloc", "free"};
    struct strbuf text = STRBUF_INIT;

    whatif_text_add_title(page, "Calls",
                          "median / 99th percentile of single calls, in ns, without touching");
    whatif_text_add_heads(page, heads);
    for (size_t i = 0; i < page->whatif->row_count; i++) {
        const struct whatif_row *row = &page->whatif->rows[i];
        whatif_text_begin_row(page, row);
        for (unsigned k = 0; k < WHATIF_CALLS; k++) {
            strbuf_reset(&text);
            if (!figure_known(row->calls[k].median_ns))
                strbuf_add_char(&text, '-');
            else
                strbuf_addf(&text, "%llu/%llu",
                            (unsigned long long)figure_or(row->calls[k].median_ns, 0),
                            (unsigned long long)figure_or(row->calls[k].p99_ns, 0));
            text_row_add(&page->row, text.data);
        }
        strbuf_add_char(page->out, '\n');
    }
    strbuf_release(&text);
}

static void whatif_text_add_ranges(struct whatif_page *page)
{
    struct strbuf text = STRBUF_INIT;

    if (page->whatif->options.rounds < 2)
        return;
    strbuf_addf(&text, "least %s most of %u rounds", style_sign(page->style, "–", "-"),
                page->whatif->options.rounds);
    whatif_text_add_title(page, "Ranges", text.data);
    for (size_t i = 0; i < page->whatif->row_count; i++) {
        const struct whatif_row *row = &page->whatif->rows[i];
        whatif_text_begin_row(page, row);
        strbuf_add_string(page->out, "  peak ");
        text_cell_add(page->out,
                      whatif_text_span(page, &row->peak_bytes, figure_human_bytes, &text),
                      (struct text_column){NULL, SPAN, TEXT_LEFT, 0});
        strbuf_add_string(page->out, "  CPU ");
        strbuf_add_string(page->out,
                          whatif_text_span(page, &row->cpu_ns, figure_human_duration, &text));
        strbuf_add_char(page->out, '\n');
    }
    strbuf_release(&text);
}

/* ---- Head and notes ------------------------------------------------------------------------ */

static void whatif_text_add_wrapped(struct whatif_page *page, const char *label, const char *string)
{
    text_cell_add(page->out, label, (struct text_column){NULL, LABEL, TEXT_LEFT, 2});
    text_add_wrapped(page->out, string, LABEL + 2, page->style->columns);
    strbuf_add_char(page->out, '\n');
}

static void whatif_text_add_head(struct whatif_page *page, const char *trace_name)
{
    static const char *const names[WHATIF_CALLS] = {"malloc", "calloc", "aligned", "realloc",
                                                    "free"};
    const struct whatif *whatif = page->whatif;
    struct strbuf text = STRBUF_INIT;

    text_add_safe_string(&text, trace_name);
    style_add(page->out, page->style, TONE_TITLE, text.data);
    strbuf_addf(page->out, "  under %zu allocator%s, %u round%s each\n", whatif->row_count,
                whatif->row_count == 1 ? "" : "s", whatif->options.rounds,
                whatif->options.rounds == 1 ? "" : "s");
    strbuf_reset(&text);
    strbuf_addf(&text, "%s calls:", human_exact(whatif->call_count).text);
    for (unsigned i = 0; i < WHATIF_CALLS; i++)
        if (whatif->call_counts[i])
            strbuf_addf(&text, " %s %s,", human_count(whatif->call_counts[i]).text, names[i]);
    strbuf_truncate(&text, text.length - 1);
    whatif_text_add_wrapped(page, "stream", text.data);
    strbuf_reset(&text);
    strbuf_addf(&text, "%s at most, in %s blocks; %s at the end",
                human_bytes(whatif->peak_bytes).text, human_count(whatif->peak_blocks).text,
                human_bytes(whatif->end_bytes).text);
    whatif_text_add_wrapped(page, "requested", text.data);
    strbuf_reset(&text);
    strbuf_addf(&text, "%s", human_count(whatif->threads).text);
    if (whatif->threads > 1)
        strbuf_addf(&text, ", which freed %s blocks of one another",
                    human_count(whatif->crossing_count).text);
    whatif_text_add_wrapped(page, "threads", text.data);
    strbuf_release(&text);
}

static void whatif_text_add_left_out(struct whatif_page *page)
{
    const struct whatif *whatif = page->whatif;
    const struct {
        uint64_t count;
        const char *what;
    } parts[] = {
        {whatif->unknown_frees, "frees of blocks whose birth is not in the trace"},
        {whatif->unknown_reallocs, "reallocs of such blocks (run as malloc)"},
        {whatif->failed_calls, "calls that got no memory"},
        {whatif->stale_frees,
         "frees that came late (run when another block came to their address)"},
        {whatif->mappings, "calls of mmap, munmap, mprotect, madvise and brk"},
        {whatif->lost_events, "events that the recording lost"},
        {whatif->nonsense, "records that make no sense"},
        {whatif->damaged_blocks, "damaged parts of the trace"},
    };
    struct strbuf text = STRBUF_INIT;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].count)
            strbuf_addf(&text, "%s%s %s", text.length ? "; " : "", human_count(parts[i].count).text,
                        parts[i].what);
    if (text.length)
        whatif_text_add_wrapped(page, "left out", text.data);
    strbuf_reset(&text);
    if (whatif->implied_frees) {
        strbuf_addf(&text,
                    "%s frees that are not in the trace, where another block came to an "
                    "address",
                    human_count(whatif->implied_frees).text);
        whatif_text_add_wrapped(page, "added", text.data);
    }
    strbuf_release(&text);
}

static void whatif_text_add_failures(struct whatif_page *page)
{
    struct strbuf text = STRBUF_INIT;
    bool any = false;

    for (size_t i = 0; i < page->whatif->row_count; i++) {
        const struct whatif_row *row = &page->whatif->rows[i];
        strbuf_reset(&text);
        if (row->failure && row->reached > 0)
            strbuf_addf(&text, "after %.0f %% of the stream: ", 100 * row->reached);
        if (row->failure)
            strbuf_addf(&text, "%s%s", row->failure, row->rounds ? " (not in every round)" : "");
        else if (figure_positive(row->failed_calls.median))
            strbuf_addf(&text, "%s calls got no memory",
                        figure_human_count(row->failed_calls.median).text);
        if (!text.length)
            continue;
        if (!any)
            whatif_text_add_title(page, "Failures",
                                  "figures above are of runs that came to the end");
        any = true;
        whatif_text_begin_row(page, row);
        strbuf_add_string(page->out, "  ");
        text_add_wrapped(page->out, text.data, page->name_columns + 4, page->style->columns);
        strbuf_add_char(page->out, '\n');
    }
    strbuf_release(&text);
}

static const char *whatif_text_order_note(enum whatif_order order)
{
    return order == WHATIF_STRICT ? "Every call waits for the one recorded before it, so the time "
                                    "on the clock says nothing. "
           : order == WHATIF_FREE
               ? "Threads run as they can, so peaks of different threads may "
                 "meet that never met. "
               : "Threads keep so near that what is requested at once differs from "
                 "the recording by a hundredth of its peak or one block. ";
}

static const char *whatif_text_touch_note(enum whatif_touch touch)
{
    return touch == WHATIF_TOUCH_ALL     ? "Each page of a block is written once (--touch). "
           : touch == WHATIF_TOUCH_FIRST ? "Only the first byte of a block is written. "
                                         : "No block is written. ";
}

static void whatif_text_add_notes(struct whatif_page *page)
{
    const struct whatif *whatif = page->whatif;
    struct strbuf text = STRBUF_INIT;

    strbuf_addf(&text,
                "Only the calls are run, with nothing between them: times are the allocator's own, "
                "with warm caches. %s%sWaste is the peak less what was requested then, in whole "
                "pages.",
                whatif_text_touch_note(whatif->options.touch),
                whatif->threads > 1 ? whatif_text_order_note(whatif->options.order) : "");
    strbuf_add_char(page->out, '\n');
    style_add_wrapped(page->out, page->style, TONE_DIM, text.data, 0);
    strbuf_release(&text);
}

static size_t whatif_text_widest_name(const struct whatif *whatif, const struct style *style)
{
    size_t columns = NAME_LEAST, most = NAME_MOST;
    size_t figures = FIGURES * FIGURE + 2;

    if (style->columns < figures + most)
        most = style->columns > figures + NAME_LEAST ? style->columns - figures : NAME_LEAST;
    for (size_t i = 0; i < whatif->row_count; i++) {
        struct strbuf shown = STRBUF_INIT;
        whatif_text_add_shown_name(&shown, whatif->rows[i].candidate->name);
        if (text_width(shown.data) > columns)
            columns = text_width(shown.data);
        strbuf_release(&shown);
    }
    return columns < most ? columns : most;
}

void whatif_text(struct strbuf *out, const struct whatif *whatif, const struct style *style,
                 const char *trace_name)
{
    struct whatif_page page = {.out = out,
                               .whatif = whatif,
                               .style = style,
                               .name_columns = whatif_text_widest_name(whatif, style)};

    page.columns[0] = (struct text_column){NULL, page.name_columns, TEXT_LEFT, 0};
    for (size_t i = 1; i <= FIGURES; i++)
        page.columns[i] = (struct text_column){NULL, FIGURE, TEXT_RIGHT, 0};
    whatif_text_add_head(&page, trace_name);
    whatif_text_add_left_out(&page);
    whatif_text_add_memory(&page);
    whatif_text_add_bars(&page);
    whatif_text_add_course(&page);
    whatif_text_add_time(&page);
    whatif_text_add_calls(&page);
    whatif_text_add_ranges(&page);
    whatif_text_add_failures(&page);
    whatif_text_add_notes(&page);
}
