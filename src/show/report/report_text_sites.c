/* Call sites by each metric, with their callers.
 *
 *     figure    share  function of the program                          file:line
 *   45.2 MiB   46.0 %  parse_document                              src/parser.c:123
 *                      ↑ read_block                                 src/parser.c:88
 *                      ├─ 30.6 % load_file                            src/load.c:45
 *                      │  ↑ main                                      src/main.c:12
 *                      └─ 15.4 % reload                               src/load.c:90
 *
 * A chain of single callers goes straight up ("↑"); only where callers differ does it branch, and
 * then each has its share of the whole program. The further up, the more a branch must weigh to be
 * shown: a site takes a dozen lines and not a hundred. */
#include "report/report_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "aggregate/estimate.h"
#include "aggregate/metric_choice.h"

enum {
    FIGURE = 11,
    SHARE = 7,
    GAP = 2,
    SIGN = 2,
    FIGURE_COLUMNS = FIGURE + GAP + SHARE + GAP,
    BAR_COLUMNS = 12,
    LEVELS = 4,
    MAX_LINES = 24,
    BRIEF_LINES = 3,
    BRIEF_BRANCHES = 2
};

struct sites_tree {
    struct report_text *text;
    const struct callers *callers;
    struct figure total;
    struct strbuf prefix; /* the text left of the lines of the current level */
    size_t level, lines;
};

/* A table of one row with the share of a branch. It begins behind the branch's sign, whose position
 * varies. */
static const struct text_column report_text_sites_branch_columns[] = {{NULL, SHARE, TEXT_RIGHT, 0},
                                                                      {NULL, 0, TEXT_LEFT, 1}};
/* The columns of a call site. An estimate has an error bar behind the figure. */
static const struct text_column report_text_sites_columns[] = {
    {NULL, FIGURE, TEXT_RIGHT, 0}, {NULL, SHARE, TEXT_RIGHT, GAP}, {NULL, 0, TEXT_LEFT, GAP}};
static const struct text_column report_text_sites_bar_columns[] = {
    {NULL, FIGURE, TEXT_RIGHT, 0},
    {NULL, BAR_COLUMNS, TEXT_RIGHT, 0},
    {NULL, SHARE, TEXT_RIGHT, GAP},
    {NULL, 0, TEXT_LEFT, GAP}};

/* By level: the least part of its site that a branch must have, and how many branches are shown. */
static const struct {
    double least;
    size_t most;
} limits[LEVELS] = {{0.02, 4}, {0.10, 3}, {0.20, 2}, {0.30, 2}};

static void report_text_sites_add_prefix(struct sites_tree *tree, const char *branch)
{
    struct report_text *text = tree->text;
    strbuf_add_repeated(&text->out, " ", text->figure_columns);
    style_begin(&text->out, &text->style, TONE_DIM);
    strbuf_add_string(&text->out, tree->prefix.data);
    strbuf_add_string(&text->out, branch);
    style_end(&text->out, &text->style);
    tree->lines++;
}

static size_t report_text_sites_prefix_columns(const struct sites_tree *tree)
{
    return tree->text->figure_columns + text_width(tree->prefix.data);
}

static void report_text_sites_add_callers(struct sites_tree *tree, uint32_t index);

/* The share of the whole; the figure itself where the metric does not add up. */
static struct human report_text_sites_branch_figure(const struct sites_tree *tree,
                                                    struct figure value)
{
    const struct metric *metric = tree->callers->metric;
    return metric_adds_up(metric) ? human_percent(figure_double(value), figure_double(tree->total))
                                  : metric_human(metric, value);
}

/* Adds "├─ 30.6 % function": the branch with its share, and the callers above it. */
static void report_text_sites_add_branch(struct sites_tree *tree, uint32_t child, bool last)
{
    const struct caller *caller = &tree->callers->nodes[child];
    const struct style *style = &tree->text->style;
    report_text_sites_add_prefix(tree, last ? style_sign(style, "└─", "`-")
                                            : style_sign(style, "├─", "|-"));
    report_part_row(tree->text, report_text_sites_branch_columns);
    report_part_next(tree->text, report_text_sites_branch_figure(tree, caller->value).text);
    report_part_next(tree->text, "");
    report_part_frame(tree->text, caller->frame,
                      report_text_sites_prefix_columns(tree) + SIGN + SHARE + 1, false);
    size_t before = tree->prefix.length;
    strbuf_addf(&tree->prefix, "%s  ", last ? " " : style_sign(style, "│", "|"));
    tree->level++;
    if (!tree->text->options->brief)
        report_text_sites_add_callers(tree, child);
    tree->level--;
    strbuf_truncate(&tree->prefix, before);
}

static void report_text_sites_add_rest(struct sites_tree *tree, uint32_t child, bool first)
{
    struct figure value = metric_nothing(tree->callers->metric);
    size_t count = 0;
    for (; child; child = tree->callers->nodes[child].next, count++)
        value = metric_join(tree->callers->metric, value, tree->callers->nodes[child].value);
    report_text_sites_add_prefix(tree, first ? style_sign(&tree->text->style, "↑ ", "^ ")
                                             : style_sign(&tree->text->style, "└─", "`-"));
    struct strbuf line = STRBUF_INIT;
    struct text_row row = text_row_begin(&line, report_text_sites_branch_columns);
    if (first) {
        strbuf_addf(&line, "%s callers\n", human_exact(count).text);
    } else {
        text_row_add(&row, report_text_sites_branch_figure(tree, value).text);
        text_row_add(&row, "");
        strbuf_addf(&line, "%zu more caller%s\n", count, count == 1 ? "" : "s");
    }
    style_add(&tree->text->out, &tree->text->style, TONE_DIM, line.data);
    strbuf_release(&line);
}

static bool report_text_sites_worth_a_branch(const struct sites_tree *tree, uint32_t child,
                                             size_t shown)
{
    const struct caller *nodes = tree->callers->nodes;
    if (tree->level >= LEVELS || tree->lines >= MAX_LINES || shown >= limits[tree->level].most)
        return false;
    if (tree->text->options->brief && (tree->level || shown >= BRIEF_BRANCHES))
        return false;
    return figure_double(nodes[child].value) >=
           limits[tree->level].least * figure_double(nodes[0].value);
}

static void report_text_sites_add_branches(struct sites_tree *tree, uint32_t index)
{
    const struct caller *nodes = tree->callers->nodes;
    size_t shown = 0;
    for (uint32_t child = nodes[index].first_child; child; child = nodes[child].next, shown++) {
        if (!report_text_sites_worth_a_branch(tree, child, shown)) {
            report_text_sites_add_rest(tree, child, shown == 0);
            return;
        }
        report_text_sites_add_branch(tree, child, !nodes[child].next);
    }
}

static void report_text_sites_add_callers(struct sites_tree *tree, uint32_t index)
{
    const struct caller *nodes = tree->callers->nodes;
    const struct style *style = &tree->text->style;
    uint32_t child;
    for (;;) {
        child = nodes[index].first_child;
        if (!child || nodes[child].next || !figure_equal(nodes[child].value, nodes[index].value))
            break;
        if (tree->text->options->brief && tree->lines >= BRIEF_LINES) {
            report_text_sites_add_prefix(tree, style_sign(style, "↑ …\n", "^ ...\n"));
            return;
        }
        report_text_sites_add_prefix(tree, style_sign(style, "↑ ", "^ "));
        report_part_frame(tree->text, nodes[child].frame,
                          report_text_sites_prefix_columns(tree) + 2, false);
        index = child;
    }
    if (child)
        report_text_sites_add_branches(tree, index);
    else if (nodes[index].continues)
        report_text_sites_add_prefix(tree, style_sign(style, "↑ …\n", "^ ...\n"));
}

/* "1,234 blocks, mean 1.52 ms old, 45.6 % another thread's" */
static void report_text_sites_add_freed(struct report_text *text, const struct site_group *group)
{
    struct strbuf line = STRBUF_INIT;
    const struct call_metrics *metrics_of = &group->merged.metrics;
    struct figure count = metrics_of->freed_count, elsewhere = metrics_of->freed_elsewhere_count;
    struct figure mean = figure_divide(metrics_of->freed_lifetime_sum, count);
    bool one = figure_equal(count, figure_of(1));
    strbuf_addf(&line, "%s%s block%s", estimate_is(text->profile) ? "~" : "",
                figure_human_count(count).text, one ? "" : "s");
    if (figure_known(mean))
        strbuf_addf(&line, ", %s%s old", one ? "" : "mean ", figure_human_duration(mean).text);
    if (figure_positive(elsewhere))
        strbuf_addf(&line, ", %s another thread's",
                    human_percent(figure_double(elsewhere), figure_double(count)).text);
    strbuf_add_repeated(&text->out, " ", text->figure_columns);
    style_add_wrapped(&text->out, &text->style, TONE_DIM, line.data, text->figure_columns);
    strbuf_release(&line);
}

/* "alloc_count 1.20 k, mean size 64 B": the columns of --columns. */
static void report_text_sites_add_columns(struct report_text *text, const struct site_group *group)
{
    const struct report_columns *columns = &text->options->more_columns;
    struct strbuf line = STRBUF_INIT;
    for (size_t i = 0; i < columns->count; i++)
        strbuf_addf(&line, "%s%s %s", i ? ", " : "", report_column_title(columns->at[i]),
                    report_column_value(text, columns->at[i], &group->merged).text);
    strbuf_add_repeated(&text->out, " ", text->figure_columns);
    style_add_wrapped(&text->out, &text->style, TONE_DIM, line.data, text->figure_columns);
    strbuf_release(&line);
}

/* Has the metric an error bar where it is estimated? */
static bool report_text_sites_has_variance(size_t metric)
{
    return metrics[metric].row->variance != METRIC_NO_VARIANCE;
}

/* Does the profile have only estimates of the metric? */
static bool report_text_sites_is_estimate(const struct report_text *text, size_t metric)
{
    return estimate_is(text->profile) && !metrics[metric].exact;
}

/* "45.2 MiB", "~12.3 k" */
static struct human report_text_sites_figure_of(const struct report_text *text, size_t metric,
                                                struct figure value)
{
    bool about = figure_positive(value) && report_text_sites_is_estimate(text, metric) &&
                 !report_text_sites_has_variance(metric);
    struct human figure;
    snprintf(figure.text, sizeof figure.text, "%s%.30s", about ? "~" : "",
             metric_human(&metrics[metric], value).text);
    return figure;
}

static bool report_text_sites_has_bars(const struct report_text *text, size_t metric)
{
    return report_text_sites_is_estimate(text, metric) && report_text_sites_has_variance(metric);
}

/* The figure of a call site, and its error bar if it has one. */
static void report_text_sites_add_figure(struct report_text *text, size_t metric,
                                         const struct site_group *group)
{
    struct figure value = call_sites_group_value(group, metric);
    bool bars = report_text_sites_has_bars(text, metric);
    report_part_row(text, bars ? report_text_sites_bar_columns : report_text_sites_columns);
    report_part_next_figure(text, report_text_sites_figure_of(text, metric, value).text);
    if (bars) {
        struct human bar = estimate_bar(text->profile, value,
                                        metric_variance(&metrics[metric], &group->merged.metrics),
                                        text->style.utf8);
        style_begin(&text->out, &text->style, TONE_DIM);
        report_part_next(text, bar.text);
        style_end(&text->out, &text->style);
    }
}

/* Nothing where the metric does not add up. */
static struct human report_text_sites_share(size_t metric, struct figure value, struct figure total)
{
    return metric_adds_up(&metrics[metric])
               ? human_percent(figure_double(value), figure_double(total))
               : (struct human){""};
}

static int report_text_sites_add(struct report_text *text, size_t metric,
                                 const struct site_group *group)
{
    struct figure total = metric_of(&metrics[metric], &text->profile->program.total);
    struct figure value = call_sites_group_value(group, metric);
    struct callers callers;
    int error = callers_build(&callers, &text->sites, group, metric, text->options->depth);
    if (error)
        return error;
    report_text_sites_add_figure(text, metric, group);
    report_part_next(text, report_text_sites_share(metric, value, total).text);
    report_part_next(text, "");
    report_part_frame(text, group->frame, text->figure_columns, true);
    if (metric_is_freed(&metrics[metric]))
        report_text_sites_add_freed(text, group);
    if (text->options->more_columns.count)
        report_text_sites_add_columns(text, group);
    struct sites_tree tree = {text, &callers, total, STRBUF_INIT, 0, 0};
    if (text->options->depth)
        report_text_sites_add_callers(&tree, 0);
    strbuf_release(&tree.prefix);
    callers_release(&callers);
    return 0;
}

static void report_text_sites_add_freed_total(struct report_text *text)
{
    const struct call_metrics *total = &text->profile->program.total;
    struct figure count = total->freed_count, elsewhere = total->freed_elsewhere_count;
    struct strbuf line = STRBUF_INIT;
    if (!figure_positive(count))
        return;
    strbuf_addf(&line, "  %s%s block%s", estimate_is(text->profile) ? "~" : "",
                figure_human_count(count).text, human_plural(figure_or(count, 0)));
    if (figure_positive(elsewhere))
        strbuf_addf(&line, ", %s of them allocated by another thread",
                    human_percent(figure_double(elsewhere), figure_double(count)).text);
    strbuf_add_char(&line, '\n');
    style_add(&text->out, &text->style, TONE_DIM, line.data);
    strbuf_release(&line);
}

static void report_text_sites_add_section_title(struct report_text *text, size_t metric,
                                                size_t count)
{
    bool sum = metric_adds_up(&metrics[metric]);
    struct figure total = sum ? metric_of(&metrics[metric], &text->profile->program.total)
                              : text->sites.totals[metric];
    struct strbuf title = STRBUF_INIT;
    metric_add_title(&title, &metrics[metric], text->profile, false);
    strbuf_add_char(&text->out, '\n');
    style_add(&text->out, &text->style, TONE_TITLE, title.data);
    strbuf_release(&title);
    bool estimate = report_text_sites_is_estimate(text, metric);
    if (figure_positive(total) || !estimate)
        strbuf_add_string(&text->out, "  ");
    if (figure_positive(total) && estimate && report_text_sites_has_variance(metric))
        estimate_add_bytes(&text->out, text->profile, total,
                           metric_variance(&metrics[metric], &text->profile->program.total),
                           text->style.utf8);
    else if (figure_positive(total) || !estimate)
        strbuf_add_string(&text->out, report_text_sites_figure_of(text, metric, total).text);
    if (count)
        strbuf_addf(&text->out, " at %s call site%s", human_exact(count).text,
                    count == 1 ? "" : "s");
    if (text->options->filter && !sum)
        strbuf_add_string(&text->out, " that pass the filter");
    else if (text->options->filter)
        strbuf_addf(
            &text->out, ", %s of it passes the filter",
            human_percent(figure_double(text->sites.totals[metric]), figure_double(total)).text);
    strbuf_add_char(&text->out, '\n');
    if (metric_is_freed(&metrics[metric]))
        report_text_sites_add_freed_total(text);
}

/* One line for all call sites after the last one that is shown. */
static void report_text_sites_add_others(struct strbuf *line, const struct report_text *text,
                                         size_t metric, struct figure value, size_t count)
{
    struct figure total = metric_of(&metrics[metric], &text->profile->program.total);
    bool bars = report_text_sites_has_bars(text, metric);
    struct text_row row =
        text_row_begin(line, bars ? report_text_sites_bar_columns : report_text_sites_columns);
    text_row_add(&row, metric_adds_up(&metrics[metric])
                           ? report_text_sites_figure_of(text, metric, value).text
                           : "");
    if (bars)
        text_row_add(&row, "");
    text_row_add(&row, report_text_sites_share(metric, value, total).text);
    text_row_add(&row, "");
    strbuf_addf(line, "%s more call site%s (--top)\n", human_exact(count).text,
                count == 1 ? "" : "s");
}

/* One line for what run-times asked for as they started, if that is left out above. False: they
 * have none of it, or the metric has no sums. */
static bool report_text_sites_add_startup(struct strbuf *line, const struct report_text *text,
                                          size_t metric)
{
    struct figure value = metric_adds_up(&metrics[metric])
                              ? startup_sum(&text->startup, text->profile, metrics[metric].row)
                              : FIGURE_UNKNOWN;
    if (!figure_positive(value))
        return false;
    struct figure total = metric_of(&metrics[metric], &text->profile->program.total);
    bool bars = report_text_sites_has_bars(text, metric);
    struct text_row row =
        text_row_begin(line, bars ? report_text_sites_bar_columns : report_text_sites_columns);
    text_row_add(&row, report_text_sites_figure_of(text, metric, value).text);
    if (bars)
        text_row_add(&row, "");
    text_row_add(&row, report_text_sites_share(metric, value, total).text);
    text_row_add(&row, "");
    strbuf_add_string(line, "start-up of run-times and libraries (--startup)\n");
    return true;
}

/* What a list without a call site says. */
static const char *report_text_sites_none(const struct report_text *text, size_t metric)
{
    if (text->options->filter)
        return "nothing passes the filter";
    if (report_text_sites_is_estimate(text, metric))
        return "nothing of it is in the sample";
    return metric_none(&metrics[metric], text->profile);
}

static int report_text_sites_add_section(struct report_text *text, size_t metric)
{
    size_t max =
        text->options->top < text->sites.group_count ? text->options->top : text->sites.group_count;
    const struct site_group **top = calloc(max + 1, sizeof(const struct site_group *));
    if (!top)
        return -ENOMEM;
    size_t count = call_sites_top(&text->sites, metric, top, max);
    text->figure_columns =
        FIGURE_COLUMNS + (report_text_sites_has_bars(text, metric) ? BAR_COLUMNS : 0);
    report_text_sites_add_section_title(text, metric, count);
    int error = 0;
    struct figure shown = figure_of(0);
    for (size_t i = 0; i < max && i < count && !error; i++) {
        error = report_text_sites_add(text, metric, top[i]);
        shown = figure_add(shown, call_sites_group_value(top[i], metric));
    }
    free(top);
    /* where the metric does not add up, no sum is left */
    struct figure left = metric_adds_up(&metrics[metric])
                             ? figure_sub(text->sites.totals[metric], shown)
                             : FIGURE_UNKNOWN;
    struct strbuf rest = STRBUF_INIT;
    if (count > max)
        report_text_sites_add_others(&rest, text, metric, left, count - max);
    if (!report_text_sites_add_startup(&rest, text, metric) && !count)
        strbuf_addf(&rest, "  %s\n", report_text_sites_none(text, metric));
    style_add(&text->out, &text->style, TONE_DIM, rest.data);
    strbuf_release(&rest);
    return error;
}

int report_section_sites(struct report_text *text)
{
    int error = 0;
    for (size_t i = 0; i < METRIC_CHOICES && !error; i++) {
        bool wanted = text->options->metric == METRIC_CHOICE_ALL ? metrics[i].usual
                                                                 : text->options->metric == (int)i;
        if (wanted && !metric_missing(text->profile, (int)i))
            error = report_text_sites_add_section(text, i);
    }
    return error;
}
