/* Writes the difference of two sets of runs for people: totals first, then functions and call
 * paths, those that grew before those that shrank. All tables have the same columns of figures. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/human.h"
#include "base/text.h"
#include "base/text_table.h"
#include "diff/diff.h"
#include "aggregate/facts.h"
#include "aggregate/frames.h"
#include "format/names.h"
#include "aggregate/metric_choice.h"

enum { FIGURE = 11, LABEL = 19, CHANGE = 9, GAP = 2, INDENT = 4, RUN = 10 };

struct diff_writing {
    struct strbuf out;
    const struct diff *difference;
    const struct diff_show *show;
    bool noise; /* is it known? Then it has a column */
};

static const struct text_column diff_text_layout[] = {{"difference", FIGURE, TEXT_APART, 0},
                                                      {"change", CHANGE, TEXT_APART, 0},
                                                      {"before", FIGURE, TEXT_APART, 0},
                                                      {"after", FIGURE, TEXT_APART, 0},
                                                      {"noise", FIGURE, TEXT_APART, 0}};

static size_t diff_text_columns(const struct diff_writing *writing)
{
    return sizeof diff_text_layout / sizeof *diff_text_layout - !writing->noise;
}

/* ---- Cells --------------------------------------------------------------------------------- */

static struct human diff_text_human_of(int unit, double value)
{
    struct human unknown = {"-"};
    uint64_t whole = value < 0x1p63 ? (uint64_t)(value + 0.5) : 1ull << 63;
    if (isnan(value))
        return unknown;
    return unit == DIFF_BYTES   ? human_bytes(whole)
           : unit == DIFF_COUNT ? human_count(whole)
                                : human_duration(whole);
}

static struct human diff_text_signed_of(const struct diff_writing *writing, int unit, double value)
{
    struct human plain = diff_text_human_of(unit, fabs(value)), out;
    if (isnan(value) || fabs(value) < 0.5)
        return isnan(value) ? plain : (struct human){"0"};
    snprintf(out.text, sizeof out.text, "%s%.24s",
             value > 0 ? "+" : style_sign(&writing->show->style, "−", "-"), plain.text);
    return out;
}

static struct human diff_text_change_of(const struct diff_writing *writing,
                                        const struct diff_figure *figure)
{
    struct human out = {"-"};
    double difference = diff_of(figure), percent = 100 * difference / figure->before;
    if (isnan(difference) || fabs(difference) < 0.5)
        return difference == 0 ? (struct human){"="} : out;
    if (figure->before <= 0)
        return (struct human){"new"};
    if (figure->after <= 0)
        return (struct human){"gone"};
    const char *sign = percent > 0 ? "+" : style_sign(&writing->show->style, "−", "-");
    double times = figure->after / figure->before;
    if (times >= 999.5) /* no thousandths, nor 2.21e+03 */
        snprintf(out.text, sizeof out.text, "x %.24s", human_count((uint64_t)(times + 0.5)).text);
    else if (fabs(percent) >= 1000)
        snprintf(out.text, sizeof out.text, "x %.3g", times);
    else
        snprintf(out.text, sizeof out.text, "%s%.*f %%", sign, fabs(percent) < 100, fabs(percent));
    return out;
}

static void diff_text_add_noise(const struct diff_writing *writing, struct text_row *row, int unit,
                                double noise)
{
    struct human text;
    snprintf(text.text, sizeof text.text, "%s%.24s",
             isnan(noise) ? "" : style_sign(&writing->show->style, "±", "+-"),
             diff_text_human_of(unit, noise).text);
    text_row_add(row, text.text);
}

/* The four or five figures of a row; what is no more than noise is dim. */
static void diff_text_add_figures(struct diff_writing *writing, int unit,
                                  const struct diff_figure *figure)
{
    struct strbuf *out = &writing->out;
    const struct style *style = &writing->show->style;
    double difference = diff_of(figure);
    bool counts = diff_counts(figure);
    struct text_row row = text_row_begin(out, diff_text_layout);
    style_begin(out, style, !counts ? TONE_DIM : difference > 0 ? TONE_WARNING : TONE_GOOD);
    text_row_add(&row, diff_text_signed_of(writing, unit, difference).text);
    text_row_add(&row, diff_text_change_of(writing, figure).text);
    style_end(out, style);
    text_row_add(&row, diff_text_human_of(unit, figure->before).text);
    text_row_add(&row, diff_text_human_of(unit, figure->after).text);
    if (writing->noise)
        diff_text_add_noise(writing, &row, unit, figure->noise);
}

static size_t diff_text_figure_columns(const struct diff_writing *writing)
{
    size_t width = 0;
    for (size_t i = 0; i < diff_text_columns(writing); i++)
        width += diff_text_layout[i].width;
    return width;
}

/* Where names begin. */
static size_t diff_text_names_column(const struct diff_writing *writing)
{
    size_t behind = diff_text_figure_columns(writing) + GAP;
    return behind + FRAME_ROOM_NARROW > writing->show->style.columns ? INDENT : behind;
}

static void diff_text_add_heading(struct diff_writing *writing, size_t indent)
{
    struct strbuf *out = &writing->out;
    style_begin(out, &writing->show->style, TONE_DIM);
    strbuf_add_repeated(out, " ", indent);
    text_row_add_headings(out, diff_text_layout, diff_text_columns(writing));
    style_end(out, &writing->show->style);
    strbuf_add_char(out, '\n');
}

static int diff_text_metric_unit(const struct diff *difference)
{
    switch (metrics[difference->options.metric].row->unit) {
    case METRIC_BYTES:
        return DIFF_BYTES;
    case METRIC_COUNT:
        return DIFF_COUNT;
    default:
        return DIFF_NS;
    }
}

/* ---- The head ------------------------------------------------------------------------------ */

static size_t diff_text_runs_of(const struct diff *difference, int group)
{
    size_t count = 0;
    for (size_t i = 0; i < difference->run_count; i++)
        count += difference->runs[i].group == group;
    return count;
}

/* Whether all runs are of programs that are called alike. */
static bool diff_text_is_one_program(const struct diff *difference)
{
    const char *first = profile_get(difference->runs[0].profile, PROFILE_META_PROGRAM);
    for (size_t i = 1; i < difference->run_count; i++) {
        const char *other = profile_get(difference->runs[i].profile, PROFILE_META_PROGRAM);
        if (!first != !other || (first && strcmp(first, other)))
            return false;
    }
    return true;
}

static void diff_text_add_run(struct diff_writing *writing, const struct diff_run *run,
                              double scale)
{
    struct strbuf end = STRBUF_INIT, line = STRBUF_INIT;
    const char *tool = facts_imported_from(run->profile);
    facts_add_outcome(&end, run->profile);
    text_add_safe_string(&line, run->name);
    strbuf_add_string(&line, ": ");
    if (!diff_text_is_one_program(writing->difference)) {
        facts_add_text(&line, run->profile, PROFILE_META_PROGRAM);
        strbuf_add_string(&line, ", ");
    }
    strbuf_add_string(&line, end.data);
    if (run->profile->sample_bytes)
        strbuf_addf(&line, ", a sample (one in %s%s)",
                    human_bytes(facts_sample_bytes(run->profile)).text,
                    run->profile->pages ? " or more" : "");
    if (*facts_stacks(run->profile))
        strbuf_addf(&line, ", call paths: %s", facts_stacks(run->profile));
    if (tool)
        strbuf_addf(&line, ", imported from %s", tool);
    if (writing->difference->options.norm)
        strbuf_addf(&line, ", times %.4g", scale);
    text_add_wrapped(&writing->out, line.data, RUN, writing->show->style.columns);
    strbuf_add_char(&writing->out, '\n');
    strbuf_release(&end);
    strbuf_release(&line);
}

static void diff_text_add_runs(struct diff_writing *writing, int group, const char *label)
{
    const struct diff *difference = writing->difference;
    for (size_t i = 0; i < difference->run_count; i++) {
        if (difference->runs[i].group != group)
            continue;
        style_begin(&writing->out, &writing->show->style, TONE_DIM);
        strbuf_addf(&writing->out, "  %-*s", RUN - 2, label);
        style_end(&writing->out, &writing->show->style);
        diff_text_add_run(writing, &difference->runs[i], difference->scale[i]);
        label = "";
    }
}

static void diff_text_add_note(struct diff_writing *writing, const char *sentence)
{
    strbuf_add_string(&writing->out, "  ");
    style_add_wrapped(&writing->out, &writing->show->style, TONE_DIM, sentence, 2);
}

static void diff_text_add_warnings(struct diff_writing *writing)
{
    const struct diff *difference = writing->difference;
    for (size_t i = 0; i < difference->run_count; i++) {
        struct strbuf losses = STRBUF_INIT, sentence = STRBUF_INIT;
        facts_add_losses(&losses, difference->runs[i].profile);
        losses.data[strcspn(losses.data, "\n")] = losses.length ? 0 : losses.data[0];
        if (losses.length) {
            strbuf_addf(&sentence, "%s: %s", difference->runs[i].name, losses.data);
            diff_text_add_note(writing, sentence.data);
        }
        strbuf_release(&losses);
        strbuf_release(&sentence);
    }
}

/* Are call paths of all runs found in one way? */
static bool diff_text_is_one_way(const struct diff *difference)
{
    for (size_t i = 1; i < difference->run_count; i++)
        if (strcmp(facts_stacks(difference->runs[i].profile),
                   facts_stacks(difference->runs[0].profile)))
            return false;
    return true;
}

static bool diff_text_has_sample(const struct diff *difference)
{
    for (size_t i = 0; i < difference->run_count; i++)
        if (difference->runs[i].profile->sample_bytes)
            return true;
    return false;
}

/* What of it can be compared, where runs were recorded in different ways. */
static void diff_text_add_ways(struct diff_writing *writing)
{
    const struct diff *difference = writing->difference;
    if (difference->callers_only)
        diff_text_add_note(
            writing, "By what calls the allocator itself, library or not, in all runs: of some no "
                     "more is known (--stacks=none).");
    else if (!diff_text_is_one_way(difference))
        diff_text_add_note(
            writing, "Call paths were found in different ways (--stacks): what is gone and new "
                     "may differ by that alone.");
    if (diff_text_has_sample(difference))
        diff_text_add_note(writing,
                           "Counts of a sample are estimates, and how sure they are is not known.");
}

static void diff_text_add_head(struct diff_writing *writing)
{
    static const char *const per[] = {
        "", "Every run is multiplied so that it has as many allocations as those before.",
        "Every run is multiplied so that it takes as long as those before."};
    const struct diff *difference = writing->difference;
    style_add(&writing->out, &writing->show->style, TONE_TITLE, "Difference");
    strbuf_add_char(&writing->out, '\n');
    diff_text_add_runs(writing, DIFF_BEFORE, "before");
    diff_text_add_runs(writing, DIFF_AFTER, "after");
    if (difference->options.filter) {
        struct strbuf note = STRBUF_INIT;
        strbuf_addf(&note,
                    "Functions and call paths are those that pass the filter %s; the figures of "
                    "the programs "
                    "are of all.",
                    difference->options.filter);
        diff_text_add_note(writing, note.data);
        strbuf_release(&note);
    }
    if (difference->options.norm)
        diff_text_add_note(writing, per[difference->options.norm]);
    if (!writing->noise)
        diff_text_add_note(
            writing, "Noise is not known: give several runs, tidemark diff OLD OLD OLD -- NEW "
                     "NEW NEW.");
    else if (diff_text_runs_of(difference, 0) + diff_text_runs_of(difference, 1) > 2)
        diff_text_add_note(writing,
                           "Means of the runs; noise is what the difference may be by chance, with "
                           "99 %.");
    diff_text_add_ways(writing);
    diff_text_add_warnings(writing);
}

static void diff_text_add_totals(struct diff_writing *writing)
{
    struct diff_total totals[DIFF_TOTALS];
    diff_totals(writing->difference, totals);
    strbuf_add_char(&writing->out, '\n');
    diff_text_add_heading(writing, LABEL);
    for (int i = 0; i < DIFF_TOTALS; i++) {
        strbuf_addf(&writing->out, "  %-*s", LABEL - 2, totals[i].title);
        diff_text_add_figures(writing, totals[i].unit, &totals[i].figure);
        strbuf_add_char(&writing->out, '\n');
    }
}

/* ---- Lists --------------------------------------------------------------------------------- */

/* Who it is stands behind the figures, or, where that leaves names no room, below them. Ends the
 * line of figures in that case; returns the columns that are taken of the line where names go. */
static size_t diff_text_names_begin(struct diff_writing *writing)
{
    size_t used = diff_text_names_column(writing);
    if (used == INDENT)
        strbuf_add_char(&writing->out, '\n');
    strbuf_add_repeated(&writing->out, " ", used == INDENT ? INDENT : GAP);
    return used;
}

/* A file and what stands behind it. Names go first: a place may take a fifth of the line, but
 * beside a long name a third of their room. */
static void diff_text_add_place(struct strbuf *out, const struct style *style, const char *name,
                                const char *file, const char *behind, size_t used)
{
    size_t room = style->columns - used, most = style->columns / 5 + text_width(behind);
    size_t core = name_short_bytes(name);
    size_t left = room > core + 2 ? room - core - 2 : 0;
    size_t columns = left < room / 3 ? room / 3 : left;
    columns = columns < most ? columns : most;
    if (file && columns > text_width(behind))
        name_add_place(out, name_base(file), 0, columns - text_width(behind));
    if (out->length)
        strbuf_add_string(out, behind);
}

/* "my_alloc ← ", where there is room for it; the columns that it takes. */
static size_t diff_text_add_through(struct diff_writing *writing, const char *through,
                                    const char *name, const char *place, size_t used)
{
    const struct style *style = &writing->show->style;
    size_t taken = used + (*place ? text_width(place) + 2 : 0);
    return through && taken < style->columns
               ? frame_add_wrapper(&writing->out, style, through, name, style->columns - taken)
               : 0;
}

static void diff_text_add_function(struct diff_writing *writing, size_t at)
{
    const struct diff_function *function = &writing->difference->functions[at];
    const struct style *style = &writing->show->style;
    const char *name = diff_function_name(writing->difference, function->identity);
    struct strbuf place = STRBUF_INIT;
    diff_text_add_figures(writing, diff_text_metric_unit(writing->difference), &function->figure);
    size_t used = diff_text_names_begin(writing);
    diff_text_add_place(&place, style, name,
                        diff_function_file(writing->difference, function->identity), "", used);
    if (!writing->difference->options.inclusive)
        used += diff_text_add_through(
            writing, diff_function_through(writing->difference, function->identity), name,
            place.data, used);
    frame_add_columns(&writing->out, style, name, place.data, used, false);
    strbuf_release(&place);
}

/* ":40", where it has moved ":38→40". */
static void diff_text_add_line_numbers(struct strbuf *out, const struct style *style,
                                       const struct diff_frame *frame)
{
    uint32_t before = frame->line[DIFF_BEFORE], after = frame->line[DIFF_AFTER];
    if (before && after && before != after)
        strbuf_addf(out, ":%u%s%u", before, style_sign(style, "→", "->"), after);
    else if (before || after)
        strbuf_addf(out, ":%u", after ? after : before);
}

static void diff_text_add_frame(struct diff_writing *writing, const struct diff_frame *frame,
                                bool caller)
{
    const struct style *style = &writing->show->style;
    struct strbuf place = STRBUF_INIT, lines = STRBUF_INIT;
    size_t used = diff_text_names_column(writing);
    if (caller) {
        strbuf_add_repeated(&writing->out, " ", used);
        strbuf_addf(&writing->out, "%s ", style_sign(style, "↑", "^"));
        used += 2;
    }
    diff_text_add_line_numbers(&lines, style, frame);
    diff_text_add_place(&place, style, frame->function, frame->file, lines.data, used);
    used += diff_text_add_through(writing, frame->through, frame->function, place.data, used);
    frame_add_columns(&writing->out, style, frame->function, place.data, used, false);
    strbuf_release(&place);
    strbuf_release(&lines);
}

static void diff_text_add_path(struct diff_writing *writing, size_t at)
{
    const struct diff_path *path = &writing->difference->paths[at];
    struct diff_frame frame;
    uint32_t node = path->node;
    diff_text_add_figures(writing, diff_text_metric_unit(writing->difference), &path->figure);
    diff_text_names_begin(writing);
    diff_frame_next(writing->difference, &node, &frame);
    diff_text_add_frame(writing, &frame, false);
    size_t callers = 0;
    while (callers < writing->show->depth && diff_frame_next(writing->difference, &node, &frame)) {
        diff_text_add_frame(writing, &frame, true);
        callers++;
    }
    if (callers == writing->show->depth && callers &&
        diff_frame_next(writing->difference, &node, &frame)) {
        strbuf_add_repeated(&writing->out, " ", diff_text_names_column(writing));
        strbuf_addf(&writing->out, "%s\n", style_sign(&writing->show->style, "↑ …", "^ ..."));
    }
}

struct list {
    const char *of;   /* "Resident memory"; NULL: the metric */
    const char *what; /* "functions" */
    size_t count;
    const struct diff_figure *(*figure)(const struct diff *, size_t);
    void (*add)(struct diff_writing *, size_t);
};

static const struct diff_figure *diff_text_function_figure(const struct diff *of, size_t at)
{
    return &of->functions[at].figure;
}

static const struct diff_figure *diff_text_path_figure(const struct diff *of, size_t at)
{
    return &of->paths[at].figure;
}

struct direction {
    size_t rows, noisy;
    double rest;
};

/* The rows of one direction, from the end where they begin. */
static struct direction diff_text_add_direction(struct diff_writing *writing,
                                                const struct list *list, bool grown)
{
    struct direction seen = {0};
    for (size_t i = 0; i < list->count; i++) {
        size_t at = grown ? i : list->count - 1 - i;
        const struct diff_figure *figure = list->figure(writing->difference, at);
        double difference = diff_of(figure);
        if (!(grown ? difference > 0 : difference < 0))
            break; /* it is not known of those between grown and shrunk */
        if (!diff_counts(figure))
            seen.noisy++;
        else if (seen.rows++ < writing->show->top)
            list->add(writing, at);
        else
            seen.rest += difference;
    }
    return seen;
}

static void diff_text_add_rest(struct diff_writing *writing, const struct list *list,
                               const struct direction *seen)
{
    int unit = diff_text_metric_unit(writing->difference);
    struct strbuf sentence = STRBUF_INIT;
    if (seen->rows > writing->show->top) {
        struct text_row row = text_row_begin(&writing->out, diff_text_layout);
        text_row_add(&row, diff_text_signed_of(writing, unit, seen->rest).text);
        bool behind = diff_text_names_column(writing) != INDENT;
        strbuf_add_repeated(&writing->out, " ",
                            GAP + (behind ? diff_text_figure_columns(writing) - FIGURE : 0));
        strbuf_addf(&writing->out, "%zu more (--top)\n", seen->rows - writing->show->top);
    }
    if (seen->noisy) {
        strbuf_addf(&sentence, "%zu %s%s by no more than noise", seen->noisy, list->what,
                    seen->noisy == 1 ? " differs" : "s differ");
        diff_text_add_note(writing, sentence.data);
    }
    strbuf_release(&sentence);
}

/* "Never freed: grown by function" */
static void diff_text_add_list_title(struct strbuf *out, const struct diff *difference,
                                     const struct list *list, bool grown)
{
    const struct profile *last = difference->runs[difference->run_count - 1].profile;
    bool inclusive = difference->options.inclusive && list->figure == diff_text_function_figure;
    if (list->of)
        strbuf_add_string(out, list->of);
    else
        metric_add_title(out, &metrics[difference->options.metric], last, false);
    strbuf_addf(out, ": %s by %s%s", grown ? "grown" : "shrunk", list->what,
                inclusive ? ", inclusive" : "");
}

static void diff_text_add_list(struct diff_writing *writing, const struct list *list, bool grown)
{
    struct strbuf title = STRBUF_INIT, out = STRBUF_INIT;
    diff_text_add_list_title(&title, writing->difference, list, grown);
    struct strbuf kept = writing->out;
    writing->out = out;
    struct direction seen = diff_text_add_direction(writing, list, grown);
    diff_text_add_rest(writing, list, &seen);
    out = writing->out;
    writing->out = kept;
    if (out.length) {
        strbuf_add_char(&writing->out, '\n');
        style_add(&writing->out, &writing->show->style, TONE_TITLE, title.data);
        strbuf_add_char(&writing->out, '\n');
        if (seen.rows)
            diff_text_add_heading(writing, 0);
        strbuf_add(&writing->out, out.data, out.length);
    }
    strbuf_release(&title);
    strbuf_release(&out);
}

static void diff_text_add_unknown(struct diff_writing *writing, const struct list *list)
{
    size_t unknown = 0;
    for (size_t i = 0; i < list->count; i++)
        unknown += isnan(diff_of(list->figure(writing->difference, i)));
    if (!unknown)
        return;
    struct strbuf sentence = STRBUF_INIT;
    strbuf_addf(&sentence, "of %zu %s%s it is not known on both sides", unknown, list->what,
                unknown == 1 ? "" : "s");
    strbuf_add_char(&writing->out, '\n');
    diff_text_add_note(writing, sentence.data);
    strbuf_release(&sentence);
}

/* The owners of the difference in resident memory. Half as many rows, because lists of functions
 * follow. */
static void diff_text_add_owners(struct diff_writing *writing, const struct diff *owners)
{
    const struct list list = {"Resident memory", "owner", owners->function_count,
                              diff_text_function_figure, diff_text_add_function};
    const struct diff_writing kept = *writing;
    struct diff_show show = *writing->show;
    show.top = (show.top + 1) / 2;
    writing->difference = owners;
    writing->show = &show;
    diff_text_add_list(writing, &list, true);
    diff_text_add_list(writing, &list, false);
    writing->difference = kept.difference;
    writing->show = kept.show;
}

int diff_text(FILE *out, const struct diff *difference, const struct diff *owners,
              const struct diff_show *show)
{
    struct diff_writing writing = {STRBUF_INIT, difference, show, !isnan(difference->total.noise)};
    const struct list functions = {NULL, "function", difference->function_count,
                                   diff_text_function_figure, diff_text_add_function},
                      paths = {NULL, difference->callers_only ? "caller" : "call path",
                               difference->path_count, diff_text_path_figure, diff_text_add_path};
    diff_text_add_head(&writing);
    diff_text_add_totals(&writing);
    if (owners)
        diff_text_add_owners(&writing, owners);
    diff_text_add_list(&writing, &functions, true);
    diff_text_add_list(&writing, &paths, true);
    diff_text_add_list(&writing, &functions, false);
    diff_text_add_list(&writing, &paths, false);
    diff_text_add_unknown(&writing, &functions);
    int error =
        fwrite(writing.out.data, 1, writing.out.length, out) == writing.out.length ? 0 : -errno;
    strbuf_release(&writing.out);
    return error ? error : fflush(out) ? -errno : 0;
}
