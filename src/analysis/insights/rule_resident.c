/* What is asked for and what is resident: memory that does not go back though it was freed, memory
 * that was asked for and never touched, and limits that come near. */
#include "insights/rule.h"

#include <stdlib.h>
#include "aggregate/facts.h"
#include "base/search.h"

#define FALL_SHARE   0.25 /* of the peak must have been freed, */
#define FALL_KEPT    0.5  /* and this much of that must have stayed resident, */
#define FALL_BUCKETS 0.05 /* for this part of the run */
/* Any allocator keeps some MiB to use them again: a user can do nothing with less, and with less
 * than a notice, or a small part of what is resident, little. */
#define KEPT_BYTES        (4 << 20)
#define KEPT_NOTICE_BYTES (16 << 20)
#define KEPT_NOTICE_SHARE 0.1
#define PINNED_BYTES      (1 << 20)
/* A few MiB between live blocks are what any program has that builds something and goes on, as bash
 * that has expanded {1..20000}: less than this is worth a notice at most. */
#define PINNED_WARNING_BYTES (16 << 20)
#define PINNED_SHARE         0.1 /* of the resident bytes */
/* Of what was requested when the work ended, at a look behind it. */
#define END_LEVEL 0.75
/* If whole pages are this much of what stayed, they are there for the asking. */
#define RETURNABLE 0.5

#define UNTOUCHED_BYTES (1 << 20)
#define UNTOUCHED_SHARE 0.25 /* of a site's live bytes */
/* What is untouched may still be going to be filled. It stays so if it does to the end, or if
 * readings this part of the run apart agree within that part of it. */
#define UNTOUCHED_TIME   0.1
#define UNTOUCHED_CHANGE 0.125

#define LIMIT_NEAR   0.80
#define LIMIT_NEARER 0.90
#define LIMIT_AT     0.95
/* Larger values stand for "no limit". */
#define LIMIT_LARGEST (UINT64_MAX >> 2)

/* ---- Requested falls, resident does not ---------------------------------------------------- */

/* Levels from the timeline. Resident memory beyond the requested is taken to be the program's own
 * (code, stacks) as far as it was there when sampling began. */
struct fall {
    size_t peak, low; /* buckets */
    uint64_t peak_bytes, low_bytes;
    uint64_t resident_bytes; /* at the low */
    uint64_t kept_bytes;     /* freed since the peak and still resident */
    bool sampled;
};

static bool rule_resident_has_physical(const struct timeline_bucket *bucket)
{
    return figure_known(bucket->physical.min);
}

static uint64_t rule_resident_above(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* What stays resident of what was freed between the peak and bucket `low`, over the intervals
 * around it: the least, so that a reading that came late does not count. */
static uint64_t rule_resident_kept_at(const struct profile *profile, const struct fall *fall,
                                      size_t low, uint64_t base)
{
    const struct timeline_bucket *bucket = &profile->buckets[low];
    uint64_t requested = rule_number(bucket->requested.max);
    uint64_t freed = rule_resident_above(fall->peak_bytes, requested);
    uint64_t excess = rule_resident_above(rule_number(bucket->physical.min), requested + base);
    return freed < excess ? freed : excess;
}

/* Is half of what was free at the low in use again? Then it was kept for that. */
static bool rule_resident_is_used_again(const struct fall *fall, uint64_t requested)
{
    return fall->kept_bytes &&
           requested >= fall->low_bytes + (fall->peak_bytes - fall->low_bytes) / 2;
}

static struct fall rule_resident_find_fall(const struct inquiry *inquiry)
{
    const struct profile *profile = inquiry->profile;
    struct fall fall = {0};
    uint64_t base = UINT64_MAX;
    for (size_t i = 0; i < profile->bucket_count; i++) {
        const struct timeline_bucket *bucket = &profile->buckets[i];
        uint64_t requested = rule_number(bucket->requested.max);
        uint64_t beyond = rule_resident_above(rule_number(bucket->physical.min), requested);
        if (requested > fall.peak_bytes) {
            fall.peak_bytes = requested;
            fall.peak = i;
        }
        if (rule_resident_has_physical(bucket) && beyond < base)
            base = beyond;
        fall.sampled |= rule_resident_has_physical(bucket);
    }
    size_t lasting = 0, needed = (size_t)(FALL_BUCKETS * (double)profile->bucket_count) + 1;
    for (size_t i = fall.peak + 1; fall.sampled && i < profile->bucket_count; i++) {
        if (rule_resident_is_used_again(&fall, rule_number(profile->buckets[i].requested.max)))
            fall.kept_bytes = lasting = 0;
        if (!rule_resident_has_physical(&profile->buckets[i]) ||
            !inquiry_counts_at(inquiry, i * profile->bucket_ns))
            continue;
        uint64_t kept = rule_resident_kept_at(profile, &fall, i, base);
        uint64_t requested = rule_number(profile->buckets[i].requested.max);
        uint64_t freed = rule_resident_above(fall.peak_bytes, requested);
        bool holds = (double)freed >= FALL_SHARE * (double)fall.peak_bytes &&
                     (double)kept >= FALL_KEPT * (double)freed && kept >= KEPT_BYTES;
        lasting = holds ? lasting + 1 : 0;
        if (lasting >= 2 && i - fall.peak >= needed && kept > fall.kept_bytes) {
            fall.kept_bytes = kept;
            fall.low = i;
            fall.low_bytes = requested;
            fall.resident_bytes = rule_number(profile->buckets[i].physical.min);
        }
    }
    return fall;
}

/* The highest level in the interval in which the program's work ended; unknown: none. */
static struct figure rule_resident_level_of_work(const struct inquiry *inquiry)
{
    const struct profile *profile = inquiry->profile;
    size_t last = profile->bucket_ns ? inquiry->active_until_ns / profile->bucket_ns : 0;
    for (size_t i = last < profile->bucket_count ? last : profile->bucket_count; i-- > 0;)
        if (figure_known(profile->buckets[i].requested.max))
            return profile->buckets[i].requested.max;
    return FIGURE_UNKNOWN;
}

/* A look while the program worked or rested, or at its end if it has freed little for that. */
static bool rule_resident_is_of_work(const struct inquiry *inquiry,
                                     const struct profile_sample *sample)
{
    struct figure level = rule_resident_level_of_work(inquiry);
    return inquiry_counts_at(inquiry, sample->time_ns) || !figure_known(level) ||
           figure_double(sample->requested_bytes) >= END_LEVEL * figure_double(level);
}

/* The sample with a ledger in which most bytes are pinned. */
static const struct profile_sample *rule_resident_most_pinned(const struct inquiry *inquiry,
                                                              bool *recorded)
{
    const struct profile *profile = inquiry->profile;
    const struct profile_sample *found = NULL;
    *recorded = false;
    for (size_t i = 0; i < profile->sample_count; i++) {
        const struct profile_sample *sample = &profile->samples[i];
        if (!sample->has_ledger)
            continue;
        *recorded = true;
        if (rule_number(sample->pinned_bytes) >= PINNED_BYTES &&
            rule_resident_is_of_work(inquiry, sample) &&
            (double)rule_number(sample->pinned_bytes) >=
                PINNED_SHARE * (double)rule_number_or_most(sample->resident_bytes) &&
            (!found || rule_number(sample->pinned_bytes) > rule_number(found->pinned_bytes)))
            found = sample;
    }
    return found;
}

/* A row for each site, from the rows of one sample. */
struct site_residency {
    uint64_t live_count, live_bytes, untouched_bytes, pinned_bytes, pinning_count;
};

/* The rows of one look, which lie one behind the other: from *first on, before *end. */
static void rule_resident_rows_of(const struct profile *profile, uint32_t sample, size_t *first,
                                  size_t *end)
{
    *first = 0;
    SEARCH_FIRST(*first, profile->residency_count, at, profile->residencies[at].sample < sample);
    *end = *first;
    SEARCH_FIRST(*end, profile->residency_count, at, profile->residencies[at].sample <= sample);
}

static struct site_residency *rule_resident_residency_by_site(const struct inquiry *inquiry,
                                                              uint32_t sample)
{
    const struct profile *profile = inquiry->profile;
    struct site_residency *sites = calloc(inquiry->site_count + 1, sizeof *sites);
    size_t first, end;
    rule_resident_rows_of(profile, sample, &first, &end);
    for (size_t i = first; sites && i < end; i++) {
        const struct profile_residency *row = &profile->residencies[i];
        if (row->path >= profile->node_count || inquiry->site_of_node[row->path] == UINT32_MAX)
            continue;
        struct site_residency *site = &sites[inquiry->site_of_node[row->path]];
        site->live_count += rule_number(row->live_count);
        site->live_bytes += rule_number(row->live_bytes);
        site->untouched_bytes += rule_number(row->untouched_bytes);
        site->pinned_bytes += rule_number(row->pinned_bytes);
        site->pinning_count += rule_number(row->pinning_count);
    }
    return sites;
}

static void rule_resident_add_residency_paths(const struct inquiry *inquiry,
                                              struct insight *insight, uint32_t sample,
                                              const struct site *site, bool pinned)
{
    const struct profile *profile = inquiry->profile;
    uint32_t wanted = (uint32_t)(site - inquiry->sites);
    struct inquiry_top_paths top = {0};
    size_t first, end;
    rule_resident_rows_of(profile, sample, &first, &end);
    for (size_t i = first; i < end; i++) {
        const struct profile_residency *row = &profile->residencies[i];
        if (row->path < profile->node_count && inquiry->site_of_node[row->path] == wanted)
            inquiry_top_paths_add(&top, row->path,
                                  rule_number(pinned ? row->pinned_bytes : row->untouched_bytes));
    }
    insight_add_top(inquiry, insight, &top, INSIGHT_BYTES);
}

static bool rule_resident_is_returnable(const struct profile_sample *sample)
{
    return (double)rule_number(sample->returnable_bytes) >=
           RETURNABLE *
               (double)(rule_number(sample->returnable_bytes) + rule_number(sample->pinned_bytes));
}

static const char *rule_resident_fragmentation_advice(const struct profile *profile,
                                                      const struct profile_sample *sample)
{
    if (sample && rule_resident_is_returnable(sample) && facts_allocator_is_libc(profile))
        return "Much of it is whole free pages: malloc_trim(0) after the phase gives them back. "
               "Allocate what lives long before the temporary blocks, or from a pool of its own.";
    if (sample && rule_resident_is_returnable(sample))
        return "Much of it is whole free pages, which the allocator may be told to give back. "
               "Allocate what lives long before the temporary blocks, or from a pool of its own.";
    return "Allocate what lives long before the temporary blocks, or from a pool of its own, so "
           "that it does not lie between them; or do without the temporary blocks.";
}

static void rule_resident_report_pinned(struct inquiry *inquiry,
                                        const struct profile_sample *sample,
                                        const struct fall *fall)
{
    struct site_residency *rows = rule_resident_residency_by_site(inquiry, sample->id);
    struct candidates candidates = {0};
    for (size_t i = 0; rows && i < inquiry->site_count; i++)
        if (rows[i].pinned_bytes)
            inquiry_candidates_add(&candidates, &inquiry->sites[i], rows[i].pinned_bytes);
    struct insight *insight = insight_begin(inquiry, rule_number(sample->pinned_bytes),
                                            rule_number(sample->resident_bytes), INSIGHT_BYTES);
    if (rule_number(sample->pinned_bytes) < PINNED_WARNING_BYTES)
        insight_at_most(insight, INSIGHT_NOTICE);
    if (candidates.count) {
        const struct site *site = candidates.top[0].site;
        const struct site_residency *row = &rows[site - inquiry->sites];
        insight_title(insight, "%s of %s from %s keep %s of free memory from going back",
                      inquiry_human_blocks(row->pinning_count).text,
                      human_bytes(row->live_count ? row->live_bytes / row->live_count : 0).text,
                      inquiry_site_name(inquiry, site).text, human_bytes(row->pinned_bytes).text);
        insight_add_count(insight, "pinning_count", row->pinning_count);
        insight_add_bytes(insight, "site_pinned_bytes", row->pinned_bytes);
    } else {
        insight_title(insight, "%s of free memory cannot go back: live blocks lie on its pages",
                      human_bytes(rule_number(sample->pinned_bytes)).text);
    }
    insight_add_bytes(insight, "pinned_bytes", rule_number(sample->pinned_bytes));
    insight_add_bytes(insight, "returnable_bytes", rule_number(sample->returnable_bytes));
    insight_add_bytes(insight, "resident_bytes", rule_number(sample->resident_bytes));
    insight_add_bytes(insight, "requested_bytes", rule_number(sample->requested_bytes));
    insight_add_share(insight, "resident_share", insight->cost);
    insight_add_ns(insight, "time", sample->time_ns);
    if (fall->kept_bytes)
        insight_add_bytes(insight, "kept_bytes", fall->kept_bytes);
    for (size_t i = 0; i < candidates.count; i++)
        rule_resident_add_residency_paths(inquiry, insight, sample->id, candidates.top[i].site,
                                          true);
    insight->advice = rule_resident_fragmentation_advice(inquiry->profile, sample);
    free(rows);
}

/* Of the looks since the peak the one at which the allocator kept most. */
static const struct profile_sample *rule_resident_most_kept(const struct profile *profile,
                                                            const struct fall *fall)
{
    const struct profile_sample *found = NULL;
    for (size_t i = 0; i < profile->sample_count; i++) {
        const struct profile_sample *sample = &profile->samples[i];
        if (sample->has_ledger && sample->time_ns >= fall->peak * profile->bucket_ns &&
            (!found || rule_number(sample->slack_bytes) > rule_number(found->slack_bytes)))
            found = sample;
    }
    return found;
}

/* The site that has freed most of its blocks of the peak; NULL: none has. */
static const struct site *rule_resident_who_freed(const struct inquiry *inquiry)
{
    const struct site *most = NULL;
    uint64_t bytes = 0;
    for (size_t i = 0; i < inquiry->site_count; i++) {
        const struct call_metrics *metrics = &inquiry->sites[i].metrics;
        uint64_t gone = rule_resident_above(rule_number(metrics->at_peak_bytes),
                                            rule_number_or_most(metrics->live_bytes));
        if (gone > bytes) {
            bytes = gone;
            most = &inquiry->sites[i];
        }
    }
    return most;
}

static void rule_resident_title_fall(const struct inquiry *inquiry, struct insight *insight,
                                     uint64_t fell, uint64_t kept)
{
    const struct site *who = rule_resident_who_freed(inquiry);
    if (who)
        insight_title(insight, "%s was freed, most of it of %s, but %s stays resident",
                      human_bytes(fell).text, inquiry_site_name(inquiry, who).text,
                      human_bytes(kept).text);
    else
        insight_title(insight, "%s was freed but %s of it stays resident", human_bytes(fell).text,
                      human_bytes(kept).text);
    if (who)
        insight_add_paths(inquiry, insight, who, METRIC_ROW(at_peak_bytes), INSIGHT_BYTES);
}

/* Begins the finding about memory that was freed and stays resident. */
static struct insight *rule_resident_begin_fall(struct inquiry *inquiry, const struct fall *fall)
{
    uint64_t fell = fall->peak_bytes - fall->low_bytes;
    struct insight *insight =
        insight_begin(inquiry, fall->kept_bytes, fall->peak_bytes, INSIGHT_BYTES);
    rule_resident_title_fall(inquiry, insight, fell, fall->kept_bytes);
    insight_add_bytes(insight, "peak_bytes", fall->peak_bytes);
    insight_add_bytes(insight, "requested_bytes", fall->low_bytes);
    insight_add_bytes(insight, "resident_bytes", fall->resident_bytes);
    insight_add_bytes(insight, "kept_bytes", fall->kept_bytes);
    insight_add_share(insight, "peak_share", insight->cost);
    insight_add_ns(insight, "time", fall->low * inquiry->profile->bucket_ns);
    bool is_much = fall->kept_bytes >= KEPT_NOTICE_BYTES &&
                   (double)fall->kept_bytes >= KEPT_NOTICE_SHARE * (double)fall->resident_bytes;
    insight_at_most(insight, is_much ? INSIGHT_NOTICE : INSIGHT_INFO);
    insight->rank = RANK_HINT;
    return insight;
}

/* Without a ledger, what stays may as well be another allocator's, or nobody's; allocators keep
 * free memory to use it again. */
static void rule_resident_report_fall(struct inquiry *inquiry, const struct fall *fall)
{
    struct insight *insight = rule_resident_begin_fall(inquiry, fall);
    insight_add_text(insight, "pinned_by", "not recorded");
    insight->advice = rule_resident_fragmentation_advice(inquiry->profile, NULL);
}

static const char *rule_resident_kept_advice(const struct profile *profile,
                                             const struct profile_sample *sample)
{
    if (!rule_resident_is_returnable(sample))
        return rule_resident_fragmentation_advice(profile, sample);
    if (facts_allocator_is_libc(profile))
        return "The allocator keeps it to use it again, and live blocks hold little of it. If "
               "others "
               "need the memory before the program ends, malloc_trim(0) gives it back.";
    return "The allocator keeps it to use it again, and live blocks hold little of it. If others "
           "need "
           "the memory before the program ends, tell the allocator to keep less.";
}

/* Live blocks pin little of it: allocators keep free memory to use it again, which costs only
 * others something. */
static void rule_resident_report_kept(struct inquiry *inquiry, struct fall fall,
                                      const struct profile_sample *sample)
{
    if (rule_number(sample->slack_bytes) < fall.kept_bytes)
        fall.kept_bytes = rule_number(sample->slack_bytes);
    if (fall.kept_bytes < KEPT_BYTES)
        return;
    struct insight *insight = rule_resident_begin_fall(inquiry, &fall);
    insight_add_bytes(insight, "returnable_bytes", rule_number(sample->returnable_bytes));
    insight_add_bytes(insight, "pinned_bytes", rule_number(sample->pinned_bytes));
    insight->advice = rule_resident_kept_advice(inquiry->profile, sample);
}

void rule_fragmentation(struct inquiry *inquiry)
{
    struct fall fall = rule_resident_find_fall(inquiry);
    bool recorded;
    const struct profile_sample *sample = rule_resident_most_pinned(inquiry, &recorded);
    const struct profile_sample *kept = rule_resident_most_kept(inquiry->profile, &fall);
    if (sample)
        rule_resident_report_pinned(inquiry, sample, &fall);
    else if (fall.kept_bytes && kept)
        rule_resident_report_kept(inquiry, fall, kept);
    else if (fall.kept_bytes)
        rule_resident_report_fall(inquiry, &fall);
    else if (!recorded && !fall.sampled)
        inquiry_silent(inquiry, "not recorded: resident memory");
}

/* ---- Never touched ------------------------------------------------------------------------- */

/* What the looks say of a site, by those that saw at least half of what the site held at any
 * look. */
struct untouched {
    uint64_t most_live_bytes;
    uint64_t least_bytes, most_bytes; /* untouched */
    uint64_t first_ns, last_ns;
    const struct profile_sample *sample; /* with the least, and the site's blocks then: */
    uint64_t live_bytes, live_count;
    bool at_end;
};

/* Pages that went while the look was taken, as where a heap shrinks at the end: a block that lay on
 * one was touched, though no page of it was found. */
static uint64_t rule_resident_gone(const struct profile_sample *sample)
{
    return sample->unexplained_bytes > 0 ? (uint64_t)sample->unexplained_bytes : 0;
}

static void rule_resident_note_untouched(struct untouched *of, const struct profile_sample *sample,
                                         const struct site_residency *row)
{
    uint64_t untouched = rule_resident_above(row->untouched_bytes, rule_resident_gone(sample));
    if (!of->sample) {
        of->first_ns = sample->time_ns;
        of->most_bytes = of->least_bytes = untouched;
    }
    if (!of->sample || untouched <= of->least_bytes) {
        of->least_bytes = untouched;
        of->sample = sample;
        of->live_bytes = row->live_bytes;
        of->live_count = row->live_count;
    }
    if (untouched > of->most_bytes)
        of->most_bytes = untouched;
    of->last_ns = sample->time_ns;
    of->at_end |= sample->why == PROFILE_SAMPLE_END;
}

/* One reading's rows: first for what each site held at most, then for what was untouched of it. */
static void rule_resident_read_untouched(const struct inquiry *inquiry,
                                         const struct profile_sample *sample,
                                         struct untouched *sites, bool most_is_known)
{
    struct site_residency *rows = rule_resident_residency_by_site(inquiry, sample->id);
    for (size_t i = 0; rows && i < inquiry->site_count; i++)
        if (!most_is_known && rows[i].live_bytes > sites[i].most_live_bytes)
            sites[i].most_live_bytes = rows[i].live_bytes;
        else if (most_is_known && rows[i].live_bytes &&
                 rows[i].live_bytes >= sites[i].most_live_bytes / 2)
            rule_resident_note_untouched(&sites[i], sample, &rows[i]);
    free(rows);
}

/* NULL: there was no reading (or no memory). */
static struct untouched *rule_resident_untouched_by_site(const struct inquiry *inquiry)
{
    const struct profile *profile = inquiry->profile;
    struct untouched *sites = NULL;
    for (int most_is_known = 0; most_is_known < 2; most_is_known++)
        for (size_t i = 0; i < profile->sample_count; i++) {
            if (!profile->samples[i].has_ledger)
                continue;
            if (!sites && !(sites = calloc(inquiry->site_count + 1, sizeof *sites)))
                return NULL;
            rule_resident_read_untouched(inquiry, &profile->samples[i], sites, most_is_known);
        }
    return sites;
}

/* Bytes that cannot have been touched after the look either: the untouched ones, less all by which
 * the resident memory can have grown since. */
static uint64_t rule_resident_never_touched(const struct profile *profile,
                                            const struct untouched *of)
{
    struct figure high = facts_high_water(profile, 0);
    uint64_t later = rule_number_or_most(figure_sub(high, of->sample->resident_bytes));
    return rule_resident_above(rule_resident_above(of->least_bytes, later),
                               rule_resident_gone(of->sample));
}

static bool rule_resident_stays_untouched(const struct inquiry *inquiry, const struct untouched *of)
{
    if (of->sample && rule_resident_never_touched(inquiry->profile, of) >= UNTOUCHED_BYTES &&
        (double)rule_resident_never_touched(inquiry->profile, of) >=
            UNTOUCHED_SHARE * (double)of->live_bytes)
        return true;
    double seen_ns = (double)(of->last_ns - of->first_ns);
    if (!of->sample || of->least_bytes < UNTOUCHED_BYTES ||
        (double)of->least_bytes < UNTOUCHED_SHARE * (double)of->live_bytes)
        return false;
    return of->at_end || (seen_ns > 0 && seen_ns >= UNTOUCHED_TIME * (double)inquiry->run_ns &&
                          (double)(of->most_bytes - of->least_bytes) <=
                              UNTOUCHED_CHANGE * (double)of->most_bytes);
}

static void rule_resident_report_untouched(struct inquiry *inquiry,
                                           const struct candidate *candidate,
                                           const struct untouched *of)
{
    const struct site *site = candidate->site;
    struct insight *insight = rule_begin_of_heap(inquiry, candidate->cost);
    insight_title(insight, "%s never touches %s of its %s", inquiry_site_name(inquiry, site).text,
                  human_bytes(of->least_bytes).text, human_bytes(of->live_bytes).text);
    insight_add_bytes(insight, "untouched_bytes", of->least_bytes);
    insight_add_bytes(insight, "live_bytes", of->live_bytes);
    insight_add_share(insight, "untouched_share",
                      inquiry_share_of(of->least_bytes, of->live_bytes));
    insight_add_count(insight, "live_count", of->live_count);
    insight_add_share(insight, "peak_share", insight->cost);
    insight_add_ns(insight, "time", of->sample->time_ns);
    rule_resident_add_residency_paths(inquiry, insight, of->sample->id, site, false);
    insight->advice = "Ask for what is used: it counts against limits of address space and, once "
                      "touched by mistake, against memory.";
}

bool rule_site_is_untouched(const struct inquiry *inquiry, const struct site *site)
{
    struct untouched *sites = rule_resident_untouched_by_site(inquiry);
    bool is_so = sites && rule_resident_stays_untouched(inquiry, &sites[site - inquiry->sites]);
    free(sites);
    return is_so;
}

void rule_untouched(struct inquiry *inquiry)
{
    struct untouched *sites = rule_resident_untouched_by_site(inquiry);
    if (!sites) {
        inquiry_silent(inquiry, "not recorded: which pages of the blocks are resident");
        return;
    }
    struct candidates candidates = {0};
    for (size_t i = 0; i < inquiry->site_count; i++)
        if (rule_resident_stays_untouched(inquiry, &sites[i]))
            inquiry_candidates_add(&candidates, &inquiry->sites[i], sites[i].least_bytes);
    for (size_t i = 0; i < candidates.count; i++)
        rule_resident_report_untouched(inquiry, &candidates.top[i],
                                       &sites[candidates.top[i].site - inquiry->sites]);
    free(sites);
}

/* ---- Limits -------------------------------------------------------------------------------- */

struct rule_resident_limit {
    const struct profile_sample *nearest;
    uint64_t used_bytes;
    double share;
    uint64_t ooms; /* while recording */
    bool recorded;
};

static void rule_resident_look_at(struct rule_resident_limit *limit,
                                  const struct profile_sample *sample)
{
    uint64_t used, most = rule_number(sample->cgroup_limit_bytes);
    if (!figure_get(sample->cgroup_bytes, &used) || used > LIMIT_LARGEST)
        return;
    limit->recorded = true;
    if (most > LIMIT_LARGEST || !most)
        return;
    double share = inquiry_share_of(used, most);
    if (share <= limit->share)
        return;
    limit->nearest = sample;
    limit->used_bytes = used;
    limit->share = share;
}

/* The last look was before the end. PROFILE_META_OOM_KILLS counts those that were killed between
 * the two as well. */
static struct rule_resident_limit rule_resident_find_limit(const struct profile *profile)
{
    struct rule_resident_limit limit = {0};
    uint64_t killed = facts_number(profile, PROFILE_META_OOM_KILLS);
    struct figure first = FIGURE_UNKNOWN;
    for (size_t i = 0; i < profile->sample_count; i++) {
        const struct profile_sample *sample = &profile->samples[i];
        rule_resident_look_at(&limit, sample);
        if (!figure_known(sample->ooms))
            continue;
        if (!figure_known(first))
            first = sample->ooms;
        limit.ooms = rule_number(figure_sub(sample->ooms, first));
    }
    if (killed > limit.ooms && killed <= LIMIT_LARGEST)
        limit.ooms = killed;
    return limit;
}

/* What the group used when the kernel killed is not known: the looks were before. */
static void rule_resident_title_limit(struct insight *insight,
                                      const struct rule_resident_limit *limit, uint64_t most)
{
    if (limit->ooms)
        insight_title(insight,
                      "The kernel killed %s process%s of the control group for want of memory; "
                      "its limit is %s",
                      human_exact(limit->ooms).text, limit->ooms == 1 ? "" : "es",
                      human_bytes(most).text);
    else
        insight_title(insight, "The control group came to %s of its limit of %s",
                      human_percent((double)limit->used_bytes, (double)most).text,
                      human_bytes(most).text);
}

void rule_memory_limit(struct inquiry *inquiry)
{
    struct rule_resident_limit limit = rule_resident_find_limit(inquiry->profile);
    if (!limit.recorded) {
        inquiry_silent(inquiry, "not recorded: memory of the control group");
        return;
    }
    if (!limit.nearest || (limit.share < LIMIT_NEAR && !limit.ooms))
        return;
    const struct profile_sample *sample = limit.nearest;
    uint64_t most = rule_number(sample->cgroup_limit_bytes);
    struct insight *insight = insight_begin(inquiry, limit.used_bytes, most, INSIGHT_BYTES);
    insight->severity = limit.ooms || limit.share >= LIMIT_AT ? INSIGHT_SEVERE
                        : limit.share >= LIMIT_NEARER         ? INSIGHT_WARNING
                                                              : INSIGHT_NOTICE;
    rule_resident_title_limit(insight, &limit, most);
    insight_add_bytes(insight, "cgroup_bytes", limit.used_bytes);
    insight_add_bytes(insight, "cgroup_limit_bytes", most);
    insight_add_share(insight, "limit_share", limit.share);
    insight_add_bytes(insight, "resident_bytes", rule_number(sample->resident_bytes));
    insight_add_count(insight, "ooms", limit.ooms);
    insight_add_ns(insight, "time", sample->time_ns);
    struct candidates candidates = {0};
    for (size_t i = 0; i < inquiry->site_count; i++)
        if (rule_number(inquiry->sites[i].metrics.at_peak_bytes))
            inquiry_candidates_add(&candidates, &inquiry->sites[i],
                                   rule_number(inquiry->sites[i].metrics.at_peak_bytes));
    for (size_t i = 0; i < candidates.count; i++)
        insight_add_paths(inquiry, insight, candidates.top[i].site, METRIC_ROW(at_peak_bytes),
                          INSIGHT_BYTES);
    insight->advice = "Raise the limit, or lower the peak, which the paths above hold most of; "
                      "file pages in the group's memory can be reclaimed, the rest cannot.";
}
