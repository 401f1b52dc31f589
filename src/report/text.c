/* The report for people: what ran, how much memory over time, then the call sites by each metric
 * with their callers; or the sections that are asked for. What was not recorded is said, and never
 * shown as 0. */
#include "report/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "insight/insight.h"
#include "present/facts.h"
#include "report/estimate.h"
#include "report/graph.h"
#include "report/metric.h"
#include "views/threads.h"

enum { TOP_INSIGHTS = 5 };

/* ---- The head ------------------------------------------------------------------------------ */

static void add_process(struct strbuf *line, const struct profile *profile)
{
    strbuf_add_string(line, "  pid ");
    facts_add_text(line, profile, PROFILE_META_PID);
    facts_add_rank(line, profile);
    strbuf_add_string(line, " on ");
    facts_add_text(line, profile, PROFILE_META_HOST);
}

static void add_job(struct strbuf *line, const struct profile *profile)
{
    strbuf_add_string(line, "  ");
    facts_add_text(line, profile, PROFILE_META_JOB_RANKS);
    strbuf_addf(line, " ranks on %zu node%s", profile->node_peak_count,
                profile->node_peak_count == 1 ? "" : "s");
    if (!profile_get(profile, PROFILE_META_JOB))
        return;
    strbuf_add_string(line, ", job ");
    facts_add_text(line, profile, PROFILE_META_JOB);
}

static void add_identity(struct text *text)
{
    const struct profile *profile = text->profile;
    struct strbuf line = STRBUF_INIT;
    facts_add_text(&line, profile, PROFILE_META_PROGRAM);
    style_add(&text->out, &text->style, TONE_TITLE, line.data);
    strbuf_reset(&line);
    if (facts_is_job(profile))
        add_job(&line, profile);
    else
        add_process(&line, profile);
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
    part_label(text, "command");
    facts_add_text(&line, text->profile, PROFILE_META_COMMAND);
    size_t most = 6 * (text->style.columns - TEXT_LABEL_COLUMNS);
    struct strbuf cut = STRBUF_INIT;
    text_add_cut(&cut, line.data, most);
    part_wrapped(text, cut.data);
    strbuf_release(&cut);
    strbuf_reset(&line);
    part_label(text, "ran");
    if (profile_get(text->profile, PROFILE_META_DURATION))
        strbuf_addf(&line, "%s, ",
                    human_duration(facts_number(text->profile, PROFILE_META_DURATION)).text);
    facts_add_end(&line, text->profile);
    style_begin(&text->out, &text->style,
                facts_ended_well(text->profile) ? TONE_GOOD : TONE_WARNING);
    text_add_wrapped(&text->out, line.data, TEXT_LABEL_COLUMNS, text->style.columns);
    style_end(&text->out, &text->style);
    strbuf_add_char(&text->out, '\n');
    strbuf_release(&line);
}

static void add_window(struct text *text)
{
    struct strbuf line = STRBUF_INIT;
    if (facts_add_window(&line, text->profile)) {
        part_label(text, "window");
        part_wrapped(text, line.data);
    }
    strbuf_reset(&line);
    if (facts_add_beginning(&line, text->profile)) {
        part_label(text, "recorded");
        part_wrapped(text, line.data);
    }
    strbuf_release(&line);
}

static void add_snapshots(struct text *text)
{
    struct strbuf lines = STRBUF_INIT;
    if (facts_add_snapshots(&lines, text->profile))
        for (char *line = lines.data, *end; (end = strchr(line, '\n')); line = end + 1) {
            *end = 0;
            part_label(text, "snapshot");
            part_wrapped(text, line);
        }
    strbuf_release(&lines);
}

static void add_cut(struct text *text)
{
    const char *region = profile_get(text->profile, PROFILE_META_REGION);
    struct strbuf line = STRBUF_INIT;
    if (!region)
        return;
    part_label(text, "region");
    text_add_safe_string(&line, region);
    strbuf_add_string(&line, ": only what was allocated in it");
    part_wrapped(text, line.data);
    strbuf_release(&line);
}

static void add_stacks(struct text *text)
{
    if (!*facts_stacks(text->profile))
        return;
    part_label(text, "call paths");
    strbuf_addf(&text->out, "%s\n", facts_stacks(text->profile));
}

static void add_sampling(struct text *text)
{
    struct strbuf line = STRBUF_INIT;
    if (facts_add_budget(&line, text->profile)) {
        part_label(text, "cost");
        part_wrapped(text, line.data);
        strbuf_reset(&line);
    }
    if (!estimate_is(text->profile))
        return;
    part_label(text, "sampled");
    estimate_add_sentence(&line, text->profile);
    strbuf_addf(&line,
                ". Figures are estimates: %s holds the truth with 95 %% probability, counts "
                "(~) are less sure, and a peak, the highest of many, is rather too high",
                style_sign(&text->style, "±", "+-"));
    style_begin(&text->out, &text->style, TONE_WARNING);
    text_add_wrapped(&text->out, line.data, TEXT_LABEL_COLUMNS, text->style.columns);
    style_end(&text->out, &text->style);
    strbuf_add_char(&text->out, '\n');
    strbuf_release(&line);
}

/* "15.8 MiB", with its error bar if it is an estimate. */
static void add_bytes(struct text *text, uint64_t bytes, uint64_t variance)
{
    struct strbuf figure = STRBUF_INIT;
    estimate_add_bytes(&figure, text->profile, bytes, variance, text->style.utf8);
    style_add(&text->out, &text->style, TONE_FIGURE, figure.data);
    strbuf_release(&figure);
}

static bool known(uint64_t value)
{
    return value != UINT64_MAX;
}

static uint64_t or_none(uint64_t value)
{
    return known(value) ? value : 0;
}

/* Profiles made of another tool's file lack what that did not record. */
static bool add_unless_known(struct text *text, const char *label, uint64_t value)
{
    const char *tool = facts_imported_from(text->profile);
    if (known(value))
        return false;
    part_label(text, label);
    strbuf_addf(&text->out, "not known%s%s\n", tool ? ": not recorded by " : "", tool ? tool : "");
    return true;
}

static void add_peak(struct text *text)
{
    const struct program_metrics *program = &text->profile->program;
    if (add_unless_known(text, "peak", program->total.peak_bytes))
        return;
    part_label(text, "peak");
    add_bytes(text, program->total.peak_bytes, program->total.at_peak_variance);
    if (profile_get(text->profile,
                    PROFILE_META_REGION)) { /* its own: its blocks are the program's */
        strbuf_addf(&text->out, " requested, after %s\n",
                    human_duration(program->total.peak_ticks).text);
        return;
    }
    if (known(program->total.at_peak_count))
        strbuf_addf(&text->out, " %s%s block%s",
                    estimate_is(text->profile) ? "in ~" : "requested in ",
                    human_count(program->total.at_peak_count).text,
                    human_plural(program->total.at_peak_count));
    if (known(program->total.peak_ticks))
        strbuf_addf(&text->out, ", after %s", human_duration(program->total.peak_ticks).text);
    strbuf_add_char(&text->out, '\n');
}

/* Is there memory of ours in what /proc says, and not in the timeline? */
static bool has_tool_memory(const struct profile *profile)
{
    for (size_t i = 0; i < profile->sample_count; i++)
        if (profile->samples[i].tool_bytes && known(profile->samples[i].tool_bytes))
            return true;
    return false;
}

static void add_resident(struct text *text)
{
    struct strbuf line = STRBUF_INIT;
    uint64_t resident;
    part_label(text, "resident");
    if (facts_resident_peak(text->profile, &resident))
        strbuf_addf(&line, "%s at most%s", human_bytes(resident).text,
                    has_tool_memory(text->profile) ? ", without Tidemark's own" : "");
    else
        strbuf_add_string(&line, "not measured");
    part_wrapped(text, line.data);
    strbuf_release(&line);
}

/* Of a sample, smallest and largest are those that it holds. */
static void add_mean(struct strbuf *line, const struct call_metrics *total, const char *about)
{
    uint64_t blocks = or_none(total->alloc_count) + or_none(total->realloc_count);
    if (!blocks || total->size_min == UINT64_MAX)
        return;
    uint64_t bytes = or_none(total->alloc_bytes) + or_none(total->realloc_bytes);
    strbuf_addf(line, "%s to %s%s", human_bytes(total->size_min).text,
                human_bytes(total->size_max).text, *about ? " in the sample" : "");
    strbuf_addf(line, ", mean %s%s", about, human_bytes(bytes / blocks).text);
}

static void add_allocations(struct text *text, const char *about)
{
    const struct call_metrics *total = &text->profile->program.total;
    struct strbuf line = STRBUF_INIT;
    const struct profile *profile = text->profile;
    if (add_unless_known(text, "allocations", total->alloc_count))
        return;
    strbuf_add_string(&line, estimate_count(profile, total->alloc_count).text);
    if (known(total->alloc_bytes)) {
        strbuf_add_string(&line, " of ");
        estimate_add_bytes(&line, profile, total->alloc_bytes, total->alloc_variance,
                           text->style.utf8);
        strbuf_add_string(&line, " in all");
    }
    uint64_t born = total->alloc_count + or_none(total->realloc_count);
    if (known(total->temporary_count)) { /* reallocs make blocks too: say so, or the share looks
                                            wrong */
        strbuf_addf(&line, "; %s%s temporary (%s", total->temporary_count ? about : "",
                    human_count(total->temporary_count).text,
                    human_percent((double)total->temporary_count, (double)born).text);
        strbuf_add_string(&line, total->temporary_count && or_none(total->realloc_count)
                                     ? " with reallocs)"
                                     : ")");
    }
    if (or_none(total->failed_count))
        strbuf_addf(&line, "; %s failed", estimate_count(profile, total->failed_count).text);
    part_label(text, "allocations");
    part_wrapped(text, line.data);
    strbuf_release(&line);
}

static void add_frees(struct text *text, const char *about)
{
    const struct call_metrics *total = &text->profile->program.total;
    struct strbuf line = STRBUF_INIT;
    const struct profile *profile = text->profile;
    if (add_unless_known(text, "frees", total->free_count))
        return;
    /* A realloc ends the old block's life too: those are counted as reallocs only. */
    uint64_t reallocs = or_none(total->realloc_count);
    uint64_t freed = total->free_count > reallocs ? total->free_count - reallocs : 0;
    strbuf_add_string(&line, estimate_count(profile, freed).text);
    if (reallocs)
        strbuf_addf(&line, "; %s realloc%s, %s%s of which moved the block",
                    estimate_count(profile, reallocs).text, reallocs == 1 ? "" : "s", about,
                    human_count(total->realloc_moved).text);
    part_label(text, "frees");
    part_wrapped(text, line.data);
    strbuf_release(&line);
}

static void add_counts(struct text *text)
{
    const struct call_metrics *total = &text->profile->program.total;
    struct strbuf line = STRBUF_INIT;
    const char *about = estimate_is(text->profile) ? "~" : "";
    add_allocations(text, about);
    add_frees(text, about);
    add_mean(&line, total, about);
    if (line.length) {
        part_label(text, "block sizes");
        part_wrapped(text, line.data);
    }
    strbuf_reset(&line);
    if (or_none(total->free_count) && total->lifetime_min != UINT64_MAX) {
        strbuf_addf(&line, "%s to ", human_duration(total->lifetime_min).text);
        strbuf_addf(&line, "%s%s, ", human_duration(total->lifetime_max).text,
                    *about ? " in the sample" : "");
        strbuf_addf(&line, "mean %s%s", about,
                    human_duration(total->lifetime_sum / total->free_count).text);
        part_label(text, "lifetimes");
        part_wrapped(text, line.data);
    }
    strbuf_release(&line);
}

static void add_leaks(struct text *text)
{
    const struct call_metrics *total = &text->profile->program.total;
    if (add_unless_known(text, facts_of_what_is_left(text->profile), total->live_bytes))
        return;
    part_label(text, facts_of_what_is_left(text->profile));
    if (!total->live_count) {
        style_add(&text->out, &text->style, TONE_GOOD, "nothing");
        if (estimate_is(text->profile))
            strbuf_addf(&text->out, " of the sample: less than %s in all (95 %%)",
                        human_bytes(estimate_unseen(text->profile)).text);
        strbuf_add_char(&text->out, '\n');
        return;
    }
    add_bytes(text, total->live_bytes, total->live_variance);
    strbuf_addf(&text->out, " in %s block%s\n",
                estimate_count(text->profile, total->live_count).text,
                human_plural(total->live_count));
}

static void add_mapped(struct text *text)
{
    const struct program_metrics *program = &text->profile->program;
    if (!or_none(program->total.map_count) && !or_none(program->brk_count))
        return;
    struct strbuf line = STRBUF_INIT;
    strbuf_addf(&line, "%s by %s calls of mmap", human_bytes(program->total.map_bytes).text,
                human_exact(program->total.map_count).text);
    if (known(program->unmap_bytes))
        strbuf_addf(&line, ", %s given back by munmap",
                    program->unmap_bytes ? human_bytes(program->unmap_bytes).text : "nothing");
    part_label(text, "mapped");
    part_wrapped(text, line.data);
    strbuf_release(&line);
}

static void add_threads(struct text *text)
{
    uint64_t wait_ns = facts_number(text->profile, PROFILE_META_WAIT_NS);
    if (text->profile->thread_count < 2 && !wait_ns)
        return;
    part_label(text, "threads");
    strbuf_addf(&text->out, "%zu", text->profile->thread_count);
    if (text->profile->thread_count > 1)
        strbuf_addf(&text->out, ", %zu at once", threads_peak(text->profile));
    if (wait_ns)
        strbuf_addf(&text->out, ", waited %s for the recording", human_duration(wait_ns).text);
    strbuf_add_char(&text->out, '\n');
}

static void add_loss(struct text *text)
{
    struct strbuf warnings = STRBUF_INIT;
    facts_add_warnings(&warnings, text->profile);
    const char *label = "loss";
    if (facts_imported_from(text->profile)) {
        part_label(text, "imported");
        strbuf_addf(&text->out, "from %s: what that did not record is not known here\n",
                    facts_imported_from(text->profile));
        label = "";
    } else if (!warnings.length) {
        part_label(text, label);
        style_add(&text->out, &text->style, TONE_GOOD, "none");
        strbuf_addf(&text->out, ": all of %s %sevents are in this profile\n",
                    human_exact(text->profile->program.events).text,
                    estimate_is(text->profile) ? "sampled " : "");
    }
    for (char *at = warnings.data, *end; *at; at = end + 1, label = "") {
        end = strchr(at, '\n');
        *end = 0;
        part_label(text, label);
        style_begin(&text->out, &text->style, TONE_WARNING);
        text_add_wrapped(&text->out, at, TEXT_LABEL_COLUMNS, text->style.columns);
        style_end(&text->out, &text->style);
        strbuf_add_char(&text->out, '\n');
    }
    strbuf_release(&warnings);
}

/* Of a sample that holds no allocation. */
static void add_unknown(struct text *text)
{
    struct strbuf line = STRBUF_INIT;
    part_label(text, "allocations");
    estimate_add_unknown(&line, text->profile);
    part_wrapped(text, line.data);
    strbuf_release(&line);
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
    add_window(text);
    add_snapshots(text);
    add_cut(text);
    add_stacks(text);
    add_sampling(text);
    if (estimate_is_empty(text->profile)) {
        add_unknown(text);
        add_resident(text);
    } else {
        add_peak(text);
        add_resident(text);
        add_counts(text);
        add_leaks(text);
    }
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

/* ---- Sections ------------------------------------------------------------------------------ */

static bool has_distributions(const struct profile *profile)
{
    return profile->distribution_count > 0;
}
static bool has_reallocs(const struct profile *profile)
{
    return or_none(profile->program.total.realloc_count) > 0;
}
static bool has_peaks(const struct profile *profile)
{
    return profile->peak_count > 0;
}
static bool has_curves(const struct profile *profile)
{
    return profile->curve_count > 0;
}
static bool has_threads(const struct profile *profile)
{
    return profile->thread_count > 1;
}
static bool has_stacks(const struct profile *profile)
{
    return profile->stack_peak_count > 0;
}
static bool has_globals(const struct profile *profile)
{
    return profile->section_count > 0 || profile->variable_count > 0;
}
static bool has_samples(const struct profile *profile)
{
    return profile->sample_count > 0;
}
static bool has_residency(const struct profile *profile)
{
    return profile->residency_count > 0;
}
static bool has_regions(const struct profile *profile)
{
    return profile->region_count > 0 || profile->mark_count > 0;
}
static bool always(const struct profile *profile)
{
    return profile->site_count > 0;
}

static const struct {
    int (*add)(struct text *text);
    bool (*worth_a_hint)(const struct profile *profile);
} sections[REPORT_SECTIONS] = {
    [REPORT_SITES] = {section_sites, NULL},
    [REPORT_FUNCTIONS] = {section_functions, always},
    [REPORT_TREE] = {section_tree, always},
    [REPORT_MEMORY] = {section_memory, has_samples},
    [REPORT_PEAKS] = {section_peaks, has_peaks},
    [REPORT_PATHS] = {section_paths, has_curves},
    [REPORT_SIZES] = {section_sizes, has_distributions},
    [REPORT_LIFETIMES] = {section_lifetimes, has_distributions},
    [REPORT_REALLOCS] = {section_reallocs, has_reallocs},
    [REPORT_THREADS] = {section_threads, has_threads},
    [REPORT_STACKS] = {section_stacks, has_stacks},
    [REPORT_GLOBALS] = {section_globals, has_globals},
    [REPORT_RESIDENCY] = {section_residency, has_residency},
    [REPORT_REGIONS] = {section_regions, has_regions},
};

static void add_hint(struct text *text)
{
    struct strbuf line = STRBUF_INIT;
    for (size_t i = 0; i < REPORT_SECTIONS; i++)
        if (sections[i].worth_a_hint && sections[i].worth_a_hint(text->profile))
            strbuf_addf(&line, "%s%s", line.length ? ", " : "more with --show=SECTION,…: ",
                        report_section_names[i]);
    strbuf_add_char(&text->out, '\n');
    if (line.length)
        part_note(text, line.data);
    strbuf_release(&line);
}

static int add_overview(struct text *text)
{
    add_head(text);
    if (!text->profile->has_program)
        return 0;
    overview_peaks(text);
    overview_ledger(text);
    if (!profile_get(text->profile, PROFILE_META_REGION))
        overview_regions(text);
    /* They are about the whole program: not where a part of it was asked for. */
    bool whole = text->options->metric == REPORT_ALL_METRICS && !text->options->filter &&
                 !profile_get(text->profile, PROFILE_META_REGION);
    int error = whole ? add_insights(text) : 0;
    if (!error)
        error = section_sites(text);
    if (text->options->metric == REPORT_ALL_METRICS)
        add_hint(text);
    return error;
}

static int add_sections(struct text *text)
{
    int error = 0;
    add_identity(text);
    add_run(text);
    for (size_t i = 0; i < REPORT_SECTIONS && !error; i++)
        if (text->options->show >> i & 1)
            error = sections[i].add(text);
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
    error = options->show ? add_sections(&text) : add_overview(&text);
    if (!error && (fwrite(text.out.data, 1, text.out.length, out) != text.out.length))
        error = errno == EPIPE ? 0 : errno ? -errno : -EIO;
    call_sites_release(&text.sites);
    strbuf_release(&text.out);
    return error;
}
