/* What is asked for and what is resident: memory that does not go back though it was freed, memory
 * that was asked for and never touched, and limits that come near. */
#include "insight/rule.h"

#include <stdlib.h>
#include "present/facts.h"

#define FALL_SHARE   0.25 /* of the peak must have been freed, */
#define FALL_KEPT    0.5  /* and this much of that must have stayed resident, */
#define FALL_BUCKETS 0.05 /* for this part of the run */
#define KEPT_BYTES   (1 << 20)
#define PINNED_BYTES (1 << 20)
#define PINNED_SHARE 0.1 /* of the resident bytes */
/* If whole pages are this much of what stayed, they are there for the asking. */
#define RETURNABLE 0.5

#define UNTOUCHED_BYTES (1 << 20)
#define UNTOUCHED_SHARE 0.25 /* of a site's live bytes */
/* What is untouched may still be going to be filled. It stays so if it does to the end, or if readings this
 * part of the run apart agree within that part of it. */
#define UNTOUCHED_TIME   0.1
#define UNTOUCHED_CHANGE 0.125

#define LIMIT_NEAR   0.80
#define LIMIT_NEARER 0.90
#define LIMIT_AT     0.95
/* Larger values stand for "not known" and "no limit". */
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

static bool has_physical(const struct timeline_bucket *bucket)
{
    return bucket->physical.min <= bucket->physical.max;
}

static uint64_t above(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* What stays resident of what was freed between the peak and bucket `low`, over the intervals
 * around it: the least, so that a reading that came late does not count. */
static uint64_t kept_at(const struct profile *profile, const struct fall *fall, size_t low,
                        uint64_t base)
{
    const struct timeline_bucket *bucket = &profile->buckets[low];
    uint64_t freed = above(fall->peak_bytes, bucket->requested.max);
    uint64_t excess = above(bucket->physical.min, bucket->requested.max + base);
    return freed < excess ? freed : excess;
}

static struct fall find_fall(const struct profile *profile)
{
    struct fall fall = {0};
    uint64_t base = UINT64_MAX;
    for (size_t i = 0; i < profile->bucket_count; i++) {
        const struct timeline_bucket *bucket = &profile->buckets[i];
        if (bucket->requested.min <= bucket->requested.max &&
            bucket->requested.max > fall.peak_bytes) {
            fall.peak_bytes = bucket->requested.max;
            fall.peak = i;
        }
        if (has_physical(bucket) && above(bucket->physical.min, bucket->requested.max) < base)
            base = above(bucket->physical.min, bucket->requested.max);
        fall.sampled |= has_physical(bucket);
    }
    size_t lasting = 0, needed = (size_t)(FALL_BUCKETS * (double)profile->bucket_count) + 1;
    for (size_t i = fall.peak + 1; fall.sampled && i < profile->bucket_count; i++) {
        if (!has_physical(&profile->buckets[i]))
            continue;
        uint64_t kept = kept_at(profile, &fall, i, base);
        uint64_t freed = above(fall.peak_bytes, profile->buckets[i].requested.max);
        bool holds = (double)freed >= FALL_SHARE * (double)fall.peak_bytes &&
                     (double)kept >= FALL_KEPT * (double)freed && kept >= KEPT_BYTES;
        lasting = holds ? lasting + 1 : 0;
        if (lasting >= 2 && i - fall.peak >= needed && kept > fall.kept_bytes) {
            fall.kept_bytes = kept;
            fall.low = i;
            fall.low_bytes = profile->buckets[i].requested.max;
            fall.resident_bytes = profile->buckets[i].physical.min;
        }
    }
    return fall;
}

/* The sample with a ledger in which most bytes are pinned. */
static const struct profile_sample *most_pinned(const struct profile *profile, bool *recorded)
{
    const struct profile_sample *found = NULL;
    *recorded = false;
    for (size_t i = 0; i < profile->sample_count; i++) {
        const struct profile_sample *sample = &profile->samples[i];
        if (!sample->has_ledger)
            continue;
        *recorded = true;
        if (sample->pinned_bytes >= PINNED_BYTES &&
            (double)sample->pinned_bytes >= PINNED_SHARE * (double)sample->resident_bytes &&
            (!found || sample->pinned_bytes > found->pinned_bytes))
            found = sample;
    }
    return found;
}

/* A row for each site, from the rows of one sample. */
struct site_residency {
    uint64_t live_count, live_bytes, untouched_bytes, pinned_bytes, pinning_count;
};

static struct site_residency *residency_by_site(const struct inquiry *inquiry, uint32_t sample)
{
    const struct profile *profile = inquiry->profile;
    struct site_residency *sites = calloc(inquiry->site_count + 1, sizeof *sites);
    for (size_t i = 0; sites && i < profile->residency_count; i++) {
        const struct profile_residency *row = &profile->residencies[i];
        if (row->sample != sample || row->path >= profile->node_count ||
            inquiry->site_of_node[row->path] == UINT32_MAX)
            continue;
        struct site_residency *site = &sites[inquiry->site_of_node[row->path]];
        site->live_count += row->live_count;
        site->live_bytes += row->live_bytes;
        site->untouched_bytes += row->untouched_bytes;
        site->pinned_bytes += row->pinned_bytes;
        site->pinning_count += row->pinning_count;
    }
    return sites;
}

static void add_residency_paths(const struct inquiry *inquiry, struct insight *insight,
                                uint32_t sample, const struct site *site, bool pinned)
{
    const struct profile *profile = inquiry->profile;
    uint32_t wanted = (uint32_t)(site - inquiry->sites);
    struct top_paths top = {0};
    for (size_t i = 0; i < profile->residency_count; i++) {
        const struct profile_residency *row = &profile->residencies[i];
        if (row->sample == sample && row->path < profile->node_count &&
            inquiry->site_of_node[row->path] == wanted)
            top_paths_add(&top, row->path, pinned ? row->pinned_bytes : row->untouched_bytes);
    }
    insight_add_top(inquiry, insight, &top, INSIGHT_BYTES);
}

static bool is_returnable(const struct profile_sample *sample)
{
    return (double)sample->returnable_bytes >=
           RETURNABLE * (double)(sample->returnable_bytes + sample->pinned_bytes);
}

static const char *fragmentation_advice(const struct profile *profile,
                                        const struct profile_sample *sample)
{
    if (sample && is_returnable(sample) && facts_allocator_is_libc(profile))
        return "Much of it is whole free pages: malloc_trim(0) after the phase gives them back. "
               "Allocate what lives long before the temporary blocks, or from a pool of its own.";
    if (sample && is_returnable(sample))
        return "Much of it is whole free pages, which the allocator may be told to give back. "
               "Allocate what lives long before the temporary blocks, or from a pool of its own.";
    return "Allocate what lives long before the temporary blocks, or from a pool of its own, so "
           "that it does not lie between them; or do without the temporary blocks.";
}

static void report_pinned(struct inquiry *inquiry, const struct profile_sample *sample,
                          const struct fall *fall)
{
    struct site_residency *rows = residency_by_site(inquiry, sample->id);
    struct candidates candidates = {0};
    for (size_t i = 0; rows && i < inquiry->site_count; i++)
        if (rows[i].pinned_bytes)
            candidates_add(&candidates, &inquiry->sites[i], rows[i].pinned_bytes);
    struct insight *insight =
        insight_begin(inquiry, sample->pinned_bytes, sample->resident_bytes, INSIGHT_BYTES);
    if (candidates.count) {
        const struct site *site = candidates.top[0].site;
        const struct site_residency *row = &rows[site - inquiry->sites];
        insight_title(insight, "%s of %s from %s keep %s of free memory from going back",
                      human_blocks(row->pinning_count).text,
                      human_bytes(row->live_count ? row->live_bytes / row->live_count : 0).text,
                      site_name(inquiry, site).text, human_bytes(row->pinned_bytes).text);
        insight_add_count(insight, "pinning_count", row->pinning_count);
        insight_add_bytes(insight, "site_pinned_bytes", row->pinned_bytes);
    } else {
        insight_title(insight, "%s of free memory cannot go back: live blocks lie on its pages",
                      human_bytes(sample->pinned_bytes).text);
    }
    insight_add_bytes(insight, "pinned_bytes", sample->pinned_bytes);
    insight_add_bytes(insight, "returnable_bytes", sample->returnable_bytes);
    insight_add_bytes(insight, "resident_bytes", sample->resident_bytes);
    insight_add_bytes(insight, "requested_bytes", sample->requested_bytes);
    insight_add_share(insight, "resident_share", insight->cost);
    insight_add_ns(insight, "time", sample->time_ns);
    if (fall->kept_bytes)
        insight_add_bytes(insight, "kept_bytes", fall->kept_bytes);
    for (size_t i = 0; i < candidates.count; i++)
        add_residency_paths(inquiry, insight, sample->id, candidates.top[i].site, true);
    insight->advice = fragmentation_advice(inquiry->profile, sample);
    free(rows);
}

/* Who pins was not recorded: those whose many blocks outlived the fall may. */
static void add_suspects(struct inquiry *inquiry, struct insight *insight)
{
    struct candidates candidates = {0};
    for (size_t i = 0; i < inquiry->site_count; i++)
        if (inquiry->sites[i].metrics.live_count > 1)
            candidates_add(&candidates, &inquiry->sites[i], inquiry->sites[i].metrics.live_count);
    for (size_t i = 0; i < candidates.count; i++)
        insight_add_paths(inquiry, insight, candidates.top[i].site, METRIC_AT(live_count),
                          INSIGHT_COUNT);
    insight_add_text(insight, "pinned_by", "not recorded; the paths are of what was alive last");
}

/* Of the looks since the peak the one at which the allocator kept most. */
static const struct profile_sample *most_kept(const struct profile *profile,
                                              const struct fall *fall)
{
    const struct profile_sample *found = NULL;
    for (size_t i = 0; i < profile->sample_count; i++) {
        const struct profile_sample *sample = &profile->samples[i];
        if (sample->has_ledger && sample->time_ns >= fall->peak * profile->bucket_ns &&
            (!found || sample->slack_bytes > found->slack_bytes))
            found = sample;
    }
    return found;
}

/* All that the timeline knows, or what the ledger says of it. */
static struct insight *begin_fall(struct inquiry *inquiry, const struct fall *fall)
{
    uint64_t fell = fall->peak_bytes - fall->low_bytes;
    struct insight *insight =
        insight_begin(inquiry, fall->kept_bytes, fall->peak_bytes, INSIGHT_BYTES);
    insight_title(insight, "%s was freed but %s of it stays resident", human_bytes(fell).text,
                  human_bytes(fall->kept_bytes).text);
    insight_add_bytes(insight, "peak_bytes", fall->peak_bytes);
    insight_add_bytes(insight, "requested_bytes", fall->low_bytes);
    insight_add_bytes(insight, "resident_bytes", fall->resident_bytes);
    insight_add_bytes(insight, "kept_bytes", fall->kept_bytes);
    insight_add_share(insight, "peak_share", insight->cost);
    insight_add_ns(insight, "time", fall->low * inquiry->profile->bucket_ns);
    return insight;
}

/* Without a ledger, what stays may as well be another allocator's, or nobody's. */
static void report_fall(struct inquiry *inquiry, const struct fall *fall)
{
    struct insight *insight = begin_fall(inquiry, fall);
    add_suspects(inquiry, insight);
    insight->advice = fragmentation_advice(inquiry->profile, NULL);
    insight_at_most(insight, INSIGHT_WARNING);
}

static const char *kept_advice(const struct profile *profile, const struct profile_sample *sample)
{
    if (!is_returnable(sample))
        return fragmentation_advice(profile, sample);
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
static void report_kept(struct inquiry *inquiry, struct fall fall,
                        const struct profile_sample *sample)
{
    if (sample->slack_bytes < fall.kept_bytes)
        fall.kept_bytes = sample->slack_bytes;
    if (fall.kept_bytes < KEPT_BYTES)
        return;
    struct insight *insight = begin_fall(inquiry, &fall);
    insight_add_bytes(insight, "returnable_bytes", sample->returnable_bytes);
    insight_add_bytes(insight, "pinned_bytes", sample->pinned_bytes);
    insight->advice = kept_advice(inquiry->profile, sample);
    insight_at_most(insight, INSIGHT_NOTICE);
}

void ask_fragmentation(struct inquiry *inquiry)
{
    struct fall fall = find_fall(inquiry->profile);
    bool recorded;
    const struct profile_sample *sample = most_pinned(inquiry->profile, &recorded);
    const struct profile_sample *kept = most_kept(inquiry->profile, &fall);
    if (sample)
        report_pinned(inquiry, sample, &fall);
    else if (fall.kept_bytes && kept)
        report_kept(inquiry, fall, kept);
    else if (fall.kept_bytes)
        report_fall(inquiry, &fall);
    else if (!recorded && !fall.sampled)
        inquiry_silent(inquiry, "not recorded: resident memory");
}

/* ---- Never touched ------------------------------------------------------------------------- */

/* Of a site, what the readings say that saw at least half of what it held in any of them. */
struct untouched {
    uint64_t most_live_bytes;
    uint64_t least_bytes, most_bytes; /* untouched */
    uint64_t first_ns, last_ns;
    const struct profile_sample *sample; /* with the least, and the site's blocks then: */
    uint64_t live_bytes, live_count;
    bool at_end;
};

static void note_untouched(struct untouched *of, const struct profile_sample *sample,
                           const struct site_residency *row)
{
    if (!of->sample) {
        of->first_ns = sample->time_ns;
        of->most_bytes = of->least_bytes = row->untouched_bytes;
    }
    if (!of->sample || row->untouched_bytes <= of->least_bytes) {
        of->least_bytes = row->untouched_bytes;
        of->sample = sample;
        of->live_bytes = row->live_bytes;
        of->live_count = row->live_count;
    }
    if (row->untouched_bytes > of->most_bytes)
        of->most_bytes = row->untouched_bytes;
    of->last_ns = sample->time_ns;
    of->at_end |= sample->why == PROFILE_SAMPLE_END;
}

/* One reading's rows: first for what each site held at most, then for what was untouched of it. */
static void read_untouched(const struct inquiry *inquiry, const struct profile_sample *sample,
                           struct untouched *sites, bool most_is_known)
{
    struct site_residency *rows = residency_by_site(inquiry, sample->id);
    for (size_t i = 0; rows && i < inquiry->site_count; i++)
        if (!most_is_known && rows[i].live_bytes > sites[i].most_live_bytes)
            sites[i].most_live_bytes = rows[i].live_bytes;
        else if (most_is_known && rows[i].live_bytes &&
                 rows[i].live_bytes >= sites[i].most_live_bytes / 2)
            note_untouched(&sites[i], sample, &rows[i]);
    free(rows);
}

/* NULL: there was no reading (or no memory). */
static struct untouched *untouched_by_site(const struct inquiry *inquiry)
{
    const struct profile *profile = inquiry->profile;
    struct untouched *sites = NULL;
    for (int most_is_known = 0; most_is_known < 2; most_is_known++)
        for (size_t i = 0; i < profile->sample_count; i++) {
            if (!profile->samples[i].has_ledger)
                continue;
            if (!sites && !(sites = calloc(inquiry->site_count + 1, sizeof *sites)))
                return NULL;
            read_untouched(inquiry, &profile->samples[i], sites, most_is_known);
        }
    return sites;
}

static bool stays_untouched(const struct inquiry *inquiry, const struct untouched *of)
{
    double seen_ns = (double)(of->last_ns - of->first_ns);
    if (!of->sample || of->least_bytes < UNTOUCHED_BYTES ||
        (double)of->least_bytes < UNTOUCHED_SHARE * (double)of->live_bytes)
        return false;
    return of->at_end || (seen_ns > 0 && seen_ns >= UNTOUCHED_TIME * (double)inquiry->run_ns &&
                          (double)(of->most_bytes - of->least_bytes) <=
                              UNTOUCHED_CHANGE * (double)of->most_bytes);
}

static void report_untouched(struct inquiry *inquiry, const struct candidate *candidate,
                             const struct untouched *of)
{
    const struct site *site = candidate->site;
    struct insight *insight =
        insight_begin(inquiry, candidate->cost, inquiry->total->peak_bytes, INSIGHT_BYTES);
    insight_title(insight, "%s never touches %s of its %s", site_name(inquiry, site).text,
                  human_bytes(of->least_bytes).text, human_bytes(of->live_bytes).text);
    insight_add_bytes(insight, "untouched_bytes", of->least_bytes);
    insight_add_bytes(insight, "live_bytes", of->live_bytes);
    insight_add_share(insight, "untouched_share", share_of(of->least_bytes, of->live_bytes));
    insight_add_count(insight, "live_count", of->live_count);
    insight_add_share(insight, "peak_share", insight->cost);
    insight_add_ns(insight, "time", of->sample->time_ns);
    add_residency_paths(inquiry, insight, of->sample->id, site, false);
    insight->advice = "Ask for what is used: it counts against limits of address space and, once "
                      "touched by mistake, against memory.";
}

void ask_untouched(struct inquiry *inquiry)
{
    struct untouched *sites = untouched_by_site(inquiry);
    if (!sites) {
        inquiry_silent(inquiry, "not recorded: which pages of the blocks are resident");
        return;
    }
    struct candidates candidates = {0};
    for (size_t i = 0; i < inquiry->site_count; i++)
        if (stays_untouched(inquiry, &sites[i]))
            candidates_add(&candidates, &inquiry->sites[i], sites[i].least_bytes);
    for (size_t i = 0; i < candidates.count; i++)
        report_untouched(inquiry, &candidates.top[i],
                         &sites[candidates.top[i].site - inquiry->sites]);
    free(sites);
}

/* ---- Limits -------------------------------------------------------------------------------- */

struct limit {
    const struct profile_sample *nearest;
    uint64_t used_bytes;
    double share;
    uint64_t ooms; /* while recording */
    bool recorded;
};

static void look_at(struct limit *limit, const struct profile_sample *sample)
{
    uint64_t used = sample->cgroup_bytes;
    limit->recorded |= used <= LIMIT_LARGEST;
    if (used > LIMIT_LARGEST || sample->cgroup_limit_bytes > LIMIT_LARGEST ||
        !sample->cgroup_limit_bytes)
        return;
    double share = share_of(used, sample->cgroup_limit_bytes);
    if (share <= limit->share)
        return;
    limit->nearest = sample;
    limit->used_bytes = used;
    limit->share = share;
}

/* The last reading was before the end; how many were killed up to then the end tells. */
static struct limit find_limit(const struct profile *profile)
{
    struct limit limit = {0};
    uint64_t killed = facts_number(profile, PROFILE_META_OOM_KILLS), first = UINT64_MAX;
    for (size_t i = 0; i < profile->sample_count; i++) {
        const struct profile_sample *sample = &profile->samples[i];
        look_at(&limit, sample);
        if (sample->ooms > LIMIT_LARGEST)
            continue;
        if (first == UINT64_MAX)
            first = sample->ooms;
        limit.ooms = above(sample->ooms, first);
    }
    if (killed > limit.ooms && killed <= LIMIT_LARGEST)
        limit.ooms = killed;
    return limit;
}

void ask_memory_limit(struct inquiry *inquiry)
{
    struct limit limit = find_limit(inquiry->profile);
    if (!limit.recorded) {
        inquiry_silent(inquiry, "not recorded: memory of the control group");
        return;
    }
    if (!limit.nearest || (limit.share < LIMIT_NEAR && !limit.ooms))
        return;
    const struct profile_sample *sample = limit.nearest;
    struct insight *insight =
        insight_begin(inquiry, limit.used_bytes, sample->cgroup_limit_bytes, INSIGHT_BYTES);
    insight->severity = limit.ooms || limit.share >= LIMIT_AT ? INSIGHT_SEVERE
                        : limit.share >= LIMIT_NEARER         ? INSIGHT_WARNING
                                                              : INSIGHT_NOTICE;
    insight_title(insight,
                  limit.ooms ? "Processes were killed for want of memory: the control "
                               "group used %s of its %s"
                             : "The control group came to %s of its limit of %s",
                  human_percent((double)limit.used_bytes, (double)sample->cgroup_limit_bytes).text,
                  human_bytes(sample->cgroup_limit_bytes).text);
    insight_add_bytes(insight, "cgroup_bytes", limit.used_bytes);
    insight_add_bytes(insight, "cgroup_limit_bytes", sample->cgroup_limit_bytes);
    insight_add_share(insight, "limit_share", limit.share);
    insight_add_bytes(insight, "resident_bytes", sample->resident_bytes);
    insight_add_count(insight, "ooms", limit.ooms);
    insight_add_ns(insight, "time", sample->time_ns);
    struct candidates candidates = {0};
    for (size_t i = 0; i < inquiry->site_count; i++)
        if (inquiry->sites[i].metrics.at_peak_bytes)
            candidates_add(&candidates, &inquiry->sites[i],
                           inquiry->sites[i].metrics.at_peak_bytes);
    for (size_t i = 0; i < candidates.count; i++)
        insight_add_paths(inquiry, insight, candidates.top[i].site, METRIC_AT(at_peak_bytes),
                          INSIGHT_BYTES);
    insight->advice = "Raise the limit, or lower the peak, which the paths above hold most of; "
                      "file pages in the group's memory can be reclaimed, the rest cannot.";
}
