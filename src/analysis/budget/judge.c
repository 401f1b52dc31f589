/* Judges a recording by a budget. First it looks for what the recording lacks: figures of an
 * incomplete recording are too small and would pass wrongly. Then it measures each limit over the
 * call paths in its scope and compares. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "budget/limit_measure.h"
#include "budget/offenders.h"
#include "aggregate/facts.h"
#include "aggregate/frames.h"
#include "aggregate/runtime_pools.h"

struct judging {
    struct budget_check *check;
    bool *hidden, *hidden_baseline; /* NULL: no baseline */
    bool *leaks, *leaks_baseline;   /* NULL: all is leaks */
    struct budget_growth growth;    /* of the whole program */
};

/* ---- The recording ------------------------------------------------------------------------- */

/* A sentence, or nothing. Figures of such a recording are too small: it would pass for the wrong
 * reason. */
static void budget_judge_add_what_is_missing(struct strbuf *out, const struct profile *profile)
{
    const struct program_metrics *program = &profile->program;
    const char *end = profile_get(profile, PROFILE_META_END);
    if (end && !strcmp(end, "exec"))
        strbuf_add_string(out, "the program was replaced by another (exec), whose profile lies "
                               "beside it");
    else if (!profile->has_program)
        strbuf_add_string(out, "nothing was recorded");
    else if (profile->damage)
        strbuf_add_string(out, profile->damage);
    else if (profile->being_written)
        strbuf_add_string(out, "the program is still being recorded");
    else if (!profile->complete)
        strbuf_add_string(out, "the recording did not come to its end");
    else if (program->lost_events || program->malformed_events)
        strbuf_addf(out, "%llu events were lost",
                    (unsigned long long)(program->lost_events + program->malformed_events));
    else
        facts_add_unseen(out, profile);
}

static int judge_recording(struct budget_check *check, const struct profile *profile,
                           const char *file, bool allow_loss)
{
    struct strbuf missing = STRBUF_INIT;
    budget_judge_add_what_is_missing(&missing, profile);
    if (missing.length && !allow_loss) {
        struct strbuf why = STRBUF_INIT;
        strbuf_addf(&why, "%s is not whole: %s", file, missing.data);
        check->verdicts[check->count++] = (struct budget_verdict){.state = BUDGET_UNKNOWN,
                                                                  .value = NAN,
                                                                  .baseline = NAN,
                                                                  .most = NAN,
                                                                  .why = strbuf_detach(&why)};
        check->unknown++;
    }
    strbuf_release(&missing);
    return 0;
}

/* ---- Limits -------------------------------------------------------------------------------- */

/* What a limit is about in one recording. */
struct scoped {
    const struct profile *profile; /* NULL: it has no such region */
    struct profile *view;          /* of a region, its own */
    bool *paths;                   /* NULL: all */
    const char *why;               /* a sentence: what of it is not known */
};

static void budget_judge_release_scoped(struct scoped *scoped)
{
    if (scoped->view)
        free(scoped->view->sites);
    free(scoped->view);
    free(scoped->paths);
}

static int budget_judge_find_region(const struct profile *profile, const char *name,
                                    struct scoped *scoped)
{
    uint32_t region;
    bool is_there = profile_find_region(profile, name, &region) == 0;
    if (!profile->region_count)
        scoped->why = "the recording knows of no regions: has the program named any?";
    else if (facts_number(profile, PROFILE_META_UNTOLD_REGIONS))
        scoped->why = "the program has begun more regions than could be recorded";
    if (scoped->why || !is_there)
        return 0;
    scoped->view = malloc(sizeof *scoped->view);
    scoped->profile = scoped->view;
    return scoped->view ? profile_view_region(scoped->view, profile, region) : -ENOMEM;
}

static int budget_judge_find_paths(const struct profile *profile, const struct budget_limit *limit,
                                   const bool *hidden, struct scoped *scoped)
{
    bool all;
    if (limit->scope == BUDGET_REGION)
        return budget_judge_find_region(profile, limit->pattern, scoped);
    scoped->profile = profile;
    scoped->paths = budget_scope_paths(profile, limit, hidden, &all);
    return scoped->paths || all ? 0 : -ENOMEM;
}

/* Suppressed leaks do not count. To be freed. */
static bool *budget_judge_and_leaks(const struct profile *profile, const bool *paths,
                                    const bool *leaks)
{
    bool *both = malloc(profile->node_count + 1);
    for (size_t i = 0; both && i < profile->node_count; i++)
        both[i] = (!paths || paths[i]) && (!leaks || leaks[i]);
    return both;
}

/* Of these paths those that pass the filter. 0 or -ENOMEM. */
static int budget_judge_filter(struct scoped *scoped, const bool *passes)
{
    if (!passes || !scoped->profile)
        return 0;
    bool *paths = budget_judge_and_leaks(scoped->profile, scoped->paths, passes);
    free(scoped->paths);
    scoped->paths = paths;
    return paths ? 0 : -ENOMEM;
}

static int budget_judge_unknown(struct budget_verdict *verdict, const char *why)
{
    verdict->state = BUDGET_UNKNOWN;
    verdict->why = strdup(why);
    return verdict->why ? 0 : -ENOMEM;
}

static void budget_judge_set_most(struct budget_verdict *verdict)
{
    const struct budget_limit *limit = verdict->limit;
    verdict->most = limit->most;
    if (limit->is_growth)
        verdict->most = verdict->baseline + limit->most * (limit->is_share ? verdict->baseline : 1);
}

/* For a limit that is not about all call paths. */
static int budget_judge_find_grown_among(const struct judging *judging,
                                         struct budget_verdict *verdict, const struct scoped *then,
                                         const struct scoped *now)
{
    const struct budget_check *check = judging->check;
    bool leak = budget_is_leak(verdict->limit->metric);
    bool *before =
        budget_judge_and_leaks(check->baseline, then->paths, leak ? judging->leaks_baseline : NULL);
    bool *after = budget_judge_and_leaks(check->profile, now->paths, leak ? judging->leaks : NULL);
    struct budget_growth growth = {
        .runs = {{then->profile, check->baseline_file, DIFF_BEFORE, before},
                 {now->profile, check->file, DIFF_AFTER, after}}};
    int error = before && after ? budget_find_grown(verdict, &growth) : -ENOMEM;
    budget_growth_release(&growth);
    free(before);
    free(after);
    return error;
}

static int budget_judge_find_grown(struct judging *judging, struct budget_verdict *verdict,
                                   const struct scoped *then, const struct scoped *now)
{
    const struct budget_check *check = judging->check;
    bool leaks = budget_is_leak(verdict->limit->metric) && judging->leaks;
    if (!then->profile)
        return 0;
    if (then->view || then->paths || now->paths || leaks)
        return budget_judge_find_grown_among(judging, verdict, then, now);
    judging->growth.runs[0] =
        (struct diff_run){check->baseline, check->baseline_file, DIFF_BEFORE, NULL};
    judging->growth.runs[1] = (struct diff_run){check->profile, check->file, DIFF_AFTER, NULL};
    return budget_find_grown(verdict, &judging->growth);
}

static struct budget_measured budget_judge_measure(const struct budget_limit *limit,
                                                   const struct scoped *scoped, const bool *leaks)
{
    if (scoped->why)
        return (struct budget_measured){NAN, scoped->why};
    if (!scoped->profile)
        return (struct budget_measured){0, NULL};
    return budget_measure(scoped->profile, limit, scoped->paths, leaks);
}

/* `then`: of the baseline, for limits of growth. */
static int judge_measured(struct judging *judging, struct budget_verdict *verdict,
                          const struct scoped *then, const struct scoped *now)
{
    const struct budget_limit *limit = verdict->limit;
    struct budget_measured measured = budget_judge_measure(limit, now, judging->leaks);
    verdict->value = measured.value;
    if (isnan(measured.value))
        return budget_judge_unknown(verdict, measured.why);
    if (limit->is_growth) {
        verdict->baseline = budget_judge_measure(limit, then, judging->leaks_baseline).value;
        if (isnan(verdict->baseline))
            return budget_judge_unknown(verdict, "the baseline does not know it");
    }
    budget_judge_set_most(verdict);
    if (verdict->value <= verdict->most)
        return 0;
    verdict->state = BUDGET_EXCEEDED;
    int error = limit->is_growth ? budget_judge_find_grown(judging, verdict, then, now) : 0;
    if (!error && !verdict->offender_count)
        error = budget_find_offenders(verdict, now->profile, judging->hidden, now->paths,
                                      judging->leaks);
    return error;
}

static bool budget_judge_has_none(const struct scoped *scoped)
{
    if (scoped->why)
        return false;
    return !scoped->profile ||
           (scoped->paths && !memchr(scoped->paths, true, scoped->profile->node_count));
}

/* A pattern that nothing matches is a limit that no longer limits anything: mostly of a function
 * that was renamed. The limit is kept, with 0, and the verdict says so. */
static int budget_judge_limit(struct judging *judging, const struct budget_limit *limit)
{
    struct budget_check *check = judging->check;
    struct budget_verdict *verdict = &check->verdicts[check->count++];
    struct scoped now = {0}, then = {0};
    *verdict = (struct budget_verdict){.limit = limit,
                                       .value = NAN,
                                       .baseline = NAN,
                                       .most = limit->is_growth ? NAN : limit->most};
    int error = budget_judge_find_paths(check->profile, limit, judging->hidden, &now);
    if (!error)
        error = budget_judge_filter(&now, check->budget->passes);
    verdict->nothing_matches = !error && budget_judge_has_none(&now);
    if (!error && limit->is_growth && !check->baseline)
        error = budget_judge_unknown(verdict, "there is no --baseline");
    else if (!error && limit->is_growth)
        error = budget_judge_find_paths(check->baseline, limit, judging->hidden_baseline, &then);
    if (!error)
        error = budget_judge_filter(&then, check->budget->passes_baseline);
    if (!error && verdict->state != BUDGET_UNKNOWN)
        error = judge_measured(judging, verdict, &then, &now);
    budget_judge_release_scoped(&now);
    budget_judge_release_scoped(&then);
    check->exceeded += verdict->state == BUDGET_EXCEEDED;
    check->unknown += verdict->state == BUDGET_UNKNOWN;
    return error;
}

static int budget_judge_excuse_pools(struct judging *judging)
{
    const struct budget_check *check = judging->check;
    int error = budget_excuse_pools(check->profile, &judging->leaks);
    return error || !check->baseline
               ? error
               : budget_excuse_pools(check->baseline, &judging->leaks_baseline);
}

static int budget_judge_prepare(struct judging *judging)
{
    struct budget_check *check = judging->check;
    judging->hidden = frames_of_libraries(check->profile);
    if (!judging->hidden)
        return -ENOMEM;
    if (check->baseline && !(judging->hidden_baseline = frames_of_libraries(check->baseline)))
        return -ENOMEM;
    if (!check->suppressions || !check->suppressions->count)
        return budget_judge_excuse_pools(judging);
    /* The baseline first, because used_bytes and used_blocks are to be the profile's. */
    if (check->baseline &&
        !(judging->leaks_baseline = suppressions_leave(check->suppressions, check->baseline)))
        return -ENOMEM;
    for (size_t i = 0; i < check->suppressions->count; i++)
        check->suppressions->list[i].used_bytes = check->suppressions->list[i].used_blocks =
            figure_of(0);
    judging->leaks = suppressions_leave(check->suppressions, check->profile);
    return judging->leaks ? budget_judge_excuse_pools(judging) : -ENOMEM;
}

int budget_judge(struct budget_check *check, const struct budget *budget,
                 const struct profile *profile, const char *file, const struct profile *baseline,
                 const char *baseline_file, struct suppressions *suppressions, bool allow_loss)
{
    *check = (struct budget_check){.budget = budget,
                                   .file = file,
                                   .baseline_file = baseline_file,
                                   .profile = profile,
                                   .baseline = baseline,
                                   .suppressions = suppressions};
    struct judging judging = {.check = check};
    check->verdicts = calloc(budget->count + 2, sizeof *check->verdicts);
    int error = check->verdicts ? budget_judge_prepare(&judging) : -ENOMEM;
    if (!error)
        error = judge_recording(check, profile, file, allow_loss);
    if (!error && baseline)
        error = judge_recording(check, baseline, baseline_file, allow_loss);
    for (size_t i = 0; i < budget->count && !error; i++)
        error = budget_judge_limit(&judging, &budget->limits[i]);
    budget_growth_release(&judging.growth);
    free(judging.hidden);
    free(judging.hidden_baseline);
    free(judging.leaks);
    free(judging.leaks_baseline);
    if (error)
        budget_check_release(check);
    return error;
}

void budget_check_release(struct budget_check *check)
{
    for (size_t i = 0; check->verdicts && i < check->count; i++) {
        for (size_t j = 0; j < check->verdicts[i].offender_count; j++)
            budget_offender_release(&check->verdicts[i].offenders[j]);
        free(check->verdicts[i].why);
    }
    free(check->verdicts);
    *check = (struct budget_check){0};
}

/* ---- In words ------------------------------------------------------------------------------ */

void budget_add_verdict(struct strbuf *out, const struct budget_verdict *verdict, bool utf8)
{
    const struct budget_limit *limit = verdict->limit;
    if (!limit) {
        strbuf_add_string(out, verdict->why);
        return;
    }
    enum budget_unit unit = limit->is_share && !limit->is_growth
                                ? BUDGET_UNIT_SHARE
                                : budget_metric_unit(limit->metric);
    budget_add_limit(out, limit, utf8);
    strbuf_add_string(out, ": ");
    if (verdict->state == BUDGET_UNKNOWN) {
        strbuf_add_string(out, verdict->why);
        return;
    }
    budget_add_amount(out, unit, verdict->value);
    if (verdict->nothing_matches)
        strbuf_add_string(out, limit->scope == BUDGET_REGION ? ", there is no such region"
                                                             : ", nothing matches");
    if (limit->is_growth) {
        strbuf_add_string(out, ", before ");
        budget_add_amount(out, unit, verdict->baseline);
        if (verdict->state == BUDGET_EXCEEDED) {
            strbuf_add_string(out, ", at most ");
            budget_add_amount(out, unit, verdict->most);
        }
    }
}
