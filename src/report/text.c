/* The report for people: what ran, how much memory over time, then the call sites by each metric
 * with their callers.
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
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "insight/insight.h"
#include "present/facts.h"
#include "report/graph.h"
#include "report/metric.h"
#include "present/names.h"
#include "report/call_sites.h"
#include "present/style.h"

enum { LABEL_COLUMNS = 15, FIGURE_COLUMNS = 22, LEVELS = 4, MAX_LINES = 24, TOP_INSIGHTS = 5 };

struct text {
    struct style style;
    struct strbuf out;
    const struct profile *profile;
    const struct report_options *options;
    struct call_sites sites;
};

/* ---- The head ------------------------------------------------------------------------------ */

static void add_label(struct text *text, const char *label)
{
    struct strbuf padded = STRBUF_INIT;
    strbuf_addf(&padded, "  %-*s", LABEL_COLUMNS - 2, label);
    style_add(&text->out, &text->style, TONE_DIM, padded.data);
    strbuf_release(&padded);
}

static void add_wrapped(struct text *text, const char *string)
{
    text_add_wrapped(&text->out, string, LABEL_COLUMNS, text->style.columns);
    strbuf_add_char(&text->out, '\n');
}

static void add_identity(struct text *text)
{
    const struct profile *profile = text->profile;
    struct strbuf line = STRBUF_INIT;
    facts_add_text(&line, profile, PROFILE_META_PROGRAM);
    style_add(&text->out, &text->style, TONE_TITLE, line.data);
    strbuf_reset(&line);
    strbuf_add_string(&line, "  pid ");
    facts_add_text(&line, profile, PROFILE_META_PID);
    if (profile_get(profile, PROFILE_META_RANK)) {
        strbuf_add_string(&line, ", rank ");
        facts_add_text(&line, profile, PROFILE_META_RANK);
    }
    strbuf_add_string(&line, " on ");
    facts_add_text(&line, profile, PROFILE_META_HOST);
    uint64_t start_ns = facts_number(profile, PROFILE_META_START);
    if (start_ns)
        strbuf_addf(&line, ", %s", human_time((int64_t)(start_ns / 1000000000u)).text);
    strbuf_add_char(&line, '\n');
    style_add(&text->out, &text->style, TONE_DIM, line.data);
    strbuf_release(&line);
}

static void add_run(struct text *text)
{
    struct strbuf line = STRBUF_INIT;
    add_label(text, "command");
    facts_add_text(&line, text->profile, PROFILE_META_COMMAND);
    size_t most = 6 * (text->style.columns - LABEL_COLUMNS);
    struct strbuf cut = STRBUF_INIT;
    text_add_cut(&cut, line.data, most);
    add_wrapped(text, cut.data);
    strbuf_release(&cut);
    strbuf_reset(&line);
    add_label(text, "ran");
    if (profile_get(text->profile, PROFILE_META_DURATION))
        strbuf_addf(&line, "%s, ",
                    human_duration(facts_number(text->profile, PROFILE_META_DURATION)).text);
    facts_add_end(&line, text->profile);
    style_begin(&text->out, &text->style,
                facts_ended_well(text->profile) ? TONE_GOOD : TONE_WARNING);
    text_add_wrapped(&text->out, line.data, LABEL_COLUMNS, text->style.columns);
    style_end(&text->out, &text->style);
    strbuf_add_char(&text->out, '\n');
    strbuf_release(&line);
}

static void add_peak(struct text *text)
{
    const struct program_metrics *program = &text->profile->program;
    struct strbuf line = STRBUF_INIT;
    add_label(text, "peak");
    style_add(&text->out, &text->style, TONE_FIGURE, human_bytes(program->total.peak_bytes).text);
    strbuf_addf(&text->out, " requested in %s blocks, after %s\n",
                human_count(program->total.at_peak_count).text,
                human_duration(program->total.peak_ticks).text);
    uint64_t resident;
    add_label(text, "resident");
    if (facts_resident_peak(text->profile, &resident))
        strbuf_addf(&line, "%s at most", human_bytes(resident).text);
    else
        strbuf_add_string(&line, "not sampled");
    add_wrapped(text, line.data);
    strbuf_release(&line);
}

static void add_mean(struct strbuf *line, const struct call_metrics *total)
{
    uint64_t blocks = total->alloc_count + total->realloc_count;
    if (!blocks || total->size_min == UINT64_MAX)
        return;
    uint64_t bytes = total->alloc_bytes + total->realloc_bytes;
    strbuf_addf(line, "%s to %s", human_bytes(total->size_min).text,
                human_bytes(total->size_max).text);
    strbuf_addf(line, ", mean %s", human_bytes(bytes / blocks).text);
}

static void add_counts(struct text *text)
{
    const struct call_metrics *total = &text->profile->program.total;
    struct strbuf line = STRBUF_INIT;
    strbuf_addf(&line, "%s of %s in all", human_exact(total->alloc_count).text,
                human_bytes(total->alloc_bytes).text);
    strbuf_addf(&line, "; %s temporary (%s)", human_count(total->temporary_count).text,
                human_percent((double)total->temporary_count,
                              (double)(total->alloc_count + total->realloc_count))
                    .text);
    if (total->failed_count)
        strbuf_addf(&line, "; %s failed", human_exact(total->failed_count).text);
    add_label(text, "allocations");
    add_wrapped(text, line.data);
    strbuf_reset(&line);
    /* A realloc ends the old block's life too: those are counted as reallocs only. */
    uint64_t freed =
        total->free_count > total->realloc_count ? total->free_count - total->realloc_count : 0;
    strbuf_add_string(&line, human_exact(freed).text);
    if (total->realloc_count)
        strbuf_addf(&line, "; %s reallocs, %s of which moved the block",
                    human_exact(total->realloc_count).text, human_count(total->realloc_moved).text);
    add_label(text, "frees");
    add_wrapped(text, line.data);
    strbuf_reset(&line);
    add_mean(&line, total);
    if (line.length) {
        add_label(text, "block sizes");
        add_wrapped(text, line.data);
    }
    strbuf_reset(&line);
    if (total->free_count && total->lifetime_min != UINT64_MAX) {
        strbuf_addf(&line, "%s to ", human_duration(total->lifetime_min).text);
        strbuf_addf(&line, "%s, ", human_duration(total->lifetime_max).text);
        strbuf_addf(&line, "mean %s", human_duration(total->lifetime_sum / total->free_count).text);
        add_label(text, "lifetimes");
        add_wrapped(text, line.data);
    }
    strbuf_release(&line);
}

static void add_leaks(struct text *text)
{
    const struct call_metrics *total = &text->profile->program.total;
    bool done = text->profile->complete;
    add_label(text, done ? "never freed" : "alive now");
    if (!total->live_count) {
        style_add(&text->out, &text->style, TONE_GOOD, "nothing");
        strbuf_add_char(&text->out, '\n');
        return;
    }
    style_add(&text->out, &text->style, TONE_FIGURE, human_bytes(total->live_bytes).text);
    strbuf_addf(&text->out, " in %s blocks\n", human_exact(total->live_count).text);
}

static void add_mapped(struct text *text)
{
    const struct program_metrics *program = &text->profile->program;
    if (!program->total.map_count && !program->brk_count)
        return;
    struct strbuf line = STRBUF_INIT;
    strbuf_addf(&line, "%s by %s calls of mmap", human_bytes(program->total.map_bytes).text,
                human_exact(program->total.map_count).text);
    strbuf_addf(&line, ", %s given back by munmap",
                program->unmap_bytes ? human_bytes(program->unmap_bytes).text : "nothing");
    add_label(text, "mapped");
    add_wrapped(text, line.data);
    strbuf_release(&line);
}

static void add_threads(struct text *text)
{
    uint64_t wait_ns = facts_number(text->profile, PROFILE_META_WAIT_NS);
    if (text->profile->thread_count < 2 && !wait_ns)
        return;
    add_label(text, "threads");
    strbuf_addf(&text->out, "%zu", text->profile->thread_count);
    if (wait_ns)
        strbuf_addf(&text->out, ", waited %s for the recording", human_duration(wait_ns).text);
    strbuf_add_char(&text->out, '\n');
}

static void add_loss(struct text *text)
{
    struct strbuf warnings = STRBUF_INIT;
    facts_add_warnings(&warnings, text->profile);
    const char *label = "loss";
    if (!warnings.length) {
        add_label(text, label);
        style_add(&text->out, &text->style, TONE_GOOD, "none");
        strbuf_addf(&text->out, ": all of %s events are in this profile\n",
                    human_exact(text->profile->program.events).text);
    }
    for (char *at = warnings.data, *end; *at; at = end + 1, label = "") {
        end = strchr(at, '\n');
        *end = 0;
        add_label(text, label);
        style_begin(&text->out, &text->style, TONE_WARNING);
        text_add_wrapped(&text->out, at, LABEL_COLUMNS, text->style.columns);
        style_end(&text->out, &text->style);
        strbuf_add_char(&text->out, '\n');
    }
    strbuf_release(&warnings);
}

static void add_head(struct text *text)
{
    add_identity(text);
    add_run(text);
    if (!text->profile->has_program) {
        strbuf_add_string(&text->out, text->profile->being_written
                                          ? "  nothing has been saved yet: try again in a moment\n"
                                          : "  nothing was saved: there are no figures to show\n");
        return;
    }
    add_peak(text);
    add_counts(text);
    add_leaks(text);
    add_mapped(text);
    add_threads(text);
    add_loss(text);
    strbuf_add_char(&text->out, '\n');
    graph_add(&text->out, &text->style, text->profile);
}

/* ---- Insights ------------------------------------------------------------------------------ */

static int add_insights(struct text *text)
{
    struct insights *insights = insights_find(text->profile);
    if (!insights)
        return -ENOMEM;
    struct strbuf rest = STRBUF_INIT;
    if (insights->count) {
        size_t shown = insights->count < TOP_INSIGHTS ? insights->count : TOP_INSIGHTS;
        strbuf_add_char(&text->out, '\n');
        style_add(&text->out, &text->style, TONE_TITLE, "Insights");
        if (shown < insights->count)
            strbuf_addf(&rest, "  the first %zu of %zu", shown, insights->count);
        strbuf_add_string(&rest, "  (tidemark insight: evidence and advice)\n");
        style_add(&text->out, &text->style, TONE_DIM, rest.data);
        insights_add_lines(&text->out, insights, &text->style, shown);
    }
    strbuf_release(&rest);
    insights_free(insights);
    return 0;
}

/* ---- Call sites ---------------------------------------------------------------------------- */

struct tree {
    struct text *text;
    const struct callers *callers;
    uint64_t total;
    struct strbuf prefix; /* what stands left of the lines of the current level */
    size_t level, lines;
};

/* What a branch must weigh, as a part of its site, and how many are shown, by level. */
static const struct {
    double least;
    size_t most;
} limits[LEVELS] = {{0.02, 4}, {0.10, 3}, {0.20, 2}, {0.30, 2}};

static void add_prefix(struct tree *tree, const char *branch)
{
    struct text *text = tree->text;
    strbuf_add_repeated(&text->out, " ", FIGURE_COLUMNS);
    style_begin(&text->out, &text->style, TONE_DIM);
    strbuf_add_string(&text->out, tree->prefix.data);
    strbuf_add_string(&text->out, branch);
    style_end(&text->out, &text->style);
    tree->lines++;
}

static size_t prefix_columns(const struct tree *tree)
{
    return FIGURE_COLUMNS + text_width(tree->prefix.data);
}

static void add_callers(struct tree *tree, uint32_t index);

/* "├─ 30.6 % function": the branch, its share in a field of 7, and what hangs on it. */
static void add_branch(struct tree *tree, uint32_t child, bool last)
{
    const struct caller *caller = &tree->callers->nodes[child];
    const struct style *style = &tree->text->style;
    add_prefix(tree, last ? style_sign(style, "└─", "`-") : style_sign(style, "├─", "|-"));
    strbuf_addf(&tree->text->out, "%7s ",
                human_percent((double)caller->value, (double)tree->total).text);
    frame_add_line(&tree->text->out, style, tree->text->profile, caller->frame,
                   prefix_columns(tree) + 10, false);
    size_t before = tree->prefix.length;
    strbuf_addf(&tree->prefix, "%s  ", last ? " " : style_sign(style, "│", "|"));
    tree->level++;
    add_callers(tree, child);
    tree->level--;
    strbuf_truncate(&tree->prefix, before);
}

static void add_rest(struct tree *tree, uint32_t child, bool first)
{
    uint64_t value = 0;
    size_t count = 0;
    for (; child; child = tree->callers->nodes[child].next, count++)
        value += tree->callers->nodes[child].value;
    add_prefix(tree, first ? style_sign(&tree->text->style, "↑ ", "^ ")
                           : style_sign(&tree->text->style, "└─", "`-"));
    struct strbuf line = STRBUF_INIT;
    if (first)
        strbuf_addf(&line, "%s callers\n", human_exact(count).text);
    else
        strbuf_addf(&line, "%7s %zu more caller%s\n",
                    human_percent((double)value, (double)tree->total).text, count,
                    count == 1 ? "" : "s");
    style_add(&tree->text->out, &tree->text->style, TONE_DIM, line.data);
    strbuf_release(&line);
}

static bool worth_a_branch(const struct tree *tree, uint32_t child, size_t shown)
{
    const struct caller *nodes = tree->callers->nodes;
    if (tree->level >= LEVELS || tree->lines >= MAX_LINES || shown >= limits[tree->level].most)
        return false;
    return (double)nodes[child].value >= limits[tree->level].least * (double)nodes[0].value;
}

static void add_branches(struct tree *tree, uint32_t index)
{
    const struct caller *nodes = tree->callers->nodes;
    size_t shown = 0;
    for (uint32_t child = nodes[index].first_child; child; child = nodes[child].next, shown++) {
        if (!worth_a_branch(tree, child, shown)) {
            add_rest(tree, child, shown == 0);
            return;
        }
        add_branch(tree, child, !nodes[child].next);
    }
}

static void add_callers(struct tree *tree, uint32_t index)
{
    const struct caller *nodes = tree->callers->nodes;
    const struct style *style = &tree->text->style;
    uint32_t child;
    for (;;) {
        child = nodes[index].first_child;
        if (!child || nodes[child].next || nodes[child].value != nodes[index].value)
            break;
        add_prefix(tree, style_sign(style, "↑ ", "^ "));
        frame_add_line(&tree->text->out, style, tree->text->profile, nodes[child].frame,
                       prefix_columns(tree) + 2, false);
        index = child;
    }
    if (child)
        add_branches(tree, index);
    else if (nodes[index].continues)
        add_prefix(tree, style_sign(style, "↑ …\n", "^ ...\n"));
}

/* "1,234 blocks, mean 1.52 ms old, 45.6 % another thread's" */
static void add_freed(struct text *text, const struct site_group *group)
{
    struct strbuf line = STRBUF_INIT;
    uint64_t count = group->freed_count, elsewhere = group->freed_elsewhere_count;
    strbuf_addf(&line, "%s block%s", human_count(count).text, count == 1 ? "" : "s");
    if (count)
        strbuf_addf(&line, ", %s%s old", count == 1 ? "" : "mean ",
                    human_duration(group->freed_lifetime_ns / count).text);
    if (elsewhere)
        strbuf_addf(&line, ", %s another thread's",
                    human_percent((double)elsewhere, (double)count).text);
    strbuf_add_repeated(&text->out, " ", FIGURE_COLUMNS);
    style_begin(&text->out, &text->style, TONE_DIM);
    text_add_wrapped(&text->out, line.data, FIGURE_COLUMNS, text->style.columns);
    style_end(&text->out, &text->style);
    strbuf_add_char(&text->out, '\n');
    strbuf_release(&line);
}

static int add_site(struct text *text, size_t metric, const struct site_group *group)
{
    uint64_t total = metric_of(&metrics[metric], &text->profile->program.total);
    uint64_t value = group->totals[metric];
    struct callers callers;
    int error = callers_build(&callers, &text->sites, group, metric, text->options->depth);
    if (error)
        return error;
    struct strbuf figure = STRBUF_INIT;
    strbuf_addf(&figure, "%11s", metric_human(&metrics[metric], value).text);
    style_add(&text->out, &text->style, TONE_FIGURE, figure.data);
    strbuf_addf(&text->out, "  %7s  ", human_percent((double)value, (double)total).text);
    frame_add_line(&text->out, &text->style, text->profile, group->frame, FIGURE_COLUMNS, true);
    if (metric_is_freed(&metrics[metric]))
        add_freed(text, group);
    struct tree tree = {text, &callers, total, STRBUF_INIT, 0, 0};
    if (text->options->depth)
        add_callers(&tree, 0);
    strbuf_release(&tree.prefix);
    strbuf_release(&figure);
    callers_release(&callers);
    return 0;
}

static void add_freed_total(struct text *text)
{
    const struct call_metrics *total = &text->profile->program.total;
    uint64_t count = total->freed_count, elsewhere = total->freed_elsewhere_count;
    struct strbuf line = STRBUF_INIT;
    if (!count)
        return;
    strbuf_addf(&line, "  %s block%s", human_count(count).text, count == 1 ? "" : "s");
    if (elsewhere)
        strbuf_addf(&line, ", %s of them allocated by another thread",
                    human_percent((double)elsewhere, (double)count).text);
    strbuf_add_char(&line, '\n');
    style_add(&text->out, &text->style, TONE_DIM, line.data);
    strbuf_release(&line);
}

static void add_section_title(struct text *text, size_t metric, size_t count)
{
    uint64_t total = metric_of(&metrics[metric], &text->profile->program.total);
    const char *title = metrics[metric].title;
    if (metrics[metric].offset == offsetof(struct call_metrics, live_bytes) &&
        !text->profile->complete)
        title = "Alive now";
    strbuf_add_char(&text->out, '\n');
    style_add(&text->out, &text->style, TONE_TITLE, title);
    strbuf_addf(&text->out, "  %s", metric_human(&metrics[metric], total).text);
    if (count)
        strbuf_addf(&text->out, " at %s call site%s", human_exact(count).text,
                    count == 1 ? "" : "s");
    if (text->options->filter)
        strbuf_addf(&text->out, ", %s of it passes the filter",
                    human_percent((double)text->sites.totals[metric], (double)total).text);
    strbuf_add_char(&text->out, '\n');
    if (metric_is_freed(&metrics[metric]))
        add_freed_total(text);
}

static int add_section(struct text *text, size_t metric)
{
    size_t max =
        text->options->top < text->sites.group_count ? text->options->top : text->sites.group_count;
    const struct site_group **top = calloc(max + 1, sizeof(const struct site_group *));
    if (!top)
        return -ENOMEM;
    size_t count = call_sites_top(&text->sites, metric, top, max);
    add_section_title(text, metric, count);
    int error = 0;
    uint64_t shown = 0;
    for (size_t i = 0; i < max && i < count && !error; i++) {
        error = add_site(text, metric, top[i]);
        shown += top[i]->totals[metric];
    }
    free(top);
    struct strbuf rest = STRBUF_INIT;
    if (!count)
        strbuf_addf(&rest, "  %s\n",
                    text->options->filter ? "nothing passes the filter" : metrics[metric].none);
    else if (count > max)
        strbuf_addf(
            &rest, "%11s  %7s  %s more call site%s (--top)\n",
            metric_human(&metrics[metric], text->sites.totals[metric] - shown).text,
            human_percent((double)(text->sites.totals[metric] - shown),
                          (double)metric_of(&metrics[metric], &text->profile->program.total))
                .text,
            human_exact(count - max).text, count - max == 1 ? "" : "s");
    style_add(&text->out, &text->style, TONE_DIM, rest.data);
    strbuf_release(&rest);
    return error;
}

static int add_sections(struct text *text)
{
    int error = 0;
    for (size_t i = 0; i < METRIC_COUNT && !error; i++) {
        bool wanted = text->options->metric == REPORT_ALL_METRICS ? metrics[i].usual
                                                                  : text->options->metric == (int)i;
        if (wanted && metric_is_known(&metrics[i], &text->profile->program.total))
            error = add_section(text, i);
    }
    return error;
}

int report_text(FILE *out, const struct profile *profile, const struct report_options *options)
{
    struct text text = {.style = {options->colour, options->utf8, options->columns},
                        .out = STRBUF_INIT,
                        .profile = profile,
                        .options = options};
    int error = call_sites_init(&text.sites, profile, options);
    if (error)
        return error;
    add_head(&text);
    /* They are about the whole program: not where a part of it was asked for. */
    if (profile->has_program && options->metric == REPORT_ALL_METRICS && !options->filter)
        error = add_insights(&text);
    if (!error && profile->has_program)
        error = add_sections(&text);
    if (!error && (fwrite(text.out.data, 1, text.out.length, out) != text.out.length))
        error = errno == EPIPE ? 0 : -EIO;
    call_sites_release(&text.sites);
    strbuf_release(&text.out);
    return error;
}
