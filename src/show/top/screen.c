/* top on a terminal. All state is in one struct. Each key changes it, and the whole screen is drawn
 * anew; ncurses sends only what differs.
 *
 *   tidemark top  PROGRAM  pid 4711  still being recorded  12.3 s     [frozen]
 *   live … (+…) in … blocks, peak …, most resident …, allocations …/s
 *   chart of memory over time
 *     live   growth   rate  allocations  call site
 *   …
 *   F1 Help  F3 Search … */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>
#include "base/human.h"
#include "base/now.h"
#include "base/text.h"
#include "plot/plot.h"
#include "aggregate/facts.h"
#include "format/names.h"
#include "top/top_draw.h"
#include "top/screen.h"
#include "top/top_model.h"
#include "top/top_terminal.h"

enum {
    TICK_MS = 100,
    LEAST_FOR_CHART = 16, /* rows of a screen */
    DETAIL_DEPTH = 24,
    READING_PART = 5, /* reading takes at most 1/5 of the time */
    SEARCH_BYTES = 128
};

enum screen_mode { MODE_LIST, MODE_DETAIL, MODE_HELP };

struct screen {
    const struct top_options *options;
    struct top_model model;
    enum screen_mode mode, behind; /* behind: what help was called from */
    enum top_sort sort;
    bool ascending, frozen, typing, quit;
    bool one_of_many, leave; /* Esc goes back to all programs */
    uint64_t chosen;         /* key of a row; 0: the first */
    size_t first;            /* row at the top of the list */
    int list_at, list_rows;  /* lines of the screen that the list has */
    size_t scroll;           /* line at the top of the detail or help */
    char search[SEARCH_BYTES];
    enum plot_level level; /* of memory over time; one alone has a scale of its own */
    struct strbuf message; /* shown instead of the keys until the next key */
    double next_look;
    struct style style;
};

static double top_screen_seconds_now(void)
{
    return (double)now_monotonic_ns() / 1e9;
}

/* ---- The head ------------------------------------------------------------------------------ */

/* Green: the program is recorded, or ended well; red: it ended badly; yellow: the screen is frozen.
 */
static int top_screen_outcome_colour(const struct screen *screen)
{
    const struct profile *profile = screen->model.profile;
    bool well = profile->being_written || facts_ended_well(profile);
    return draw_colour(screen->frozen ? DRAW_YELLOW : well ? DRAW_GREEN : DRAW_RED);
}

static void top_screen_draw_state(const struct screen *screen)
{
    struct strbuf line = STRBUF_INIT, shown = STRBUF_INIT;
    top_add_state(&line, &screen->model);
    top_add_whole_parts(&shown, line.data, (size_t)COLS);
    draw_text(1, 0, A_NORMAL, shown.data);
    strbuf_release(&line);
    strbuf_release(&shown);
}

/* A line that is too long begins with the program's name, and is cut after a whole part. */
static void top_screen_draw_head(const struct screen *screen)
{
    static const char ours[] = "tidemark top  ";
    struct strbuf line = STRBUF_INIT, shown = STRBUF_INIT;
    const struct profile *profile = screen->model.profile;
    strbuf_add_string(&line, ours);
    facts_add_text(&line, profile, PROFILE_META_PROGRAM);
    strbuf_add_string(&line, "  pid ");
    facts_add_text(&line, profile, PROFILE_META_PID);
    facts_add_rank(&line, profile);
    strbuf_addf(&line, "  %s  ", figure_human_duration(screen->model.duration_ns).text);
    size_t outcome = line.length, column = text_width(line.data);
    facts_add_outcome(&line, profile);
    if (screen->frozen)
        strbuf_add_string(&line, "  [frozen]");
    size_t from = text_width(line.data) <= (size_t)COLS ? 0 : strlen(ours);
    top_add_whole_parts(&shown, line.data + from, (size_t)COLS);
    draw_text(0, 0, A_BOLD, shown.data);
    if (text_width(line.data + from) <= (size_t)COLS)
        draw_text(0, (int)(column - from), A_BOLD | top_screen_outcome_colour(screen),
                  line.data + outcome);
    strbuf_release(&line);
    strbuf_release(&shown);
    top_screen_draw_state(screen);
}

/* The plot with its axis; returns the rows it takes. */
static int top_screen_draw_chart(const struct screen *screen, int row, int rows,
                                 struct chart *chart)
{
    struct strbuf text = STRBUF_INIT;
    struct style style = screen->style;
    style.colour = screen->style.colour && has_colors();
    style.columns = (size_t)COLS;
    if (!chart_settle(chart)) {
        draw_text(row, 0, A_DIM, "no memory over time yet");
        return 1;
    }
    plot_terminal(&text, chart, &style, (size_t)rows);
    int used = draw_lines(row, rows + 2, A_NORMAL, text.data);
    strbuf_release(&text);
    return used;
}

/* A quarter of the screen; on a high screen, the rows that the list leaves free. */
static int top_screen_chart_rows(const struct screen *screen)
{
    enum { OTHERS = 9 }; /* head, heading, axis, titles, keys */
    int usual = LINES / 4 > 12 ? 12 : LINES / 4, most = LINES / 2;
    int rows = screen->model.row_count < 1000 ? (int)screen->model.row_count : 1000;
    int left = LINES - OTHERS - rows;
    return left <= usual || LINES < 40 ? usual : left < most ? left : most;
}

static int top_screen_draw_memory(const struct screen *screen, int row)
{
    if (LINES < LEAST_FOR_CHART)
        return row;
    struct chart chart = {0};
    plot_memory(&chart, screen->model.profile, screen->level);
    if (chart.count == 2)
        draw_text(row++, 2, A_DIM,
                  chart.right.title
                      ? "memory over time: a requested, b resident (scale at the right)"
                      : "memory over time: a requested, b resident");
    else if (screen->level)
        draw_text(row++, 2, A_DIM,
                  screen->level == PLOT_RESIDENT ? "resident memory over time"
                                                 : "requested memory over time");
    row += top_screen_draw_chart(screen, row, top_screen_chart_rows(screen), &chart);
    chart_release(&chart);
    return row;
}

/* ---- Callers of a site ---------------------------------------------------------------------- */

/* A single caller keeps the indent; several are indented. */
static void top_screen_add_callers(struct strbuf *out, const struct top_model *model,
                                   const struct callers *callers, uint32_t node, size_t level)
{
    for (uint32_t child = callers->nodes[node].first_child; child;
         child = callers->nodes[child].next) {
        const struct caller *caller = &callers->nodes[child];
        struct strbuf name = STRBUF_INIT;
        bool branch = caller->next || callers->nodes[node].first_child != child;
        strbuf_addf(
            out, "  %7s ",
            human_percent(figure_double(caller->value), figure_double(callers->nodes[0].value))
                .text);
        strbuf_add_repeated(out, "  ", level);
        strbuf_add_string(out, style_sign(&model->options->style, "↑ ", "^ "));
        frame_add_name(&name, model->profile, caller->frame);
        name_add_short(out, name.data, 60);
        strbuf_add_string(out, "  ");
        frame_add_place(out, model->profile, caller->frame, 50);
        strbuf_add_char(out, '\n');
        strbuf_release(&name);
        if (level < DETAIL_DEPTH)
            top_screen_add_callers(out, model, callers, child, level + branch);
    }
}

/* Callers are sorted by live bytes; if there are none, by allocations. Positions in METRIC_CHOICE.
 */
enum { METRIC_LIVE = 1, METRIC_CALLS = 2 };

/* Adds the metric that they are sorted by to `by`. */
static void top_screen_add_callers_of(struct strbuf *out, struct strbuf *by,
                                      const struct top_model *model, const struct top_row *row)
{
    struct callers callers = {0};
    bool lives = figure_positive(row->live_bytes);
    size_t metric = lives ? METRIC_LIVE : METRIC_CALLS;
    strbuf_add_string(by, lives ? "live bytes" : "allocations");
    if (!callers_build(&callers, &model->sites, &model->sites.groups[row->group], metric,
                       DETAIL_DEPTH) &&
        callers.count)
        top_screen_add_callers(out, model, &callers, 0, 0);
    callers_release(&callers);
}

/* ---- The list ------------------------------------------------------------------------------ */

static const char *const sort_names[TOP_SORTS] = {
    [TOP_LIVE] = "live",         [TOP_GROWTH] = "growth",   [TOP_RATE] = "rate",
    [TOP_COUNT] = "allocations", [TOP_BYTES] = "all bytes", [TOP_PEAK] = "at peak"};

static size_t top_screen_chosen_row(const struct screen *screen)
{
    for (size_t i = 0; i < screen->model.row_count; i++)
        if (screen->model.rows[i].key == screen->chosen)
            return i;
    return 0;
}

static void top_screen_choose(struct screen *screen, size_t row)
{
    if (!screen->model.row_count)
        return;
    row = row < screen->model.row_count ? row : screen->model.row_count - 1;
    screen->chosen = screen->model.rows[row].key;
}

static void top_screen_add_figure(struct strbuf *out, const struct screen *screen, size_t column,
                                  const char *text)
{
    top_add_figure(out, column, screen->sort, (size_t)COLS, text);
}

/* The fourth column has the figure that rows are sorted by, if no other column has it. */
static void top_screen_add_row(struct strbuf *out, const struct screen *screen,
                               const struct top_row *row)
{
    struct strbuf growth = STRBUF_INIT, rate = STRBUF_INIT;
    top_add_growth(&growth, row->growth_bytes);
    top_add_rate(&rate, row->rate);
    top_screen_add_figure(out, screen, 0, figure_human_bytes(row->live_bytes).text);
    top_screen_add_figure(out, screen, 1, growth.data);
    top_screen_add_figure(out, screen, 2, rate.data);
    top_screen_add_figure(out, screen, 3,
                          screen->sort == TOP_BYTES  ? figure_human_bytes(row->alloc_bytes).text
                          : screen->sort == TOP_PEAK ? figure_human_bytes(row->at_peak_bytes).text
                                                     : figure_human_count(row->alloc_count).text);
    strbuf_add_string(out, "  ");
    strbuf_release(&growth);
    strbuf_release(&rate);
    size_t used = top_figures_shown((size_t)COLS) * TOP_FIGURE + 2, columns = (size_t)COLS;
    size_t room = columns > used + 5 ? columns - used : 5;
    size_t place = columns < used + TOP_LEAST_FOR_SITE ? 0 : text_width(row->place);
    place = place > room / 2 ? room / 2 : place;
    size_t before = text_width(out->data);
    const struct style plain = {false, screen->model.options->style.utf8, columns};
    top_add_site(out, row, &plain, room - place - (place ? 2 : 0));
    if (!place)
        return;
    size_t width = text_width(out->data) - before;
    strbuf_add_repeated(out, " ", room - place > width ? room - place - width : 1);
    text_add_cut(out, row->place, place);
}

/* Red: growth; green: shrinking. Narrow terminals lack the column. */
static void top_screen_colour_growth(const struct screen *screen, int at, const struct top_row *row)
{
    struct strbuf before = STRBUF_INIT, growth = STRBUF_INIT;
    if (isnan(row->growth_bytes) || row->growth_bytes == 0)
        return;
    top_add_growth(&growth, row->growth_bytes);
    top_screen_add_figure(&before, screen, 0, "");
    size_t column = text_width(before.data);
    top_screen_add_figure(&before, screen, 1, growth.data);
    if (text_width(before.data) > column)
        draw_text(at, (int)column, draw_colour(row->growth_bytes > 0 ? DRAW_RED : DRAW_GREEN),
                  before.data + before.length - (text_width(before.data) - column));
    strbuf_release(&before);
    strbuf_release(&growth);
}

static void top_screen_draw_row(const struct screen *screen, int at, const struct top_row *row,
                                bool chosen)
{
    struct strbuf line = STRBUF_INIT;
    top_screen_add_row(&line, screen, row);
    bool found = *screen->search && strcasestr(row->name, screen->search);
    if (chosen) {
        draw_bar(at, line.data);
    } else {
        draw_text(at, 0, found ? A_BOLD | A_UNDERLINE : A_NORMAL, line.data);
        top_screen_colour_growth(screen, at, row);
    }
    strbuf_release(&line);
}

/* Draws the callers of the chosen site on free lines below the list. */
static void top_screen_draw_callers_below(const struct screen *screen, int from, size_t chosen)
{
    enum { LEAST = 5 };
    struct strbuf text = STRBUF_INIT, title = STRBUF_INIT;
    int rows = LINES - 1 - from;
    if (rows < LEAST || chosen >= screen->model.row_count)
        return;
    const struct top_row *row = &screen->model.rows[chosen];
    strbuf_addf(&title, "callers of %s, by ", row->name);
    top_screen_add_callers_of(&text, &title, &screen->model, row);
    draw_text(from + 1, 2, A_DIM, title.data);
    draw_lines(from + 2, rows - 2, A_NORMAL, text.data);
    strbuf_release(&text);
    strbuf_release(&title);
}

static void top_screen_draw_list(struct screen *screen, int from)
{
    struct strbuf title = STRBUF_INIT;
    int rows = LINES - 2 - from, drawn = 0;
    size_t chosen = top_screen_chosen_row(screen);
    screen->list_at = from + 1;
    screen->list_rows = rows;
    top_screen_add_figure(&title, screen, 0, "live");
    top_screen_add_figure(&title, screen, 1, "growth");
    top_screen_add_figure(&title, screen, 2, "rate");
    top_screen_add_figure(&title, screen, 3,
                          screen->sort == TOP_BYTES || screen->sort == TOP_PEAK
                              ? sort_names[screen->sort]
                              : "allocations");
    if (text_width(title.data) + 2 + TOP_LEAST_FOR_SITE > (size_t)COLS)
        strbuf_add_string(&title, "  site");
    else
        strbuf_addf(&title, "  call site, by %s%s", sort_names[screen->sort],
                    screen->ascending ? ", least first" : "");
    draw_bar(from, title.data);
    strbuf_release(&title);
    if (rows < 1)
        return;
    if (chosen < screen->first)
        screen->first = chosen;
    if (chosen >= screen->first + (size_t)rows)
        screen->first = chosen - (size_t)rows + 1;
    for (; drawn < rows && screen->first + (size_t)drawn < screen->model.row_count; drawn++) {
        size_t row = screen->first + (size_t)drawn;
        top_screen_draw_row(screen, from + 1 + drawn, &screen->model.rows[row], row == chosen);
    }
    top_screen_draw_callers_below(screen, from + 1 + drawn, chosen);
    if (!screen->model.row_count)
        draw_text(from + 1, 2, A_DIM,
                  screen->options->filter ? "no call site matches" : "no call sites yet");
}

/* ---- The detail of a site ------------------------------------------------------------------ */

static void top_screen_add_figures(struct strbuf *out, const struct top_model *model,
                                   const struct top_row *row)
{
    const struct call_metrics *call = &model->sites.groups[row->group].merged.metrics;
    struct figure calls = row->alloc_count;
    strbuf_addf(out, "  live      %s, in blocks: %s", figure_human_bytes(row->live_bytes).text,
                figure_human_count(row->live_count).text);
    if (!isnan(row->growth_bytes)) {
        strbuf_add_string(out, "; ");
        top_add_growth(out, row->growth_bytes);
        if (model->base)
            strbuf_addf(out, " since %s", figure_human_duration(model->base_ns).text);
        else
            strbuf_add_string(out, " since the look before");
    }
    strbuf_addf(out, "\n  at peak   %s\n", figure_human_bytes(row->at_peak_bytes).text);
    strbuf_addf(out, "  asked     for %2$s, in calls: %1$s, on average %3$s",
                figure_human_count(calls).text, figure_human_bytes(row->alloc_bytes).text,
                figure_human_bytes(figure_divide(row->alloc_bytes, calls)).text);
    if (!isnan(row->rate)) {
        strbuf_add_string(out, "; ");
        top_add_rate(out, row->rate);
    }
    strbuf_addf(out, "\n  freed     blocks: %s", figure_human_count(call->free_count).text);
    if (figure_positive(call->free_count))
        strbuf_addf(
            out, " after %s on average",
            figure_human_duration(figure_divide(call->lifetime_sum, call->free_count)).text);
    strbuf_addf(out, "; freed at once: %s\n  paths     %s\n",
                figure_human_count(call->temporary_count).text,
                human_count(model->sites.groups[row->group].count).text);
}

static int top_screen_draw_curve(const struct screen *screen, const struct top_row *row, int from)
{
    const struct top_model *model = &screen->model;
    const struct site_group *group = &model->sites.groups[row->group];
    bool *wanted = calloc(model->profile->node_count + 1, sizeof *wanted);
    struct chart chart = {0};
    struct strbuf why = STRBUF_INIT;
    if (!wanted || LINES < LEAST_FOR_CHART)
        goto done;
    for (size_t i = 0; i < group->count; i++)
        wanted[profile_site_path(model->profile, model->sites.order[group->first + i])] = true;
    struct plot_options options = {
        .view = PLOT_SITES, .top = 1, .wanted = wanted, .hide_std = screen->options->hide_std};
    if (plot_curves(&chart, model->profile, &options, &why)) {
        draw_text(
            from++, 2, A_DIM,
            "its live bytes over time were not kept: they hardly changed, or it is too small");
    } else {
        free(chart.title);
        free(chart.note);
        chart.title = chart.note = NULL;
        while (chart.count > 1) { /* all of the program would flatten it */
            chart.count--;
            free(chart.series[chart.count].name);
            free(chart.series[chart.count].points);
        }
        draw_text(from++, 2, A_DIM, "its live bytes over time");
        from += top_screen_draw_chart(screen, from, LINES / 4 > 10 ? 10 : LINES / 4, &chart);
    }
done:
    chart_release(&chart);
    strbuf_release(&why);
    free(wanted);
    return from;
}

static size_t top_screen_line_count(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

static const char *top_screen_line_at(const char *text, size_t line)
{
    while (line-- && *text) {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return text;
}

static void top_screen_draw_scrolled(struct screen *screen, int from, const char *text)
{
    size_t rows = LINES - 1 > from ? (size_t)(LINES - 1 - from) : 1,
           lines = top_screen_line_count(text);
    size_t most = lines > rows ? lines - rows : 0;
    if (screen->scroll > most)
        screen->scroll = most;
    draw_lines(from, (int)rows, A_NORMAL, top_screen_line_at(text, screen->scroll));
}

static void top_screen_draw_detail(struct screen *screen)
{
    const struct top_row *row = top_model_find(&screen->model, screen->chosen);
    struct strbuf text = STRBUF_INIT, name = STRBUF_INIT, callers = STRBUF_INIT;
    if (!row) {
        draw_text(3, 2, A_NORMAL, "this call site is not there any more");
        return;
    }
    strbuf_addf(&name, "%s  %s", row->name, row->place);
    draw_bar(2, name.data);
    top_screen_add_figures(&text, &screen->model, row);
    strbuf_add_string(&text, "\ncallers, by ");
    top_screen_add_callers_of(&callers, &text, &screen->model, row);
    strbuf_addf(&text, "\n%s", callers.data);
    strbuf_release(&callers);
    top_screen_draw_scrolled(screen, top_screen_draw_curve(screen, row, 3), text.data);
    strbuf_release(&text);
    strbuf_release(&name);
}

/* ---- Help ---------------------------------------------------------------------------------- */

static const char help[] =
    "  tidemark top: where the memory of a running program goes\n"
    "\n"
    "  live         bytes that were asked for here and not freed yet\n"
    "  growth       how they changed since the profile was last written (every two seconds)\n"
    "  rate         allocations a second, in the same time\n"
    "  allocations  since the recording began\n"
    "\n"
    "  up, down, PgUp, PgDn, Home, End   choose a call site\n"
    "  Enter, F5      its figures, its live bytes over time, its callers; Esc: back\n"
    "  L G R C B P    sort by live, growth, rate, allocations, all bytes, share of the peak\n"
    "  F6, >, <       sort by the next, the one before;  I: the other way round\n"
    "  F3, /          search by name; n: the next that matches\n"
    "  b              growth is counted from now on; once more: from look to look again\n"
    "  m              the picture: both, requested, resident, these on scales of their own\n"
    "  Z, Space       freeze: nothing changes until it is pressed again\n"
    "  F1, h, ?       this text\n"
    "  F10, q         quit\n"
    "\n"
    "  The mouse chooses a call site, shows the detail of the one that is chosen, sorts by a "
    "title, scrolls, and presses what stands in the last line. With Shift the terminal marks "
    "text.\n";

/* Where the second column of a line begins; if it has none, where its text begins. */
static size_t top_screen_second_column(const char *line, size_t bytes)
{
    size_t first = strspn(line, " ");
    for (size_t at = first; at + 1 < bytes; at++)
        if (line[at] == ' ' && line[at + 1] == ' ')
            return at + strspn(line + at, " ");
    return first;
}

/* A line that is too long is continued below its second column. */
static void top_screen_wrap_line(struct strbuf *out, const char *line, size_t bytes, size_t columns)
{
    size_t indent = top_screen_second_column(line, bytes), room = columns;
    if (indent > columns / 2)
        indent = strspn(line, " ");
    while (bytes > room) {
        size_t at = room;
        while (at && line[at] != ' ')
            at--;
        if (at <= strspn(line, " "))
            break; /* a word that is too long is cut by draw_text() */
        strbuf_addf(out, "%.*s\n%*s", (int)at, line, (int)indent, "");
        at += strspn(line + at, " ");
        line += at;
        bytes -= at;
        room = columns - indent;
    }
    strbuf_addf(out, "%.*s\n", (int)bytes, line);
}

static void top_screen_draw_help(struct screen *screen)
{
    struct strbuf text = STRBUF_INIT;
    for (const char *line = help; *line;) {
        size_t bytes = strcspn(line, "\n");
        top_screen_wrap_line(&text, line, bytes, (size_t)COLS);
        line += bytes + 1;
    }
    top_screen_draw_scrolled(screen, 0, text.data);
    strbuf_release(&text);
}

static void top_screen_add_keys(struct strbuf *line, const struct screen *screen)
{
    if (screen->typing)
        strbuf_addf(line, "Search: %s_", screen->search);
    else if (screen->message.length)
        strbuf_add_string(line, screen->message.data);
    else if (screen->mode == MODE_LIST)
        strbuf_addf(line, "%sF1 Help  F3 Search  Enter Detail  F6 Sort  Z %s  F10 Quit",
                    screen->one_of_many ? "Esc All  " : "", screen->frozen ? "Go on" : "Freeze");
    else
        strbuf_add_string(line, "Esc Back  up, down Scroll  F10 Quit");
}

static void top_screen_draw_keys(const struct screen *screen)
{
    struct strbuf line = STRBUF_INIT;
    top_screen_add_keys(&line, screen);
    draw_bar(LINES - 1, line.data);
    strbuf_release(&line);
}

static void top_screen_draw(struct screen *screen)
{
    erase();
    if (screen->mode == MODE_HELP) {
        top_screen_draw_help(screen);
    } else {
        top_screen_draw_head(screen);
        if (screen->mode == MODE_DETAIL)
            top_screen_draw_detail(screen);
        else
            top_screen_draw_list(screen, top_screen_draw_memory(screen, 2));
    }
    top_screen_draw_keys(screen);
    refresh();
}

/* ---- Keys ---------------------------------------------------------------------------------- */

static void top_screen_sort_by(struct screen *screen, enum top_sort sort)
{
    screen->sort = sort;
    top_model_sort(&screen->model, sort, screen->ascending);
}

static void top_screen_search_from(struct screen *screen, size_t from)
{
    size_t count = screen->model.row_count;
    strbuf_reset(&screen->message);
    for (size_t i = 0; *screen->search && i < count; i++) {
        size_t row = (from + i) % count;
        if (strcasestr(screen->model.rows[row].name, screen->search)) {
            top_screen_choose(screen, row);
            return;
        }
    }
    if (*screen->search) {
        strbuf_add_string(&screen->message, "no call site's name has '");
        text_add_safe_string(&screen->message, screen->search);
        strbuf_add_string(&screen->message, "'");
    }
}

/* While the user types, the first match is chosen. */
static void top_screen_type(struct screen *screen, int key)
{
    size_t length = strlen(screen->search);
    if (key == '\r' || key == '\n' || key == KEY_ENTER) {
        screen->typing = false;
    } else if (key == 27) {
        screen->typing = false;
        *screen->search = 0;
    } else if (key == KEY_BACKSPACE || key == 127 || key == 8) {
        screen->search[length ? length - 1 : 0] = 0;
    } else if (key >= 32 && key < 127 && length + 1 < SEARCH_BYTES) {
        screen->search[length] = (char)key;
        screen->search[length + 1] = 0;
    }
    top_screen_search_from(screen, top_screen_chosen_row(screen));
}

static void top_screen_begin_search(struct screen *screen)
{
    if (screen->mode != MODE_LIST)
        return;
    screen->typing = true;
    *screen->search = 0;
}

static void top_screen_go_back(struct screen *screen)
{
    screen->leave = screen->one_of_many && screen->mode == MODE_LIST;
    screen->mode = screen->mode == MODE_HELP ? screen->behind : MODE_LIST;
    screen->scroll = 0;
}

static void top_screen_show_help(struct screen *screen)
{
    if (screen->mode == MODE_HELP)
        return;
    screen->behind = screen->mode;
    screen->mode = MODE_HELP;
    screen->scroll = 0;
}

static void top_screen_move_by(struct screen *screen, long lines)
{
    if (screen->mode == MODE_LIST) {
        size_t row = top_screen_chosen_row(screen);
        top_screen_choose(screen, lines < 0 && row < (size_t)-lines ? 0 : row + (size_t)lines);
    } else {
        screen->scroll =
            lines < 0 && screen->scroll < (size_t)-lines ? 0 : screen->scroll + (size_t)lines;
    }
}

static void top_screen_show_detail(struct screen *screen)
{
    if (screen->mode != MODE_LIST || !screen->model.row_count)
        return;
    top_screen_choose(screen, top_screen_chosen_row(screen));
    screen->mode = MODE_DETAIL;
    screen->scroll = 0;
}

static void top_screen_set_base(struct screen *screen)
{
    if (screen->model.base)
        top_model_drop_base(&screen->model);
    else
        top_model_set_base(&screen->model);
    strbuf_add_string(&screen->message, screen->model.base
                                            ? "growth is counted from now on; b: no more"
                                            : "growth is counted from look to look");
    top_screen_sort_by(screen, screen->sort);
}

static void top_screen_press_letter(struct screen *screen, int key)
{
    static const char letters[TOP_SORTS + 1] = "LGRCBP";
    const char *sort = strchr(letters, key);
    if (sort && *sort)
        top_screen_sort_by(screen, (enum top_sort)(sort - letters));
    else if (key == '>' || key == 's')
        top_screen_sort_by(screen, (screen->sort + 1) % TOP_SORTS);
    else if (key == '<')
        top_screen_sort_by(screen, (screen->sort + TOP_SORTS - 1) % TOP_SORTS);
    else if (key == 'I') {
        screen->ascending = !screen->ascending;
        top_screen_sort_by(screen, screen->sort);
    } else if (key == 'b')
        top_screen_set_base(screen);
    else if (key == 'm')
        screen->level = (screen->level + 1) % (PLOT_RESIDENT + 1);
    else if (key == 'n')
        top_screen_search_from(screen, top_screen_chosen_row(screen) + 1);
}

/* ---- The mouse ----------------------------------------------------------------------------- */

/* A click on the titles sorts by the column. */
static void top_screen_click_title(struct screen *screen, int x)
{
    static const enum top_sort sorts[] = {TOP_LIVE, TOP_GROWTH, TOP_RATE};
    int column = x / TOP_FIGURE;
    if (top_figures_shown((size_t)COLS) < TOP_FIGURES)
        top_screen_sort_by(screen, (screen->sort + 1) % TOP_SORTS); /* not all columns are shown */
    else if (column < 3)
        top_screen_sort_by(screen, sorts[column]);
    else if (column == 3)
        top_screen_sort_by(screen, screen->sort == TOP_COUNT   ? TOP_BYTES
                                   : screen->sort == TOP_BYTES ? TOP_PEAK
                                                               : TOP_COUNT);
}

/* A click on a row chooses it, or shows its detail if it is chosen already. */
static void top_screen_click_row(struct screen *screen, size_t row)
{
    if (row >= screen->model.row_count)
        return;
    if (row == top_screen_chosen_row(screen))
        top_screen_show_detail(screen);
    else
        top_screen_choose(screen, row);
}

static void top_screen_press(struct screen *screen, int key);

/* A click on the line of keys presses the key of the word. */
static void top_screen_click_keys(struct screen *screen, int x)
{
    static const struct {
        const char *word;
        int key;
    } words[] = {{"F1 Help", KEY_F(1)},   {"F3 Search", KEY_F(3)}, {"Enter Detail", KEY_ENTER},
                 {"F6 Sort", KEY_F(6)},   {"Z Freeze", 'Z'},       {"Z Go on", 'Z'},
                 {"F10 Quit", KEY_F(10)}, {"Esc Back", 27},        {"Esc All", 27}};
    struct strbuf line = STRBUF_INIT;
    top_screen_add_keys(&line, screen);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *at = strstr(line.data, words[i].word);
        if (at && x >= at - line.data && x < at - line.data + (int)strlen(words[i].word)) {
            top_screen_press(screen, words[i].key);
            break;
        }
    }
    strbuf_release(&line);
}

static void top_screen_mouse(struct screen *screen)
{
    enum { WHEEL = 3 };
    MEVENT event;
    if (getmouse(&event) != OK)
        return;
    if (event.bstate & BUTTON4_PRESSED)
        top_screen_move_by(screen, -WHEEL);
    else if (event.bstate & BUTTON5_PRESSED)
        top_screen_move_by(screen, WHEEL);
    else if (!(event.bstate & BUTTON1_PRESSED))
        return;
    else if (event.y == LINES - 1)
        top_screen_click_keys(screen, event.x);
    else if (screen->mode == MODE_LIST && event.y == screen->list_at - 1)
        top_screen_click_title(screen, event.x);
    else if (screen->mode == MODE_LIST && event.y >= screen->list_at &&
             event.y < screen->list_at + screen->list_rows)
        top_screen_click_row(screen, screen->first + (size_t)(event.y - screen->list_at));
}

static void top_screen_press(struct screen *screen, int key)
{
    strbuf_reset(&screen->message);
    if (screen->typing && key != KEY_RESIZE) {
        top_screen_type(screen, key);
        return;
    }
    long page = LINES > 6 ? LINES - 5 : 1;
    switch (key) {
    case KEY_RESIZE:
        break;
    case KEY_MOUSE:
        top_screen_mouse(screen);
        break;
    case 'q':
    case KEY_F(10):
        screen->quit = true;
        break;
    case 27:
        top_screen_go_back(screen);
        break;
    case KEY_F(1):
    case 'h':
    case '?':
        top_screen_show_help(screen);
        break;
    case KEY_F(3):
    case '/':
        top_screen_begin_search(screen);
        break;
    case KEY_F(5):
    case '\r':
    case '\n':
    case KEY_ENTER:
        top_screen_show_detail(screen);
        break;
    case KEY_F(6):
        top_screen_press_letter(screen, '>');
        break;
    case 'Z':
    case 'z':
    case ' ':
        screen->frozen = !screen->frozen;
        break;
    case KEY_UP:
    case 'k':
        top_screen_move_by(screen, -1);
        break;
    case KEY_DOWN:
    case 'j':
        top_screen_move_by(screen, 1);
        break;
    case KEY_PPAGE:
        top_screen_move_by(screen, -page);
        break;
    case KEY_NPAGE:
        top_screen_move_by(screen, page);
        break;
    case KEY_HOME:
        top_screen_move_by(screen, -(1l << 30));
        break;
    case KEY_END:
        top_screen_move_by(screen, 1l << 30);
        break;
    default:
        if (key > 0 && key < 128)
            top_screen_press_letter(screen, key);
    }
}

/* ---- All of it ----------------------------------------------------------------------------- */

/* True: there is something new. */
static bool top_screen_look(struct screen *screen)
{
    struct strbuf why = STRBUF_INIT;
    if (screen->frozen || top_screen_seconds_now() < screen->next_look)
        return false;
    int changed = top_model_look(&screen->model, &why);
    if (changed > 0) {
        top_model_sort(&screen->model, screen->sort, screen->ascending);
        strbuf_reset(&screen->message);
    } else if (changed < 0) {
        strbuf_reset(&screen->message);
        text_add_safe_string(&screen->message, why.data);
    }
    double wait = (double)screen->options->interval_ns / 1e9;
    screen->next_look = top_screen_seconds_now() +
                        fmax(wait, changed > 0 ? READING_PART * screen->model.read_seconds : 0);
    strbuf_release(&why);
    return changed != 0;
}

static void top_screen_run(struct screen *screen)
{
    bool again = true;
    while (!screen->quit && !screen->leave && !terminal_is_over()) {
        again |= top_screen_look(screen);
        if (again)
            top_screen_draw(screen);
        int key = terminal_key(TICK_MS);
        again = key != ERR;
        if (again)
            top_screen_press(screen, key);
    }
}

bool top_screen_of(struct top_model *model, bool one_of_many)
{
    struct screen screen = {.options = model->options,
                            .model = *model,
                            .one_of_many = one_of_many,
                            .sort = model->options->sort,
                            .style = model->options->style,
                            .message = STRBUF_INIT};
    top_screen_sort_by(&screen, screen.sort);
    top_screen_run(&screen);
    *model = screen.model;
    strbuf_release(&screen.message);
    return screen.quit;
}

int top_screen(const struct top_options *options, struct strbuf *why)
{
    struct top_model model;
    top_model_init(&model, options);
    int error = top_model_look(&model, why);
    if (error > 0)
        error = terminal_begin(options->style.colour, why);
    if (!error) {
        top_screen_of(&model, false);
        terminal_end();
    }
    top_model_release(&model);
    return error;
}
