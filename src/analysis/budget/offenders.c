/* Finds the call paths that have most of what is too much. Candidates are ranked by value, or by
 * growth where there is a baseline, and */
#include "budget/offenders.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "budget/limit_measure.h"
#include "diff/diff.h"
#include "aggregate/facts.h"
#include "aggregate/frames.h"

enum { LOOKED_AT = 64 }; /* sites, of which those that look alike are joined */

/* ---- One ----------------------------------------------------------------------------------- */

static int offenders_add_frame(struct budget_offender *to, const char *function,
                               const char *through, const char *file, uint32_t line)
{
    struct budget_frame *frame = &to->frames[to->frame_count];
    *frame = (struct budget_frame){strdup(function), file ? strdup(file) : NULL, line,
                                   through && *through ? strdup(through) : NULL};
    if (!frame->function || (file && !frame->file) || (through && *through && !frame->through)) {
        free(frame->function);
        free(frame->file);
        free(frame->through);
        return -ENOMEM;
    }
    to->frame_count++;
    return 0;
}

void budget_offender_release(struct budget_offender *offender)
{
    for (size_t i = 0; i < offender->frame_count; i++) {
        free(offender->frames[i].function);
        free(offender->frames[i].file);
        free(offender->frames[i].through);
    }
    offender->frame_count = 0;
}

static bool offenders_is_alike(const struct budget_offender *a, const struct budget_offender *b)
{
    if (a->frame_count != b->frame_count)
        return false;
    for (size_t i = 0; i < a->frame_count; i++)
        if (a->frames[i].line != b->frames[i].line ||
            strcmp(a->frames[i].function, b->frames[i].function))
            return false;
    return true;
}

/* ---- Of one recording ---------------------------------------------------------------------- */

struct offenders_ranked {
    double value;
    uint32_t path;
};

static int offenders_by_falling_value(const void *a, const void *b)
{
    const struct offenders_ranked *left = a, *right = b;
    if (left->value != right->value)
        return left->value < right->value ? 1 : -1;
    return left->path < right->path ? -1 : left->path > right->path;
}

static uint32_t offenders_largest_sample(const struct profile *profile)
{
    const struct profile_sample *most = NULL;
    for (size_t i = 0; i < profile->sample_count; i++)
        if (!most || figure_compare(profile->samples[i].resident_bytes, most->resident_bytes) > 0)
            most = &profile->samples[i];
    return most ? most->id : 0;
}

/* Blocks, mappings and pinned free memory of the look with most of the program's. */
static size_t offenders_rank_owners(const struct profile *profile, const bool *wanted,
                                    struct offenders_ranked *ranked)
{
    const struct profile_sample *sample = facts_owners_sample(profile);
    size_t count = 0;
    for (size_t i = 0; i < profile->owner_count; i++) {
        const struct profile_owner *row = &profile->owners[i];
        if (row->sample == sample->id && row->path && figure_positive(row->resident_bytes) &&
            (!wanted || wanted[row->path]))
            ranked[count++] =
                (struct offenders_ranked){figure_double(row->resident_bytes), row->path};
    }
    return count;
}

static size_t offenders_rank_resident(const struct profile *profile, const bool *wanted,
                                      struct offenders_ranked *ranked)
{
    size_t count = 0;
    if (facts_owners_sample(profile))
        return offenders_rank_owners(profile, wanted, ranked);
    uint32_t sample = offenders_largest_sample(profile);
    for (size_t i = 0; i < profile->residency_count; i++) {
        const struct profile_residency *row = &profile->residencies[i];
        if (row->sample == sample && figure_positive(row->resident_bytes) &&
            (!wanted || wanted[row->path]))
            ranked[count++] =
                (struct offenders_ranked){figure_double(row->resident_bytes), row->path};
    }
    return count;
}

static size_t offenders_rank_sites(const struct profile *profile, const struct budget_limit *limit,
                                   const bool *wanted, const bool *leaks,
                                   struct offenders_ranked *ranked)
{
    size_t count = 0;
    struct profile_site room;
    const struct profile_site *site;
    for (size_t i = 0; (site = budget_next_site(profile, limit->metric, i, &room)); i++) {
        struct figure value = budget_site_value(site, limit);
        if (!figure_positive(value) || (wanted && !wanted[site->path]) ||
            (leaks && budget_is_leak(limit->metric) && !leaks[site->path]))
            continue;
        ranked[count++] = (struct offenders_ranked){figure_double(value), site->path};
    }
    return count;
}

static size_t offenders_rank_islands(const struct profile *profile, enum budget_metric metric,
                                     const bool *wanted, const bool *leaks,
                                     struct offenders_ranked *ranked)
{
    size_t count = 0, all;
    const struct profile_island *islands = facts_islands(profile, &all);
    for (size_t i = 0; i < all; i++)
        if ((!wanted || wanted[islands[i].path]) && (!leaks || leaks[islands[i].path]))
            ranked[count++] = (struct offenders_ranked){budget_island_value(&islands[i], metric),
                                                        islands[i].path};
    return count;
}

static size_t offenders_rank(const struct profile *profile, const struct budget_limit *limit,
                             const bool *wanted, const bool *leaks, struct offenders_ranked *ranked)
{
    if (limit->metric == BUDGET_RESIDENT)
        return offenders_rank_resident(profile, wanted, ranked);
    if (budget_is_lost(limit->metric))
        return offenders_rank_islands(profile, limit->metric, wanted, leaks, ranked);
    return offenders_rank_sites(profile, limit, wanted, leaks, ranked);
}

static int offenders_fill(struct budget_offender *offender, const struct profile *profile,
                          const bool *hidden, struct offenders_ranked of)
{
    struct frame_walk walk;
    struct frame frame = frame_walk_begin(&walk, profile, hidden, of.path);
    struct strbuf name = STRBUF_INIT, through = STRBUF_INIT;
    int error = 0;
    *offender = (struct budget_offender){.value = of.value, .before = NAN};
    do {
        uint32_t line;
        const char *file = frame_file(profile, frame, &line);
        strbuf_reset(&name);
        strbuf_reset(&through);
        frame_add_name(&name, profile, frame);
        if (!offender->frame_count)
            frame_add_through(&through, profile, frame);
        error = offenders_add_frame(offender, name.data, through.length ? through.data : NULL, file,
                                    line);
    } while (!error && offender->frame_count < BUDGET_FRAMES && frame_walk_next(&walk, &frame));
    strbuf_release(&name);
    strbuf_release(&through);
    return error;
}

static void offenders_join(struct budget_offender *offenders, size_t *count,
                           enum budget_metric metric)
{
    struct budget_offender *last = &offenders[*count - 1];
    for (size_t i = 0; i + 1 < *count; i++) {
        if (!offenders_is_alike(&offenders[i], last))
            continue;
        offenders[i].value = metric == BUDGET_LARGEST ? fmax(offenders[i].value, last->value)
                                                      : offenders[i].value + last->value;
        budget_offender_release(last);
        --*count;
        return;
    }
}

static int offenders_by_value(const void *a, const void *b)
{
    const struct budget_offender *left = a, *right = b;
    return left->value < right->value ? 1 : left->value > right->value ? -1 : 0;
}

static int offenders_keep_largest(struct budget_verdict *verdict, struct budget_offender *offenders,
                                  size_t count)
{
    qsort(offenders, count, sizeof *offenders, offenders_by_value);
    for (size_t i = 0; i < count; i++)
        if (i < BUDGET_OFFENDERS)
            verdict->offenders[verdict->offender_count++] = offenders[i];
        else
            budget_offender_release(&offenders[i]);
    return 0;
}

int budget_find_offenders(struct budget_verdict *verdict, const struct profile *profile,
                          const bool *hidden, const bool *wanted, const bool *leaks)
{
    enum budget_metric metric = verdict->limit->metric;
    size_t most = profile->site_count + profile->mapped_site_count + profile->residency_count +
                  profile->owner_count + profile->island_count + 1;
    size_t count, made = 0;
    struct offenders_ranked *ranked = calloc(most, sizeof *ranked);
    struct budget_offender *offenders = calloc(LOOKED_AT, sizeof *offenders);
    int error = ranked && offenders ? 0 : -ENOMEM;
    if (!error) {
        count = offenders_rank(profile, verdict->limit, wanted, leaks, ranked);
        qsort(ranked, count, sizeof *ranked, offenders_by_falling_value);
        for (size_t i = 0; i < count && i < LOOKED_AT && !error; i++) {
            error = offenders_fill(&offenders[made++], profile, hidden, ranked[i]);
            offenders_join(offenders, &made, metric);
        }
        offenders_keep_largest(verdict, offenders, made);
    }
    free(ranked);
    free(offenders);
    return error;
}

/* ---- Of growth ----------------------------------------------------------------------------- */

/* Where it stands in METRIC_CHOICE; -1: call paths are not compared by it. */
static int offenders_report_metric_of(const struct budget_limit *limit)
{
    switch (limit->metric) {
    case BUDGET_PEAK: /* paths have no share of a region's */
        return limit->scope == BUDGET_REGION ? -1 : 0;
    case BUDGET_LIVE:
    case BUDGET_LIVE_BLOCKS:
        return 1;
    case BUDGET_ALLOCATIONS:
    case BUDGET_RATE:
        return 2;
    case BUDGET_BYTES:
        return 3;
    case BUDGET_TEMPORARY:
        return 4;
    case BUDGET_REALLOCATIONS:
        return 6;
    default:
        return -1;
    }
}

static int offenders_take_grown(struct budget_verdict *verdict, const struct diff *difference,
                                const struct diff_path *path)
{
    struct budget_offender *offender = &verdict->offenders[verdict->offender_count++];
    struct diff_frame frame;
    *offender = (struct budget_offender){diff_of(&path->figure), path->figure.before, 0, {{0}}};
    for (uint32_t node = path->node;
         offender->frame_count < BUDGET_FRAMES && diff_frame_next(difference, &node, &frame);)
        if (offenders_add_frame(offender, frame.function, frame.through, frame.file,
                                frame.line[1] ? frame.line[1] : frame.line[0]))
            return -ENOMEM;
    return 0;
}

static int offenders_compare_by(struct budget_growth *growth, int metric)
{
    struct diff_options options = {metric, DIFF_AS_IS, false, true, NULL};
    int error = growth->is_made ? diff_by(&growth->difference, metric)
                                : diff_make(&growth->difference, growth->runs, 2, &options);
    growth->is_made = !error;
    return error;
}

int budget_find_grown(struct budget_verdict *verdict, struct budget_growth *growth)
{
    const struct diff *difference = &growth->difference;
    int metric = offenders_report_metric_of(verdict->limit);
    int error = metric < 0 ? 0 : offenders_compare_by(growth, metric);
    if (metric < 0 || error)
        return error;
    for (size_t i = 0; i < difference->path_count && i < BUDGET_OFFENDERS && !error; i++)
        if (diff_of(&difference->paths[i].figure) > 0)
            error = offenders_take_grown(verdict, difference, &difference->paths[i]);
    return error;
}

void budget_growth_release(struct budget_growth *growth)
{
    if (growth->is_made)
        diff_release(&growth->difference);
    growth->is_made = false;
}
