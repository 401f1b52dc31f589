/* Writes the report for people: what ran, how much memory over time, then the call sites by each
 * metric with their callers; or the sections that are asked for. What was not recorded is said, and
 * never shown as 0. */
#include "report/report_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "aggregate/facts.h"
#include "aggregate/estimate.h"
#include "report/memory_graph.h"
#include "aggregate/metric_choice.h"
#include "aggregate/runtime_pools.h"
#include "aggregate/machine_moments.h"
#include "aggregate/thread_team.h"
#include "aggregate/thread_totals.h"
#include "held_by/held_by.h"
#include "model/figure_human.h"

enum { COMMAND_LINES = 6 }; /* at most, in reports of sections */

/* ---- The head ------------------------------------------------------------------------------ */

/* Another tool's recording may have neither. */
static void report_text_add_process(struct strbuf *line, const struct profile *profile)
{
    bool has_pid = profile_get(profile, PROFILE_META_PID);
    bool has_host = profile_get(profile, PROFILE_META_HOST);
    strbuf_add_string(line, has_pid || has_host ? "  pid " : "  pid and machine not recorded");
    if (!has_pid && !has_host)
        return;
    facts_add_text(line, profile, PROFILE_META_PID);
    facts_add_rank(line, profile);
    strbuf_add_string(line, " on ");
    facts_add_text(line, profile, PROFILE_META_HOST);
}

/* "?" where it was not recorded would look as if that were the program's name. */
static void report_text_add_recorded(struct strbuf *line, const struct profile *profile,
                                     const char *key, const char *missing)
{
    if (profile_get(profile, key))
        facts_add_text(line, profile, key);
    else
        strbuf_add_string(line, missing);
}

static void report_text_add_job(struct strbuf *line, const struct profile *profile)
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

static void report_text_add_identity(struct report_text *text)
{
    const struct profile *profile = text->profile;
    struct strbuf line = STRBUF_INIT;
    report_text_add_recorded(&line, profile, PROFILE_META_PROGRAM, "program not recorded");
    style_add(&text->out, &text->style, TONE_TITLE, line.data);
    strbuf_reset(&line);
    if (profile_is_job(profile))
        report_text_add_job(&line, profile);
    else
        report_text_add_process(&line, profile);
    uint64_t start_ns = facts_number(profile, PROFILE_META_START);
    if (start_ns)
        strbuf_addf(&line, ", %s", human_time((int64_t)(start_ns / 1000000000u)).text);
    strbuf_add_char(&line, '\n');
    style_add(&text->out, &text->style, TONE_DIM, line.data);
    strbuf_release(&line);
}

/* The wait is mentioned where it is a visible part of the program's time. */
static void report_text_add_exit_wait(struct strbuf *line, const struct profile *profile)
{
    uint64_t wait_ns = facts_number(profile, PROFILE_META_EXIT_WAIT_NS);
    if (wait_ns >= 10 * 1000 * 1000 && wait_ns >= facts_number(profile, PROFILE_META_DURATION) / 20)
        strbuf_addf(line, "; its exit waited %s more for the last look",
                    human_duration(wait_ns).text);
}

static void report_text_add_run(struct report_text *text)
{
    struct strbuf line = STRBUF_INIT;
    report_part_label(text, "command");
    report_text_add_recorded(&line, text->profile, PROFILE_META_COMMAND, "not recorded");
    size_t lines = text->options->show ? COMMAND_LINES : 1;
    size_t most = lines * (text->style.columns - TEXT_LABEL_COLUMNS);
    struct strbuf cut = STRBUF_INIT;
    text_add_cut(&cut, line.data, most);
    report_part_wrapped(text, cut.data);
    strbuf_release(&cut);
    if (text->profile->chosen) {
        report_part_label(text, "chosen");
        strbuf_reset(&line);
        text_add_safe_string(&line, text->profile->chosen);
        report_part_wrapped(text, line.data);
    }
    strbuf_reset(&line);
    report_part_label(text, "ran");
    if (profile_get(text->profile, PROFILE_META_DURATION))
        strbuf_addf(&line, "%s, ",
                    human_duration(facts_number(text->profile, PROFILE_META_DURATION)).text);
    facts_add_end(&line, text->profile);
    report_text_add_exit_wait(&line, text->profile);
    style_begin(&text->out, &text->style,
                facts_ended_well(text->profile) ? TONE_GOOD : TONE_WARNING);
    text_add_wrapped(&text->out, line.data, TEXT_LABEL_COLUMNS, text->style.columns);
    style_end(&text->out, &text->style);
    strbuf_add_char(&text->out, '\n');
    strbuf_release(&line);
}

static void report_text_add_window(struct report_text *text)
{
    struct strbuf line = STRBUF_INIT;
    if (facts_add_window(&line, text->profile)) {
        report_part_label(text, "window");
        report_part_wrapped(text, line.data);
    }
    strbuf_reset(&line);
    if (facts_add_beginning(&line, text->profile)) {
        report_part_label(text, "recorded");
        report_part_wrapped(text, line.data);
    }
    strbuf_release(&line);
}

static void report_text_add_snapshots(struct report_text *text)
{
    struct strbuf lines = STRBUF_INIT;
    if (facts_add_snapshots(&lines, text->profile))
        for (char *line = lines.data, *end; (end = strchr(line, '\n')); line = end + 1) {
            *end = 0;
            report_part_label(text, "snapshot");
            report_part_wrapped(text, line);
        }
    strbuf_release(&lines);
}

static void report_text_add_cut(struct report_text *text)
{
    const char *region = profile_get(text->profile, PROFILE_META_REGION);
    struct strbuf line = STRBUF_INIT;
    if (!region)
        return;
    report_part_label(text, "region");
    text_add_safe_string(&line, region);
    strbuf_add_string(&line, ": only what was allocated in it");
    report_part_wrapped(text, line.data);
    strbuf_release(&line);
}

static void report_text_add_level(struct report_text *text)
{
    const char *name = profile_get(text->profile, PROFILE_META_LEVEL);
    enum memory_level level;
    if (!name || !memory_level_find(name, &level) || !memory_level_sentence(level))
        return;
    report_part_label(text, "of");
    report_part_wrapped(text, memory_level_sentence(level));
}

static void report_text_add_stacks(struct report_text *text)
{
    if (!*facts_stacks(text->profile))
        return;
    report_part_label(text, "call paths");
    strbuf_addf(&text->out, "%s\n", facts_stacks(text->profile));
}

static void report_text_add_sampling(struct report_text *text)
{
    struct strbuf line = STRBUF_INIT;
    if (facts_add_budget(&line, text->profile)) {
        report_part_label(text, "cost");
        report_part_wrapped(text, line.data);
        strbuf_reset(&line);
    }
    if (!estimate_is(text->profile))
        return;
    report_part_label(text, "sampled");
    estimate_add_sentence(&line, text->profile);
    strbuf_addf(&line,
                ". Figures are estimates: %s holds the truth with 95 %% probability, counts "
                "(~) are less sure, and a peak, the highest of many, is rather too high",
                style_sign(&text->style, "±", "+-"));
    style_add_wrapped(&text->out, &text->style, TONE_WARNING, line.data, TEXT_LABEL_COLUMNS);
    strbuf_release(&line);
}

/* "15.8 MiB", with an error bar if it is an estimate. */
static void report_text_add_bytes(struct report_text *text, struct figure bytes,
                                  struct figure variance)
{
    struct strbuf figure = STRBUF_INIT;
    estimate_add_bytes(&figure, text->profile, bytes, variance, text->style.utf8);
    style_add(&text->out, &text->style, TONE_FIGURE, figure.data);
    strbuf_release(&figure);
}

/* Says why a figure is not known: another tool's file lacks what that tool did not record. False:
 * the figure is known. */
static bool report_text_add_unless_known(struct report_text *text, const char *label,
                                         struct figure value)
{
    const char *tool = facts_imported_from(text->profile);
    const char *why = facts_why_unknown(text->profile);
    if (figure_known(value))
        return false;
    report_part_label(text, label);
    strbuf_addf(&text->out, "not known%s%s\n",
                tool  ? ": not recorded by "
                : why ? ": "
                      : "",
                tool  ? tool
                : why ? why
                      : "");
    return true;
}

static void report_text_add_peak(struct report_text *text)
{
    const struct program_metrics *program = &text->profile->program;
    if (report_text_add_unless_known(text, "peak", program->total.peak_bytes))
        return;
    report_part_label(text, "peak");
    strbuf_add_string(&text->out, facts_at_least(text->profile));
    report_text_add_bytes(text, program->total.peak_bytes, program->total.at_peak_variance);
    /* A region's peak is its own, but its blocks at the peak are those at the program's. */
    if (profile_get(text->profile, PROFILE_META_REGION)) {
        strbuf_addf(&text->out, " requested, after %s\n",
                    figure_human_duration(program->total.peak_ticks).text);
        return;
    }
    bool mapped = facts_is_of(text->profile, MEMORY_MAPPED);
    if (figure_known(program->total.at_peak_count))
        strbuf_addf(&text->out, " %s%s %s%s",
                    mapped                       ? "in "
                    : estimate_is(text->profile) ? "in ~"
                                                 : "requested in ",
                    figure_human_count(program->total.at_peak_count).text,
                    mapped ? "mapping" : "block",
                    human_plural(figure_or(program->total.at_peak_count, 0)));
    if (profile_is_job(text->profile))
        strbuf_add_string(&text->out, ", each rank at its own moment");
    else if (figure_known(program->total.peak_ticks) && !figure_zero(program->total.peak_bytes))
        strbuf_addf(&text->out, ", after %s",
                    figure_human_duration(program->total.peak_ticks).text);
    strbuf_add_char(&text->out, '\n');
}

/* Did /proc count memory of Tidemark's, which the timeline leaves out? */
static bool report_text_has_tool_memory(const struct profile *profile)
{
    for (size_t i = 0; i < profile->sample_count; i++)
        if (figure_positive(profile->samples[i].tool_bytes))
            return true;
    return false;
}

static void report_text_add_resident(struct report_text *text)
{
    struct strbuf line = STRBUF_INIT;
    struct figure resident = facts_resident_peak(text->profile);
    report_part_label(text, "resident");
    if (figure_known(resident))
        strbuf_addf(&line, "%s at most%s", figure_human_bytes(resident).text,
                    report_text_has_tool_memory(text->profile) ? ", without Tidemark's own" : "");
    else
        strbuf_add_string(&line, "not measured");
    report_part_wrapped(text, line.data);
    strbuf_release(&line);
}

/* Blocks ever made, by reallocations too where these are known. */
static struct figure report_text_born(const struct call_metrics *total)
{
    return figure_known(total->realloc_count) ? call_metrics_blocks(total) : total->alloc_count;
}
static struct figure report_text_born_bytes(const struct call_metrics *total)
{
    return figure_known(total->realloc_count) ? call_metrics_bytes(total) : total->alloc_bytes;
}

/* In a sample, smallest and largest are those of the sampled blocks. */
static void report_text_add_mean(struct strbuf *line, const struct call_metrics *total,
                                 const char *about)
{
    struct figure blocks = report_text_born(total);
    if (!figure_positive(blocks) || !figure_known(total->size_min))
        return;
    struct figure mean = figure_divide(report_text_born_bytes(total), blocks);
    strbuf_addf(line, "%s to %s%s", figure_human_bytes(total->size_min).text,
                figure_human_bytes(total->size_max).text, *about ? " in the sample" : "");
    if (figure_known(mean))
        strbuf_addf(line, ", mean %s%s", about, figure_human_bytes(mean).text);
}

static void report_text_add_allocations(struct report_text *text, const char *about)
{
    const struct call_metrics *total = &text->profile->program.total;
    struct strbuf line = STRBUF_INIT;
    const struct profile *profile = text->profile;
    if (report_text_add_unless_known(text, facts_words(profile)->births, total->alloc_count))
        return;
    strbuf_add_string(&line, facts_at_least(profile));
    strbuf_add_string(&line, estimate_count(profile, total->alloc_count).text);
    if (figure_known(total->alloc_bytes)) {
        strbuf_add_string(&line, " of ");
        estimate_add_bytes(&line, profile, total->alloc_bytes, total->alloc_variance,
                           text->style.utf8);
        facts_add_with_reallocs(&line, profile);
    }
    if (figure_known(total->temporary_count)) {
        bool some = figure_positive(total->temporary_count);
        strbuf_addf(&line, "; %s%s temporary (%s", some ? about : "",
                    figure_human_count(total->temporary_count).text,
                    human_percent(figure_double(total->temporary_count),
                                  figure_double(report_text_born(total)))
                        .text);
        /* reallocs make blocks too: say so, or the share looks wrong */
        strbuf_add_string(&line,
                          some && figure_positive(total->realloc_count) ? " with reallocs)" : ")");
    }
    if (figure_positive(total->failed_count))
        strbuf_addf(&line, "; %s failed", estimate_count(profile, total->failed_count).text);
    report_part_label(text, facts_words(profile)->births);
    report_part_wrapped(text, line.data);
    strbuf_release(&line);
}

static void report_text_add_frees(struct report_text *text, const char *about)
{
    const struct call_metrics *total = &text->profile->program.total;
    struct strbuf line = STRBUF_INIT;
    const struct profile *profile = text->profile;
    if (report_text_add_unless_known(text, facts_words(profile)->deaths, total->free_count))
        return;
    /* A realloc ends the old block's life too, but is counted as a realloc alone. */
    struct figure reallocs = total->realloc_count, freed = total->free_count;
    if (figure_known(reallocs)) /* of estimates, frees may be fewer */
        freed = figure_of(figure_or(figure_sub(freed, reallocs), 0));
    strbuf_add_string(&line, facts_at_least(profile));
    strbuf_add_string(&line, estimate_count(profile, freed).text);
    if (figure_positive(reallocs))
        strbuf_addf(&line, "; %s realloc%s, %s%s of which moved the %s",
                    estimate_count(profile, reallocs).text, human_plural(figure_or(reallocs, 0)),
                    about, figure_human_count(total->realloc_moved).text,
                    facts_words(profile)->block);
    report_part_label(text, facts_words(profile)->deaths);
    report_part_wrapped(text, line.data);
    strbuf_release(&line);
}

static void report_text_add_counts(struct report_text *text)
{
    const struct call_metrics *total = &text->profile->program.total;
    struct strbuf line = STRBUF_INIT;
    const char *about = estimate_is(text->profile) ? "~" : "";
    report_text_add_allocations(text, about);
    report_text_add_frees(text, about);
    report_text_add_mean(&line, total, about);
    if (line.length) {
        report_part_label(text, facts_words(text->profile)->sizes);
        report_part_wrapped(text, line.data);
    }
    strbuf_reset(&line);
    if (figure_positive(total->free_count) && figure_known(total->lifetime_min)) {
        struct figure mean = figure_divide(total->lifetime_sum, total->free_count);
        strbuf_addf(&line, "%s to ", figure_human_duration(total->lifetime_min).text);
        strbuf_addf(&line, "%s%s, ", figure_human_duration(total->lifetime_max).text,
                    *about ? " in the sample" : "");
        strbuf_addf(&line, "mean %s%s", figure_known(mean) ? about : "",
                    figure_human_duration(mean).text);
        report_part_label(text, "lifetimes");
        report_part_wrapped(text, line.data);
    }
    strbuf_release(&line);
}

/* The holders with most of it that have a name. */
static void report_text_add_holders(struct report_text *text)
{
    enum { MOST = 3, LEAST_PERCENT = 5 };
    struct held_by holders;
    struct strbuf line = STRBUF_INIT;
    size_t count, shown = 0;
    const bool *hidden = text->options->hide_std ? text->sites.hidden : NULL;
    if (held_by_missing(text->profile) ||
        held_by_find_hiding(&holders, text->profile, hidden, HELD_BY_HOLDER))
        return;
    uint32_t *top = held_by_children(&holders, HELD_BY_NONE, &count);
    for (size_t i = 0; top && i < count && shown < MOST; i++) {
        const struct held_by_row *row = &holders.rows[top[i]];
        if (row->retained.bytes * 100 < holders.held.bytes * LEAST_PERCENT ||
            row->of->kind == PROFILE_HOLDER_REST)
            continue;
        strbuf_add_string(&line, shown++ ? "; " : "");
        held_by_add_short(&line, &holders.now, row->of);
        strbuf_addf(&line, " %s",
                    human_percent((double)row->retained.bytes, (double)holders.held.bytes).text);
    }
    free(top);
    if (shown) {
        report_part_label(text, "held by");
        report_part_wrapped(text, line.data);
    }
    strbuf_release(&line);
    held_by_release(&holders);
}

/* Says that nothing is left but what the run-times keep for themselves. False: more is left. */
static bool report_text_add_pools_only(struct report_text *text)
{
    struct runtime_pools left = runtime_pools_left(text->profile);
    if (!runtime_pools_are_all(text->profile, &left))
        return false;
    style_add(&text->out, &text->style, TONE_GOOD, "nothing of the program's own");
    strbuf_addf(&text->out, " (%s of its run-time's pools)\n", figure_human_bytes(left.bytes).text);
    return true;
}

static void report_text_add_leaks(struct report_text *text)
{
    const struct call_metrics *total = &text->profile->program.total;
    if (report_text_add_unless_known(text, facts_of_what_is_left(text->profile), total->live_bytes))
        return;
    report_part_label(text, facts_of_what_is_left(text->profile));
    if (figure_zero(total->live_count)) {
        style_add(&text->out, &text->style, TONE_GOOD, "nothing");
        if (facts_has_unseen(text->profile))
            strbuf_add_string(&text->out, " of what was seen");
        if (estimate_is(text->profile))
            strbuf_addf(&text->out, " of the sample: less than %s in all (95 %%)",
                        human_bytes(estimate_unseen(text->profile)).text);
        strbuf_add_char(&text->out, '\n');
        return;
    }
    if (report_text_add_pools_only(text))
        return;
    strbuf_add_string(&text->out, facts_at_least(text->profile));
    report_text_add_bytes(text, total->live_bytes, total->live_variance);
    strbuf_addf(&text->out, " in %s %s%s", estimate_count(text->profile, total->live_count).text,
                facts_words(text->profile)->block, human_plural(figure_or(total->live_count, 0)));
    bool of_blocks = !profile_get(text->profile, PROFILE_META_LEVEL);
    if (of_blocks)
        facts_add_lost(&text->out, text->profile);
    strbuf_add_char(&text->out, '\n');
    if (of_blocks)
        report_text_add_holders(text);
}

/* munmap may be called for reserved memory, or for none at all. Only memory that was in use is
 * given back. */
static void report_text_add_unmapped(struct strbuf *line, const struct program_metrics *program)
{
    struct figure back = program->mapped.freed_bytes;
    if (figure_zero(back) || figure_zero(program->unmap_count))
        strbuf_add_string(line, ", nothing given back by munmap");
    else if (figure_known(back))
        strbuf_addf(line, ", %s given back by munmap", figure_human_bytes(back).text);
    else if (figure_known(program->unmap_count))
        strbuf_addf(line, ", %s of munmap", figure_human_exact(program->unmap_count).text);
}

/* The lengths of mmap add up to what was mapped only where nothing was merely reserved or remapped:
 * mremap is called with the whole length again. */
static void report_text_add_map_calls(struct strbuf *line, const struct program_metrics *program)
{
    struct figure reserved = program->mapped.reserved_bytes, bytes = program->total.map_bytes;
    struct human calls = figure_human_exact(program->total.map_count);
    bool remaps = figure_positive(program->mapped.realloc_count);
    const char *plural = figure_equal(program->total.map_count, figure_of(1)) ? "" : "s";
    if (!remaps && !figure_positive(reserved))
        strbuf_addf(line, "%s by ", figure_human_bytes(bytes).text);
    strbuf_addf(line, "%s call%s of mmap%s", calls.text, plural, remaps ? " and mremap" : "");
    if (figure_positive(reserved))
        strbuf_addf(line, ", %s reserved and not used", figure_human_bytes(reserved).text);
}

/* What such a call takes back is not counted: only growth is. */
static void report_text_add_brk_calls(struct strbuf *line, const struct program_metrics *program)
{
    if (!figure_positive(program->brk_count))
        return;
    bool is_one = figure_equal(program->brk_count, figure_of(1));
    strbuf_addf(line, "%sheap grown by %s in %s call%s of brk",
                figure_zero(program->total.map_count) ? "" : ", ",
                figure_human_bytes(program->brk_bytes).text,
                figure_human_exact(program->brk_count).text, is_one ? "" : "s");
}

static void report_text_add_mapped(struct report_text *text)
{
    const struct program_metrics *program = &text->profile->program;
    if (!figure_positive(program->total.map_count) && !figure_positive(program->brk_count))
        return;
    struct strbuf line = STRBUF_INIT;
    if (figure_positive(program->mapped.peak_bytes))
        strbuf_addf(&line, "%s at most, after %s, and %s at the end; ",
                    figure_human_bytes(program->mapped.peak_bytes).text,
                    figure_human_duration(program->mapped.peak_ticks).text,
                    figure_human_bytes(program->mapped.live_bytes).text);
    if (!figure_zero(program->total.map_count)) {
        report_text_add_map_calls(&line, program);
        report_text_add_unmapped(&line, program);
    }
    report_text_add_brk_calls(&line, program);
    report_part_label(text, "mapped");
    report_part_wrapped(text, line.data);
    strbuf_release(&line);
}

static void report_text_add_threads(struct report_text *text)
{
    uint64_t wait_ns = facts_number(text->profile, PROFILE_META_WAIT_NS);
    if (text->profile->thread_count < 2 && !wait_ns)
        return;
    report_part_label(text, "threads");
    uint64_t ever = threads_ever(text->profile);
    strbuf_addf(&text->out, "%" PRIu64, ever);
    if (text->profile->thread_count > 1)
        strbuf_addf(&text->out, ", %s%zu at once",
                    ever > text->profile->thread_count ? "at most " : "",
                    threads_peak(text->profile));
    struct thread_team team;
    if (!thread_team_find(&team, text->profile) && team.count)
        strbuf_addf(&text->out, ", %zu of %s", team.count, THREAD_TEAM_NAME);
    thread_team_release(&team);
    if (wait_ns)
        strbuf_addf(&text->out, ", waited %s for the recording", human_duration(wait_ns).text);
    strbuf_add_char(&text->out, '\n');
}

/* Says when the machine was short of memory: other processes may be the cause. */
static void report_text_add_machine(struct report_text *text)
{
    struct strbuf line = STRBUF_INIT;
    if (!machine_moments_are_short(text->profile))
        return;
    machine_moments_add(&line, text->profile);
    report_part_label(text, "machine");
    report_part_wrapped(text, line.data);
    strbuf_release(&line);
}

static void report_text_add_loss(struct report_text *text)
{
    struct strbuf warnings = STRBUF_INIT;
    facts_add_warnings(&warnings, text->profile);
    const char *label = "loss";
    if (facts_imported_from(text->profile)) {
        report_part_label(text, "imported");
        strbuf_addf(&text->out, "from %s: what that did not record is not known here\n",
                    facts_imported_from(text->profile));
        label = "";
    } else if (!warnings.length) {
        report_part_label(text, label);
        style_add(&text->out, &text->style, TONE_GOOD, "none");
        bool is_one = text->profile->program.events == 1;
        strbuf_addf(&text->out, ": %s%s %sevent%s in this profile\n", is_one ? "the " : "all of ",
                    human_exact(text->profile->program.events).text,
                    estimate_is(text->profile) ? "sampled " : "", is_one ? " is" : "s are");
    }
    for (char *at = warnings.data, *end; *at; at = end + 1, label = "") {
        end = strchr(at, '\n');
        *end = 0;
        report_part_label(text, label);
        style_add_wrapped(&text->out, &text->style, TONE_WARNING, at, TEXT_LABEL_COLUMNS);
    }
    strbuf_release(&warnings);
}

/* Says that the sample holds no allocation. */
static void report_text_add_unknown(struct report_text *text)
{
    struct strbuf line = STRBUF_INIT;
    report_part_label(text, "allocations");
    estimate_add_unknown(&line, text->profile);
    report_part_wrapped(text, line.data);
    strbuf_release(&line);
}

static void report_text_add_head(struct report_text *text)
{
    report_text_add_identity(text);
    report_text_add_run(text);
    if (!text->profile->has_program) {
        strbuf_add_string(&text->out, text->profile->being_written
                                          ? "  nothing has been saved yet: try again in a moment\n"
                                          : "  nothing was saved: there are no figures to show\n");
        return;
    }
    report_text_add_window(text);
    report_text_add_snapshots(text);
    report_text_add_cut(text);
    report_text_add_level(text);
    report_text_add_stacks(text);
    report_text_add_sampling(text);
    if (facts_mapped_leads(text->profile))
        report_text_add_mapped(text);
    if (estimate_is_empty(text->profile)) {
        report_text_add_unknown(text);
        report_text_add_resident(text);
    } else {
        report_text_add_peak(text);
        report_text_add_resident(text);
    }
    if (!profile_get(text->profile, PROFILE_META_LEVEL))
        report_overview_devices(text);
    report_text_add_machine(text);
    if (!estimate_is_empty(text->profile) && !facts_is_of(text->profile, MEMORY_RESIDENT))
        report_text_add_leaks(text);
    report_text_add_loss(text);
    report_text_add_names(text);
}

/* Figures that most people do not need first, and the curve. */
static void report_text_add_more_figures(struct report_text *text)
{
    strbuf_add_char(&text->out, '\n');
    if (!estimate_is_empty(text->profile) && !facts_is_of(text->profile, MEMORY_RESIDENT))
        report_text_add_counts(text);
    if (!facts_mapped_leads(text->profile))
        report_text_add_mapped(text);
    report_text_add_threads(text);
    strbuf_add_char(&text->out, '\n');
    memory_graph_add(&text->out, &text->style, text->profile);
}

/* ---- Sections ------------------------------------------------------------------------------ */

static bool report_text_has_distributions(const struct profile *profile)
{
    return profile->distribution_count > 0;
}
static bool report_text_has_reallocs(const struct profile *profile)
{
    return figure_positive(profile->program.total.realloc_count);
}
static bool report_text_has_peaks(const struct profile *profile)
{
    return profile->peak_count > 0;
}
static bool report_text_has_curves(const struct profile *profile)
{
    return profile->curve_count > 0;
}
static bool report_text_has_threads(const struct profile *profile)
{
    return profile->thread_count > 1;
}
static bool report_text_has_stacks(const struct profile *profile)
{
    return profile->stack_peak_count > 0;
}
static bool report_text_has_globals(const struct profile *profile)
{
    return profile->section_count > 0 || profile->variable_count > 0;
}
static bool report_text_has_samples(const struct profile *profile)
{
    return profile->sample_count > 0;
}
static bool report_text_has_residency(const struct profile *profile)
{
    return profile->residency_count > 0;
}
static bool report_text_has_regions(const struct profile *profile)
{
    return profile->region_count > 0 || profile->mark_count > 0;
}
static bool report_text_has_types(const struct profile *profile)
{
    return profile->block_type_count > 0;
}
static bool report_text_has_fill(const struct profile *profile)
{
    return profile->block_fill_count > 0;
}
static bool report_text_has_heat(const struct profile *profile)
{
    for (size_t i = 0; i < profile->owner_count; i++)
        if (figure_positive(profile->owners[i].resident_bytes) &&
            figure_known(profile->owners[i].unwritten_1s_bytes))
            return true;
    return false;
}
static bool report_text_has_numa(const struct profile *profile)
{
    for (size_t i = 0; i < profile->owner_count; i++)
        if (figure_positive(profile->owners[i].resident_bytes) &&
            figure_known(profile->owners[i].node_bytes[0]))
            return true;
    return false;
}
static bool report_text_has_devices(const struct profile *profile)
{
    return profile->device_total_count > 0;
}
static bool report_text_always(const struct profile *profile)
{
    return profile->site_count > 0;
}

static const struct {
    int (*add)(struct report_text *text);
    bool (*worth_a_hint)(const struct profile *profile);
} sections[REPORT_SECTIONS] = {
    [REPORT_SITES] = {report_section_sites, NULL},
    [REPORT_FUNCTIONS] = {report_section_functions, report_text_always},
    [REPORT_LIBRARIES] = {report_section_libraries, NULL},
    [REPORT_TREE] = {report_section_tree, report_text_always},
    [REPORT_MEMORY] = {report_section_memory, report_text_has_samples},
    [REPORT_PEAKS] = {report_section_peaks, report_text_has_peaks},
    [REPORT_PATHS] = {report_section_paths, report_text_has_curves},
    [REPORT_SIZES] = {report_section_sizes, report_text_has_distributions},
    [REPORT_LIFETIMES] = {report_section_lifetimes, report_text_has_distributions},
    [REPORT_REALLOCS] = {report_section_reallocs, report_text_has_reallocs},
    [REPORT_THREADS] = {report_section_threads, report_text_has_threads},
    [REPORT_STACKS] = {report_section_stacks, report_text_has_stacks},
    [REPORT_GLOBALS] = {report_section_globals, report_text_has_globals},
    [REPORT_RESIDENCY] = {report_section_residency, report_text_has_residency},
    [REPORT_REGIONS] = {report_section_regions, report_text_has_regions},
    [REPORT_TYPES] = {report_section_types, report_text_has_types},
    [REPORT_FILL] = {report_section_fill, report_text_has_fill},
    [REPORT_HEAT] = {report_section_heat, report_text_has_heat},
    [REPORT_NUMA] = {report_section_numa, report_text_has_numa},
    [REPORT_DEVICES] = {report_section_devices, report_text_has_devices},
};

static void report_text_add_hint(struct report_text *text)
{
    struct strbuf line = STRBUF_INIT;
    for (size_t i = 0; i < REPORT_SECTIONS; i++)
        if (sections[i].worth_a_hint && sections[i].worth_a_hint(text->profile))
            strbuf_addf(&line, "%s%s", line.length ? ", " : "more with --show=SECTION,…: ",
                        report_section_names[i]);
    strbuf_add_char(&text->out, '\n');
    if (line.length)
        report_part_note(text, line.data);
    strbuf_release(&line);
}

/* Is the whole program asked for, and no part of it? */
static bool report_text_is_of_all(const struct report_text *text)
{
    return text->options->metric == METRIC_CHOICE_ALL && !text->options->filter &&
           !profile_get(text->profile, PROFILE_META_REGION) &&
           !profile_get(text->profile, PROFILE_META_LEVEL);
}

/* Has start-up a hundredth of the peak, or of what is left? With less it is in no list of the
 * largest. */
static bool report_text_has_startup(const struct report_text *text)
{
    const struct call_metrics *total = &text->profile->program.total;
    struct figure held = startup_sum(&text->startup, text->profile, METRIC_ROW(at_peak_bytes));
    return figure_or(held, 0) > figure_or(total->at_peak_bytes, 0) / 100 ||
           figure_or(text->startup.live_bytes, 0) > figure_or(total->live_bytes, 0) / 100;
}

static int report_text_find_sites(struct report_text *text)
{
    const struct report_options *options = text->options;
    if (options->show || options->startup || !report_text_is_of_all(text))
        return call_sites_init(&text->sites, text->profile, options->filter, options->hide_std);
    if (startup_find(&text->startup, text->profile))
        return -ENOMEM;
    bool folds = report_text_has_startup(text);
    bool *others = folds ? startup_others(&text->startup, text->profile) : NULL;
    if (!folds)
        startup_release(&text->startup);
    int error = others || !folds
                    ? call_sites_init_wanted(&text->sites, text->profile, others, options->hide_std)
                    : -ENOMEM;
    if (error)
        startup_release(&text->startup);
    return error;
}

static int report_text_add_overview(struct report_text *text)
{
    report_text_add_head(text);
    if (!text->profile->has_program)
        return 0;
    bool whole = report_text_is_of_all(text);
    int error = report_first_screen(text, whole);
    report_text_add_more_figures(text);
    report_overview_peaks(text);
    report_overview_ledger(text);
    report_overview_owners(text);
    if (!profile_get(text->profile, PROFILE_META_REGION))
        report_overview_regions(text);
    if (!error)
        error = report_section_sites(text);
    if (text->options->metric == METRIC_CHOICE_ALL)
        report_text_add_hint(text);
    return error;
}

static int report_text_add_sections(struct report_text *text)
{
    int error = 0;
    report_text_add_identity(text);
    report_text_add_run(text);
    for (size_t i = 0; i < REPORT_SECTIONS && !error; i++)
        if (text->options->show >> i & 1)
            error = sections[i].add(text);
    return error;
}

int report_text(FILE *out, const struct profile *profile, const struct report_options *options)
{
    struct report_text text = {.style = {options->colour, options->utf8, options->columns},
                               .out = STRBUF_INIT,
                               .profile = profile,
                               .options = options};
    int error = report_text_find_sites(&text);
    if (error)
        return error;
    error = options->show ? report_text_add_sections(&text) : report_text_add_overview(&text);
    if (!error && (fwrite(text.out.data, 1, text.out.length, out) != text.out.length))
        error = errno == EPIPE ? 0 : errno ? -errno : -EIO;
    call_sites_release(&text.sites);
    startup_release(&text.startup);
    strbuf_release(&text.out);
    return error;
}
