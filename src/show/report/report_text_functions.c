/* Writes functions as a table, and the call tree from the top.
 *
 *     inclusive            exclusive           function                          file:line
 *    45.2 MiB   46.0 %     1.20 MiB    1.2 %  parse_document                  src/parser.c:123
 *
 * Libraries are the same table: a function's place is its library. */
#include "report/report_text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "aggregate/facts.h"
#include "aggregate/estimate.h"
#include "aggregate/metric_choice.h"
#include "format/names.h"
#include "aggregate/derived.h"
#include "aggregate/functions.h"
#include "aggregate/top_down.h"

enum { FIGURE = 11, SHARE = 9, COLUMN = 11, GAP = 2 };
enum { OWN_COLUMNS = 4, OWN_HEADINGS = 3, HEADINGS_MAX = OWN_COLUMNS + REPORT_COLUMNS_MAX };

/* Figure and share of the chosen kind, the same of the other one, and the columns of --columns. */
struct functions_layout {
    struct text_column columns[HEADINGS_MAX];
    size_t headings; /* up to the last column that has one */
    size_t used;     /* how wide all columns are, with the gap before the name */
    bool of_libraries;
};

/* The metric that --sort names; without it the first one that is known. */
static size_t report_text_functions_chosen_metric(const struct report_text *text)
{
    return metric_choice_of(text->profile, text->options->metric);
}

static struct figure report_text_functions_run_ns(const struct profile *profile)
{
    return figure_of(facts_number(profile, PROFILE_META_DURATION));
}

/* The metric's title as part of a sentence. */
static void report_text_functions_add_metric(struct strbuf *out, const struct profile *profile,
                                             size_t metric)
{
    metric_add_title(out, &metrics[metric], profile, true);
    if (estimate_is(profile) && !metrics[metric].exact)
        strbuf_add_string(out, " (estimated)");
}

/* ---- Names --------------------------------------------------------------------------------- */

/* Adds the function with its file or library, not with the line of one of its calls. */
static void report_text_functions_add(struct report_text *text, uint32_t key, struct frame frame,
                                      size_t used)
{
    const struct profile *profile = text->profile;
    struct strbuf name = STRBUF_INIT, place = STRBUF_INIT;
    function_key_add_name(&name, profile, key, frame);
    frame_add_file(&place, profile, frame,
                   frame_place_room(&text->style, name.data, used, text->style.columns / 4));
    frame_add_columns(&text->out, &text->style, name.data, place.data, used, false);
    strbuf_release(&name);
    strbuf_release(&place);
}

/* Adds a library, or the executable, by its path. */
static void report_text_functions_add_library(struct report_text *text, uint32_t key,
                                              struct frame frame, size_t used)
{
    struct strbuf name = STRBUF_INIT;
    functions_library_key_add_name(&name, text->profile, key, frame);
    frame_add_columns(&text->out, &text->style, name.data, "", used, false);
    strbuf_release(&name);
}

/* ---- Columns ------------------------------------------------------------------------------- */

static struct human report_text_functions_derived_human(const struct derived *figure, double value)
{
    struct human out = {"-"};
    struct figure whole = figure_of_double(floor(value));
    switch (figure->unit) {
    case DERIVED_RATIO:
        if (isfinite(value))
            snprintf(out.text, sizeof out.text, value < 100 ? "%.1f x" : "%.0f x", value);
        return out;
    case DERIVED_SHARE:
        return human_percent(value, 1);
    case DERIVED_BYTES:
    case DERIVED_BYTES_PER_SECOND:
        return figure_human_bytes(whole);
    case DERIVED_NS:
        return figure_human_duration(whole);
    case DERIVED_PER_SECOND:
        return figure_human_count(whole);
    }
    return out;
}

/* The longest life is unknown while all blocks live; it is not 0. */
static struct figure report_text_functions_known(const struct metric_row *row, struct figure value,
                                                 const struct call_metrics *of)
{
    bool never = row == METRIC_ROW(lifetime_max) && !figure_known(of->lifetime_min);
    return never ? FIGURE_UNKNOWN : value;
}

struct human report_column_value(const struct report_text *text, size_t position,
                                 const struct merged_metrics *merged)
{
    const struct call_metrics *of = &merged->metrics;
    if (position >= METRICS + DERIVED_COUNT) {
        const struct metric *metric = &metrics[position - METRICS - DERIVED_COUNT];
        return metric_human(
            metric, report_text_functions_known(metric->row, metric_of_merged(metric, merged), of));
    }
    if (position >= METRICS) {
        const struct derived *figure = &derived[position - METRICS];
        return report_text_functions_derived_human(
            figure, derived_value(figure, of, report_text_functions_run_ns(text->profile)));
    }
    const struct metric_row *row = &metric_rows[position];
    return metric_row_human(row, report_text_functions_known(row, metric_value(row, of), of));
}

const char *report_column_title(size_t position)
{
    if (position >= METRICS + DERIVED_COUNT)
        return metrics[position - METRICS - DERIVED_COUNT].name;
    if (position >= METRICS)
        return derived[position - METRICS].title;
    for (size_t i = 0; i < METRIC_CHOICES; i++)
        if (metrics[i].row == &metric_rows[position])
            return metrics[i].name;
    return metric_rows[position].column;
}

/* Wide enough for the column's title and a space before it. */
static size_t report_text_functions_column_width(size_t position)
{
    size_t width = strlen(report_column_title(position)) + 1;
    return width > COLUMN ? width : COLUMN;
}

static struct functions_layout report_text_functions_lay_out(const struct report_text *text,
                                                             bool of_libraries)
{
    const struct report_columns *columns = &text->options->more_columns;
    bool inclusive = text->options->inclusive;
    struct functions_layout layout = {{{inclusive ? "inclusive" : "exclusive", FIGURE, 0, 0},
                                       {"", SHARE, TEXT_RIGHT, 0},
                                       {inclusive ? "exclusive" : "inclusive", FIGURE, 0, 0},
                                       {"", SHARE, TEXT_RIGHT, 0}},
                                      columns->count ? OWN_COLUMNS + columns->count : OWN_HEADINGS,
                                      2 * (FIGURE + SHARE) + GAP,
                                      of_libraries};
    for (size_t i = 0; i < columns->count; i++) {
        struct text_column *column = &layout.columns[OWN_COLUMNS + i];
        *column =
            (struct text_column){report_column_title(columns->at[i]),
                                 report_text_functions_column_width(columns->at[i]), TEXT_RIGHT, 0};
        layout.used += column->width;
    }
    return layout;
}

static void report_text_functions_next_share(struct report_text *text, struct figure value,
                                             struct figure total)
{
    report_part_next(text, figure_known(total)
                               ? human_percent(figure_double(value), figure_double(total)).text
                               : "");
}

static void report_text_functions_add_row(struct report_text *text,
                                          const struct functions_layout *layout, size_t metric,
                                          const struct function_row *row)
{
    const struct report_columns *columns = &text->options->more_columns;
    const struct merged_metrics *exclusive = &row->exclusive, *inclusive = &row->inclusive;
    const struct merged_metrics *first = text->options->inclusive ? inclusive : exclusive;
    const struct merged_metrics *second = text->options->inclusive ? exclusive : inclusive;
    const struct metric *by = &metrics[metric];
    struct figure total =
        metric_adds_up(by) ? metric_of(by, &text->profile->program.total) : FIGURE_UNKNOWN;
    struct figure a = metric_of_merged(by, first), b = metric_of_merged(by, second);
    report_part_row(text, layout->columns);
    report_part_next_figure(text, metric_human(by, a).text);
    report_text_functions_next_share(text, a, total);
    report_part_next(text, metric_human(by, b).text);
    report_text_functions_next_share(text, b, total);
    for (size_t i = 0; i < columns->count; i++)
        report_part_next(text, report_column_value(text, columns->at[i], first).text);
    strbuf_add_repeated(&text->out, " ", GAP);
    if (layout->of_libraries)
        report_text_functions_add_library(text, row->key, frame_at(row->code, row->line),
                                          layout->used);
    else
        report_text_functions_add(text, row->key, frame_at(row->code, row->line), layout->used);
}

static struct figure report_text_functions_row_value(const struct function_row *row, size_t metric,
                                                     bool inclusive)
{
    return metric_of_merged(&metrics[metric], inclusive ? &row->inclusive : &row->exclusive);
}

static void report_text_functions_add_rows(struct report_text *text,
                                           const struct functions *functions, size_t metric,
                                           const uint32_t *order, bool of_libraries)
{
    struct functions_layout layout = report_text_functions_lay_out(text, of_libraries);
    bool inclusive = text->options->inclusive;
    size_t with = 0;
    for (size_t i = 0; i < functions->count; i++)
        with += metric_is_any(&metrics[metric], report_text_functions_row_value(&functions->rows[i],
                                                                                metric, inclusive));
    if (with)
        report_part_headings(text, layout.columns, layout.headings);
    else
        report_part_note(text, metric_none(&metrics[metric], text->profile));
    for (size_t i = 0; i < with && i < text->options->top; i++)
        report_text_functions_add_row(text, &layout, metric, &functions->rows[order[i]]);
    struct strbuf rest = STRBUF_INIT;
    if (with > text->options->top) {
        strbuf_addf(&rest, "%s more (--top)", human_exact(with - text->options->top).text);
        report_part_note(text, rest.data);
    }
    strbuf_release(&rest);
}

static int report_text_functions_add_section(struct report_text *text, struct functions *functions,
                                             const char *title, bool of_libraries)
{
    size_t metric = report_text_functions_chosen_metric(text);
    uint32_t *order = order_functions(functions, metric, text->options->inclusive);
    struct strbuf rest = STRBUF_INIT;
    struct figure total = metric_adds_up(&metrics[metric])
                              ? metric_of(&metrics[metric], &text->profile->program.total)
                              : text->sites.totals[metric];
    report_text_functions_add_metric(&rest, text->profile, metric);
    strbuf_addf(&rest, ", of %s", metric_human(&metrics[metric], total).text);
    report_part_title(text, title, rest.data);
    if (order)
        report_text_functions_add_rows(text, functions, metric, order, of_libraries);
    strbuf_release(&rest);
    functions_release(functions);
    free(order);
    return order ? 0 : -ENOMEM;
}

int report_section_functions(struct report_text *text)
{
    struct functions functions;
    int error = functions_init(&functions, text->profile, text->sites.hidden, text->sites.wanted);
    return error ? error : report_text_functions_add_section(text, &functions, "Functions", false);
}

int report_section_libraries(struct report_text *text)
{
    struct functions functions;
    int error =
        functions_init_libraries(&functions, text->profile, text->sites.hidden, text->sites.wanted);
    return error ? error : report_text_functions_add_section(text, &functions, "Libraries", true);
}

/* ---- Call tree ----------------------------------------------------------------------------- */

struct functions_tree {
    struct report_text *text;
    struct top_down nodes;
    size_t metric, lines;
    struct strbuf prefix;
};
enum { TREE_LINES = 120, CHAIN_LINES = 4, TREE_HEADINGS = 3 };
static const struct text_column tree_columns[] = {{"inclusive", FIGURE, TEXT_RIGHT, 0},
                                                  {"", SHARE, TEXT_RIGHT, 0},
                                                  {"exclusive", FIGURE, TEXT_RIGHT, 0},
                                                  {"", 0, TEXT_LEFT, GAP}};
static const double functions_tree_least = 0.01; /* of the whole: nodes with less are not shown */

static void report_text_functions_add_tree_line(struct functions_tree *tree, uint32_t index,
                                                const char *branch)
{
    struct report_text *text = tree->text;
    const struct top_down_node *node = &tree->nodes.nodes[index];
    const struct metric *metric = &metrics[tree->metric];
    report_part_row(text, tree_columns);
    report_part_next_figure(text, metric_human(metric, node->inclusive).text);
    report_text_functions_next_share(text, node->inclusive, tree->nodes.nodes[0].inclusive);
    report_part_next(
        text, figure_zero(node->exclusive) ? "" : metric_human(metric, node->exclusive).text);
    report_part_next(text, "");
    style_begin(&text->out, &text->style, TONE_DIM);
    strbuf_add_string(&text->out, tree->prefix.data);
    strbuf_add_string(&text->out, branch);
    style_end(&text->out, &text->style);
    report_text_functions_add(text, node->key, frame_at(node->code, node->line),
                              2 * FIGURE + SHARE + GAP + text_width(tree->prefix.data) +
                                  text_width(branch));
    tree->lines++;
}

static bool report_text_functions_worth_a_line(const struct functions_tree *tree, uint32_t index)
{
    const struct top_down_node *nodes = tree->nodes.nodes;
    return tree->lines < TREE_LINES && figure_double(nodes[index].inclusive) >=
                                           functions_tree_least * figure_double(nodes[0].inclusive);
}

static uint32_t report_text_functions_heavy_child(struct functions_tree *tree, uint32_t index,
                                                  bool *only)
{
    top_down_sort(&tree->nodes, index);
    const struct top_down_node *nodes = tree->nodes.nodes;
    uint32_t child = nodes[index].first_child;
    child = child && report_text_functions_worth_a_line(tree, child) ? child : 0;
    *only = child &&
            !(nodes[child].next && report_text_functions_worth_a_line(tree, nodes[child].next));
    return child;
}

static bool report_text_functions_asks_itself(const struct functions_tree *tree, uint32_t index)
{
    const struct top_down_node *nodes = tree->nodes.nodes;
    return figure_double(nodes[index].exclusive) >=
           functions_tree_least * figure_double(nodes[0].inclusive);
}

/* Says how many calls of a long chain are left out in the middle. */
static void report_text_functions_add_gap(struct functions_tree *tree, size_t count)
{
    struct strbuf line = STRBUF_INIT;
    strbuf_add_repeated(&tree->text->out, " ", 2 * FIGURE + SHARE + GAP);
    strbuf_addf(&line, "%s%s %s%zu calls\n", tree->prefix.data,
                style_sign(&tree->text->style, "↓", "v"),
                style_sign(&tree->text->style, "… ", "... "), count);
    style_add(&tree->text->out, &tree->text->style, TONE_DIM, line.data);
    strbuf_release(&line);
    tree->lines++;
}

/* Single children stand straight below their parent, so that deep calls fit into the line. Returns
 * the last of them: at a branch, or at a function that asks for memory itself. */
static uint32_t report_text_functions_add_chain(struct functions_tree *tree, uint32_t index)
{
    const char *sign = style_sign(&tree->text->style, "↓ ", "v ");
    uint32_t chain[CHAIN_LINES] = {0}; /* the last nodes that are not shown yet */
    size_t count = 0;
    bool only;
    for (uint32_t child; (child = report_text_functions_heavy_child(tree, index, &only)) && only;
         index = child) {
        if (count++ < CHAIN_LINES / 2)
            report_text_functions_add_tree_line(tree, child, sign);
        else
            chain[count % CHAIN_LINES] = child;
        if (report_text_functions_asks_itself(tree, child)) {
            index = child;
            break;
        }
    }
    size_t held = count > CHAIN_LINES / 2 ? count - CHAIN_LINES / 2 : 0;
    if (held > CHAIN_LINES) {
        report_text_functions_add_gap(tree, held - CHAIN_LINES / 2);
        held = CHAIN_LINES / 2;
    }
    for (; held; held--)
        report_text_functions_add_tree_line(tree, chain[(count - held + 1) % CHAIN_LINES], sign);
    return index;
}

static void report_text_functions_add_children(struct functions_tree *tree, uint32_t index,
                                               size_t levels)
{
    const struct style *style = &tree->text->style;
    bool only;
    for (uint32_t end; (end = report_text_functions_add_chain(tree, index)) != index;)
        index = end;
    uint32_t child = levels ? report_text_functions_heavy_child(tree, index, &only) : 0;
    while (child && report_text_functions_worth_a_line(tree, child)) {
        uint32_t next = tree->nodes.nodes[child].next;
        bool last = !next || !report_text_functions_worth_a_line(tree, next);
        size_t before = tree->prefix.length;
        report_text_functions_add_tree_line(
            tree, child, last ? style_sign(style, "└─ ", "`- ") : style_sign(style, "├─ ", "|- "));
        strbuf_add_string(&tree->prefix, last ? "   " : style_sign(style, "│  ", "|  "));
        bool deep = text_width(tree->prefix.data) * 4 > style->columns;
        report_text_functions_add_children(tree, child, deep ? 0 : levels - 1);
        strbuf_truncate(&tree->prefix, before);
        child = next;
    }
}

int report_section_tree(struct report_text *text)
{
    struct functions_tree tree = {
        .text = text,
        .metric = metric_choice_that_adds_up(text->profile, text->options->metric),
        .prefix = STRBUF_INIT};
    int error = top_down_init(&tree.nodes, text->profile, metrics[tree.metric].row,
                              text->sites.hidden, text->sites.wanted);
    if (error)
        return error;
    struct strbuf rest = STRBUF_INIT;
    struct figure whole = tree.nodes.nodes[0].inclusive;
    report_text_functions_add_metric(&rest, text->profile, tree.metric);
    strbuf_addf(&rest, ", of %s; what is below 1 %% is left out",
                metric_human(&metrics[tree.metric], whole).text);
    report_part_title(text, "Call tree", rest.data);
    if (figure_positive(whole)) {
        report_part_headings(text, tree_columns, TREE_HEADINGS);
        report_text_functions_add_children(&tree, 0,
                                           text->options->depth ? text->options->depth : 1);
    } else {
        report_part_note(text, metric_none(&metrics[tree.metric], text->profile));
    }
    strbuf_release(&rest);
    strbuf_release(&tree.prefix);
    top_down_release(&tree.nodes);
    return 0;
}
