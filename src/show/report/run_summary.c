/* Writes the summary that `tidemark record` prints at the end: ten lines at most. Totals come
 * first, then the largest call sites, the most severe insight and what was lost. */
#include "report/report.h"

#include <errno.h>
#include <string.h>
#include "base/term.h"
#include "base/text.h"
#include "insights/insight.h"
#include "aggregate/device_facts.h"
#include "aggregate/facts.h"
#include "aggregate/estimate.h"
#include "aggregate/metric_choice.h"
#include "aggregate/runtime_pools.h"
#include "aggregate/startup.h"
#include "format/names.h"
#include "aggregate/call_sites.h"
#include "format/style.h"

enum { TOP = 3, LABEL = 15, THROUGH_LEAST = 12, MOST_COLUMNS = 100 };

struct summary {
    struct style style;
    struct strbuf out;
    const struct profile *profile;
};

static void run_summary_add_title(struct summary *summary)
{
    struct strbuf line = STRBUF_INIT;
    strbuf_add_string(&line, "tidemark: ");
    facts_add_text(&line, summary->profile, PROFILE_META_PROGRAM);
    strbuf_add_string(&line, " (pid ");
    facts_add_text(&line, summary->profile, PROFILE_META_PID);
    strbuf_add_string(&line, ") ");
    if (profile_get(summary->profile, PROFILE_META_DURATION))
        strbuf_addf(&line, "%s, ",
                    human_duration(facts_number(summary->profile, PROFILE_META_DURATION)).text);
    facts_add_outcome(&line, summary->profile);
    text_add_wrapped(&summary->out, line.data, LABEL, summary->style.columns);
    strbuf_add_char(&summary->out, '\n');
    strbuf_reset(&line);
    if (facts_add_oom(&line, summary->profile)) {
        strbuf_add_string(&summary->out, "  OOM          ");
        text_add_wrapped(&summary->out, line.data, LABEL, summary->style.columns);
        strbuf_add_char(&summary->out, '\n');
    }
    strbuf_release(&line);
}

static void run_summary_add_bytes(struct summary *summary, struct figure bytes,
                                  struct figure variance)
{
    estimate_add_bytes(&summary->out, summary->profile, bytes, variance, summary->style.utf8);
}

static void run_summary_add_totals(struct summary *summary)
{
    const struct call_metrics *total = &summary->profile->program.total;
    struct figure resident = facts_resident_peak(summary->profile);
    const char *why = facts_why_unknown(summary->profile);
    if (!figure_known(total->alloc_count) && why) {
        strbuf_addf(&summary->out, "  allocations  not known: %s", why);
        if (figure_known(resident))
            strbuf_addf(&summary->out, "; resident %s", figure_human_bytes(resident).text);
        strbuf_add_char(&summary->out, '\n');
        return;
    }
    strbuf_addf(&summary->out, "  peak         %s", facts_at_least(summary->profile));
    style_begin(&summary->out, &summary->style, TONE_FIGURE);
    run_summary_add_bytes(summary, total->peak_bytes, total->at_peak_variance);
    style_end(&summary->out, &summary->style);
    if (figure_known(total->peak_ticks) && !figure_zero(total->peak_bytes))
        strbuf_addf(&summary->out, " after %s", figure_human_duration(total->peak_ticks).text);
    if (figure_known(resident))
        strbuf_addf(&summary->out, "; resident %s", figure_human_bytes(resident).text);
    if (figure_known(total->alloc_count)) {
        strbuf_addf(&summary->out, "\n  allocations  %s%s of ", facts_at_least(summary->profile),
                    estimate_count(summary->profile, total->alloc_count).text);
        run_summary_add_bytes(summary, total->alloc_bytes, total->alloc_variance);
        facts_add_with_reallocs(&summary->out, summary->profile);
    }
    strbuf_addf(&summary->out, "\n  %-11s  ", facts_of_what_is_left(summary->profile));
    struct runtime_pools pools = runtime_pools_left(summary->profile);
    if (runtime_pools_are_all(summary->profile, &pools)) {
        strbuf_addf(&summary->out, "nothing of the program's own (%s of its run-time's pools)",
                    figure_human_bytes(pools.bytes).text);
    } else if (!figure_zero(total->live_count)) {
        strbuf_add_string(&summary->out, facts_at_least(summary->profile));
        run_summary_add_bytes(summary, total->live_bytes, total->live_variance);
        strbuf_addf(&summary->out, " in %s block%s",
                    estimate_count(summary->profile, total->live_count).text,
                    human_plural(figure_or(total->live_count, 0)));
        facts_add_lost(&summary->out, summary->profile);
    } else {
        strbuf_add_string(&summary->out, "nothing");
        if (facts_has_unseen(summary->profile))
            strbuf_add_string(&summary->out, " of what was seen");
        if (estimate_is(summary->profile))
            strbuf_addf(&summary->out, " of the sample: less than %s in all (95 %%)",
                        human_bytes(estimate_unseen(summary->profile)).text);
    }
    strbuf_add_char(&summary->out, '\n');
}

static void run_summary_add_figures(struct summary *summary)
{
    if (estimate_is(summary->profile)) {
        strbuf_add_string(&summary->out, "  sampled      ");
        estimate_add_sentence(&summary->out, summary->profile);
        strbuf_add_char(&summary->out, '\n');
    }
    if (estimate_is_empty(summary->profile)) {
        strbuf_add_string(&summary->out, "  allocations  ");
        estimate_add_unknown(&summary->out, summary->profile);
        strbuf_add_char(&summary->out, '\n');
    } else {
        run_summary_add_totals(summary);
    }
}

static void run_summary_add_site(struct summary *summary, const struct site_group *group,
                                 const char *label)
{
    struct figure peak = summary->profile->program.total.at_peak_bytes,
                  value = call_sites_group_value(group, 0);
    struct strbuf left = STRBUF_INIT, place = STRBUF_INIT;
    strbuf_addf(&left, "  %-12s %9s %7s  ", label, figure_human_bytes(value).text,
                human_percent(figure_double(value), figure_double(peak)).text);
    size_t room = summary->style.columns - text_width(left.data);
    uint32_t line;
    const char *file = frame_file(summary->profile, group->frame, &line);
    if (file)
        name_add_place(&place, name_base(file), line, room / 2);
    size_t columns = room - text_width(place.data) - 2;
    if (group->frame.through)
        columns = columns > 2 * THROUGH_LEAST ? (columns - 3) / 2 : columns;
    frame_add_owner(&left, summary->profile, group->frame,
                    style_sign(&summary->style, " ← ", " <- "), columns);
    strbuf_add_string(&summary->out, left.data);
    if (place.length) {
        strbuf_add_string(&summary->out, "  ");
        style_add(&summary->out, &summary->style, TONE_DIM, place.data);
    }
    strbuf_add_char(&summary->out, '\n');
    strbuf_release(&left);
    strbuf_release(&place);
}

/* One row for all that run-times asked for as they started. */
static void run_summary_add_startup(struct summary *summary, const struct startup *startup,
                                    struct figure value, const char *label)
{
    struct figure peak = summary->profile->program.total.at_peak_bytes;
    strbuf_addf(&summary->out, "  %-12s %9s %7s  ", label, figure_human_bytes(value).text,
                human_percent(figure_double(value), figure_double(peak)).text);
    startup_add_name(&summary->out, startup);
    strbuf_add_char(&summary->out, '\n');
}

/* *startup and *sites are the caller's to release, in case of an error too. */
static int run_summary_find_sites(struct call_sites *sites, struct startup *startup,
                                  const struct profile *profile)
{
    *sites = (struct call_sites){0};
    *startup = (struct startup){0};
    if (startup_find(startup, profile))
        return -ENOMEM;
    bool *others = startup_others(startup, profile);
    return others ? call_sites_init_wanted(sites, profile, others, true) : -ENOMEM;
}

/* What the start-up holds at the peak, if it is worth a row; else nothing. */
static struct figure run_summary_of_startup(const struct summary *summary,
                                            const struct startup *startup)
{
    struct figure value = startup_sum(startup, summary->profile, metrics[0].row),
                  peak = summary->profile->program.total.at_peak_bytes;
    return figure_double(value) * 100 >= figure_double(peak) ? value : figure_of(0);
}

/* The largest first, whether a call site or the start-up. */
static void run_summary_add_top(struct summary *summary, const struct call_sites *sites,
                                const struct startup *startup, const char *label)
{
    const struct site_group *top[TOP + 1];
    size_t count = call_sites_top(sites, 0, top, TOP), next = 0;
    struct figure value = run_summary_of_startup(summary, startup);
    for (size_t row = 0; row < TOP; row++, label = "") {
        bool site = next < count && !figure_less(call_sites_group_value(top[next], 0), value);
        if (site) {
            run_summary_add_site(summary, top[next++], label);
        } else if (figure_positive(value)) {
            run_summary_add_startup(summary, startup, value, label);
            value = figure_of(0);
        } else {
            break;
        }
    }
}

/* Adds one line for more than was resident. Without a look only samples say what was. */
static void run_summary_add_addresses(struct summary *summary)
{
    const struct program_metrics *program = &summary->profile->program;
    if (!figure_less(program->total.peak_bytes, program->mapped.peak_bytes) ||
        facts_mapped_leads(summary->profile))
        return;
    strbuf_addf(&summary->out,
                "  mapped       %s of address space at most, more than was %sresident\n",
                figure_human_bytes(program->mapped.peak_bytes).text,
                figure_known(facts_high_water(summary->profile, 0)) ? "" : "seen ");
}

/* Adds what was mapped and by whom, before the heap. */
static int run_summary_add_mapped(struct summary *summary)
{
    const struct profile *profile = summary->profile;
    const struct program_metrics *program = &profile->program;
    struct profile view = *profile;
    if (!facts_mapped_leads(profile))
        return 0;
    strbuf_add_string(&summary->out, "  mapped       ");
    style_add(&summary->out, &summary->style, TONE_FIGURE,
              figure_human_bytes(program->mapped.peak_bytes).text);
    strbuf_addf(&summary->out, " at most, after %s",
                figure_human_duration(program->mapped.peak_ticks).text);
    if (figure_positive(program->mapped.live_bytes))
        strbuf_addf(&summary->out, "; %s never unmapped",
                    figure_human_bytes(program->mapped.live_bytes).text);
    strbuf_add_char(&summary->out, '\n');
    view.sites = view.mapped_sites;
    view.site_columns = NULL;
    view.site_count = view.mapped_site_count;
    view.program.total = program->mapped;
    struct call_sites sites;
    struct startup startup;
    int error = run_summary_find_sites(&sites, &startup, &view);
    if (!error) {
        summary->profile = &view;
        run_summary_add_top(summary, &sites, &startup, "mapped by");
        summary->profile = profile;
    }
    call_sites_release(&sites);
    startup_release(&startup);
    return error;
}

/* Adds the first insight, if it is a warning or worse. */
static int run_summary_add_insight(struct summary *summary, const struct call_sites *sites,
                                   const struct startup *startup)
{
    struct insights *insights = insights_find_warnings(summary->profile, sites->hidden, startup);
    if (!insights)
        return -ENOMEM;
    if (insights->count && insights->items[0].severity >= INSIGHT_WARNING) {
        strbuf_add_string(&summary->out, "  insight      ");
        text_add_wrapped(&summary->out, insights->items[0].title, LABEL, summary->style.columns);
        strbuf_add_char(&summary->out, '\n');
    }
    insights_free(insights);
    return 0;
}

static int run_summary_add_heap(struct summary *summary)
{
    struct call_sites sites;
    struct startup startup;
    int error = run_summary_find_sites(&sites, &startup, summary->profile);
    if (!error) {
        run_summary_add_top(summary, &sites, &startup, "at the peak");
        error = run_summary_add_insight(summary, &sites, &startup);
    }
    call_sites_release(&sites);
    startup_release(&startup);
    return error;
}

static void run_summary_add_devices(struct summary *summary)
{
    for (size_t i = 0; i < summary->profile->device_total_count; i++) {
        struct strbuf line = STRBUF_INIT;
        device_facts_add_named(&line, summary->profile, &summary->profile->device_totals[i]);
        strbuf_add_string(&summary->out, i ? "               " : "  devices      ");
        text_add_wrapped(&summary->out, line.data, LABEL, summary->style.columns);
        strbuf_add_char(&summary->out, '\n');
        strbuf_release(&line);
    }
}

/* Adds the whole text of the first loss, and whether there are more. */
static void run_summary_add_losses(struct summary *summary)
{
    struct strbuf losses = STRBUF_INIT, line = STRBUF_INIT;
    facts_add_losses(&losses, summary->profile);
    if (losses.length) {
        strbuf_add(&line, losses.data, strcspn(losses.data, "\n"));
        strbuf_truncate(&losses, losses.length - 1);
        if (strchr(losses.data, '\n'))
            strbuf_add_string(&line, "; and more");
        style_begin(&summary->out, &summary->style, TONE_WARNING);
        strbuf_add_string(&summary->out, "  loss         ");
        text_add_wrapped(&summary->out, line.data, LABEL, summary->style.columns);
        style_end(&summary->out, &summary->style);
        strbuf_add_char(&summary->out, '\n');
    }
    strbuf_release(&losses);
    strbuf_release(&line);
}

int report_summary(FILE *out, const struct profile *profile, const char *path)
{
    size_t columns = term_columns(out);
    struct summary summary = {
        .style = {term_wants_colour(TERM_COLOUR_AUTO, out), term_is_utf8(),
                  columns < MOST_COLUMNS ? columns : MOST_COLUMNS},
        .out = STRBUF_INIT,
        .profile = profile,
    };
    run_summary_add_title(&summary);
    int error = 0;
    if (profile->has_program) {
        error = run_summary_add_mapped(&summary);
        run_summary_add_figures(&summary);
        if (!error)
            error = run_summary_add_heap(&summary);
        run_summary_add_addresses(&summary);
        run_summary_add_devices(&summary);
        run_summary_add_losses(&summary);
    }
    strbuf_add_string(&summary.out, "  look at it   tidemark report ");
    text_add_safe_string(&summary.out, path);
    strbuf_add_char(&summary.out, '\n');
    fputs(summary.out.data, out);
    strbuf_release(&summary.out);
    return error;
}
