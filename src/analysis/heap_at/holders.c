/* What is alive at a moment, and for comparison at the peak, as the sites of a profile in memory,
 * so that analysis/aggregate makes functions of their call paths. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "heap_at/heap_at.h"
#include "aggregate/match.h"
#include "base/error.h"
#include "heap_at/times.h"
#include "accounting/weight.h"

/* ---- The moment ---------------------------------------------------------------------------- */

int heap_at_state(const struct trace *trace, const struct offline_moment *moment,
                  struct trace_state *state)
{
    switch (moment->kind) {
    case OFFLINE_PEAK:
        return trace_state_at(trace, TRACE_AT_PEAK, 0, state);
    case OFFLINE_EVENT:
        return trace_state_at(trace, TRACE_AT_EVENT, moment->value + (moment->value < UINT64_MAX),
                              state);
    default:
        return trace_state_at(trace, TRACE_AT_TICKS, offline_moment_ticks(trace, moment), state);
    }
}

uint64_t heap_at_ticks(const struct trace *trace, const struct offline_clock *clock,
                       const struct offline_moment *moment, const struct trace_state *state)
{
    uint64_t ticks;

    if (moment->kind == OFFLINE_PEAK || moment->kind == OFFLINE_EVENT)
        return state->ticks;
    ticks = offline_moment_ticks(trace, moment);
    return ticks < clock->end_ticks ? ticks : clock->end_ticks;
}

uint64_t heap_at_ns(const struct offline_clock *clock, uint64_t ticks)
{
    return ticks > clock->start_ticks
               ? (uint64_t)((double)(ticks - clock->start_ticks) * clock->tick_ns + 0.5)
               : 0;
}

uint64_t heap_at_event_count(const struct trace *trace)
{
    size_t count = trace_block_count(trace);

    return count
               ? trace_block(trace, count - 1)->first_event + trace_block(trace, count - 1)->events
               : 0;
}

/* ---- Sites --------------------------------------------------------------------------------- */

static uint64_t holders_whole_count(const struct holders *holders, uint64_t count)
{
    struct trace_options options;

    trace_options(holders->trace, &options);
    return options.sample_bytes ? weight_whole(count) : count;
}

uint64_t heap_at_count(const struct holders *holders, const struct trace_state *state)
{
    return holders_whole_count(holders, state->live_count);
}

/* The paths of both states, by node. */
static struct profile_site *holders_join(const struct holders *holders, size_t *count)
{
    const struct trace_state *at = &holders->at, *peak = &holders->peak;
    struct profile_site *sites = calloc(at->path_count + peak->path_count + 1, sizeof *sites);
    size_t i = 0, k = 0;

    *count = 0;
    while (sites && (i < at->path_count || k < peak->path_count)) {
        struct profile_site *site = &sites[(*count)++];
        bool is_peaks = i == at->path_count ||
                        (k < peak->path_count && peak->paths[k].node < at->paths[i].node);
        site->path = is_peaks ? peak->paths[k].node : at->paths[i].node;
        if (!is_peaks) {
            site->metrics.live_bytes = figure_of(at->paths[i].bytes);
            site->metrics.live_count =
                figure_of(holders_whole_count(holders, at->paths[i++].count));
        }
        if (k < peak->path_count && peak->paths[k].node == site->path) {
            site->metrics.at_peak_bytes = figure_of(peak->paths[k].bytes);
            site->metrics.at_peak_count =
                figure_of(holders_whole_count(holders, peak->paths[k++].count));
        }
    }
    return sites;
}

/* Paths that the trace lacks (it is damaged) are shown as without a path. */
static void holders_know_all(struct profile_site *sites, size_t count, size_t node_count)
{
    for (size_t i = 0; i < count; i++)
        if (sites[i].path >= node_count)
            sites[i].path = 0;
}

static int holders_name_sites(struct holders *holders, struct profile_site *sites, size_t count)
{
    size_t last_block =
        holders->at.block > holders->peak.block ? holders->at.block : holders->peak.block;
    uint32_t *nodes = malloc((count + 1) * sizeof *nodes);
    struct offline_wanted wanted = {nodes, count};
    int error;

    if (!nodes)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        nodes[i] = sites[i].path;
    error = offline_names(holders->trace, last_block, &wanted, &holders->profile);
    free(nodes);
    return error;
}

static int holders_make_sites(struct holders *holders)
{
    size_t count;
    struct profile_site *sites = holders_join(holders, &count);
    int error = sites ? holders_name_sites(holders, sites, count)
                      : error_set(-ENOMEM, "out of memory while reading a trace");

    if (error) {
        free(sites);
        return error;
    }
    holders_know_all(sites, count, holders->profile->node_count);
    free(holders->profile->sites);
    holders->profile->sites = sites;
    holders->profile->site_count = count;
    return 0;
}

/* Both states, and the time of the moment. */
static int holders_find(struct holders *holders, struct offline_moment at)
{
    const struct trace *trace = holders->trace;
    struct offline_moment peak = {.kind = OFFLINE_PEAK};
    int error = heap_at_level_moment(trace, &holders->clock, holders->of, &peak);
    if (at.kind == OFFLINE_PEAK)
        at = peak;
    if (!error)
        error = heap_at_state(trace, &at, &holders->at);
    if (!error)
        error = heap_at_state(trace, &peak, &holders->peak);
    if (error)
        return error;
    holders->ticks = heap_at_ticks(trace, &holders->clock, &at, &holders->at);
    error = heap_at_level_state(trace, &holders->clock, holders->of, &holders->at);
    return error ? error : heap_at_level_state(trace, &holders->clock, holders->of, &holders->peak);
}

int holders_init(struct holders *holders, const struct trace *trace,
                 const struct offline_moment *moment, enum memory_level of)
{
    *holders = (struct holders){.trace = trace, .of = of, .events = heap_at_event_count(trace)};
    offline_clock(trace, &holders->clock);
    int error = holders_find(holders, *moment);
    if (!error)
        error = holders_make_sites(holders);
    if (error)
        holders_release(holders);
    return error;
}

int holders_filter(struct holders *holders, const char *filter)
{
    struct profile *profile = holders->profile;
    bool *passes;
    size_t kept = 0;
    int error = match_frames(profile, filter, &passes);
    if (error)
        return error_set(error, "out of memory while looking at a trace");
    holders->filter = filter;
    for (size_t i = 0; i < profile->site_count; i++) {
        const struct profile_site *site = &profile->sites[i];
        if (!passes[site->path])
            continue;
        holders->passing_bytes += figure_or(site->metrics.live_bytes, 0);
        holders->passing_count += figure_or(site->metrics.live_count, 0);
        profile->sites[kept++] = *site;
    }
    profile->site_count = kept;
    free(passes);
    return 0;
}

void holders_release(struct holders *holders)
{
    trace_state_release(&holders->at);
    trace_state_release(&holders->peak);
    profile_free(holders->profile);
    holders->profile = NULL;
}
